/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk of names: a fmt_names, and back. */
#pragma once

#include "formats/trace/names.h"
#include "formats/trace/store/cursor.h"

/* Appends all names. 0 or -errno. */
int fmt_names_put(const struct fmt_names *n, struct text *out);

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

/* Adds a chunk's names to `n`, with the numbers that they have in the file: `n` has those of the
 * file's earlier chunks only, and nothing is in a file twice. Damage: -EBADMSG; more than the
 * reserve: -EFBIG. */
int fmt_names_get(struct fmt_cursor *c, struct fmt_names_reading *reading, struct fmt_names *n);

/* A copy that can be added to, with the same numbers. */
int fmt_names_copy(const struct fmt_names *n, struct fmt_names **ret);
