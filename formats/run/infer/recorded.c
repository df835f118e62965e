/* SPDX-License-Identifier: Apache-2.0 */

/* Recorded synchronisation ("cuda_sync" of the PyTorch profiler): the stream that a call waited
 * for, the event that a stream waited for, and the call that had recorded the event. */
#include "formats/run/infer/links.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_WAITED 32 /* operations that one event stands for; the newest ones count */

/* Operations, by their place in a list. */
struct list {
	size_t first, n;
};

struct job {
	struct infer_view *v;
	uint32_t *sync_of;   /* by call: its recorded synchronisation, or INFER_NONE */
	uint32_t *stream_of; /* by call that records an event: its stream, or INFER_NONE */
	struct list *events; /* by call that records an event: the operations before it */
	struct list *waits;  /* by stream: what its next operation waits for */
	uint32_t *last;	     /* by stream: the newest operation, or INFER_NONE */
	uint32_t *ops;
	size_t n_ops, ops_cap;
};

static void job_done(struct job *j)
{
	free(j->sync_of);
	free(j->stream_of);
	free(j->events);
	free(j->waits);
	free(j->last);
	free(j->ops);
}

/* The stream of that number, or INFER_NONE. */
static uint32_t stream_of(const struct infer_view *v, uint32_t event, const char *key)
{
	int64_t number;

	if (!infer_argument(v, event, key, &number))
		return INFER_NONE;
	for (uint32_t s = 0; s < v->n_streams; s++)
		if (fmt_track(v->names, v->index, v->streams[s].track)->tid == number)
			return s;
	return INFER_NONE;
}

/* The call that recorded the event which a synchronisation waited for, or INFER_NONE. */
static uint32_t record_of(const struct infer_view *v, uint32_t event)
{
	int64_t correlation;

	if (!infer_argument(v, event, "wait_on_cuda_event_record_corr_id", &correlation) ||
	    correlation <= 0)
		return INFER_NONE;
	return infer_call_of(v, (uint64_t)correlation);
}

static int append(struct job *j, struct list *l, uint32_t op)
{
	if (l->n == MOST_WAITED)
		return 0;
	if (array_reserve(&j->ops, j->n_ops + 1, &j->ops_cap) < 0)
		return -ENOMEM;
	j->ops[j->n_ops++] = op;
	l->n++;
	return 0;
}

/* The event stands for the stream's newest operation and for what the stream waits for by now. */
static int record(struct job *j, uint32_t call)
{
	uint32_t stream = j->stream_of[call];
	struct list l = {.first = j->n_ops};
	int r = 0;

	if (stream == INFER_NONE)
		return 0;
	if (j->last[stream] != INFER_NONE)
		r = append(j, &l, j->last[stream]);
	for (size_t i = 0; i < j->waits[stream].n && r == 0; i++)
		r = append(j, &l, j->ops[j->waits[stream].first + i]);
	j->events[call] = l;
	return r;
}

/* The next operation of the waiting stream waits. */
static int stream_wait(struct job *j, uint32_t call, uint32_t sync)
{
	struct infer_view *v = j->v;
	uint32_t stream = stream_of(v, sync, "stream"), from = record_of(v, sync), next;
	const struct list e = from != INFER_NONE ? j->events[from] : (struct list){0};
	struct list l = {.first = j->n_ops};
	int r = 0;

	v->saw_events = 1;
	if (stream == INFER_NONE)
		return 0;
	next = j->last[stream] == INFER_NONE ? v->streams[stream].first : j->last[stream] + 1;
	if (stream_of(v, sync, "wait_on_stream") == INFER_NONE && next < v->streams[stream].end)
		v->ops[next].waits_elsewhere = 1;
	for (size_t i = 0; i < e.n && r == 0; i++) {
		uint32_t op = j->ops[e.first + i];

		if (v->ops[op].stream == stream)
			continue;
		r = infer_link(v, call, op, stream, 1);
		if (r == 0)
			r = append(j, &l, op);
	}
	for (size_t i = 0; i < j->waits[stream].n && r == 0; i++)
		r = append(j, &l, j->ops[j->waits[stream].first + i]);
	j->waits[stream] = l;
	return r;
}

static int host_wait(struct job *j, uint32_t call, uint32_t sync)
{
	struct infer_view *v = j->v;
	uint32_t from, stream;
	int r = 0;

	if (v->calls[call].api == INFER_API_STREAM_SYNC) {
		stream = stream_of(v, sync, "stream");
		if (stream != INFER_NONE && j->last[stream] != INFER_NONE)
			r = infer_link(v, call, j->last[stream], INFER_NONE, 1);
		return r;
	}
	from = record_of(v, sync);
	for (size_t i = 0; from != INFER_NONE && i < j->events[from].n && r == 0; i++)
		r = infer_link(v, call, j->ops[j->events[from].first + i], INFER_NONE, 1);
	return r;
}

static int read_call(struct job *j, uint32_t call)
{
	struct infer_view *v = j->v;
	const struct infer_call *c = &v->calls[call];
	uint32_t sync = j->sync_of[call];

	for (uint32_t i = 0; i < c->n_ops; i++) {
		uint32_t op = v->launched[c->first_op + i];

		j->last[v->ops[op].stream] = op;
		j->waits[v->ops[op].stream].n = 0;
	}
	if (c->api == INFER_API_RECORD_EVENT)
		return record(j, call);
	if (sync == INFER_NONE)
		return 0;
	if (c->api == INFER_API_STREAM_WAIT)
		return stream_wait(j, call, sync);
	return c->api == INFER_API_STREAM_SYNC || c->api == INFER_API_EVENT_SYNC
		       ? host_wait(j, call, sync)
		       : 0;
}

int infer_links_recorded(struct infer_view *v)
{
	scoped(job_done) struct job j = {.v = v};
	size_t n = v->n_calls + (size_t)1, n_streams = v->n_streams + (size_t)1;
	int r = 0;

	if (v->n_syncs == 0)
		return 0;
	j.sync_of = malloc(n * sizeof(*j.sync_of));
	j.stream_of = malloc(n * sizeof(*j.stream_of));
	j.events = calloc(n, sizeof(*j.events));
	j.waits = calloc(n_streams, sizeof(*j.waits));
	j.last = malloc(n_streams * sizeof(*j.last));
	if (!j.sync_of || !j.stream_of || !j.events || !j.waits || !j.last)
		return -ENOMEM;
	memset(j.sync_of, 0xff, n * sizeof(*j.sync_of));
	memset(j.stream_of, 0xff, n * sizeof(*j.stream_of));
	memset(j.last, 0xff, n_streams * sizeof(*j.last));
	for (uint32_t i = 0; i < v->n_syncs; i++) {
		uint32_t sync = v->syncs[i], from = record_of(v, sync);
		uint32_t call = infer_call_of(v, v->rank->events[sync].correlation);

		if (call != INFER_NONE)
			j.sync_of[call] = sync;
		if (from != INFER_NONE)
			j.stream_of[from] = stream_of(v, sync, "wait_on_stream");
	}
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++)
		r = read_call(&j, v->order[i]);
	return r;
}
