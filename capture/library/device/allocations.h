/* SPDX-License-Identifier: Apache-2.0 */

/* The program's allocations, tracked by the hook cap_allocations while digests are on. Any thread.
 */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/device/regions.h"

extern const struct cap_hook cap_allocations;

/* Returns 1 and a copy of the range that contains the address; 0: none. */
int cap_allocation_find(uint64_t address, struct cap_region *ret);

/* Returns true if kernels of the device can read the range. Otherwise, reading it would destroy the
 * context. */
int cap_allocation_is_readable(const struct cap_region *r, int device);

/* Calls act() for a copy of each range, in order of address, without holding the lock. */
void cap_allocations_for_each(void (*act)(void *data, const struct cap_region *r), void *data);
