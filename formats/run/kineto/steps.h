/* SPDX-License-Identifier: Apache-2.0 */

/* The iterations of a rank: steps of the profiler; else numbered annotations; else repetitions of
 * the launches; else one for all. One thread. */
#pragma once

#include "formats/run/kineto/order.h"

/* `k` is in order, and `call_of` from kineto_join(). *ret has *n_ret of them, allocated, by start,
 * with different numbers. 0 or -ENOMEM. */
int kineto_steps(const struct kineto_rank *k, const struct kineto_templates *templates,
		 const uint32_t *call_of, struct fmt_iteration **ret, size_t *n_ret);
