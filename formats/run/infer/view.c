/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/view.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_EVENTS (UINT32_MAX - 1)

static int is_thread(const struct infer_view *v, uint32_t track)
{
	const struct fmt_track *l = fmt_track(v->names, v->index, track);

	return l && l->kind == FMT_THREAD;
}

/* Limits times of untrusted events so that sums and differences do not overflow. */
static int64_t bounded_time(int64_t t)
{
	const int64_t most = INT64_MAX / 4;

	return t > most ? most : t < -most ? -most : t;
}

static int64_t end_of(const struct fmt_event *e)
{
	const int64_t most = INT64_MAX / 16;
	int64_t duration = e->duration_ns < 0 ? 0 : e->duration_ns;

	return bounded_time(e->start_ns) + (duration > most ? most : duration);
}

int infer_event_arg(const struct infer_view *v, uint32_t event, const char *key, int64_t *ret)
{
	const struct fmt_event *e = &v->rank->events[event];
	const struct fmt_template *s = fmt_template(v->names, e->template);
	uint32_t at;

	if (!s)
		return 0;
	if (fmt_template_const(v->names, s, key, ret))
		return 1;
	if (!fmt_template_varying(v->names, s, key, &at) ||
	    e->first_value + (size_t)at >= v->rank->n_values)
		return 0;
	*ret = v->rank->values[e->first_value + at];
	return 1;
}

/* "Memcpy HtoD (Pageable -> Device)" */
static void read_copy(struct infer_op *op, const char *name)
{
	op->pageable = strstr(name, "Pageable") != NULL;
	if (strstr(name, "HtoD") || strstr(name, "HostToDevice"))
		op->copy = INFER_COPY_TO_DEVICE;
	else if (strstr(name, "DtoH") || strstr(name, "DeviceToHost"))
		op->copy = INFER_COPY_TO_HOST;
	else
		op->copy = INFER_COPY_WITHIN;
}

static void read_op(const struct infer_view *v, uint32_t event, const struct fmt_template *s,
		    struct infer_op *op)
{
	const struct fmt_event *e = &v->rank->events[event];

	*op = (struct infer_op){.start_ns = bounded_time(e->start_ns),
				.end_ns = end_of(e),
				.base_ns = bounded_time(e->start_ns),
				.event = event,
				.call = INFER_NONE,
				.shape = INFER_NONE,
				.kind = s->kind};
	if (s->kind == FMT_MEMCPY)
		read_copy(op, fmt_string(v->names, s->name, NULL));
}

/* `apis` is by template: 1 + the kind of call; 0: not looked up yet. */
static void read_call(const struct infer_view *v, uint32_t event, const struct fmt_template *s,
		      uint8_t *apis, struct infer_call *call)
{
	const struct fmt_event *e = &v->rank->events[event];
	uint8_t *api = &apis[e->template];

	if (!*api)
		*api = (uint8_t)(infer_classify_api(fmt_string(v->names, s->name, NULL)) + 1);
	*call = (struct infer_call){.start_ns = bounded_time(e->start_ns),
				    .end_ns = end_of(e),
				    .event = event,
				    .prev = INFER_NONE,
				    .api = (uint8_t)(*api - 1)};
}

static int add_span(struct infer_span **spans, uint32_t *n, size_t *cap, uint32_t track,
		    uint32_t first)
{
	if (*n > 0 && (*spans)[*n - 1].track == track) {
		(*spans)[*n - 1].end = first + 1;
		return 0;
	}
	if (array_reserve(spans, *n + (size_t)1, cap) < 0)
		return -ENOMEM;
	(*spans)[(*n)++] = (struct infer_span){track, first, first + 1};
	return 0;
}

static int read_events(struct infer_view *v)
{
	scoped(free_ptr) uint8_t *apis = calloc(fmt_n_templates(v->names) + (size_t)1, 1);
	size_t threads_cap = 0, streams_cap = 0;
	int r = apis ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < v->rank->n_events && r == 0; i++) {
		const struct fmt_event *e = &v->rank->events[i];
		const struct fmt_template *s = fmt_template(v->names, e->template);

		if (!s)
			continue;
		if (s->kind == FMT_CALL && is_thread(v, e->track)) {
			r = add_span(&v->threads, &v->n_threads, &threads_cap, e->track,
				     v->n_calls);
			read_call(v, i, s, apis, &v->calls[v->n_calls]);
			v->calls[v->n_calls++].thread = v->n_threads - 1;
		} else if (FMT_IS_OP(s->kind) && !is_thread(v, e->track)) {
			r = add_span(&v->streams, &v->n_streams, &streams_cap, e->track, v->n_ops);
			read_op(v, i, s, &v->ops[v->n_ops]);
			v->ops[v->n_ops++].stream = v->n_streams - 1;
		} else if (s->kind == FMT_SYNC) {
			v->syncs[v->n_syncs++] = i;
		}
	}
	return r;
}

