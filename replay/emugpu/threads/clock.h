/* SPDX-License-Identifier: Apache-2.0 */

/* Clocks of the program: virtual time. A clock shows its real time at the start of the run, plus
 * the virtual time of the calling thread. Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Returns 0 if the caller at this return address must use real time: it is an emulated library or a
 * recorder, or the clock is real (gpuemu --clock=real). */
int emu_clock_virtual(const void *caller);
#define EMU_VIRTUAL() emu_clock_virtual(__builtin_return_address(0))

/* Returns 1 if virtual time passes like real time (gpuemu --pace). */
int emu_clock_paced(void);

/* Returns 1 if the clock shows the time of day, or the time since boot; 0 for CPU time. */
int emu_clock_shows_time(clockid_t clock);

/* Returns the time of `clock` for the calling thread. */
int64_t emu_clock_ns(clockid_t clock);

/* Returns the real time at which to end a wait that the program wants to end at `until`. */
struct timespec emu_clock_real(const struct timespec *until);

static inline int64_t emu_timespec_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static inline struct timespec emu_timespec(int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	if (t.tv_nsec < 0) {
		t.tv_nsec += 1000000000;
		t.tv_sec--;
	}
	return t;
}
