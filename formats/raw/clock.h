/* SPDX-License-Identifier: Apache-2.0 */

/* Converts the processor's time stamp counter (CAP_CLOCK_TSC) to CLOCK_MONOTONIC, in the recorder.
 * Reading the counter costs a traced program half as much as clock_gettime().
 *
 * A clock is a sequence of line segments. Each sample begins a segment at the end of the previous
 * one, with a slope that corrects the error within a second. So conversions are never revised and
 * are monotonic, and the error is at most that of one sample (some 100 ns) plus the drift since the
 * last one. Take a sample before each round of reading rings, at least twice a second. Not
 * thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cap_clock_segment {
	uint64_t ticks;
	int64_t ns;
	double slope; /* ns per tick */
};

struct cap_clock {
	struct cap_clock_segment *segments; /* owned; ascending */
	size_t n, cap;
	uint64_t first_ticks; /* the first sample */
	int64_t first_ns;
};

/* Returns true if this machine's counter has a constant rate, equal on all cores. */
bool cap_clock_is_usable(void);

/* Initialises the clock: takes two samples, 20 ms apart. Returns 0 or -ENOMEM. */
int cap_clock_init(struct cap_clock *c);
void cap_clock_done(struct cap_clock *c);

/* Takes a sample; does nothing within 100 ms of the last. Returns 0 or -ENOMEM. */
int cap_clock_sample(struct cap_clock *c);

/* Adds a sample that was taken elsewhere. Returns 0 or -ENOMEM. */
int cap_clock_add(struct cap_clock *c, uint64_t ticks, int64_t ns);

/* Appends stored segments; `bytes` is their total size. Returns 0 or -ENOMEM. */
int cap_clock_append(struct cap_clock *c, const void *segments, size_t bytes);

int64_t cap_clock_ns(const struct cap_clock *c, uint64_t ticks);
