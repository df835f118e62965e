/* SPDX-License-Identifier: Apache-2.0 */

/* What operations have to share: the multiprocessors of a GPU, a copy engine, a link. Each could
 * use a part of the room. It begins as soon as there is any of it, takes what is free up to its
 * part at each moment, and ends when it has done its work: a kernel's blocks start where there is
 * space for one, and do not wait until there is some for all. Those that asked before it keep what
 * they have, also where they start later. So room is never idle while somebody waits for it.
 *
 * A room is the caller's memory, all zeroes at first; whoever shares one, locks. It remembers the
 * last CAPACITY_STEPS moments at which what is held changes; before those it is free. Nanoseconds.
 */
#pragma once

#include <stdint.h>

#define CAPACITY_WHOLE 65536u
#define CAPACITY_STEPS 64

struct capacity {
	struct capacity_step {
		int64_t from_ns; /* to the next one's */
		uint32_t held;	 /* of CAPACITY_WHOLE; 0 in the last */
	} steps[CAPACITY_STEPS];
	uint32_t n;
};

/* How much 0 <= part <= 1 of a room is, rounded up: where parts make a whole nothing is left. */
uint32_t capacity_share(double part);

/* The first moment from ready_ns on at which any of it is free. */
int64_t capacity_start(const struct capacity *r, int64_t ready_ns);

/* Takes up to `share` of what is free from start_ns on, as much as `share` is in duration_ns; the
 * end. */
int64_t capacity_take(struct capacity *r, int64_t start_ns, int64_t duration_ns, uint32_t share);
