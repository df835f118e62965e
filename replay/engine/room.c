/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/room.h"

#include "replay/engine/moment.h"

uint32_t room_share(double part)
{
	double share = part * ROOM_WHOLE;

	return share < 1 ? 1 : share >= ROOM_WHOLE ? ROOM_WHOLE : (uint32_t)share;
}

/* How much is held at a moment. */
static uint32_t held_at(const struct room *r, int64_t at_ns)
{
	uint32_t sum = 0;

	for (int i = 0; i < ROOM_HELD; i++)
		if (r->held[i].start_ns <= at_ns && at_ns < r->held[i].end_ns)
			sum += r->held[i].share;
	return sum;
}

/* Whether `share` is free all the time. What is held grows only where somebody starts. */
static int fits(const struct room *r, int64_t start_ns, int64_t end_ns, uint32_t share)
{
	if (held_at(r, start_ns) + share > ROOM_WHOLE)
		return 0;
	for (int i = 0; i < ROOM_HELD; i++) {
		int64_t at_ns = r->held[i].start_ns;

		if (at_ns > start_ns && at_ns < end_ns && held_at(r, at_ns) + share > ROOM_WHOLE)
			return 0;
	}
	return 1;
}

static int64_t next_end(const struct room *r, int64_t after_ns)
{
	int64_t next = r->free_ns;

	for (int i = 0; i < ROOM_HELD; i++)
		if (r->held[i].end_ns > after_ns && r->held[i].end_ns < next)
			next = r->held[i].end_ns;
	return next;
}

int64_t room_take(struct room *r, int64_t ready_ns, int64_t duration_ns, uint32_t share)
{
	struct room_use *oldest = &r->held[0];
	int64_t start_ns = ready_ns;

	for (int i = 1; i < ROOM_HELD; i++)
		if (r->held[i].end_ns < oldest->end_ns)
			oldest = &r->held[i];
	while (start_ns < r->free_ns &&
	       !fits(r, start_ns, moment_after(start_ns, duration_ns), share))
		start_ns = next_end(r, start_ns);
	*oldest = (struct room_use){start_ns, moment_after(start_ns, duration_ns), share};
	r->free_ns = moment_wait(r->free_ns, oldest->end_ns, 0);
	return start_ns;
}
