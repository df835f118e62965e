/* SPDX-License-Identifier: Apache-2.0 */

/* Sleeps, and waits with a time-out. They take as long in real time as without emulation, so that
 * time-outs guard against hangs. After a sleep the thread continues at the end of the time-out. A
 * wait that ends early adds no time. A wait that times out adds its time if no other thread made
 * progress meanwhile. Otherwise the emulation was slow, and the thread continues at the latest time
 * that another thread has reached. */
#pragma once

#include <stdint.h>

struct emu_timeout {
	int64_t ns; /* -1: not in virtual time */
	int64_t began_ns, real_ns, cpu_ns, horizon_ns;
};

/* Begins a wait of at most `ns`; -1: without a time-out. */
struct emu_timeout emu_timeout_begin(int64_t ns, int is_virtual);

/* Ends a wait that timed out. Preserves errno. */
void emu_timeout_end(const struct emu_timeout *t);