static uint64_t correlation_of(const struct infer_view *v, const struct infer_call *c)
{
	return v->rank->events[c->event].correlation;
}

/* Earlier first; within one microsecond, in the order of correlations. */
static int made_before(const struct infer_view *v, const struct infer_call *a,
		       const struct infer_call *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return correlation_of(v, a) < correlation_of(v, b);
}

static int by_correlation(const void *a, const void *b, void *view)
{
	const struct infer_call *x = a, *y = b;

	return array_order(correlation_of(view, x), correlation_of(view, y))
		       ?: array_order(x->event, y->event);
}

/* Calls of a thread are sorted by start; sorts those with equal starts. */
static void order_thread(struct infer_view *v, const struct infer_span *t)
{
	struct infer_call *c = v->calls;
	uint32_t open = INFER_NONE, end;

	for (uint32_t i = t->first; i < t->end; i = end) {
		for (end = i + 1; end < t->end && c[end].start_ns == c[i].start_ns; end++)
			;
		if (end - i > 1)
			qsort_r(&c[i], end - i, sizeof(*c), by_correlation, v);
	}
	infer_merge_polls(v, t->first, t->end);
	for (uint32_t i = t->first; i < t->end; i++) {
		c[i].prev = open;
		c[i].nested = open != INFER_NONE && c[i].start_ns < c[open].end_ns &&
			      c[i].end_ns <= c[open].end_ns;
		if (!c[i].nested)
			open = i;
	}
}

/* Merges two runs of `from` into `to`. */
static void merge_runs(const struct infer_view *v, const uint32_t *from, uint32_t *to, size_t first,
		       size_t middle, size_t end)
{
	size_t a = first, b = middle;

	for (size_t i = first; i < end; i++) {
		if (a < middle &&
		    (b >= end || !made_before(v, &v->calls[from[b]], &v->calls[from[a]])))
			to[i] = from[a++];
		else
			to[i] = from[b++];
	}
}

/* Merges the threads' calls into one sequence, pair by pair. */
static int order_calls(struct infer_view *v)
{
	scoped(free_ptr) uint32_t *other = malloc((v->n_calls + (size_t)1) * sizeof(*other));
	scoped(free_ptr) size_t *ends = malloc((v->n_threads + (size_t)1) * sizeof(*ends));
	size_t n = v->n_threads;

	if (!other || !ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_calls; i++)
		v->order[i] = i;
	for (size_t i = 0; i < n; i++)
		ends[i] = v->threads[i].end;
	for (; n > 1; n = (n + 1) / 2) {
		size_t first = 0;

		for (size_t i = 0; i < n; i += 2) {
			size_t middle = ends[i], end = i + 1 < n ? ends[i + 1] : middle;

			merge_runs(v, v->order, other, first, middle, end);
			ends[i / 2] = end;
			first = end;
		}
		uint32_t *swap = v->order;

		v->order = other;
		other = swap;
	}
	return 0;
}

/* Successive correlations have adjacent slots, which share a cache line. */
static uint32_t hash_of(uint64_t correlation)
{
	return fmt_hash_number(correlation / 8) * 8 + (uint32_t)(correlation % 8);
}

/* Returns the slot of the call with that correlation, or a free slot for it. */
static struct fmt_hash_slot *call_slot(const struct infer_view *v, uint64_t correlation)
{
	return fmt_hash_find(&v->calls_by_correlation, hash_of(correlation), i,
			     correlation_of(v, &v->calls[i]) == correlation);
}

/* The last call of each correlation. */
static int index_calls(struct infer_view *v)
{
	for (uint32_t i = v->n_calls; i-- > 0;) {
		uint64_t correlation = correlation_of(v, &v->calls[i]);
		struct fmt_hash_slot *slot;

		if (correlation == 0)
			continue;
		if (fmt_hash_reserve(&v->calls_by_correlation) < 0)
			return -ENOMEM;
		slot = call_slot(v, correlation);
		if (!slot->number)
			fmt_hash_set(&v->calls_by_correlation, slot, hash_of(correlation), i);
	}
	return 0;
}

uint32_t infer_find_call(const struct infer_view *v, uint64_t correlation)
{
	return correlation ? call_slot(v, correlation)->number - 1 : INFER_NONE;
}

/* Joins operations to their calls by correlation. */
static int join_ops_to_calls(struct infer_view *v)
{
	int r = index_calls(v);

	for (uint32_t i = 0; i < v->n_ops && r == 0; i++) {
		struct infer_op *op = &v->ops[i];

		op->call = infer_find_call(v, v->rank->events[op->event].correlation);
		if (op->call != INFER_NONE)
			v->calls[op->call].n_ops++;
	}
	return r;
}

