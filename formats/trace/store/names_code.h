/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk of names: encodes and decodes a fmt_names. */
#pragma once

#include "formats/trace/names.h"
#include "formats/trace/store/cursor.h"

/* Appends all names. Returns 0 or -errno. */
int fmt_names_put(const struct fmt_names *n, struct text *out);

/* State between chunks of names. */
struct fmt_names_decoder {
	const uint32_t *ranks; /* maps rank indexes of the file to those of the trace */
	uint32_t n_ranks;
	uint64_t reserve_bytes; /* memory that names may still use */
};

/* Returns the memory limit for the names of a trace of that size, since few bytes cannot need much
 * memory. */
uint64_t fmt_names_reserve(uint64_t trace_bytes);
/* Subtracts from the reserve; -EFBIG if it is exhausted. */
int fmt_names_use_reserve(struct fmt_names_decoder *reading, uint64_t bytes);

/* Adds a chunk's names to `n` with their numbers in the file: `n` must contain exactly the names of
 * the file's earlier chunks, and no name is in a file twice. -EBADMSG: damage; -EFBIG: the reserve
 * is exhausted. */
int fmt_names_get(struct fmt_cursor *c, struct fmt_names_decoder *reading, struct fmt_names *n);

/* Returns a modifiable copy with the same numbers. */
int fmt_names_copy(const struct fmt_names *n, struct fmt_names **ret);
