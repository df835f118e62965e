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

/* Maps the recorded handle to `here`. Returns 0 or -ENOMEM. */
int rex_handle_set(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		   uint64_t here);

/* Returns false if no executed call returned this handle. */
bool rex_handle_get(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		    uint64_t *ret);

/* ---- addresses */

/* Maps the recorded range of memory to `here`. Replaces overlapping ranges. Returns 0 or -ENOMEM.
 */
int rex_memory_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here);

/* Maps reserved addresses, which have no memory until rex_memory_set() is called for parts of them.
 * Removes overlapping ranges of memory. Returns 0 or -ENOMEM. */
int rex_reserved_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here);

/* Maps memory that a graph allocates: rex_memory_set(), and found by rex_graph_memory_address().
 * Launches allocate it, so its addresses are used when the recording has no allocation there. */
int rex_graph_memory_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here);
bool rex_graph_memory_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret);

/* Returns false if the address is neither in a range of memory nor reserved. */
bool rex_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret);
/* Returns false if the address is in no range of memory. For numbers that may be addresses. */
bool rex_memory_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret);
/* Returns the number of words in `data` that are recorded addresses of moved memory. */
uint64_t rex_count_moved_addresses(struct rex_objects *o, const void *data, size_t bytes);
/* Returns true if `bytes` bytes from a recorded address are in known ranges that are contiguous
 * here. */
bool rex_address_is_mapped(struct rex_objects *o, uint64_t recorded, uint64_t bytes);

/* Returns memory that replaces pageable memory of the recorded program; the same memory for the
 * same address. NULL if out of memory. */
void *rex_host_memory(struct rex_objects *o, uint64_t recorded, uint64_t bytes);
