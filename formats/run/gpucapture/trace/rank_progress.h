/* SPDX-License-Identifier: Apache-2.0 */

/* The progress of a rank through its iterations, from segment to segment, and the window of
 * iterations that is written. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

struct rec_rank_progress {
	const struct rec_iterations *of; /* not owned */
	size_t first, end; /* its iterations that are in the window; first == end: none */
	uint32_t n_in_window;
	size_t next;	 /* the first of its iterations that begins at or after from_ns */
	int64_t from_ns; /* events before this time were in a segment */
	bool is_written; /* by a segment */
	struct rec_skipped skipped;
};

void rec_rank_progress_init(struct rec_rank_progress *p, const struct rec_iterations *of,
			    const struct rec_window *window);
void rec_rank_progress_done(struct rec_rank_progress *p);

/* Returns the time at which a segment ends for the rank: the start of its last iteration that
 * begins by until_ns, if one before is complete; else from_ns. */
int64_t rec_rank_progress_end(const struct rec_rank_progress *p, int64_t until_ns);

/* Sets first_ns and last_ns of the rank in a segment: the times that are in the window. */
void rec_rank_progress_set_window(struct rec_rank_progress *p, const struct rec_window *window,
				  struct rec_segment_rank *ret);

/* Sets the iterations of rank number `rank` in a segment, which has its events, and ends there.
 * Returns 0 or -ENOMEM. */
int rec_rank_progress_advance(struct rec_rank_progress *p, struct rec_segment *s, uint32_t rank);
