/* SPDX-License-Identifier: Apache-2.0 */

/* A part of a trace for reports and timelines, and iteration over its slices. */
#pragma once

#include "formats/trace/store/trace.h"

#include <stdbool.h>

#define FMT_ANY INT64_MIN

struct fmt_part {
	int64_t iteration; /* number, or FMT_ANY: the whole recording */
	int64_t rank;	   /* index into the trace's ranks, or FMT_ANY */
	/* Called before each slice is read; may be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	uint64_t *left_out; /* counts damaged slices that are left out; may be NULL */
};

#define FMT_WHOLE ((struct fmt_part){.iteration = FMT_ANY, .rank = FMT_ANY})

/* Iterates over the slices of a part, by rank, then in recorded order.
 *
 *     struct fmt_walk w = fmt_walk(t, &part);
 *     while (fmt_walk_next(&w))
 *             ... w.rank, w.slice, w.info
 */
struct fmt_walk {
	const struct fmt_trace *trace;
	struct fmt_part part;
	uint32_t rank, slice;
	const struct fmt_slice_info *info;
	uint32_t next;	      /* slice */
	uint64_t done, total; /* slices passed; all slices */
};

/* Counts a slice of the part that is left out. */
static inline void fmt_part_left_out(const struct fmt_part *part)
{
	if (part->left_out)
		++*part->left_out;
}

struct fmt_walk fmt_walk(const struct fmt_trace *t, const struct fmt_part *part);
bool fmt_walk_next(struct fmt_walk *w);

/* Returns the index of the rank with the recorded number `number`, or -1. */
int64_t fmt_rank_index(const struct fmt_trace *t, int64_t number);
