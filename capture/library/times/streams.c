/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/streams.h"

#include "capture/library/device/contexts.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/ring.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define SPARE 8 /* free chunks of a context */

static struct {
	pthread_mutex_t lock;
	struct cap_timed_context *contexts; /* with the lock */
	struct cap_stream *streams;	    /* atomic: publishes entries, added at the front */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- contexts, with the lock held */

static struct cap_timed_context *known_context(const void *handle)
{
	struct cap_timed_context *c = self.contexts;

	while (c && (c->clock.context != handle ||
		     cap_device_clock_has_state(&c->clock, CAP_CLOCK_ENDED)))
		c = c->next;
	return c;
}

static struct cap_timed_context *context_of(void *handle)
{
	struct cap_timed_context *c = known_context(handle);

	if (!c && (c = calloc(1, sizeof(*c)))) {
		cap_device_clock_begin(&c->clock, handle);
		c->next = self.contexts;
		self.contexts = c;
	}
	return c && !cap_device_clock_has_state(&c->clock, CAP_CLOCK_BROKEN) ? c : NULL;
}

struct cap_timed_context *cap_streams_find_context(const void *handle)
{
	struct cap_timed_context *c;

	pthread_mutex_lock(&self.lock);
	c = known_context(handle);
	pthread_mutex_unlock(&self.lock);
	return c;
}

void cap_streams_drift(int64_t *ret_residual_ns, double *ret_rate)
{
	*ret_residual_ns = 0;
	*ret_rate = 0;
	pthread_mutex_lock(&self.lock);
	for (const struct cap_timed_context *c = self.contexts; c; c = c->next) {
		int64_t residual = __atomic_load_n(&c->clock.residual_ns, __ATOMIC_RELAXED);
		double rate;

		__atomic_load(&c->clock.rate, &rate, __ATOMIC_RELAXED);
		*ret_residual_ns = residual > *ret_residual_ns ? residual : *ret_residual_ns;
		*ret_rate = fabs(rate) > fabs(*ret_rate) ? rate : *ret_rate;
	}
	pthread_mutex_unlock(&self.lock);
}

/* ---- chunks */

/* Events were destroyed if their context was. */
static void free_chunk(const struct cap_timed_context *c, struct cap_op_chunk *chunk)
{
	bool has_events = !cap_device_clock_has_state(&c->clock, CAP_CLOCK_ENDED);

	for (unsigned i = 0; chunk && has_events && i < CAP_OPS_PER_CHUNK; i++)
		if (chunk->ops[i].event)
			cap_cu.cuEventDestroy_v2(chunk->ops[i].event);
	free(chunk);
}

/* Makes a chunk with an event for each operation, in the given context, since events can be
 * recorded on streams of their context only. NULL if out of memory. */
static struct cap_op_chunk *new_chunk(const struct cap_timed_context *c)
{
	struct cap_op_chunk *chunk = calloc(1, sizeof(*chunk));
	int mode = cap_cu_relax_begin(), entered = cap_context_enter(c->clock.context), r = 0;

	for (unsigned i = 0; chunk && i < CAP_OPS_PER_CHUNK && r == 0; i++)
		if ((r = cap_cu.cuEventCreate(&chunk->ops[i].event, 0)))
			chunk->ops[i].event = NULL;
	if (r) {
		free_chunk(c, chunk);
		chunk = NULL;
	}
	cap_context_leave(entered);
	cap_cu_relax_end(mode);
	return chunk;
}

/* With the lock held. */
static struct cap_op_chunk *take_spare(struct cap_timed_context *c)
{
	struct cap_op_chunk *chunk = c->spare;

	if (chunk) {
		c->spare = chunk->next;
		c->n_spare--;
	}
	return chunk;
}

static void put_spare(struct cap_timed_context *c, struct cap_op_chunk *chunk)
{
	if (cap_device_clock_has_state(&c->clock, CAP_CLOCK_ENDED)) {
		free_chunk(c, chunk);
		return;
	}
	chunk->next = c->spare;
	c->spare = chunk;
	c->n_spare++;
}

/* Adds a chunk to the stream's queue, a spare one if available. Returns 0, or -errno. */
static int add_chunk(struct cap_stream *s)
{
	struct cap_timed_context *c = s->context;
	struct cap_op_chunk *chunk;
	int r;

	pthread_mutex_lock(&self.lock);
	chunk = take_spare(c);
	pthread_mutex_unlock(&self.lock);
	if (!chunk && !(chunk = new_chunk(c)))
		return -ENOMEM;
	pthread_mutex_lock(&self.lock);
	r = cap_op_queue_add(&s->queue, chunk);
	if (r < 0)
		put_spare(c, chunk);
	pthread_mutex_unlock(&self.lock);
	return r;
}

static __attribute__((noinline)) struct cap_timed_op *take_new(struct cap_stream *s)
{
	struct cap_timed_op *op = NULL;

	cap_clock_pause();
	while (!op && add_chunk(s) == 0)
		op = cap_op_queue_reserve(&s->queue);
	cap_clock_resume();
	return op;
}

struct cap_timed_op *cap_stream_reserve_op(struct cap_stream *s)
{
	struct cap_timed_op *op = cap_op_queue_reserve(&s->queue);

