/* SPDX-License-Identifier: Apache-2.0 */

/* What memory of the program lives now; kept by the hook cap_allocations while digests are wanted.
 * Any thread. */
#pragma once

#include "capture/library/device/regions.h"

/* 1 and a copy of the range that holds the address, 0 when there is none. */
int cap_allocation_find(uint64_t address, struct cap_region *ret);

/* Whether kernels of the device may read it: else they would fault, and the context with them. */
int cap_allocation_reaches(const struct cap_region *r, int device);

/* The ranges that lie at addresses from `from` on, in order of address, at most `n`: how many. */
size_t cap_allocations_list(uint64_t from, struct cap_region *ret, size_t n);
