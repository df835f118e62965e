/* SPDX-License-Identifier: Apache-2.0 */

/* The iterations of the ranks of a recorded run: as the program marked them; else from its ranges,
 * where they are numbered; else from the repetition of what it launches; else one for all. A run is
 * written in segments: what nobody marks and does not repeat is one iteration a segment. One
 * thread. Functions return 0 or a negative errno. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/gpucapture/trace/repeats.h"

#include <stdbool.h>

enum rec_iterations_way {
	REC_ITERATIONS_NONE,
	REC_ITERATIONS_MARKED,
	REC_ITERATIONS_RANGES,
	REC_ITERATIONS_REPEAT
};

/* State of the search for the iterations of a rank, from one segment to the next. */
struct rec_iterations_of {
	enum rec_iterations_way way;
	uint32_t leader; /* 1 + the rank of the same process whose iterations these are; 0: unknown
			  */
	fmt_str like;	 /* the name of such a range, and how much of it all have */
	size_t like_len;
	struct rec_pattern pattern;
	size_t each;		     /* repetitions that are one iteration */
	size_t n;		     /* iterations of all segments */
	bool prelude;		     /* one of them is what comes before the first */
	struct fmt_iteration last;   /* of this segment, */
	struct fmt_iteration before; /* and of the one before, */
	bool has_before;	     /* if there was one */
	bool inside;		     /* the last one continues in the next segment */
	int64_t from_ns;	     /* the next segment begins there */
};

void rec_iterations_of_done(struct rec_iterations_of *of);

/* Decides what delimits the iterations of a rank: the markers of its process, or its numbered
 * ranges, whose span is in `part`. */
int rec_iterations_plan(struct fmt_names *names, const struct rec_process *process,
			const struct fmt_run_part *part, struct rec_iterations_of *ret);

/* Fills the iterations of each rank in a segment of the run, after which there are `more`; `of` is
 * by rank, from rec_iterations_plan(). Of the processes, n have begun. If there are
 * very many repetitions of very little, several are one iteration. A rank that begins in a later
 * segment, and whose iterations nobody numbers, begins with the number that the others are at. */
int rec_iterations_find(struct fmt_run *run, const struct rec_ranks *ranks,
			struct rec_process *const *processes, size_t n,
			const struct fmt_run_part *parts, bool more, struct rec_iterations_of *of);

/* Whether the segment of a rank can end before the last iteration that begins by then: an earlier
 * iteration is complete, or there are neither markers nor repetitions, or the segment is forced. */
bool rec_iterations_can_cut(const struct rec_iterations_of *of, const struct fmt_run_rank *rank,
			    int64_t until_ns, bool force);
/* Ends it there. */
void rec_iterations_cut(struct rec_iterations_of *of, struct fmt_run_rank *rank, int64_t until_ns);
/* It ends with the run. */
void rec_iterations_end(struct rec_iterations_of *of, const struct fmt_run_rank *rank);
