/* SPDX-License-Identifier: Apache-2.0 */

/* The clocks of a ring (enum cap_clock_kind), read. */
#pragma once

#include "capture/library/state.h"

#include <time.h>

static inline int64_t cap_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Out of line: what it needs would cost the counter's readers registers. */
static __attribute__((noinline, unused)) uint64_t cap_ticks_by_call(const struct cap_thread *t)
{
	if (t->clock == CAP_CLOCK_VIRTUAL)
		return cap_process.emulated_ns();
	return (uint64_t)cap_monotonic_ns();
}

static inline uint64_t cap_ticks(const struct cap_thread *t)
{
#ifdef __x86_64__
	if (likely(t->clock == CAP_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#endif
	return cap_ticks_by_call(t);
}
