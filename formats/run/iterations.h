/* SPDX-License-Identifier: Apache-2.0 */

/* Finds iterations where nobody marked them: by the repetition of what is launched. */
#pragma once

#include "formats/run/run.h"

/* Finds where each repetition begins in a sequence of `n` symbols (kinds of launches, in the order
 * of their launch): *ret is a list of *n_ret ascending positions, allocated, and NULL when there
 * are no two repetitions. First an exact period is looked for, counted from the end, since what
 * comes before the first iteration differs; then what is launched once in each iteration; then a
 * period that does not reach as far as the end. Time and memory are linear in `n`. 0 or -ENOMEM.
 */
int fmt_iterations_find(const uint32_t *symbols, size_t n, size_t **ret, size_t *n_ret);

/* The fact of a trace whose iterations were found so, all of them kept: "repetition". */
#define FMT_ITERATIONS_KEY "capture.iterations"
/* How many repetitions each of them is, where that is not one. */
#define FMT_REPETITIONS_KEY "capture.repetitions"

/* Numbers them over all ranks: those that repeat less often have seen the last ones. */
void fmt_iterations_align(struct fmt_run *run);
