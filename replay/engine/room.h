/* SPDX-License-Identifier: Apache-2.0 */

/* What operations have to share: the multiprocessors of a GPU, a copy engine, a link. Each takes a
 * part of the room for as long as it runs, and runs where there is room for it: those that asked
 * before it keep their time, and it may come before them where it fits. Of those that asked, the
 * ROOM_HELD that end last are remembered.
 *
 * A room is the caller's memory, all zeroes at first; whoever shares one, locks. Nanoseconds.
 */
#pragma once

#include <stdint.h>

#define ROOM_WHOLE 65535u
#define ROOM_HELD 32

struct room {
	struct room_use {
		int64_t start_ns, end_ns;
		uint32_t share; /* of ROOM_WHOLE; 0: nobody */
	} held[ROOM_HELD];
	int64_t free_ns; /* from here on nobody holds any of it */
};

/* How much 0 <= part <= 1 of a room is. */
uint32_t room_share(double part);

/* Takes `share` of the room for duration_ns at ready_ns or later; the start. */
int64_t room_take(struct room *r, int64_t ready_ns, int64_t duration_ns, uint32_t share);
