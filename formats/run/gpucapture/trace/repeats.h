/* SPDX-License-Identifier: Apache-2.0 */

/* Iterations that nobody marked, by the repetition of what is launched. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/iterations.h"

/* The iterations of what was launched from `from_ns` on, numbered from 0: as `last` has it, where
 * that goes on, and *last is what it was launched in the last one. None where nothing repeats. 0 or
 * a negative errno. */
int rec_repeats_find(const struct fmt_run *run, const struct fmt_run_rank *rank,
		     const struct fmt_run_part *part, int64_t from_ns, struct rec_pattern *last,
		     struct fmt_iterations *s);

/* How many repetitions are to be one iteration, so that slices are worth having. */
size_t rec_repeats_each(const struct fmt_run_rank *rank);

/* Makes one iteration of each `size`; counted from the last, which is the same on all ranks, or
 * from the first. */
void rec_repeats_group(struct fmt_run_rank *rank, size_t size, bool from_last);
