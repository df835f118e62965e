/* SPDX-License-Identifier: Apache-2.0 */

/* The program's allocations, tracked by the hook cap_allocations while digests are on. Any thread.
 */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/device/regions.h"

extern const struct cap_hook cap_allocations;

/* 1 and a copy of the range that contains the address; 0: none. */
int cap_allocation_find(uint64_t address, struct cap_region *ret);

/* Whether kernels of the device can read the range; if not, reading ends the context. */
int cap_allocation_reaches(const struct cap_region *r, int device);

/* Up to `n` ranges at addresses from `from` on, in order of address. Returns their number. */
size_t cap_allocations_list(uint64_t from, struct cap_region *ret, size_t n);
