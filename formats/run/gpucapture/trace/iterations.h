/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the iterations of recorded ranks: by the program's markers; else by numbered ranges; else
 * by repetition of its launches; else the run is one iteration. A run is written in segments:
 * without markers and repetition, each segment is an iteration. One thread. Functions return 0 or a
 * negative errno. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/gpucapture/trace/repeats.h"

#include <stdbool.h>

enum rec_iterations_method {
	REC_ITERATIONS_NONE,
	REC_ITERATIONS_MARKED,
	REC_ITERATIONS_RANGES,
	REC_ITERATIONS_REPEAT
};

/* State of the search for a rank's iterations, kept from one segment to the next. */
struct rec_iterations_state {
	enum rec_iterations_method way;
	uint32_t leader; /* 1 + a rank of the same process whose iterations this rank shares; 0:
			    unknown */
	fmt_str like;	 /* name of such a range, and the length of their common prefix */
	size_t like_len;
	struct rec_pattern pattern;
	size_t each;		     /* repetitions in one iteration */
	size_t n;		     /* iterations in all segments */
	bool prelude;		     /* one iteration is the time before the first repetition */
	struct fmt_iteration last;   /* of this segment */
	struct fmt_iteration before; /* of the segment before */
	bool has_before;	     /* `before` is set */
	bool inside;		     /* the last iteration continues in the next segment */
	int64_t from_ns;	     /* start of the next segment */
};

void rec_iterations_state_done(struct rec_iterations_state *of);

/* Decides what delimits the iterations of a rank: markers of its process, or numbered ranges, whose
 * span is in `part`. */
int rec_iterations_plan(struct fmt_names *names, const struct rec_process *process,
			const struct fmt_run_part *part, struct rec_iterations_state *ret);

/* Finds the iterations of each rank in a segment; `more`: it is not the last segment. `of` is by
 * rank, from rec_iterations_plan(). `n` is the number of processes that have started. Groups many
 * short repetitions into one iteration. If a rank without numbered iterations starts in a later
 * segment, its numbers continue those of the other ranks. */
int rec_iterations_find(struct fmt_run *run, const struct rec_ranks *ranks,
			struct rec_process *const *processes, size_t n,
			const struct fmt_run_part *parts, bool more,
			struct rec_iterations_state *of);

/* Returns true if the segment of a rank can end before the last iteration that begins by
 * `until_ns`: an earlier iteration is complete, there are neither markers nor repetitions, or
 * `force` is set. */
bool rec_iterations_can_cut(const struct rec_iterations_state *of, const struct fmt_run_rank *rank,
			    int64_t until_ns, bool force);
/* Ends the segment of the rank there. */
void rec_iterations_cut(struct rec_iterations_state *of, struct fmt_run_rank *rank,
			int64_t until_ns);
/* Ends the last iteration with the run. */
void rec_iterations_end(struct rec_iterations_state *of, const struct fmt_run_rank *rank);
