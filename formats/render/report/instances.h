/* SPDX-License-Identifier: Apache-2.0 */

/* Transfer and wait times of collectives over ranks. First add the collectives of all ranks; then
 * fmt_instances_find() returns each. */
#pragma once

#include "formats/trace/hash.h"
#include "formats/trace/names.h"

#include <stdbool.h>

struct fmt_instance {
	int64_t comm, seq;
	int64_t shortest_ns;
	uint32_t template; /* the most detailed of all ranks: fmt_collective_detail() */
	uint32_t n;	   /* number of ranks added */
};

struct fmt_instances {
	struct fmt_instance *items;
	size_t n, cap;
	struct fmt_hash_table table;
};

/* Finds the communicator and the number of a collective; false if unknown. */
bool fmt_collective_ids(const struct fmt_slice *slice, const struct fmt_template *template,
			const struct fmt_event *e, int64_t *comm, int64_t *seq);

/* Rates the template of a collective by its details: size, data type, kind. The largest value is
 * best. A kernel launched before the recording, for example, has only its name. */
int fmt_collective_detail(const struct fmt_names *names, uint32_t template);

/* Adds one rank's participation; *ret is valid until the next call. */
int fmt_instances_add(struct fmt_instances *all, const struct fmt_names *names, uint32_t template,
		      int64_t comm, int64_t seq, int64_t duration_ns, struct fmt_instance **ret);

/* Returns NULL if there is no such instance. */
const struct fmt_instance *fmt_instances_find(const struct fmt_instances *all, int64_t comm,
					      int64_t seq);

/* Adds the collectives among the events of `slice`. */
int fmt_instances_collect(struct fmt_instances *all, const struct fmt_names *names,
			  const struct fmt_slice *slice);

void fmt_instances_done(struct fmt_instances *all);