	return likely(op) ? op : take_new(s);
}

/* ---- streams */

/* The streams that a thread used recently. The handle selects WAYS of CACHED entries. For a default
 * stream, whose handle is the same in each context, the context is compared, too. */
#define CACHED 64
#define WAYS 4
struct cached {
	void *stream, *context;
	struct cap_stream *found; /* NULL: the entry is empty */
	uint32_t generation;
};
static __thread struct cached cache[CACHED] CAP_THREAD_LOCAL;

static struct cached *cache_entry(const void *stream, const void *context, unsigned way)
{
	uintptr_t key = ((uintptr_t)stream ^ (uintptr_t)context) * UINT64_C(0x9e3779b97f4a7c15);

	return &cache[((key >> 58) + way) % CACHED];
}

static bool is_valid(const struct cached *c)
{
	return c->found &&
	       c->generation == __atomic_load_n(&c->found->generation, __ATOMIC_ACQUIRE);
}

static void add_cached(void *stream, void *context, struct cap_stream *s)
{
	static __thread unsigned turn CAP_THREAD_LOCAL;
	struct cached *c = NULL;

	for (unsigned i = 0; i < WAYS && !(c && !is_valid(c)); i++)
		c = cache_entry(stream, context, i);
	if (is_valid(c))
		c = cache_entry(stream, context, turn++ % WAYS);
	*c = (struct cached){stream, context, s, __atomic_load_n(&s->generation, __ATOMIC_ACQUIRE)};
}

/* With the lock held: returns a free stream, or a new one. */
static struct cap_stream *free_stream(void)
{
	struct cap_stream *s = self.streams;

	while (s && s->state != CAP_STREAM_FREE)
		s = s->next;
	if (s || !(s = calloc(1, sizeof(*s))))
		return s;
	cap_op_queue_init(&s->queue, cap_control()->device_times);
	s->next = self.streams;
	__atomic_store_n(&self.streams, s, __ATOMIC_RELEASE);
	return s;
}

/* With the lock held. */
static struct cap_stream *begin_stream(struct cap_timed_context *context,
				       const struct cap_stream_ref *ref)
{
	struct cap_stream *s = free_stream();
	unsigned flags = 0;

	if (!s)
		return NULL;
	s->context = context;
	s->stream = ref->stream;
	s->thread = ref->thread;
	s->waits = cap_stream_is_default(ref->stream) ||
		   cap_cu.cuStreamGetFlags(ref->stream, &flags) != 0 || !(flags & CU_NON_BLOCKING);
	__atomic_store_n(&s->end_known, false, __ATOMIC_RELAXED);
	__atomic_store_n(&s->legacy_ops, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->n_marks, 0, __ATOMIC_RELAXED);
	s->end_ns = INT64_MIN;
	s->peak = 0;
	__atomic_store_n(&s->state, CAP_STREAM_LIVE, __ATOMIC_RELEASE);
	return s;
}

/* With the lock held. */
static struct cap_stream *live_stream(const struct cap_stream_ref *ref)
{
	struct cap_stream *s = self.streams;

	for (; s; s = s->next)
		if (s->state == CAP_STREAM_LIVE && s->stream == ref->stream &&
		    s->thread == ref->thread &&
		    (!cap_stream_is_default(ref->stream) ||
		     s->context->clock.context == ref->context))
			break;
	return s;
}

static __attribute__((noinline)) struct cap_stream *find_or_begin(const struct cap_stream_ref *ref)
{
	void *handle = ref->context;
	struct cap_timed_context *context;
	struct cap_stream *s;

	pthread_mutex_lock(&self.lock);
	s = live_stream(ref);
	if (!s && !cap_stream_is_default(ref->stream) &&
	    cap_cu.cuStreamGetCtx(ref->stream, &handle))
		cap_cu.cuCtxGetCurrent(&handle);
	if (!s && handle && (context = context_of(handle)))
		s = begin_stream(context, ref);
	pthread_mutex_unlock(&self.lock);
	return s;
}

struct cap_stream *cap_streams_find(const struct cap_stream_ref *ref)
{
	void *context = cap_stream_is_default(ref->stream) ? ref->context : NULL;
	struct cap_stream *s;

