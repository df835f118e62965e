/* SPDX-License-Identifier: Apache-2.0 */

/* Times of operations (doc/design/capture.md, Device times).
 *
 * An event is recorded after each operation, in a slot of the stream's queue. Its time is the end
 * of the operation, and the earliest start of the next operation on the stream. If the stream has
 * waited for something else in between, another event, a mark, is recorded before the operation.
 *
 * The path of an operation: begin_op() finds the stream in the thread's cache and records a mark if
 * needed; put_op() takes a slot, records its event, and publishes it. The library's thread does the
 * rest (collect.h). Both functions take no lock, allocate nothing and make no system call, with the
 * exceptions of streams.h.
 */
#include "capture/library/times/times.h"

#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ring.h"
#include "capture/library/times/collect.h"
#include "capture/library/times/streams.h"
#include "formats/raw/ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BIT(class) (1ull << API_CLASS_##class)
#define OPERATIONS (BIT(LAUNCH) | BIT(COPY) | BIT(SET) | BIT(GRAPH_LAUNCH) | BIT(HOST_CALL))

static bool is_on; /* relaxed: streams are found with a lock, or in the thread's own cache */

static bool is_op(const struct cap_call *c)
{
	return 1ull << c->class & OPERATIONS;
}

static bool load_flag(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* Does not write an unchanged value: other threads keep their copy of the cache line. */
static void store_flag(bool *flag, bool value)
{
	if (load_flag(flag) != value)
		__atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

/* ---- operations that cannot start before the previous one ends */

static uint32_t legacy_ops(const struct cap_stream *s)
{
	return __atomic_load_n(&s->context->legacy_ops, __ATOMIC_RELAXED);
}

/* Something was put on the stream. */
static void note_put(struct cap_stream *s)
{
	struct cap_timed_context *c = s->context;
	uint32_t n;

	if (!s->waits)
		return;
	if (s->stream == CU_LEGACY_STREAM) {
		__atomic_fetch_add(&c->legacy_ops, 1, __ATOMIC_RELAXED);
		return;
	}
	store_flag(&c->blocking_ran, true);
	n = legacy_ops(s);
	if (__atomic_load_n(&s->legacy_ops, __ATOMIC_RELAXED) != n)
		__atomic_store_n(&s->legacy_ops, n, __ATOMIC_RELAXED);
}

/* Returns true if the start of the next operation on the stream is unknown: the end of the last one
 * is unknown, or the stream waits for other streams that have been used since. */
static bool is_stale(struct cap_stream *s)
{
	bool others = false;

	if (s->stream == CU_LEGACY_STREAM) {
		others = load_flag(&s->context->blocking_ran);
		store_flag(&s->context->blocking_ran, false);
	} else if (s->waits) {
		others = __atomic_load_n(&s->legacy_ops, __ATOMIC_RELAXED) != legacy_ops(s);
	}
	return others || !load_flag(&s->end_known);
}

/* Records an event before the next operation. */
static void put_mark(struct cap_stream *s)
{
	struct cap_timed_op *op = cap_stream_reserve_op(s);
	bool recorded;

	store_flag(&s->end_known, false);
	if (!op)
		return;
	__atomic_fetch_add(&s->n_marks, 1, __ATOMIC_RELAXED);
	recorded = cap_cu.cuEventRecord(op->event, s->stream) == 0;
	op->what = recorded ? CAP_TIMED_MARK : CAP_TIMED_NO_MARK;
	cap_timed_publish(op);
	store_flag(&s->end_known, recorded);
}

/* ---- operations */

/* The stream of an operation; NULL: the operation is not timed. */
static struct cap_stream *begin_op(const struct cap_stream_ref *ref)
{
	struct cap_stream *s = cap_stream_ref_is_capturing(ref) ? NULL : cap_streams_find(ref);

	if (s && is_stale(s))
		put_mark(s);
	return s;
}

/* `start` of a call of the calling thread. */
static void set_issued(struct cap_timed_op *op, uint64_t start)
{
	uint32_t clock = cap_self.clock;

	op->issued = start;
	op->is_ticks = clock == CAP_CLOCK_TSC;
	/* The thread's ring was made before the emulated clock was found. */
	if (clock != CAP_CLOCK_VIRTUAL && cap_is_emulated()) {
		op->issued = (uint64_t)cap_now_ns();
		op->is_ticks = false;
	}
}

/* Adds an operation that a call, which began at `start`, put on a stream. may_wait: the call may
 * have waited for the operation. */
static void put_op(struct cap_stream *s, uint64_t id, uint64_t start, bool may_wait)
{
	struct cap_timed_op *op = cap_stream_reserve_op(s);

	if (!op) {
		cap_times_count_missed();
		store_flag(&s->end_known, false);
		return;
	}
	op->id = id;
	set_issued(op, start);
	if (may_wait)
		op->done_ns = cap_now_ns();
	if (cap_cu.cuEventRecord(op->event, s->stream))
		op->what = CAP_TIMED_LOST;
	else
		op->what = may_wait ? CAP_TIMED_RETURN : CAP_TIMED_EVENT;
	store_flag(&s->end_known, op->what == CAP_TIMED_EVENT);
	cap_timed_publish(op);
	note_put(s);
}

struct cap_stream *cap_times_before_launch(void *stream, bool per_thread)
{
	struct cap_stream *s;
	struct cap_stream_ref ref;
	int kept = errno;

	cap_self.hooking++;
	cap_stream_ref_from_handle(stream, per_thread, &ref);
	s = begin_op(&ref);
	cap_self.hooking--;
	errno = kept;
	return s;
}

void cap_times_after_launch(struct cap_stream *s, uint64_t id, uint64_t start)
{
	int kept = errno;

	cap_self.hooking++;
	put_op(s, id, start, false);
	cap_self.hooking--;
	errno = kept;
}

void cap_times_interrupt(const struct cap_stream_ref *ref)
{
	struct cap_stream *s;

	if (!load_flag(&is_on) || !(s = cap_streams_find(ref)))
		return;
	store_flag(&s->end_known, false);
	note_put(s);
}

/* ---- ends of streams and contexts */

static bool has_times(void *context)
{
	return cap_streams_outstanding(context) == 0;
}

/* Events are destroyed with their context: outstanding ones must be collected before. */
static void before_end(struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *stream = api_arg_of(call, API_MEANING_STREAM);
	struct cap_timed_context *context;
	const void *handle;

	if (stream) {
		cap_streams_end((const void *)(uintptr_t)c->words[stream->word]);
		return;
	}
	handle = cap_context_to_destroy(c, call);
	context = handle ? cap_streams_find_context(handle) : NULL;
	if (!context || !cap_device_clock_has_state(&context->clock, CAP_CLOCK_LIVE))
		return;
	cap_collector_await(has_times, context);
	cap_device_clock_end(&context->clock);
	c->notes.ending = context;
}

static void after_end(const struct cap_call *c, const struct api_call *call)
{
	struct cap_timed_context *context = c->notes.ending;
	bool has_ended;

	if (!context)
		return;
	has_ended = cap_context_is_destroyed(c, call);
	cap_device_clock_ended(&context->clock, has_ended);
	if (has_ended)
		cap_streams_end_context(context);
}

/* ---- the hook */

static void times_before(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	struct cap_stream_ref ref;

	if (call && c->class == API_CLASS_DESTROY)
		before_end(c, call);
	if (!call || !is_op(c) || c->paused)
		return;
	cap_stream_ref_no_context(c, call, &ref);
	c->notes.stream = begin_op(&ref);
}

/* Returns true if the call may have waited for the operation: it has no stream argument. Copies to
 * the host wait; memsets and copies within a device do not; others wait for part of the copy. */
static bool may_wait(const struct cap_call *c, const struct api_call *call)
{
	return 1ull << c->class & (BIT(COPY) | BIT(SET)) && !api_arg_of(call, API_MEANING_STREAM);
}

/* The stream does something other than an operation: the start of the next one is unknown. */
static void interrupt_stream(const struct cap_call *c, const struct api_call *call)
{
	struct cap_stream_ref ref;

	cap_stream_ref_from_call(c, call, &ref);
	if (ref.context && !cap_stream_ref_is_capturing(&ref))
		cap_times_interrupt(&ref);
}

static void times_after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (call && c->class == API_CLASS_DESTROY)
		after_end(c, call);
	else if (!call || c->result != 0)
		return;
	else if (c->notes.stream)
		put_op(c->notes.stream, c->id, c->start, may_wait(c, call));
	else if (!c->paused && call->library == API_LIBRARY_CUDA && !is_op(c))
		interrupt_stream(c, call);
}

static void put_residual(void)
{
	uint64_t unended = cap_streams_outstanding(NULL);
	char text[200];
	int64_t residual_ns;
	double rate;

	cap_streams_drift(&residual_ns, &rate);
	snprintf(text, sizeof(text),
		 "{\"residual_ns\": %lld, \"drift_ppb\": %.0f, \"untimed\": %llu"
		 ", \"unended\": %llu}",
		 (long long)residual_ns, rate * 1e9,
		 (unsigned long long)(cap_times_missed() + unended), (unsigned long long)unended);
	cap_put_fact("device_times", text, strlen(text));
}

static int start_times(void)
{
	int r;

	if (!cap_control()->device_times)
		return -ENOTSUP;
	r = cap_cu_load();
	if (r < 0)
		return r;
	cap_times_collect_begin();
	r = cap_collector_add(cap_times_collect);
	if (r < 0)
		return r;
	__atomic_store_n(&is_on, true, __ATOMIC_RELAXED);
	return 0;
}

const struct cap_hook cap_times = {
	.classes = OPERATIONS | BIT(EVENT_WAIT) | BIT(MEMORY_OP) | BIT(DESTROY),
	.always = BIT(DESTROY),
	.launches = CAP_LAUNCH_TIMED,
	.start = start_times,
	.before = times_before,
	.after = times_after,
	.thread_end = cap_streams_end_thread,
	.ended = put_residual,
};
