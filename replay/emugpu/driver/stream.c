/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/stream.h"
#include "base/array.h"
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/logs.h"
#include "replay/emugpu/driver/observed.h"
#include <gpuemu.h>

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x53747265u

/* Per-thread default streams, by context. */
struct thread_stream {
	struct emu_context *context;
	struct emu_stream *stream;
};
static __thread struct thread_stream thread_streams[EMU_DEVICES];

int emu_stream_new(struct emu_context *c, unsigned flags, int priority, struct emu_stream **ret)
{
	scoped(free_ptr) struct emu_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->magic = MAGIC;
	s->flags = flags;
	s->priority = priority;
	s->id = emu_new_id();
	s->context = c;
	s->track = (struct emu_track){.device = c->device, .context = c, .stream = s->id};
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	pthread_mutex_lock(&c->lock);
	s->next = c->streams;
	c->streams = s;
	pthread_mutex_unlock(&c->lock);
	*ret = take(s);
	return 0;
}

/* The calling thread's own default stream. */
static CUresult thread_stream(struct emu_context *c, struct emu_stream **ret)
{
	struct thread_stream *t = thread_streams;

	while (t->context && t->context != c && t < thread_streams + EMU_DEVICES - 1)
		t++;
	if (t->context != c) {
		if (emu_stream_new(c, CU_STREAM_DEFAULT, 0, &t->stream) < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
		t->context = c;
	}
	*ret = t->stream;
	return CUDA_SUCCESS;
}

CUresult emu_stream_of(struct emu_thread *self, CUstream handle, struct emu_stream **ret)
{
	struct emu_context *c;
	struct emu_stream *s = (struct emu_stream *)handle;

	if (emu_is_over())
		return CUDA_ERROR_DEINITIALIZED;
	if ((uintptr_t)handle > 2) {
		if (!emu_is_alive(s->magic, MAGIC, "stream"))
			return CUDA_ERROR_INVALID_HANDLE;
		*ret = s;
		return emu_context_error(s->context);
	}
	CUresult r = emu_current(self, &c);
	if (r)
		return r;
	if (handle == CU_STREAM_PER_THREAD || (!handle && emu_per_thread))
		return thread_stream(c, ret);
	*ret = c->null_stream;
	return CUDA_SUCCESS;
}

/* ---- the stream's worker thread ---- */

static struct emu_op *pop_op(struct emu_stream *s)
{
	struct emu_op *op = s->head;

	if (op) {
		s->head = op->next;
		if (!s->head)
			s->tail = &s->head;
		if (s->ahead.unseen == op) {
			s->ahead.unseen = op->next;
			s->ahead.posted = NULL;
		}
	}
	return op;
}

/* Posts the op taken from the queue, unless already posted, and the ops that may follow it. */
static void post_op(struct emu_stream *s, struct emu_op *op)
{
	pthread_mutex_lock(&s->lock);
	if (!op->posted && emu_post(s, op, NULL, s->track.tail_ns))
		emu_post_after(s, op);
	emu_post_queued(s);
	pthread_mutex_unlock(&s->lock);
}

/* Resets s->ahead.posted if it is the op, whose arguments are about to be freed. */
static void forget_op(struct emu_stream *s, const struct emu_op *op)
{
	pthread_mutex_lock(&s->lock);
	if (s->ahead.posted == op)
		s->ahead.posted = NULL;
	pthread_mutex_unlock(&s->lock);
}

/* Marks the worker as idle; with the lock held. */
static void become_idle(struct emu_stream *s)
{
	s->pending = 0;
	__atomic_add_fetch(&s->rests, 1, __ATOMIC_RELEASE);
	if (s->watched)
		syscall(SYS_futex, &s->rests, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	s->watched = 0;
}

/* A thread that waits for the last op must find the stream idle when it wakes, so that its next op
 * runs in the submitting thread and not here. */
static void run_worker(struct emu_stream *s, struct emu_op *op)
{
	int marks = op->type == &emu_record_type;

	if (marks)
		pthread_mutex_lock(&s->lock);
	emu_op_run(op, &s->track);
	if (marks) {
		if (!s->head)
			become_idle(s);
		pthread_mutex_unlock(&s->lock);
	}
}

static void *work(void *arg)
{
	struct emu_stream *s = arg;
	struct emu_op *op;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!(op = pop_op(s)) && !s->closing) {
			if (s->pending)
				become_idle(s);
			pthread_cond_wait(&s->wake, &s->lock);
		}
		if (!op)
			break;
		pthread_mutex_unlock(&s->lock);
		for (unsigned i = 0; i < op->n_deps; i++)
			op->ready_ns = moment_wait(op->ready_ns, emu_dep_wait(&op->deps[i]), 0);
		if (op->type->post)
			post_op(s, op);
		run_worker(s, op);
		if (op->type->post)
			forget_op(s, op);
		emu_op_done(op);
		pthread_mutex_lock(&s->lock);
		op->next = s->spare;
		s->spare = op;
	}
	pthread_mutex_unlock(&s->lock);
	while ((op = s->spare)) {
		s->spare = op->next;
		free(op);
	}
	free(s);
	return NULL;
}