	for (unsigned i = 0; i < WAYS; i++) {
		const struct cached *c = cache_entry(ref->stream, context, i);

		if (c->stream == ref->stream && c->context == context && is_valid(c))
			return c->found;
	}
	s = find_or_begin(ref);
	if (s)
		add_cached(ref->stream, context, s);
	return s;
}

/* With the lock held. */
static void end_stream(struct cap_stream *s)
{
	__atomic_store_n(&s->generation, s->generation + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&s->state, CAP_STREAM_ENDED, __ATOMIC_RELEASE);
}

void cap_streams_end(const void *stream)
{
	pthread_mutex_lock(&self.lock);
	for (struct cap_stream *s = self.streams; s; s = s->next)
		if (s->state == CAP_STREAM_LIVE && s->stream == stream &&
		    !cap_stream_is_default(stream))
			end_stream(s);
	pthread_mutex_unlock(&self.lock);
}

void cap_streams_end_thread(void)
{
	pthread_mutex_lock(&self.lock);
	for (struct cap_stream *s = self.streams; s; s = s->next)
		if (s->state == CAP_STREAM_LIVE && s->thread != 0 &&
		    s->thread == cap_stream_thread())
			end_stream(s);
	pthread_mutex_unlock(&self.lock);
}

void cap_streams_end_context(struct cap_timed_context *context)
{
	pthread_mutex_lock(&self.lock);
	for (struct cap_stream *s = self.streams; s; s = s->next)
		if (s->state == CAP_STREAM_LIVE && s->context == context)
			end_stream(s);
	for (struct cap_op_chunk *chunk; (chunk = take_spare(context));)
		free_chunk(context, chunk);
	pthread_mutex_unlock(&self.lock);
}

uint64_t cap_streams_outstanding(const struct cap_timed_context *context)
{
	uint64_t n = 0;

	pthread_mutex_lock(&self.lock);
	for (const struct cap_stream *s = self.streams; s; s = s->next)
		if (s->state != CAP_STREAM_FREE && (!context || s->context == context))
			n += cap_op_queue_used(&s->queue) -
			     __atomic_load_n(&s->n_marks, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&self.lock);
	return n;
}

/* ---- the library's thread */

struct cap_stream *cap_streams_next(const struct cap_stream *s)
{
	struct cap_stream *next = s ? s->next : __atomic_load_n(&self.streams, __ATOMIC_ACQUIRE);

	while (next && __atomic_load_n(&next->state, __ATOMIC_ACQUIRE) == CAP_STREAM_FREE)
		next = next->next;
	return next;
}

void cap_stream_return_chunk(struct cap_stream *s, struct cap_op_chunk *chunk)
{
	pthread_mutex_lock(&self.lock);
	if (cap_op_queue_add(&s->queue, chunk) < 0)
		put_spare(s->context, chunk);
	pthread_mutex_unlock(&self.lock);
}

/* Allocates spare chunks until there are SPARE of them. */
static void make_spare(struct cap_timed_context *c)
{
	for (;;) {
		struct cap_op_chunk *chunk;
		bool is_wanted;

		pthread_mutex_lock(&self.lock);
		is_wanted = c->n_spare < SPARE;
		pthread_mutex_unlock(&self.lock);
		if (!is_wanted || !(chunk = new_chunk(c)))
			return;
		pthread_mutex_lock(&self.lock);
		put_spare(c, chunk);
		pthread_mutex_unlock(&self.lock);
	}
}

void cap_stream_refill(struct cap_stream *s)
{
	uint64_t wanted = s->peak > CAP_OPS_PER_CHUNK ? s->peak : CAP_OPS_PER_CHUNK;

	pthread_mutex_lock(&self.lock);
	cap_op_queue_refill(&s->queue);
	pthread_mutex_unlock(&self.lock);
	while (cap_op_queue_free(&s->queue) < wanted && add_chunk(s) == 0)
		;
	make_spare(s->context);
}

void cap_stream_free(struct cap_stream *s)
{
	struct cap_op_chunk *chunk;

	pthread_mutex_lock(&self.lock);
	while ((chunk = cap_op_queue_remove_chunk(&s->queue)))
		put_spare(s->context, chunk);
	__atomic_store_n(&s->state, CAP_STREAM_FREE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&self.lock);
}
