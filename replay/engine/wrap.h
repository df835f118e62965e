/* SPDX-License-Identifier: Apache-2.0 */

/* Sums of times of a trace, which may be anything: they wrap, rather than being undefined. */
#pragma once

#include <stdint.h>

static inline int64_t ns_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t ns_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
