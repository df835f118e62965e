/* SPDX-License-Identifier: Apache-2.0 */

/* Finds iterations of a run without annotations, by the repetition of launches. */
#pragma once

#include "formats/run/run.h"

/* Iterations on their way to a rank. */
struct fmt_iterations {
	struct fmt_iteration *list; /* owned */
	size_t n, cap;
};

void fmt_iterations_done(struct fmt_iterations *s);
int fmt_iterations_add(struct fmt_iterations *s, int64_t number, int64_t start_ns,
		       int64_t duration_ns);

/* Finds the start of each repetition in a sequence of `n` symbols (kinds of launches, in launch
 * order): *ret is an allocated list of *n_ret ascending positions, NULL for fewer than two
 * repetitions.
 *
 * Looks first for an exact period, counted from the end, since launches before the first
 * iteration differ; then for launches that occur once in each iteration; then for a period that
 * does not reach the end. Time and memory are linear in `n`. 0 or -ENOMEM.
 */
int fmt_iterations_find(const uint32_t *symbols, size_t n, size_t **ret, size_t *n_ret);

/* A launch: its call, and the operation. */
struct fmt_run_launch {
	uint32_t call, event;
};

/* The launches from `from_ns` on of the thread that launches most, by their calls; call_of[] is as
 * in struct fmt_run_source. The caller frees *ret. 0 or -ENOMEM. */
int fmt_iterations_launches(const struct fmt_event *events, size_t n, const uint32_t *call_of,
			    int64_t from_ns, struct fmt_run_launch **ret, size_t *n_ret);

/* The fact of a trace whose iterations were found so, all of them kept: "repetition". */
#define FMT_ITERATIONS_KEY "capture.iterations"
/* Number of repetitions that make one iteration, if not 1. */
#define FMT_REPETITIONS_KEY "capture.repetitions"

/* Numbers them over all ranks: those that repeat less often have seen the last ones. */
void fmt_iterations_align(struct fmt_run *run);
