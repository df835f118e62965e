/* SPDX-License-Identifier: Apache-2.0 */

/* By how much each rank computes slower than the others: for `straggler=none`. */
#pragma once

#include "formats/trace/store/trace.h"

/* The factors by which the times of kernels on a rank become those of the median rank: *ret[rank *
 * *n_templates + template], 1 for what only one rank runs. A kernel is its name: the mean of its
 * durations over the run, and the median of these over the ranks that run it. Reads the whole
 * trace. The caller frees *ret. 0 or a negative errno. */
int straggler_factors(struct fmt_trace *trace, float **ret, uint32_t *n_templates,
		      struct fmt_error *err);
