/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk FMT_CHUNK_SLICE: the events, ranges, values and edges of one slice. */
#pragma once

#include "formats/chunk.h"
#include "formats/names_code.h"

#define FMT_SLICE_CUTS 64

/* Appends the payload of `s` to `out`; cuts[] are the ends of its columns, at most FMT_SLICE_CUTS.
 */
int fmt_slice_put(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		  struct text *out, size_t *cuts, size_t *n_cuts);

/* Decodes what `want` asks for. `c` is what the chunk's header says; `rank` is the slice's in `n`.
 * -EBADMSG: damage. */
int fmt_slice_get(struct fmt_cursor *in, const struct fmt_chunk *c, const struct fmt_names *n,
		  const struct fmt_names_map *m, uint32_t rank, unsigned want,
		  struct fmt_slice **ret);
