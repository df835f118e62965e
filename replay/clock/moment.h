/* SPDX-License-Identifier: Apache-2.0 */

/* The arithmetic of virtual time: starts and ends of events. `gpureplay --emulate`, the emulated
 * driver and the emulated NCCL all use these functions and capacity.h, so their times are equal.
 * Only sums and maxima, no state. Nanoseconds; sums wrap. Thread-safe. */
#pragma once

#include "formats/trace/wrap.h"

#define MOMENT_NEVER (INT64_MIN / 4) /* earlier than all times: no wait */

/* Returns the time own_ns after the previous event: the next call of a thread, the next operation
 * of a stream, or the end of an operation. */
static inline int64_t moment_after(int64_t before_ns, int64_t own_ns)
{
	return fmt_add(before_ns, own_ns);
}

/* Returns `at_ns`, but at least lag_ns after `when_ns`: the start of an operation after its launch
 * or an event, or the end of a host thread's wait. */
static inline int64_t moment_wait(int64_t at_ns, int64_t when_ns, int64_t lag_ns)
{
	int64_t t = fmt_add(when_ns, lag_ns);

	return when_ns > MOMENT_NEVER && t > at_ns ? t : at_ns;
}

/* A collective without a known transfer for each rank: it starts when the last participant arrives
 * and ends for all after the shortest recorded duration. With known transfers (SIM_TRANSFER in
 * sim.h) each rank ends after its own transfer. */
struct moment_collective {
	int64_t latest_ns;   /* of the arrivals */
	int64_t shortest_ns; /* of the durations */
};

static inline struct moment_collective moment_collective(void)
{
	return (struct moment_collective){INT64_MIN, INT64_MAX};
}

static inline void moment_join(struct moment_collective *m, int64_t at_ns, int64_t duration_ns)
{
	if (at_ns > m->latest_ns)
		m->latest_ns = at_ns;
	if (duration_ns < m->shortest_ns)
		m->shortest_ns = duration_ns;
}

static inline int64_t moment_end(const struct moment_collective *m)
{
	return moment_after(m->latest_ns, m->shortest_ns);
}
