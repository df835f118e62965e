/* SPDX-License-Identifier: Apache-2.0 */

/* Sums of numbers from a trace, which may have any value: they wrap instead of being undefined. */
#pragma once

#include <stdint.h>

static inline int64_t fmt_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t fmt_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
