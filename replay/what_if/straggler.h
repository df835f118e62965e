/* SPDX-License-Identifier: Apache-2.0 */

/* Computes how much slower each rank computes than the others, for `straggler=none`. */
#pragma once

#include "formats/trace/store/trace.h"

/* Computes the factors that scale the kernel times of a rank to those of the median rank: *ret[rank
 * * *n_templates + template], 1 for kernels of only one rank. A kernel is identified by its name.
 * Its value on a rank is the mean of its durations over the run; the median is over the ranks that
 * run it. Reads the whole trace. The caller frees *ret. Returns 0 or a negative errno. */
int straggler_factors(struct fmt_trace *trace, float **ret, uint32_t *n_templates,
		      struct fmt_error *err);
