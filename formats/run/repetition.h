/* SPDX-License-Identifier: Apache-2.0 */

/* Finds iterations of a run without annotations, by the repetition of launches. */
#pragma once

#include "formats/run/run.h"

/* Iterations under construction. */
struct fmt_iterations {
	struct fmt_iteration *list; /* owned */
	size_t n, cap;
};

void fmt_iterations_done(struct fmt_iterations *s);
int fmt_iterations_add(struct fmt_iterations *s, int64_t number, int64_t start_ns,
		       int64_t duration_ns);

/* Finds the start of each repetition in a sequence of `n` symbols (kinds of launches, in launch
 * order). *ret is an allocated list of *n_ret ascending indexes, or NULL for fewer than two
 * repetitions.
 *
 * Searches for an exact period, counted from the end, since launches before the first iteration
 * differ; then for launches that occur once in each iteration; then for a period that does not
 * extend to the end. Time and memory are linear in `n`. Returns 0 or -ENOMEM. */
int fmt_iterations_find(const uint32_t *symbols, size_t n, size_t **ret, size_t *n_ret);

/* A launch: a call and its operation. */
struct fmt_run_launch {
	uint32_t call, event;
};

/* Returns the launches of the thread with the most launches, in call order.
 * call_of[] is as in struct fmt_run_source. The caller frees *ret. Returns 0 or -ENOMEM. */
int fmt_iterations_launches(const struct fmt_event *events, size_t n, const uint32_t *call_of,
			    struct fmt_run_launch **ret, size_t *n_ret);

/* Fact of a trace whose iterations were found by repetition and are all kept: "repetition". */
#define FMT_ITERATIONS_KEY "capture.iterations"
/* Fact: number of repetitions in one iteration, if not 1. */
#define FMT_REPETITIONS_KEY "capture.repetitions"
