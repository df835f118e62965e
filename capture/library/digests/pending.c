/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/pending.h"

#include "base/array.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/batch.h"
#include "capture/library/find/cu.h"

#include <pthread.h>

#define MOST_BUFFERS 4096 /* of a stream, before they are launched anyway */

struct stream {
	struct cap_stream_ref ref;
	struct cap_buffer *buffers;
	size_t n, cap;
};

static struct {
	pthread_mutex_t lock;
	struct stream *streams;
	size_t n, cap;
	unsigned any; /* streams with buffers */
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_empty(void)
{
	return __atomic_load_n(&pending.any, __ATOMIC_ACQUIRE) == 0;
}

/* With the lock held. */
static struct stream *find_stream(const struct cap_stream_ref *ref)
{
	struct stream *s;

	for (size_t i = 0; i < pending.n; i++)
		if (cap_stream_ref_equal(&pending.streams[i].ref, ref))
			return &pending.streams[i];
	if (array_reserve(&pending.streams, pending.n + 1, &pending.cap) < 0)
		return NULL;
	s = &pending.streams[pending.n++];
	*s = (struct stream){.ref = *ref};
	return s;
}

/* With the lock held. Digests pending on the per-thread stream of another thread remain until that
 * thread flushes; those on a stream in capture, until the capture has ended. */
static void launch_stream(struct stream *s)
{
	int entered;

	if (!cap_stream_ref_is_reachable(&s->ref))
		return;
	entered = cap_context_enter(s->ref.context);
	if (cap_stream_ref_is_capturing(&s->ref)) {
		cap_context_leave(entered);
		return;
	}
	cap_batch_launch(&s->ref, s->buffers, s->n);
	cap_context_leave(entered);
	s->n = 0;
	__atomic_sub_fetch(&pending.any, 1, __ATOMIC_RELEASE);
}

void cap_pending_add(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n)
{
	struct stream *s;

	if (n == 0)
		return;
	pthread_mutex_lock(&pending.lock);
	s = find_stream(ref);
	if (s && array_reserve(&s->buffers, s->n + n, &s->cap) == 0) {
		if (s->n == 0)
			__atomic_add_fetch(&pending.any, 1, __ATOMIC_RELEASE);
		memcpy(s->buffers + s->n, buffers, n * sizeof(*buffers));
		s->n += n;
		if (s->n >= MOST_BUFFERS)
			launch_stream(s);
	}
	pthread_mutex_unlock(&pending.lock);
}

/* Returns 1 if operations on stream `ref` may follow operations on `s`, in the order of the
 * device. */
static int stream_follows(const struct cap_stream_ref *ref, const struct stream *s)
{
	if (!ref || ref->stream == CU_LEGACY_STREAM || s->ref.stream == CU_LEGACY_STREAM)
		return 1;
	return cap_stream_ref_equal(ref, &s->ref);
}

void cap_pending_flush(const struct cap_stream_ref *ref)
{
	if (is_empty())
		return;
	pthread_mutex_lock(&pending.lock);
	for (size_t i = 0; i < pending.n; i++)
		if (pending.streams[i].n > 0 && stream_follows(ref, &pending.streams[i]))
			launch_stream(&pending.streams[i]);
	pthread_mutex_unlock(&pending.lock);
}

static int any_overlaps(const struct stream *s, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->buffers[i].address < address + bytes &&
		    address < s->buffers[i].address + s->buffers[i].bytes)
			return 1;
	return 0;
}

void cap_pending_flush_range(uint64_t address, uint64_t bytes)
{
	if (is_empty())
		return;
	pthread_mutex_lock(&pending.lock);
	for (size_t i = 0; i < pending.n; i++)
		if (any_overlaps(&pending.streams[i], address, bytes))
			launch_stream(&pending.streams[i]);
	pthread_mutex_unlock(&pending.lock);
}
