/* SPDX-License-Identifier: Apache-2.0 */

/* Recorded synchronisation ("cuda_sync" of the PyTorch profiler): the stream that a call waited
 * for, the event that a stream waited for, and the call that had recorded the event, which may have
 * been on another GPU of the process. */
#include "formats/run/infer/edge.h"
#include "formats/run/infer/event_links.h"
#include "formats/run/infer/process.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_WAITED 32 /* operations that one event represents; the newest ones count */

/* Operations, by their index in a list. */
struct list {
	size_t first, n;
};

/* A rank of the process. */
struct part {
	struct infer_view *v;
	uint32_t *sync_of;   /* by call: its recorded synchronisation, or INFER_NONE */
	uint32_t *stream_of; /* by call that records an event: its stream, or INFER_NONE */
	struct list *events; /* by call that records an event: the operations before it */
	struct list *waits;  /* by stream: dependencies of its next operation */
	uint32_t *last;	     /* by stream: the newest operation, or INFER_NONE */
};

struct job {
	struct part *parts;
	uint32_t n;
	struct infer_ref *ops;
	size_t n_ops, ops_cap;
};

static void job_done(struct job *j)
{
	for (uint32_t i = 0; j->parts && i < j->n; i++) {
		free(j->parts[i].sync_of);
		free(j->parts[i].stream_of);
		free(j->parts[i].events);
		free(j->parts[i].waits);
		free(j->parts[i].last);
	}
	free(j->parts);
	free(j->ops);
}

/* Returns the stream of that number, or INFER_NONE. */
static uint32_t stream_of(const struct infer_view *v, const struct infer_view *sync_of,
			  uint32_t sync, const char *key)
{
	int64_t number;

	if (!infer_event_arg(sync_of, sync, key, &number))
		return INFER_NONE;
	for (uint32_t s = 0; s < v->n_streams; s++)
		if (fmt_track(v->names, v->index, v->streams[s].track)->tid == number)
			return s;
	return INFER_NONE;
}

/* Returns the call that recorded the event of a synchronisation of `p`, or INFER_NONE; its rank is
 * in *of. */
static uint32_t record_of(const struct job *j, const struct part *p, uint32_t event,
			  struct part **of)
{
	int64_t correlation;
	uint32_t call;

	if (!infer_event_arg(p->v, event, "wait_on_cuda_event_record_corr_id", &correlation) ||
	    correlation <= 0)
		return INFER_NONE;
	call = infer_find_call(p->v, (uint64_t)correlation);
	*of = &j->parts[p - j->parts];
	for (uint32_t i = 0; i < j->n && call == INFER_NONE; i++) {
		*of = &j->parts[i];
		call = infer_find_call(j->parts[i].v, (uint64_t)correlation);
	}
	return call;
}

static int append_op(struct job *j, struct list *l, struct infer_ref op)
{
	if (l->n == MOST_WAITED)
		return 0;
	if (array_reserve(&j->ops, j->n_ops + 1, &j->ops_cap) < 0)
		return -ENOMEM;
	j->ops[j->n_ops++] = op;
	l->n++;
	return 0;
}

/* The event represents the stream's newest operation and the present dependencies of the stream. */
static int record_event(struct job *j, struct part *p, uint32_t call)
{
	uint32_t stream = p->stream_of[call];
	struct list l = {.first = j->n_ops};
	int r = 0;

	if (stream == INFER_NONE)
		return 0;
	if (p->last[stream] != INFER_NONE)
		r = append_op(j, &l, (struct infer_ref){p->v, p->last[stream]});
	for (size_t i = 0; i < p->waits[stream].n && r == 0; i++)
		r = append_op(j, &l, j->ops[p->waits[stream].first + i]);
	p->events[call] = l;
	return r;
}

/* The next operation of the waiting stream waits. */
static int stream_wait(struct job *j, struct part *p, uint32_t call, uint32_t sync)
{
	struct infer_view *v = p->v;
	struct part *of;
	uint32_t stream = stream_of(v, v, sync, "stream"), from = record_of(j, p, sync, &of);
	const struct list e = from != INFER_NONE ? of->events[from] : (struct list){0};
	struct list l = {.first = j->n_ops};
	int r = 0;

	v->saw_events = 1;
	if (stream == INFER_NONE)
		return 0;
	for (size_t i = 0; i < e.n && r == 0; i++) {
		struct infer_ref op = j->ops[e.first + i];

		if (op.view == v && v->ops[op.op].stream == stream)
			continue;
		r = infer_add_link(
			v, &(struct infer_add_link){call, op.op, op.view, stream, INFER_NONE, 1});
		if (r == 0)
			r = append_op(j, &l, op);
	}
	for (size_t i = 0; i < p->waits[stream].n && r == 0; i++)
		r = append_op(j, &l, j->ops[p->waits[stream].first + i]);
	p->waits[stream] = l;
	return r;
}

