/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/exchange.h"

#include "base/scope.h"
#include "replay/clock/moment.h"
#include "replay/emugpu/absent.h"
#include "replay/emugpu/data.h"

#include <errno.h>

/* Progress of a send or receive. */
struct progress {
	uint64_t number; /* number of the message in the channel */
	uint64_t moved;	 /* bytes */
	int64_t start_ns;
	uint8_t posted, matched, done;
};

static struct emu_channel *channel_of(struct emu_segment *s, const struct emu_message *t)
{
	uint32_t me = s->rank;

	return t->receives ? emu_segment_channel(s, t->peer, me)
			   : emu_segment_channel(s, me, t->peer);
}

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Posts this rank's side of the next message of the channel. */
static void post_message(struct emu_channel *c, const struct emu_message *t, struct progress *p,
			 int64_t ready_ns)
{
	uint64_t *mine = t->receives ? &c->receive_messages : &c->send_messages;
	unsigned slot;

	p->number = load(mine);
	slot = p->number % 4;
	(t->receives ? c->receive_ready_ns : c->send_ready_ns)[slot] = ready_ns;
	(t->receives ? c->receive_bytes : c->send_bytes)[slot] = t->bytes;
	if (!t->receives)
		c->send_zeros[slot] = t->bytes > EMU_ABSENT_BYTES &&
				      emu_zero_bytes(t->data, t->bytes) == t->bytes;
	p->posted = 1;
	__atomic_store_n(mine, p->number + 1, __ATOMIC_RELEASE);
}

/* Returns 1 if the other rank has posted its side too, and computes the start of the message. */
static int match_message(const struct emu_channel *c, const struct emu_message *t,
			 struct progress *p, struct emu_mismatch *mismatch)
{
	unsigned slot = p->number % 4;
	const uint64_t *theirs = t->receives ? &c->send_messages : &c->receive_messages;

	if (load(theirs) <= p->number)
		return 0;
	if (c->send_bytes[slot] != c->receive_bytes[slot]) {
		mismatch->sent_bytes = c->send_bytes[slot];
		mismatch->expected_bytes = c->receive_bytes[slot];
		return -EINVAL;
	}
	p->start_ns = moment_wait(c->send_ready_ns[slot], c->receive_ready_ns[slot], 0);
	p->matched = 1;
	return 1;
}

/* Completes a message without sending data, if no data is to be moved. */
static void skip_data(const struct emu_channel *c, const struct emu_message *t, struct progress *p)
{
	int zeros = c->send_zeros[p->number % 4];

	if (emu_moves(t->bytes) && !zeros)
		return;
	if (emu_moves(t->bytes) && t->receives)
		emu_clear(t->data, t->bytes);
	p->moved = t->bytes;
}

/* Copies as much as possible into or out of the ring; returns the bytes. */
static uint64_t copy_ring(struct emu_segment *s, struct emu_channel *c, const struct emu_message *t,
			  struct progress *p)
{
	uint64_t size = s->ring_bytes, left = t->bytes - p->moved;
	uint64_t sent = load(&c->sent), received = load(&c->received);
	uint64_t can = t->receives ? sent - received : size - (sent - received);
	uint64_t at = (t->receives ? received : sent) % size, n = left < can ? left : can;
	uint32_t me = s->rank;
	uint8_t *ring = t->receives ? emu_segment_channel_data(s, t->peer, me)
				    : emu_segment_channel_data(s, me, t->peer);
	uint8_t *data = (uint8_t *)t->data + p->moved;

	if (n > size - at)
		n = size - at;
	if (t->receives)
		memcpy(data, ring + at, n);
	else
		memcpy(ring + at, data, n);
	p->moved += n;
	__atomic_add_fetch(t->receives ? &c->received : &c->sent, n, __ATOMIC_ACQ_REL);
	return n;
}

/* Advances one transfer: 1 if it made progress, 0, or an error. */
static int advance(struct emu_segment *s, const struct emu_message *t, struct progress *p,
		   int64_t ready_ns, struct emu_mismatch *mismatch)
{
	struct emu_channel *c = channel_of(s, t);
	int moved = 0, r;

	if (!p->posted) {
		post_message(c, t, p, ready_ns);
		emu_segment_notify(s, t->peer);
		moved = 1;
	}
	if (!p->matched) {
		r = match_message(c, t, p, mismatch);
		if (r < 0) {
			mismatch->sender = t->receives ? t->peer : s->rank;
			mismatch->receiver = t->receives ? s->rank : t->peer;
		}
		if (r <= 0)
			return r < 0 ? r : moved;
		skip_data(c, t, p);
		moved = 1;
	}
	while (p->moved < t->bytes && copy_ring(s, c, t, p) > 0)
		moved = 2;
	if (moved == 2)
		emu_segment_notify(s, t->peer);
	p->done = p->moved == t->bytes;
	return moved > 0;
}

/* Returns 1 if an earlier message of the same channel in the group is not done: they run in
 * order. */
static int is_busy(const struct emu_message *t, const struct progress *p, uint32_t number)
{
	for (uint32_t i = 0; i < number; i++)
		if (!p[i].done && t[i].peer == t[number].peer &&
		    t[i].receives == t[number].receives)
			return 1;
	return 0;
}

static int check_peers(struct emu_segment *s, const struct emu_message *t, const struct progress *p,
		       uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (!p[i].done)
			r = emu_segment_check(s, t[i].peer);
	return r;
}

int emu_messages(struct emu_segment *s, const struct emu_message *transfers, uint32_t n,
		 int64_t ready_ns, int64_t duration_ns, int64_t *end_ns,
		 struct emu_mismatch *mismatch)
{
	scoped(free_ptr) struct progress *p = calloc(n + 1, sizeof(*p));
	uint32_t left = n;

	if (!p)
		return -ENOMEM;
	*end_ns = moment_after(ready_ns, duration_ns);
	while (left > 0) {
		uint32_t seen = emu_segment_doorbell(s);
		int moved = 0, r;

		for (uint32_t i = 0; i < n; i++) {
			if (p[i].done || is_busy(transfers, p, i))
				continue;
			r = advance(s, &transfers[i], &p[i], ready_ns, mismatch);
			if (r < 0)
				return r;
			moved |= r;
			left -= p[i].done;
			if (p[i].done)
				*end_ns = moment_wait(*end_ns, p[i].start_ns, duration_ns);
		}
		if (moved || left == 0 || emu_segment_wait(s, seen))
			continue;
		r = check_peers(s, transfers, p, n);
		if (r < 0)
			return r;
	}
	return 0;
}
