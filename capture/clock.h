/* SPDX-License-Identifier: Apache-2.0 */

/* The processor's counter (CAP_CLOCK_TSC), which costs a traced program half of what clock_gettime
 * does, turned into CLOCK_MONOTONIC by the recorder.
 *
 * A clock is a line of segments. Each sample begins one where the last has come to, with a slope
 * that makes up in a second for what it was off. So what was converted once stays, a later tick is
 * never an earlier time, and the error stays within that of one sample (some 100 ns) and of the
 * drift since the last one. Sample before each round of draining, twice a second at least.
 * Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cap_clock_segment {
	uint64_t ticks;
	int64_t ns;
	double slope; /* ns a tick */
};

struct cap_clock {
	struct cap_clock_segment *segments; /* owned; ascending */
	size_t n, cap;
	uint64_t first_ticks; /* the first sample */
	int64_t first_ns;
};

/* Whether this machine's counter runs at one rate, always, on all its cores. */
bool cap_clock_usable(void);

/* Begins: takes two samples, 20 ms apart. 0 or -ENOMEM. */
int cap_clock_init(struct cap_clock *c);
void cap_clock_done(struct cap_clock *c);

/* Takes a sample; does nothing within 100 ms of the last. 0 or -ENOMEM. */
int cap_clock_sample(struct cap_clock *c);

/* One that was taken elsewhere: at `ticks` it was `ns`. 0 or -ENOMEM. */
int cap_clock_add(struct cap_clock *c, uint64_t ticks, int64_t ns);

int64_t cap_clock_ns(const struct cap_clock *c, uint64_t ticks);
