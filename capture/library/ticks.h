/* SPDX-License-Identifier: Apache-2.0 */

/* The clocks of a ring (enum cap_clock_kind), read. */
#pragma once

#include "base/host.h"
#include "capture/library/state.h"

/* Out of line: what it needs would cost the counter's readers registers. */
static __attribute__((noinline, unused)) uint64_t cap_ticks_by_call(const struct cap_thread *t)
{
	if (t->clock == CAP_CLOCK_VIRTUAL)
		return cap_emulated_clock()();
	return (uint64_t)host_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t cap_ticks(const struct cap_thread *t)
{
#ifdef __x86_64__
	if (likely(t->clock == CAP_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#endif
	return cap_ticks_by_call(t);
}
