/* SPDX-License-Identifier: Apache-2.0 */

/* A capacity that operations share: the multiprocessors of a GPU, a copy engine, a link.
 *
 * Each operation can use a part of it. The operation begins as soon as any capacity is free, uses
 * the free capacity up to its part at each moment, and ends when its work is done: blocks of a
 * kernel start when one fits and do not wait for all. Earlier requests keep their capacity, even if
 * they start later. So no capacity is idle while an operation waits for it.
 *
 * Initialise with zeros. Callers that share one lock it. Stores the last CAPACITY_STEPS changes of
 * use; before those, all capacity is free. Times are nanoseconds. */
#pragma once

#include <stdint.h>

#define CAPACITY_WHOLE 65536u
#define CAPACITY_STEPS 64

struct capacity {
	struct capacity_step {
		int64_t from_ns; /* until from_ns of the next step */
		uint32_t held;	 /* used part of CAPACITY_WHOLE; 0 in the last step */
	} steps[CAPACITY_STEPS];
	uint32_t n;
};

/* Returns the share for a part from 0 to 1, rounded up, so that parts that sum to 1 leave nothing
 * free. */
uint32_t capacity_share(double part);

/* Returns the first moment >= ready_ns at which any capacity is free. */
int64_t capacity_start(const struct capacity *r, int64_t ready_ns);

/* Reserves up to `share` from start_ns on, until the work of `share` over duration_ns is done.
 * Returns the end. */
int64_t capacity_reserve(struct capacity *r, int64_t start_ns, int64_t duration_ns, uint32_t share);
