/* SPDX-License-Identifier: Apache-2.0 */

/* Sums of times, which stay at the end of the scale whatever a trace holds. */
#pragma once

#include "formats/trace/model.h"

static inline int64_t fmt_add_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline void fmt_sum_ns(int64_t *sum, int64_t ns)
{
	*sum = fmt_add_ns(*sum, ns);
}

static inline int64_t fmt_end_ns(const struct fmt_event *e)
{
	return fmt_add_ns(e->start_ns, e->duration_ns);
}