static void list_launched(struct infer_view *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_calls; i++) {
		v->calls[i].first_op = n;
		n += v->calls[i].n_ops;
		v->calls[i].n_ops = 0;
	}
	for (uint32_t i = 0; i < v->n_ops; i++) {
		struct infer_call *c;

		if (v->ops[i].call == INFER_NONE)
			continue;
		c = &v->calls[v->ops[i].call];
		v->launched[c->first_op + c->n_ops++] = i;
	}
}

/* Marks launches whose stream may wait for an event. */
static void mark_waits(struct infer_view *v)
{
	uint8_t waits = 0;

	for (uint32_t i = 0; i < v->n_calls; i++) {
		struct infer_call *c = &v->calls[i];

		waits = i > 0 && c->thread != c[-1].thread ? 0 : waits;
		waits |= c->api == INFER_API_STREAM_WAIT;
		v->has_waits |= waits;
		if (c->n_ops == 0)
			continue;
		c->after_wait = waits;
		waits = 0;
	}
}

int infer_view_init(struct infer_view *v, const struct fmt_names *names,
		    const struct fmt_run_rank *rank, uint32_t index)
{
	size_t n = rank->n_events + 1;
	int r;

	*v = (struct infer_view){.names = names, .rank = rank, .index = index};
	if (rank->n_events > MOST_EVENTS)
		return -EOVERFLOW;
	v->calls = malloc(n * sizeof(*v->calls));
	v->ops = malloc(n * sizeof(*v->ops));
	v->launched = malloc(n * sizeof(*v->launched));
	v->order = malloc(n * sizeof(*v->order));
	v->syncs = malloc(n * sizeof(*v->syncs));
	if (!v->syncs || !v->calls || !v->ops || !v->launched || !v->order)
		return -ENOMEM;
	r = read_events(v);
	for (uint32_t i = 0; i < v->n_threads && r == 0; i++)
		order_thread(v, &v->threads[i]);
	if (r == 0)
		r = order_calls(v);
	if (r == 0)
		r = join_ops_to_calls(v);
	if (r == 0)
		list_launched(v);
	mark_waits(v);
	return r;
}

void infer_view_done(struct infer_view *v)
{
	free(v->calls);
	free(v->ops);
	free(v->threads);
	free(v->streams);
	free(v->order);
	free(v->launched);
	free(v->syncs);
	fmt_hash_done(&v->calls_by_correlation);
	free(v->edges);
	free(v->links);
	*v = (struct infer_view){0};
}

int64_t infer_launch_start_ns(const struct infer_view *v, const struct infer_call *call)
{
	return (v->constants.from_start ? call->start_ns : call->end_ns) + v->constants.launch_ns;
}

int64_t infer_gap_ns(const struct infer_view *v, const struct infer_op *op)
{
	const struct infer_op *before = &v->ops[infer_prev_op(v, op)];
	int a = fmt_gap_class((enum fmt_kind)before->kind, before->end_ns - before->start_ns);
	int b = fmt_gap_class((enum fmt_kind)op->kind, op->end_ns - op->start_ns);
	int64_t rest = v->template_gaps && op->kind != FMT_COLLECTIVE
			       ? fmt_template_gap(v->template_gaps,
						  v->rank->events[before->event].template)
			       : 0;

	return v->constants.gap_ns[a][b] + rest;
}

int64_t infer_base_start_ns(const struct infer_view *v, const struct infer_op *op, int *by_stream)
{
	const struct infer_call *call = &v->calls[op->call];
	int64_t base = op->pageable && call->waits ? call->start_ns + v->constants.copy_ns
						   : infer_launch_start_ns(v, call);

	int64_t after = infer_prev_op(v, op) != INFER_NONE
				? v->ops[infer_prev_op(v, op)].end_ns + infer_gap_ns(v, op)
				: INT64_MIN;

	if (by_stream)
		*by_stream = after > base;
	return after > base ? after : base;
}

uint32_t infer_last_ended(const struct infer_view *v, uint32_t stream, int64_t end_ns)
{
	size_t low = array_bound(i, v->streams[stream].first, v->streams[stream].end,
				 v->ops[i].end_ns <= end_ns);

	return low > v->streams[stream].first ? low - 1 : INFER_NONE;
}

uint32_t infer_last_started(const struct infer_view *v, uint32_t stream, int64_t start_ns)
{
	size_t low = array_bound(i, v->streams[stream].first, v->streams[stream].end,
				 v->ops[i].start_ns < start_ns);

	return low > v->streams[stream].first ? low - 1 : INFER_NONE;
}

int infer_is_launched_by(const struct infer_view *v, const struct infer_op *op,
			 const struct infer_call *call)
{
	return op->call == INFER_NONE || !made_before(v, call, &v->calls[op->call]);
}

uint32_t infer_outermost_event(const struct infer_view *v, uint32_t event)
{
	const struct fmt_event *e = v->rank->events;

	while (event > 0 && e[event - 1].track == e[event].track &&
	       e[event - 1].start_ns == e[event].start_ns)
		event--;
	return event;
}
