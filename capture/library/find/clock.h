/* SPDX-License-Identifier: Apache-2.0 */

/* The clock of the recording: CLOCK_MONOTONIC, or the virtual clock of an emulated driver. Any
 * thread. */
#pragma once

#include <stdint.h>

/* gpuemu_host_ns(); NULL: a real driver, or not looked up yet. Stored with release: the pointer
 * publishes the emulated driver. */
extern uint64_t (*cap_emulated_host_ns)(void);

static inline uint64_t (*cap_emulated_clock(void))(void)
{
	return __atomic_load_n(&cap_emulated_host_ns, __ATOMIC_ACQUIRE);
}

/* Returns 1 if the driver is emulated. */
int cap_is_emulated(void);

int64_t cap_now_ns(void);