/* With the lock held. */
static CUresult queue_op(struct emu_stream *s, struct emu_op *op)
{
	struct emu_op *kept = s->spare ? s->spare : malloc(sizeof(*kept));
	pthread_t thread;

	if (!kept)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (s->spare)
		s->spare = kept->next;
	if (!s->has_worker) {
		if (pthread_create(&thread, NULL, work, s) != 0) {
			free(kept);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		pthread_detach(thread);
		s->has_worker = 1;
	}
	*kept = *op;
	kept->next = NULL;
	*s->tail = kept;
	s->tail = &kept->next;
	s->pending = 1;
	if (kept->posted)
		emu_post_after(s, kept);
	else if (!s->ahead.unseen)
		s->ahead.unseen = kept;
	emu_post_queued(s);
	pthread_cond_signal(&s->wake);
	return CUDA_SUCCESS;
}

/* ---- submitting ---- */

static int add_dep(struct emu_op *op, struct emu_dep d)
{
	size_t cap = op->n_deps;

	if (!d.point || emu_point_reached(d.point)) {
		op->ready_ns = moment_wait(op->ready_ns, emu_dep_wait(&d), 0);
		return 0;
	}
	if (array_reserve(&op->deps, op->n_deps + 1, &cap) < 0)
		return -ENOMEM;
	op->deps[op->n_deps++] = d;
	return 0;
}

/* Returns 1 if the stream was ever used. While an op is pending, only the worker may use the
 * track. */
static int was_used(struct emu_stream *s)
{
	int used;

	pthread_mutex_lock(&s->lock);
	used = s->pending || s->track.tail_ns;
	pthread_mutex_unlock(&s->lock);
	return used;
}

/* The end of the ops submitted so far. */
static struct emu_dep stream_tail(struct emu_stream *s)
{
	struct emu_dep d = {0};
	struct emu_op op = {.type = &emu_record_type};

	pthread_mutex_lock(&s->lock);
	if (!s->pending) {
		d.end_ns = s->track.tail_ns;
	} else if ((d.point = emu_point_new())) {
		op.point = d.point;
		op.issued_ns = MOMENT_NEVER;
		d.point->refs = 2;
		if (queue_op(s, &op)) {
			emu_point_drop(d.point);
			emu_point_drop(take(d.point));
		}
	}
	pthread_mutex_unlock(&s->lock);
	return d;
}

/* Adds the implicit waits between the null stream and other streams. */
static int legacy_deps(struct emu_stream *s, struct emu_op *op)
{
	struct emu_context *c = s->context;
	int r = 0;

	if (s->flags & CU_STREAM_NON_BLOCKING)
		return 0;
	if (s != c->null_stream) {
		struct emu_stream *n = c->null_stream;

		return was_used(n) ? add_dep(op, stream_tail(n)) : 0;
	}
	pthread_mutex_lock(&c->lock);
	for (struct emu_stream *o = c->streams; o && r == 0; o = o->next)
		if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING) && !o->capture)
			r = add_dep(op, stream_tail(o));
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* The op must wait, but its arguments cannot be copied: finish all earlier ops now. */
static void wait_inline(struct emu_stream *s, struct emu_op *op)
{
	struct emu_dep tail = stream_tail(s);

	emu_dep_wait(&tail);
	for (unsigned i = 0; i < op->n_deps; i++)
		op->ready_ns = moment_wait(op->ready_ns, emu_dep_wait(&op->deps[i]), 0);
	op->n_deps = 0;
}

/* Returns 1 if the op would block, and can be deferred; with the lock held. */
static int would_wait(struct emu_stream *s, struct emu_op *op)
{
	return s->pending || op->n_deps ||
	       emu_post(s, op, NULL, s->track.tail_ns) != GPUEMU_ALL_ARRIVED;
}

