/* SPDX-License-Identifier: Apache-2.0 */

/* When operations ran (doc/capture.md, Device times).
 *
 * One event behind each operation. It is the operation's end, and the start of the next one of its
 * stream, unless that was issued later (stamps.h), or the stream waits for something else in
 * between: then one event more, in front of it.
 */
#include "capture/library/times/times.h"

#include "base/array.h"
#include "capture/library/device/contexts.h"
#include "capture/library/device/cu.h"
#include "capture/library/device/drainer.h"
#include "capture/library/times/nodes.h"
#include "capture/library/times/stamps.h"
#include "capture/library/times/timed.h"
#include "capture/ring.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define MOST_CLOCKS 64

struct stream {
	struct cap_place place;
	struct cap_device_clock *clock;
	struct cap_stamp *last; /* behind the last operation; NULL: not known */
	unsigned legacy;	/* `legacy` below, when that was taken */
	int independent;	/* does not wait for the legacy stream */
};

static struct {
	struct cap_device_clock clocks[MOST_CLOCKS];
	unsigned n_clocks;
	struct stream *streams;
	size_t n_streams, streams_cap;
	unsigned legacy; /* operations on legacy streams so far */
} self;			 /* with the lock of cap_timed */

struct cap_timed cap_timed = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &cap_timed.first};

/* ---- the program's side */

static struct cap_device_clock *known_clock(const void *context)
{
	for (unsigned i = 0; i < self.n_clocks; i++)
		if (self.clocks[i].context == context)
			return &self.clocks[i];
	return NULL;
}

/* With the lock held. */
static struct cap_device_clock *clock_of(void *context)
{
	struct cap_device_clock *k = known_clock(context), *end = self.clocks + self.n_clocks;

	if (k)
		return k->broken ? NULL : k;
	for (k = self.clocks; k < end && (k->context || k->n_ops > 0);)
		k++;
	if (k == self.clocks + MOST_CLOCKS)
		return NULL;
	self.n_clocks += k == end;
	k->broken = cap_clock_begin(k, context) < 0;
	return k->broken ? NULL : k;
}

static struct cap_device_clock *clock_for_nodes(void *context)
{
	struct cap_device_clock *k;

	pthread_mutex_lock(&cap_timed.lock);
	k = clock_of(context);
	pthread_mutex_unlock(&cap_timed.lock);
	return k;
}

static struct stream *stream_of(const struct cap_place *place)
{
	struct stream *s;
	unsigned flags = 0;

	for (size_t i = 0; i < self.n_streams; i++)
		if (cap_place_same(&self.streams[i].place, place))
			return &self.streams[i];
	if (array_reserve(&self.streams, self.n_streams + 1, &self.streams_cap) < 0)
		return NULL;
	s = &self.streams[self.n_streams++];
	*s = (struct stream){.place = *place, .clock = clock_of(place->context)};
	s->independent =
		place->stream != CU_LEGACY_STREAM && place->stream != CU_PER_THREAD_STREAM &&
		cap_cu.cuStreamGetFlags(place->stream, &flags) == 0 && flags & CU_NON_BLOCKING;
	return s;
}

static void forget(struct stream *s)
{
	if (s->clock)
		cap_stamp_drop(s->clock, s->last);
	s->last = NULL;
}

/* The last operation's end does not tell when the next one can begin. */
static int is_stale(const struct stream *s)
{
	return s->place.stream == CU_LEGACY_STREAM || !s->last ||
	       (!s->independent && s->legacy != self.legacy);
}

static void before_op(struct cap_call *c, const struct cap_place *place)
{
	struct stream *s;

	pthread_mutex_lock(&cap_timed.lock);
	s = stream_of(place);
	if (s && s->clock && is_stale(s)) {
		forget(s);
		s->last = cap_stamp_take(s->clock, place->stream);
		s->legacy = self.legacy;
	}
	pthread_mutex_unlock(&cap_timed.lock);
	c->room[3] = (uint64_t)cap_now_ns();
}

static struct cap_timed_op *new_op(void)
{
	struct cap_timed_op *o = cap_timed.unused;

	if (cap_timed.n_ops >= cap_control()->device_times)
		return NULL; /* not timed, but counted */
	if (o)
		cap_timed.unused = o->next;
	else
		o = malloc(sizeof(*o));
	return o;
}

/* With the lock held; false: it is not timed. */
static bool add_op(const struct cap_call *c, struct stream *s)
{
	struct cap_timed_op *o = new_op();

	if (!o) {
		cap_timed.untimed++;
		return false;
	}
	*o = (struct cap_timed_op){.clock = s->clock,
				   .from = s->last,
				   .nodes = (struct cap_node_events *)c->room[4],
				   .id = c->id,
				   .issued_ns = (int64_t)c->room[3]};
	if (s->place.sync) {
		/* It has ended when the call has; nothing but the host tells when. */
		o->done_ns = cap_now_ns();
		s->last = NULL;
	} else {
		o->to = s->last = cap_stamp_take(s->clock, s->place.stream);
		if (o->to)
			o->to->refs++;
	}
	*cap_timed.last = o;
	cap_timed.last = &o->next;
	cap_timed.n_ops++;
	s->clock->n_ops++;
	return true;
}

static void after_op(struct cap_call *c, const struct cap_place *place)
{
	struct stream *s;
	bool timed = false;

	pthread_mutex_lock(&cap_timed.lock);
	s = stream_of(place);
	if (place->stream == CU_LEGACY_STREAM)
		self.legacy++;
	if (s && s->clock) {
		s->place.sync = place->sync;
		timed = add_op(c, s);
		s->legacy = self.legacy;
	}
	if (cap_emulated())
		cap_timed.now_ns = cap_now_ns();
	pthread_mutex_unlock(&cap_timed.lock);
	if (!timed)
		cap_node_events_release((struct cap_node_events *)c->room[4]);
	cap_drainer_wake();
}

