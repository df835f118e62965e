/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/pending.h"

#include "base/array.h"
#include "capture/library/device/cu.h"

#include <pthread.h>

#define MOST_BUFFERS 4096 /* of a stream, before they are launched all the same */

struct stream {
	struct cap_place place;
	struct cap_buffer *buffers;
	size_t n, cap;
};

static struct {
	pthread_mutex_t lock;
	struct stream *streams;
	size_t n, cap;
	unsigned any; /* streams with buffers */
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int none(void)
{
	return __atomic_load_n(&pending.any, __ATOMIC_ACQUIRE) == 0;
}

/* With the lock held. */
static struct stream *stream_of(const struct cap_place *place)
{
	struct stream *s;

	for (size_t i = 0; i < pending.n; i++)
		if (cap_place_same(&pending.streams[i].place, place))
			return &pending.streams[i];
	if (array_reserve(&pending.streams, pending.n + 1, &pending.cap) < 0)
		return NULL;
	s = &pending.streams[pending.n++];
	*s = (struct stream){.place = *place};
	return s;
}

/* With the lock held. What is pending on another thread's own stream stays until that thread does
 * something; what is on one that is being captured, until it no longer is. */
static void launch(struct stream *s)
{
	int entered;

	if (!cap_place_reachable(&s->place))
		return;
	entered = cap_place_enter(s->place.context);
	if (cap_place_capturing(&s->place)) {
		cap_place_leave(entered);
		return;
	}
	cap_batch_launch(&s->place, s->buffers, s->n);
	cap_place_leave(entered);
	s->n = 0;
	__atomic_sub_fetch(&pending.any, 1, __ATOMIC_RELEASE);
}

void cap_pending_add(const struct cap_place *place, const struct cap_buffer *buffers, size_t n)
{
	struct stream *s;

	if (n == 0)
		return;
	pthread_mutex_lock(&pending.lock);
	s = stream_of(place);
	if (s && array_reserve(&s->buffers, s->n + n, &s->cap) == 0) {
		if (s->n == 0)
			__atomic_add_fetch(&pending.any, 1, __ATOMIC_RELEASE);
		memcpy(s->buffers + s->n, buffers, n * sizeof(*buffers));
		s->n += n;
		if (s->n >= MOST_BUFFERS)
			launch(s);
	}
	pthread_mutex_unlock(&pending.lock);
}

/* Whether work at `place` may follow work on `s`, in the device's order. */
static int follows(const struct cap_place *place, const struct stream *s)
{
	if (!place || place->stream == CU_LEGACY_STREAM || s->place.stream == CU_LEGACY_STREAM)
		return 1;
	return cap_place_same(place, &s->place);
}

void cap_pending_flush(const struct cap_place *place)
{
	if (none())
		return;
	pthread_mutex_lock(&pending.lock);
	for (size_t i = 0; i < pending.n; i++)
		if (pending.streams[i].n > 0 && follows(place, &pending.streams[i]))
			launch(&pending.streams[i]);
	pthread_mutex_unlock(&pending.lock);
}

static int overlaps(const struct stream *s, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->buffers[i].address < address + bytes &&
		    address < s->buffers[i].address + s->buffers[i].bytes)
			return 1;
	return 0;
}

void cap_pending_flush_range(uint64_t address, uint64_t bytes)
{
	if (none())
		return;
	pthread_mutex_lock(&pending.lock);
	for (size_t i = 0; i < pending.n; i++)
		if (overlaps(&pending.streams[i], address, bytes))
			launch(&pending.streams[i]);
	pthread_mutex_unlock(&pending.lock);
}
