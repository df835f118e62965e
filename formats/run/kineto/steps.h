/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the iterations of a rank: steps of the profiler; else numbered annotations; else
 * repetitions of the launches; else one iteration for the whole run. One thread. */
#pragma once

#include "formats/run/kineto/sort.h"

/* `k` is sorted, and its operations are joined to calls. *ret is an allocated array of *n_ret
 * iterations, by start, with different numbers. Returns 0 or -ENOMEM. */
int kineto_find_iterations(const struct kineto_rank *k, const struct kineto_templates *templates,
			   struct fmt_iteration **ret, size_t *n_ret);
