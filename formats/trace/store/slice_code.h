/* SPDX-License-Identifier: Apache-2.0 */

/* The payload of a chunk FMT_CHUNK_SLICE: the events, ranges, values and edges of one slice.
 * doc/format.md, "Slices", is the specification.
 *
 * A slice is encoded as two parts: its structure (every column except the times) and its times. The
 * structure may be stored as a patch of that of an earlier slice of the rank, the base. */
#pragma once

#include "formats/trace/store/chunk.h"
#include "formats/trace/store/names_code.h"
#include "formats/trace/store/patch.h"

/* Ids of columns. A column up to FMT_SLICE_MAY_OMIT is omitted if all its values are 0; an argument
 * that varies has FMT_SLICE_VALUES plus the string number of its key. */
enum fmt_slice_column {
	FMT_SLICE_ENDS,
	FMT_SLICE_CORRELATIONS,
	FMT_SLICE_RANGE_CORRELATIONS,
	FMT_SLICE_EDGE_LAGS,
	FMT_SLICE_EDGE_RANKS,
	FMT_SLICE_MAY_OMIT = 8,
	FMT_SLICE_UNIT = 8,
	FMT_SLICE_TRACKS,
	FMT_SLICE_COUNTS,
	FMT_SLICE_TEMPLATES,
	FMT_SLICE_EDGE_TARGETS,
	FMT_SLICE_EDGE_RULES,
	FMT_SLICE_EDGE_SOURCES,
	FMT_SLICE_VALUES = 16,
};

#define FMT_ITEMS_MAX (1u << 24)

/* Flag in the kind of the times: their low bytes are stored separately. */
#define FMT_TIMES_SPLIT 0x10u

/* ---- writing ---- */

struct fmt_slice_parts {
	struct text structure, times, low_bytes;
	uint8_t times_kind; /* enum fmt_column_kind */
};

void fmt_slice_parts_done(struct fmt_slice_parts *p);

/* Encodes a slice, which must be valid and in the order of model.h. -EINVAL, -EOVERFLOW,
 * -ENOMEM. */
int fmt_slice_encode(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		     struct fmt_slice_parts *ret);

/* Appends the payload. With `base`, the structure of the slice `back` slices earlier, stores the
 * structure as a patch. Returns the number of bytes of the structure that were copied from the
 * base. */
int64_t fmt_slice_put(const struct fmt_slice_parts *p, struct fmt_patch_base *base, uint64_t back,
		      struct text *out);

/* ---- reading ---- */

/* The parts of a payload, not copied. */
struct fmt_slice_head {
	uint64_t back;		     /* slices to the base; 0: the structure is not a patch */
	struct fmt_cursor structure; /* or its patch */
	struct fmt_cursor times, low_bytes;
	uint8_t times_kind; /* enum fmt_column_kind */
	int split;	    /* 1: low_bytes has one byte per point in time */
};

int fmt_slice_head_get(struct fmt_cursor in, struct fmt_slice_head *ret);

/* Decodes a slice. `c` is the chunk's header, `rank` the slice's rank in `n`, `base` the structure
 * of the base slice, or NULL. -EBADMSG: damage. */
int fmt_slice_get(const struct fmt_slice_head *head, const struct fmt_chunk *c,
		  const struct fmt_names *n, uint32_t rank, const struct fmt_cursor *base,
		  struct fmt_slice **ret);
