/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/collect.h"

#include "base/host.h"
#include "capture/library/find/clock.h"
#include "capture/library/ring/put.h"
#include "capture/library/times/streams.h"

#include <errno.h>

#define READINGS 4 /* of two clocks together; the best counts */

static uint64_t missed; /* relaxed */

void cap_times_count_missed(void)
{
	__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
}

uint64_t cap_times_missed(void)
{
	return __atomic_load_n(&missed, __ATOMIC_RELAXED);
}

/* ---- the processor's counter, which most rings use as their clock */

/* The first and the last reading. Their rate is accurate enough for calls shortly before the last
 * one. */
struct reading {
	uint64_t ticks;
	int64_t ns;
};
static struct reading first, last;

static uint64_t ticks_now(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static struct reading read_both(void)
{
	uint64_t closest = UINT64_MAX;
	struct reading ret = {0, 0};

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = ticks_now(), apart;
		int64_t ns = host_clock_ns(CLOCK_MONOTONIC);

		apart = ticks_now() - before;
		if (apart < closest)
			ret = (struct reading){before + apart / 2, ns};
		closest = apart < closest ? apart : closest;
	}
	return ret;
}

void cap_times_collect_begin(void)
{
	first = last = read_both();
}

static int64_t issued_ns(const struct cap_timed_op *op)
{
	double ticks = (double)(last.ticks - first.ticks);

	if (!op->is_ticks || ticks <= 0)
		return (int64_t)op->issued;
	return last.ns + (int64_t)((double)(int64_t)(op->issued - last.ticks) *
				   ((double)(last.ns - first.ns) / ticks));
}

/* ---- one stream */

/* Start and end in device time: 1; 0: not reached yet; -EIO. */
static int read_times(const struct cap_stream *s, const struct cap_timed_op *op, int64_t issued,
		      int64_t *ret_start, int64_t *ret_end)
{
	const struct cap_device_clock *k = &s->context->clock;
	int r;

	if (op->what == CAP_TIMED_LOST || op->what == CAP_TIMED_NO_MARK)
		return -EIO;
	r = cap_device_clock_read(k, op->event, ret_end);
	if (r == 1 && op->what == CAP_TIMED_RETURN)
		*ret_end = cap_device_clock_end_at_return(k, op->done_ns, s->end_ns, *ret_end);
	if (r == 1)
		*ret_start = cap_device_clock_op_start(k, issued, s->end_ns, *ret_end);
	return r;
}

/* Collects the first operation of the queue. False: it has not ended yet. */
static bool collect_op(struct cap_stream *s, struct cap_timed_op *op, int64_t now_ns)
{
	struct cap_device_clock *k = &s->context->clock;
	int64_t issued = issued_ns(op), start, end = INT64_MIN, reached;
	int r;

	if (cap_device_clock_is_stale(k, issued))
		cap_device_clock_renew(k);
	cap_device_clock_reanchor(k, now_ns);
	r = read_times(s, op, issued, &start, &end);
	if (r == 0)
		return false;
	reached = end;
	if (r == 1 && end < start && !cap_timed_is_mark(op->what))
		end = start;
	s->end_ns = end > s->end_ns ? end : s->end_ns;
	if (cap_timed_is_mark(op->what))
		return true;
	if (r == 1)
		cap_put_times(op->id, cap_device_clock_to_host(k, start),
			      cap_device_clock_to_host(k, end));
	else
		cap_times_count_missed();
	if (r == 1 && op->what == CAP_TIMED_EVENT)
		cap_device_clock_rebase(k, &op->event, reached);
	return true;
}

static void remove_op(struct cap_stream *s, struct cap_timed_op *op)
{
	struct cap_op_chunk *chunk;

	if (cap_timed_is_mark(op->what))
		__atomic_fetch_sub(&s->n_marks, 1, __ATOMIC_RELAXED);
	chunk = cap_op_queue_pop(&s->queue);
	if (chunk)
		cap_stream_return_chunk(s, chunk);
}

/* The context was destroyed: its operations have no times. */
static void drop_all(struct cap_stream *s)
{
	struct cap_timed_op *op;

	while ((op = cap_op_queue_front(&s->queue))) {
		if (!cap_timed_is_mark(op->what))
			cap_times_count_missed();
		remove_op(s, op);
	}
}

static unsigned collect_stream(struct cap_stream *s, int64_t now_ns)
{
	uint64_t used = cap_op_queue_used(&s->queue);
	struct cap_timed_op *op;
	int entered;

	s->peak = used > s->peak ? used : s->peak;
	/* Operations that are added meanwhile are left to the next round. */
	while ((entered = cap_device_clock_enter(&s->context->clock)) == 0 && used-- > 0 &&
	       (op = cap_op_queue_front(&s->queue)) && collect_op(s, op, now_ns))
		remove_op(s, op);
	if (entered == -EIO)
		drop_all(s);
	if (entered != -EAGAIN &&
	    __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == CAP_STREAM_ENDED) {
		if (cap_op_queue_used(&s->queue) == 0)
			cap_stream_free(s);
		return (unsigned)cap_op_queue_used(&s->queue);
	}
	if (entered == 0)
		cap_stream_refill(s);
	return (unsigned)cap_op_queue_used(&s->queue);
}

/* ---- all streams */

unsigned cap_times_collect(void)
{
	unsigned left = 0;
	int64_t now_ns = cap_now_ns();

	last = read_both();
	for (struct cap_stream *s = NULL; (s = cap_streams_next(s));)
		left += collect_stream(s, now_ns);
	cap_device_clock_leave();
	return left;
}
