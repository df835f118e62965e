/* SPDX-License-Identifier: Apache-2.0 */

/* Maps recorded handles and addresses to those of this process. Any thread. */
#pragma once

#include "formats/api/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rex_objects;

int rex_objects_new(struct rex_objects **ret);
void rex_objects_free(struct rex_objects *o);

/* ---- handles */

/* From now on the recorded handle is `here`. 0 or -ENOMEM. */
int rex_handle_set(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		   uint64_t here);

/* False: no call that was made again returned this handle. */
bool rex_handle_get(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		    uint64_t *ret);

/* ---- addresses */

/* The recorded range lies at `here`. 0 or -ENOMEM. A later range replaces those it overlaps. */
int rex_range_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here);

/* False: in no range. */
bool rex_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret);
/* Whether that many bytes from a recorded address lie in known ranges that are contiguous here. */
bool rex_address_holds(struct rex_objects *o, uint64_t recorded, uint64_t bytes);

/* Memory that stands for pageable memory of the recorded program: always the same for the same
 * address. NULL without memory. */
void *rex_host_memory(struct rex_objects *o, uint64_t recorded, uint64_t bytes);
