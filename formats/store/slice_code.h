/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk FMT_CHUNK_SLICE: the events, ranges, values and edges of one slice. */
#pragma once

#include "formats/store/chunk.h"
#include "formats/store/names_code.h"

/* What a slice left behind for others that repeat it. Read by any number of threads. */
struct fmt_reference;

void fmt_reference_free(struct fmt_reference *ref);
define_cleanup(fmt_reference_freep, struct fmt_reference *, fmt_reference_free);
/* Bytes of memory that it holds. */
size_t fmt_reference_bytes(const struct fmt_reference *ref);

/* How the coded bits divide: one for each column that is there. */
enum fmt_column {
	FMT_COLUMN_HEAD,
	FMT_COLUMN_SITES,
	FMT_COLUMN_HOST_TIMES,
	FMT_COLUMN_VALUES,
	FMT_COLUMN_CALLS,
	FMT_COLUMN_OP_TIMES,
	FMT_COLUMN_OP_VALUES,
	FMT_COLUMN_EDGES,
	FMT_COLUMNS,
};

/* Appends the payload of `s` to `out`. With `reference` it is told by how it differs from that
 * slice; without one, *keep (if not NULL) becomes a reference that the caller frees. *repeated (if
 * not NULL) is the number of items that repeat the reference's. */
int fmt_slice_put(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		  const struct fmt_reference *reference, struct fmt_reference **keep,
		  uint32_t *repeated, struct text *out);

/* The slice that the payload refers to: 1 and *ret, or 0 if it stands alone, or -EBADMSG. */
int fmt_slice_refers(struct fmt_cursor in, uint64_t *ret);

/* Decodes a payload. `c` is what the chunk's header says; `rank` is the slice's in `n`. `reference`
 * must be that of the slice that it refers to. bits[] (if not NULL) gets what each column took.
 * -EBADMSG: damage. */
int fmt_slice_get(const struct fmt_cursor *in, const struct fmt_chunk *c, const struct fmt_names *n,
		  const struct fmt_names_map *m, uint32_t rank,
		  const struct fmt_reference *reference, struct fmt_reference **keep,
		  double bits[FMT_COLUMNS], struct fmt_slice **ret);