static int host_link(struct part *p, uint32_t call, struct infer_ref op)
{
	return infer_add_link(
		p->v, &(struct infer_add_link){call, op.op, op.view, INFER_NONE, INFER_NONE, 1});
}

static int host_wait(struct job *j, struct part *p, uint32_t call, uint32_t sync)
{
	struct infer_view *v = p->v;
	uint32_t from, stream;
	struct part *of;
	int r = 0;

	from = record_of(j, p, sync, &of);
	if (from == INFER_NONE && v->calls[call].api != INFER_API_EVENT_SYNC) {
		stream = stream_of(v, v, sync, "stream");
		if (stream == INFER_NONE)
			return 0;
		if (p->last[stream] != INFER_NONE)
			r = host_link(p, call, (struct infer_ref){v, p->last[stream]});
		for (size_t i = 0; i < p->waits[stream].n && r == 0; i++)
			r = host_link(p, call, j->ops[p->waits[stream].first + i]);
		return r;
	}
	for (size_t i = 0; from != INFER_NONE && i < of->events[from].n && r == 0; i++)
		r = host_link(p, call, j->ops[of->events[from].first + i]);
	return r;
}

static int read_call(struct job *j, struct part *p, uint32_t call)
{
	struct infer_view *v = p->v;
	const struct infer_call *c = &v->calls[call];
	uint32_t sync = p->sync_of[c->n_polls > 0 ? call + c->n_polls - 1 : call];

	for (uint32_t i = 0; i < c->n_ops; i++) {
		uint32_t op = v->launched[c->first_op + i];

		v->ops[op].waits |= p->waits[v->ops[op].stream].n > 0;
		p->last[v->ops[op].stream] = op;
		p->waits[v->ops[op].stream].n = 0;
	}
	if (c->api == INFER_API_RECORD_EVENT)
		return record_event(j, p, call);
	if (sync == INFER_NONE)
		return 0;
	if (c->api == INFER_API_STREAM_WAIT)
		return stream_wait(j, p, call, sync);
	return c->api == INFER_API_STREAM_SYNC || c->api == INFER_API_EVENT_SYNC || c->n_polls > 0
		       ? host_wait(j, p, call, sync)
		       : 0;
}

static int part_init(struct part *p, struct infer_view *v)
{
	size_t n = v->n_calls + (size_t)1, n_streams = v->n_streams + (size_t)1;

	p->v = v;
	p->sync_of = malloc(n * sizeof(*p->sync_of));
	p->stream_of = malloc(n * sizeof(*p->stream_of));
	p->events = calloc(n, sizeof(*p->events));
	p->waits = calloc(n_streams, sizeof(*p->waits));
	p->last = malloc(n_streams * sizeof(*p->last));
	if (!p->sync_of || !p->stream_of || !p->events || !p->waits || !p->last)
		return -ENOMEM;
	memset(p->sync_of, 0xff, n * sizeof(*p->sync_of));
	memset(p->stream_of, 0xff, n * sizeof(*p->stream_of));
	memset(p->last, 0xff, n_streams * sizeof(*p->last));
	return 0;
}

/* Joins synchronisations to their calls, and to the calls that recorded their events. */
static void join_syncs(struct job *j, struct part *p)
{
	const struct infer_view *v = p->v;

	for (uint32_t i = 0; i < v->n_syncs; i++) {
		uint32_t sync = v->syncs[i];
		uint32_t call = infer_find_call(v, v->rank->events[sync].correlation);
		struct part *of;
		uint32_t from = record_of(j, p, sync, &of);

		if (call != INFER_NONE)
			p->sync_of[call] = sync;
		if (from != INFER_NONE)
			of->stream_of[from] = stream_of(of->v, v, sync, "wait_on_stream");
	}
}

int infer_add_recorded_links(const struct infer_process *p)
{
	scoped(job_done) struct job j = {.n = p->n};
	uint32_t n_syncs = 0, view, call;
	int r = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n_syncs += p->views[i]->n_syncs;
	if (n_syncs == 0)
		return 0;
	j.parts = calloc(p->n + (size_t)1, sizeof(*j.parts));
	if (!j.parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n && r == 0; i++)
		r = part_init(&j.parts[i], p->views[i]);
	for (uint32_t i = 0; i < p->n && r == 0; i++)
		join_syncs(&j, &j.parts[i]);
	infer_process_rewind(p);
	while (r == 0 && (call = infer_process_next(p, &view)) != INFER_NONE)
		r = read_call(&j, &j.parts[view], call);
	return r;
}
