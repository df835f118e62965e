/* SPDX-License-Identifier: Apache-2.0 */

/* Finds iterations without markers, by repeated sequences of launches. One thread. */
#pragma once

#include "formats/run/iterations.h"
#include "formats/run/part.h"

#include <stdbool.h>

/* The names of the operations that one iteration launches. */
struct rec_pattern {
	uint32_t *symbols; /* owned */
	size_t n;
};

/* Finds the iterations among launches from `from_ns`, numbered from 0. Continues the repetition in
 * *last, if it still holds. Sets *last to the launches of the last iteration. Finds none if nothing
 * repeats. Returns 0 or a negative errno. */
int rec_repeats_find(const struct fmt_run *run, const struct fmt_run_rank *rank,
		     const struct fmt_run_part *part, int64_t from_ns, struct rec_pattern *last,
		     struct fmt_iterations *s);

/* Returns the number of repetitions to group into one iteration, so that slices are not tiny. */
size_t rec_repeats_group_size(const struct fmt_run_rank *rank);

/* Groups `size` repetitions into each iteration, counted from the last repetition, which is the
 * same on all ranks, or from the first. */
void rec_repeats_group(struct fmt_run_rank *rank, size_t size, bool from_last);
