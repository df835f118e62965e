/* SPDX-License-Identifier: Apache-2.0 */

/* The iterations of a rank: steps of the profiler; else numbered annotations; else repetitions of
 * the launches; else one for all. One thread. */
#pragma once

#include "formats/run/kineto/order.h"

/* `k` is in order, and its operations are joined to calls. *ret has *n_ret of them, allocated, by
 * start, with different numbers. 0 or -ENOMEM. */
int kineto_steps(const struct kineto_rank *k, const struct kineto_templates *templates,
		 struct fmt_iteration **ret, size_t *n_ret);
