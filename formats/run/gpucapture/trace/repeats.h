/* SPDX-License-Identifier: Apache-2.0 */

/* Iterations without markers, found by repeated sequences of launches. One thread. */
#pragma once

#include "formats/run/iterations.h"
#include "formats/run/part.h"

#include <stdbool.h>

/* What is launched in an iteration: names. */
struct rec_pattern {
	uint32_t *symbols; /* owned */
	size_t n;
};

/* Finds the iterations of the launches from `from_ns` on, numbered from 0. If the repetition in
 * *last continues, it is followed. Sets *last to the launches of the last iteration. Finds none if
 * nothing repeats. 0 or a negative errno. */
int rec_repeats_find(const struct fmt_run *run, const struct fmt_run_rank *rank,
		     const struct fmt_run_part *part, int64_t from_ns, struct rec_pattern *last,
		     struct fmt_iterations *s);

/* The number of repetitions that one iteration should have, so that slices are not tiny. */
size_t rec_repeats_each(const struct fmt_run_rank *rank);

/* Makes one iteration of each `size`; counted from the last, which is the same on all ranks, or
 * from the first. */
void rec_repeats_group(struct fmt_run_rank *rank, size_t size, bool from_last);
