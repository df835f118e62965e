/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the clock of a ring (enum cap_clock_kind). */
#pragma once

#include "base/host.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/ring.h"

/* Not inlined, so that callers that read the time stamp counter keep their registers. */
static __attribute__((noinline, unused)) uint64_t cap_ticks_by_call(const struct cap_thread *t)
{
	if (t->clock == CAP_CLOCK_VIRTUAL)
		return cap_emulated_clock()();
	return (uint64_t)host_clock_ns(CLOCK_MONOTONIC);
}

/* Returns true if the ring's clock does not order the calls of different threads: see
 * cap_order(). */
static inline bool cap_needs_order(const struct cap_thread *t)
{
	return unlikely(t->clock == CAP_CLOCK_VIRTUAL);
}

/* Returns the host's counter, which orders the calls of all threads of the process. */
static inline uint64_t cap_order(void)
{
#ifdef __x86_64__
	if (likely(cap_process.control->clock == CAP_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#endif
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
