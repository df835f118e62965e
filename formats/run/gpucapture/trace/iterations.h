/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the iterations of recorded ranks after the first reading: by the program's markers; else by
 * numbered ranges; else by repetition of its launches. Without any of them the run is one
 * iteration, or as many as it needs segments. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"

enum rec_iterations_method {
	REC_ITERATIONS_NONE,
	REC_ITERATIONS_MARKED,
	REC_ITERATIONS_RANGES,
	REC_ITERATIONS_REPEAT
};

/* The iterations of a rank, by start: at least one. */
struct rec_iterations {
	enum rec_iterations_method method;
	struct fmt_iterations all;
	size_t each;	    /* repetitions in one iteration */
	int64_t last_ns[2]; /* REPEAT: starts of the last two repetitions */
};

/* Finds the iterations of each rank; `ret` has an element for each and is zeroed. `n_cuts`: see
 * struct rec_plan. GPUs of a process share the iterations of one of them, unless each has its own
 * and all have equally many. Groups many short repetitions into one iteration. If repetitions were
 * found, the last iterations of all ranks get the same number. Returns 0 or -ENOMEM. */
int rec_iterations_find(struct rec_process *const *processes, const struct rec_ranks *ranks,
			size_t n_cuts, struct rec_iterations *ret);

/* Returns true if the end of the last iteration is the end of the run. */
bool rec_iterations_are_open(const struct rec_iterations *of);

/* Converts the times to those of the run. */
void rec_iterations_convert(struct rec_iterations *of, const struct fmt_clock *clock);
