/* SPDX-License-Identifier: Apache-2.0 */

/* The slices around an iteration whose operations may run within its span: operations of earlier
 * iterations that the GPU had not finished, and of later ones that were launched early.
 *
 * Operations of a stream run in the order of their slices. In both directions, slices are visited
 * until each stream of the rank has an operation beyond the span, at most FMT_NEIGHBOURS slices;
 * later slices only if they begin on the host before the span ends. Iterations further away are
 * ignored.
 *
 * Damaged slices are skipped. Not thread-safe. */
#pragma once

#include "formats/render/report/busy.h"
#include "formats/trace/store/part.h"

#define FMT_NEIGHBOURS 16

struct fmt_neighbours {
	struct fmt_trace *trace;
	struct fmt_part part;
	struct {
		uint32_t first, end;
	} * read;	     /* by rank: visited slices, [first, end) */
	int64_t *iterations; /* iterations visited for any rank */
	size_t n, cap;
};

/* Receives a slice with its operations. Returns 0 or a negative errno, which ends the visit. */
typedef int fmt_slice_visitor(void *context, const struct fmt_slice *slice);

int fmt_neighbours_init(struct fmt_neighbours *n, struct fmt_trace *t, const struct fmt_part *part);
void fmt_neighbours_done(struct fmt_neighbours *n);

/* Visits the slices around [first, end), which the caller has read, of a rank of the part. */
int fmt_neighbours_visit(struct fmt_neighbours *n, uint32_t rank, uint32_t first, uint32_t end,
			 const struct fmt_busy_span *span, fmt_slice_visitor *each, void *context,
			 struct fmt_error *err);

/* Visits the slices of the other ranks in the iterations that were visited for any rank; in all
 * iterations if the part is the whole recording. */
int fmt_neighbours_visit_others(struct fmt_neighbours *n, fmt_slice_visitor *each, void *context,
				struct fmt_error *err);
