/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/find/clock.h"

#include "base/host.h"

uint64_t (*cap_emulated_host_ns)(void);

int cap_is_emulated(void)
{
	return cap_emulated_clock() != NULL;
}

int64_t cap_now_ns(void)
{
	uint64_t (*emulated_ns)(void) = cap_emulated_clock();

	return emulated_ns ? (int64_t)emulated_ns() : host_clock_ns(CLOCK_MONOTONIC);
}