static int is_op(const struct cap_call *c)
{
	return 1ull << c->class & (1ull << API_CLASS_LAUNCH | 1ull << API_CLASS_COPY |
				   1ull << API_CLASS_SET | 1ull << API_CLASS_GRAPH_LAUNCH);
}

/* Lets what was issued come to its end, as far as it does in a moment. */
static void hurry(bool hurries)
{
	pthread_mutex_lock(&cap_timed.lock);
	cap_timed.ending = hurries;
	cap_timed.now_ns = cap_now_ns();
	pthread_mutex_unlock(&cap_timed.lock);
}

static bool has_times(void *context)
{
	const struct cap_device_clock *k;
	bool has;

	pthread_mutex_lock(&cap_timed.lock);
	k = known_clock(context);
	has = !k || k->n_ops == 0;
	pthread_mutex_unlock(&cap_timed.lock);
	return has;
}

/* The events of a context go with it. */
static void before_end(struct cap_call *c, const struct api_call *call)
{
	void *context = cap_context_ending(c, call);

	c->room[3] = (uintptr_t)context;
	if (!context || has_times(context))
		return;
	hurry(true);
	cap_drainer_await(has_times, context);
	hurry(false);
}

static void before(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	struct cap_place place;

	if (call && c->class == API_CLASS_DESTROY)
		before_end(c, call);
	if (!call || !is_op(c) || c->paused)
		return;
	cap_place_of(c, call, &place);
	if (place.context && !cap_place_capturing(&place))
		before_op(c, &place);
}

void cap_times_interrupt(const struct cap_place *place)
{
	pthread_mutex_lock(&cap_timed.lock);
	if (place->stream == CU_LEGACY_STREAM)
		self.legacy++;
	for (size_t i = 0; i < self.n_streams; i++)
		if (cap_place_same(&self.streams[i].place, place))
			forget(&self.streams[i]);
	pthread_mutex_unlock(&cap_timed.lock);
}

/* Streams and contexts go: a handle may be used again. Each may be NULL. */
static void forget_all(const void *stream, const void *context)
{
	struct cap_device_clock *k;

	pthread_mutex_lock(&cap_timed.lock);
	for (size_t i = 0; i < self.n_streams; i++)
		if (self.streams[i].place.stream == stream ||
		    self.streams[i].place.context == context) {
			forget(&self.streams[i]);
			self.streams[i--] = self.streams[--self.n_streams];
		}
	k = context ? known_clock(context) : NULL;
	if (k) {
		k->broken = 1;
		k->context = NULL;
	}
	pthread_mutex_unlock(&cap_timed.lock);
}

static void destroyed(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *stream = cap_arg_of(call, API_MEANING_STREAM);
	const void *context = (const void *)(uintptr_t)c->room[3];

	if (stream)
		forget_all((const void *)(uintptr_t)c->words[stream->word], NULL);
	else if (context && cap_context_ended(c, call))
		forget_all(NULL, context);
}

static void after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);
	struct cap_place place;

	if (!call || c->result != 0) {
		cap_node_events_release((struct cap_node_events *)c->room[4]);
		return;
	}
	if (call->class == API_CLASS_DESTROY) {
		destroyed(c, call);
		return;
	}
	if (c->paused || call->library != API_LIBRARY_CUDA)
		return;
	cap_place_of(c, call, &place);
	if (place.context && cap_place_capturing(&place))
		cap_node_captured(c, place.stream);
	else if (place.context && !is_op(c))
		cap_times_interrupt(&place);
	else if (place.context && c->room[3])
		after_op(c, &place);
}

static void end(void)
{
	hurry(true);
}

static void ended(void)
{
	char text[200];
	int64_t residual = 0;
	double drift = 0;

	hurry(false); /* an exec may fail, and the program go on */
	for (unsigned i = 0; i < self.n_clocks; i++) {
		const struct cap_drift *d = &self.clocks[i].drift;

		residual = d->residual_ns > residual ? d->residual_ns : residual;
		drift = fabs(d->fit.rate) > fabs(drift) ? d->fit.rate : drift;
	}
	snprintf(text, sizeof(text),
		 "{\"residual_ns\": %lld, \"drift_ppb\": %.0f, \"untimed\": %llu"
		 ", \"unended\": %u}",
		 (long long)residual, drift * 1e9,
		 (unsigned long long)cap_timed.untimed + cap_timed.n_ops, cap_timed.n_ops);
	cap_put_fact("device_times", text, strlen(text));
}

static int start(void)
{
	int r;

	if (!cap_control()->device_times)
		return -ENOTSUP;
	r = cap_cu_load();
	if (r == 0)
		r = cap_drainer_add(cap_timed_drain);
	if (r == 0 && cap_control()->node_times)
		cap_nodes_start(clock_for_nodes);
	return r;
}

#define BIT(class) (1ull << API_CLASS_##class)

const struct cap_hook cap_times = {
	.name = "times",
	.classes = BIT(LAUNCH) | BIT(COPY) | BIT(SET) | BIT(GRAPH_LAUNCH) | BIT(EVENT_WAIT) |
		   BIT(HOST_CALL) | BIT(MEMORY_OP) | BIT(DESTROY),
	.always = BIT(DESTROY),
	.start = start,
	.before = before,
	.after = after,
	.end = end,
	.ended = ended,
};
