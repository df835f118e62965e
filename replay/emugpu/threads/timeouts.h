/* SPDX-License-Identifier: Apache-2.0 */

/* Sleeps, and waits with a time-out. They take as long in real time as without emulation, so that
 * time-outs guard against hangs. A thread that slept continues at the end of that time. A wait that
 * something else ends takes no time of its own. A wait that timed out takes its time if nothing
 * else happened meanwhile; else, emulation was slow, and the thread continues at the latest time
 * that another one has reached. */
#pragma once

#include <stdint.h>

struct emu_timeout {
	int64_t ns; /* -1: not in virtual time */
	int64_t began_ns, real_ns, cpu_ns, horizon_ns;
};

/* A wait of at most `ns` begins; -1: without a time-out. */
struct emu_timeout emu_timeout_begin(int64_t ns, int is_virtual);

/* The wait timed out. Keeps errno. */
void emu_timeout_end(const struct emu_timeout *t);
