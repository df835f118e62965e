/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk of names: what was added to a fmt_names since a mark, and back. */
#pragma once

#include "formats/trace/names.h"
#include "formats/trace/store/cursor.h"

/* The part of a fmt_names that is written already. Zero: nothing. */
struct fmt_names_mark {
	uint32_t strings, templates, comms, rules;
	uint32_t tracks, devices; /* of the one rank that is written, if it is one */
	uint64_t version;
};

/* Appends the names added since *mark, and updates the mark: those of rank `rank` and those without
 * a rank, or of all ranks with FMT_WHOLE_TRACE. Returns 1 if there were any, 0 if not, or -errno.
 */
int fmt_names_put(const struct fmt_names *n, uint32_t rank, struct fmt_names_mark *mark,
		  struct text *out);

/* The numbers that a file uses, as numbers of the trace that it became a part of. */
struct fmt_names_map {
	uint32_t *strings, *templates, *comms; /* owned */
	uint32_t n_strings, n_templates, n_comms, n_rules;
	size_t strings_cap, templates_cap, comms_cap;
	uint8_t rules[256];
	int changes; /* 0: every number stays what it is */
};

void fmt_names_map_done(struct fmt_names_map *m);

/* State between chunks of names. */
struct fmt_names_reading {
	const uint32_t *ranks; /* [i]: what rank index i of the file is in the trace */
	uint32_t n_ranks;
	uint64_t reserve_bytes; /* memory that names may still use */
};

/* Memory that the names of a trace of so many bytes may take: what few bytes name is little. */
uint64_t fmt_names_reserve(uint64_t trace_bytes);
/* Takes from the reserve; -EFBIG if it is exhausted. */
int fmt_names_take(struct fmt_names_reading *reading, uint64_t bytes);

/* Adds a chunk's names to `n`, and their numbers to `m`, which has those of the file's earlier
 * chunks. Damage: -EBADMSG; more than the reserve: -EFBIG. */
int fmt_names_get(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n,
		  struct fmt_names_map *m);

/* A copy that can be added to, with the same numbers. */
int fmt_names_copy(const struct fmt_names *n, struct fmt_names **ret);