CUresult emu_submit(struct emu_thread *self, struct emu_stream *s, struct emu_op *op)
{
	CUresult r = CUDA_SUCCESS;
	int owned = 1;

	if (s->capture)
		return emu_capture_add(s, op);
	op->issued_ns = self->now_ns;
	op->correlation = emu_observed_call();
	if (legacy_deps(s, op) < 0) {
		emu_op_done(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	int blocks = op->type->blocks && op->type->blocks(op);

	pthread_mutex_lock(&s->lock);
	if (s->pending || op->n_deps || blocks) {
		owned = op->type->own ? op->type->own(op) : 1;
		if (owned == 0) {
			pthread_mutex_unlock(&s->lock);
			wait_inline(s, op);
			pthread_mutex_lock(&s->lock);
		}
		if (owned < 0 || (owned > 0 && would_wait(s, op))) {
			r = owned < 0 ? CUDA_ERROR_OUT_OF_MEMORY : queue_op(s, op);
			pthread_mutex_unlock(&s->lock);
			if (r)
				emu_op_done(op);
			return r;
		}
	}
	emu_op_run(op, &s->track);
	pthread_mutex_unlock(&s->lock);
	emu_op_done(op);
	/* An op that can block reports errors later, even if it did not block. */
	return blocks ? CUDA_SUCCESS : emu_context_error(s->context);
}

CUresult emu_stream_wait(struct emu_thread *self, struct emu_stream *s)
{
	struct emu_dep d = stream_tail(s);

	emu_wait(self, emu_dep_wait(&d), (int64_t)s->track.device->model.sync_ns);
	return emu_context_error(s->context);
}

CUresult emu_context_wait(struct emu_thread *self, struct emu_context *c)
{
	struct emu_op all = {.type = &emu_wait_type};

	pthread_mutex_lock(&c->lock);
	for (struct emu_stream *s = c->streams; s; s = s->next)
		add_dep(&all, stream_tail(s));
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < all.n_deps; i++)
		all.ready_ns = moment_wait(all.ready_ns, emu_dep_wait(&all.deps[i]), 0);
	free(all.deps);
	emu_wait(self, all.ready_ns, (int64_t)c->device->model.sync_ns);
	return emu_context_error(c);
}

/* ---- the public functions ---- */

EMU_API CUresult cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_context *c;
	struct emu_stream *s;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (!ret || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	if (emu_stream_new(c, flags, priority, &s) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = (CUstream)s;
	return CUDA_SUCCESS;
}

/* Submitted operations still run. */
EMU_API CUresult cuStreamDestroy_v2(CUstream handle)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s, **at;
	CUresult r = emu_stream_of(self, handle, &s);

	if (r)
		return r;
	if ((uintptr_t)handle <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&s->context->lock);
	for (at = &s->context->streams; *at && *at != s; at = &(*at)->next)
		;
	if (*at)
		*at = s->next;
	pthread_mutex_unlock(&s->context->lock);

	pthread_mutex_lock(&s->lock);
	int has_worker = s->has_worker;
	s->magic = 0;
	s->closing = 1;
	free(s->fronts);
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (!has_worker)
		free(s);
	return CUDA_SUCCESS;
}

/* Returns the stream to query or wait for; an error if it is in capture. */
static CUresult stream_to_query(struct emu_thread *self, CUstream handle, struct emu_stream **ret)
{
	CUresult r = emu_stream_of(self, handle, ret);

	return r || !(*ret)->capture ? r : emu_capture_invalidate(*ret);
}

EMU_API CUresult cuStreamSynchronize(CUstream handle)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_stream *s;
	CUresult r = stream_to_query(self, handle, &s);

	if (r)
		return r;
	emu_observe_wait(EMU_WAIT_STREAM, s->context, s->id);
	if (s == s->context->null_stream && !(uintptr_t)handle) {
		/* The null stream ends after all streams that it waits for. */
		struct emu_op op = {.type = &emu_wait_type};

		r = emu_submit(self, s, &op);
	}
	return r ? r : emu_stream_wait(self, s);
}

/* Waits briefly for the worker; releases the lock meanwhile. */
static void wait_for_rest(struct emu_stream *s)
{
	struct timespec most = {0, EMU_POLL_NS};
	uint32_t seen = s->rests;

	s->watched = 1;
	pthread_mutex_unlock(&s->lock);
	syscall(SYS_futex, &s->rests, FUTEX_WAIT_PRIVATE, seen, &most, NULL, 0);
	pthread_mutex_lock(&s->lock);
}

EMU_API CUresult cuStreamQuery(CUstream handle)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_stream *s;
	CUresult r = stream_to_query(self, handle, &s);

	if (r)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->pending && !self->paused && self->polls++ >= EMU_POLLS)
		wait_for_rest(s);
	if (!s->pending)
		self->polls = 0;
	int done = !s->pending && emu_poll(self, s->track.tail_ns);
	pthread_mutex_unlock(&s->lock);
	return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EMU_API CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;
	struct emu_event *e = (struct emu_event *)event;
	struct emu_op op = {.type = &emu_wait_type};
	CUresult r = emu_stream_of(self, handle, &s);

	if (r)
		return r;
	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	emu_observe_wait(EMU_WAIT_STREAM_EVENT, s->context, s->id);
	if (e->shared)
		return emu_submit_shared(self, s, e->shared, 0);
	if (e->capture || s->capture)
		return emu_capture_wait(s, e);

	struct emu_dep d = emu_event_dep(e);
	if (!d.point && d.end_ns == 0)
		return CUDA_SUCCESS;
	d.lag_ns = (int64_t)s->track.device->model.event_ns;
	if (add_dep(&op, d) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return emu_submit(self, s, &op);
}
