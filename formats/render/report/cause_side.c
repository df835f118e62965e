/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_side.h"

#include "base/array.h"
#include "formats/api/api.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"
#include "formats/trace/value.h"

#include <inttypes.h>

void fmt_cause_side_done(struct fmt_cause_side *s)
{
	for (uint32_t i = 0; i < s->n_tracks; i++)
		free(s->tracks[i].items);
	free(s->tracks);
	for (size_t i = 0; i < s->n_slices; i++)
		fmt_slice_free(s->slices[i]);
	free(s->slices);
	free(s->calls);
	free(s->waits);
	free(s->digests);
	fmt_cause_memory_done(&s->memory);
	free(s->threads);
	free(s->host_graphs);
	memset(s, 0, sizeof(*s));
}

/* ---- events */

static int64_t value_of(const struct fmt_cause_side *s, const struct fmt_slice *slice,
			const struct fmt_event *e, const char *key)
{
	const struct fmt_template *t = fmt_template(s->names, e->template);
	int64_t value;

	if ((uint64_t)e->first_value + t->n_values > slice->n_values ||
	    !fmt_value_int(s->names, e, t, fmt_event_values(slice, e), key, &value))
		return -1;
	return value;
}

int64_t fmt_cause_side_value(const struct fmt_cause_side *s, const struct fmt_cause_item *x,
			     const char *key)
{
	return value_of(s, x->slice, x->event, key);
}

static bool returns_code(const struct api_call *call)
{
	const struct api_arg *a = call->args;

	return call->n_args > 0 && a->direction == API_DIRECTION_OUT &&
	       (a->meaning == API_MEANING_FUNCTION || a->meaning == API_MEANING_KERNEL);
}

/* Ignores queries and calls that load code: their number and thread are nondeterministic. */
static bool is_compared(const struct fmt_cause_side *s, const struct fmt_template *t)
{
	const char *name = fmt_string(s->names, t->name, NULL);
	int index = api_find(name);
	const struct api_call *call = index < 0 ? NULL : api_call((unsigned)index);

	if (!call) /* of a runtime, or unknown */
		return !strstr(name, "Query") && !strstr(name, "Get");
	switch ((enum api_class)call->class) {
	case API_CLASS_QUERY:
	case API_CLASS_STATE:
	case API_CLASS_MODULE_LOAD:
	case API_CLASS_EVENT_QUERY:
	case API_CLASS_STREAM_QUERY:
	case API_CLASS_PROFILE:
		return false;
	default:
		return !returns_code(call);
	}
}

/* An enclosing call precedes its nested calls; *nccl is the last NCCL call. */
static int add_call(struct fmt_cause_side *s, const struct fmt_slice *slice,
		    const struct fmt_event *e, const struct fmt_event **nccl)
{
	const char *name = fmt_string(s->names, fmt_template(s->names, e->template)->name, NULL);
	bool is_within = *nccl && (*nccl)->track == e->track &&
			 e->start_ns < (*nccl)->start_ns + (*nccl)->duration_ns;
	bool is_nccl = strncmp(name, "nccl", 4) == 0 || strncmp(name, "pnccl", 5) == 0;

	if (is_nccl && !is_within)
		*nccl = e;
	if (array_reserve(&s->calls, s->n_calls + 1, &s->calls_cap) < 0)
		return -ENOMEM;
	s->calls[s->n_calls++] = (struct fmt_cause_call){e, slice, is_nccl || is_within};
	return 0;
}

static uint32_t stream_of(const struct fmt_cause_side *s, int64_t number)
{
	for (uint32_t i = 0; i < s->n_tracks; i++) {
		const struct fmt_track *t = fmt_track(s->names, s->rank, i);

		if (t->kind == FMT_STREAM && t->tid == number)
			return i;
	}
	return UINT32_MAX;
}

static int add_wait(struct fmt_cause_side *s, const struct fmt_slice *slice,
		    const struct fmt_event *e)
{
	uint32_t track = stream_of(s, value_of(s, slice, e, "stream"));
	int64_t record = value_of(s, slice, e, "wait_on_cuda_event_record_corr_id");

	if (track == UINT32_MAX || record < 0)
		return 0;
	if (array_reserve(&s->waits, s->n_waits + 1, &s->waits_cap) < 0)
		return -ENOMEM;
	s->waits[s->n_waits++] =
		(struct fmt_cause_wait){e->correlation, e->start_ns, record, track,
					stream_of(s, value_of(s, slice, e, "wait_on_stream"))};
	return 0;
}

static int add_event(struct fmt_cause_side *s, const struct fmt_slice *slice,
		     const struct fmt_event *e, const struct fmt_event **nccl)
{
	const struct fmt_template *t = fmt_template(s->names, e->template);
	struct fmt_cause_track *track;
	int r = 0;

	if (!t || e->track >= s->n_tracks || (s->scope.no_nccl && t->kind == FMT_COLLECTIVE))
		return 0;
	if (t->kind == FMT_CALL && e->correlation != 0)
		r = add_call(s, slice, e, nccl);
	if (t->kind == FMT_SYNC)
		r = add_wait(s, slice, e);
	if (r < 0 ||
	    !(FMT_IS_OP(t->kind) || (t->kind == FMT_CALL && s->scope.calls && is_compared(s, t))))
		return r;
	track = &s->tracks[e->track];
	if (array_reserve(&track->items, track->n + 1, &track->cap) < 0)
		return -ENOMEM;
	track->items[track->n++] = (struct fmt_cause_item){t, e, slice, NULL, e->start_ns};
	return 0;
}

static int read_slice(struct fmt_cause_side *s, struct fmt_trace *t, uint32_t slice,
		      struct fmt_error *err)
{
	const struct fmt_event *nccl = NULL;
	struct fmt_slice *read;
	int r = fmt_slice_load(t, s->rank, slice, FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_DIGESTS,
			       &read, err);

	if (r < 0)
		return r;
	if (array_reserve(&s->slices, s->n_slices + 1, &s->slices_cap) < 0) {
		fmt_slice_free(read);
		return -ENOMEM;
	}
	s->slices[s->n_slices++] = read;
	if (fmt_iteration_order(read->iteration.number, s->last_iteration) > 0 &&
	    read->iteration.number != FMT_AFTER)
		s->last_iteration = read->iteration.number;
	for (size_t i = 0; i < read->n_events && r == 0; i++)
		r = add_event(s, read, &read->events[i], &nccl);
	return r;
}

/* ---- calls of operations, and waits */

static int by_correlation(const void *a, const void *b)
{
	const struct fmt_cause_call *x = a, *y = b;

	return array_order(x->event->correlation, y->event->correlation);
}

static const struct fmt_cause_call *call_of(const struct fmt_cause_side *s, uint64_t correlation)
{
	size_t i = array_bound(k, 0, s->n_calls, s->calls[k].event->correlation < correlation);

	return i < s->n_calls && s->calls[i].event->correlation == correlation ? &s->calls[i]
									       : NULL;
}

static int by_wait(const void *a, const void *b)
{
	const struct fmt_cause_wait *x = a, *y = b;

	return array_order(x->track, y->track) ?: array_order(x->at_ns, y->at_ns);
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_cause_item *x = a, *y = b;

	return array_order(x->event->start_ns, y->event->start_ns)
	       ?: array_order(y->event->duration_ns, x->event->duration_ns)
	       ?: array_order(x->event->correlation, y->event->correlation);
}

/* Returns true if effects of a call are not compared. */
static bool is_left_out(const struct fmt_cause_side *s, const struct fmt_cause_call *c)
{
	return c && c->is_nccl && s->scope.no_nccl;
}

/* Returns true for copies from the host and memsets that NCCL makes: its own data, which contain
 * addresses, and not those of the program. */
static bool is_of_nccl(const struct fmt_cause_side *s, const struct fmt_cause_item *x)
{
	return x->call && x->call->is_nccl &&
	       (x->template->kind == FMT_MEMSET ||
		(x->template->kind == FMT_MEMCPY &&
		 strstr(fmt_string(s->names, x->template->name, NULL), "HtoD")));
}

/* Finds the calls of the track's items, and sorts the items. */
static void sort_track(struct fmt_cause_side *s, struct fmt_cause_track *t)
{
	size_t n = 0;

	for (size_t k = 0; k < t->n; k++) {
		struct fmt_cause_item x = t->items[k];

		if (FMT_IS_OP(x.template->kind) && x.event->correlation != 0)
			x.call = call_of(s, x.event->correlation);
		if (x.call)
			x.launch_ns = x.call->event->start_ns;
		if (!is_left_out(s, x.call) && !is_of_nccl(s, &x))
			t->items[n++] = x;
	}
	t->n = n;
	if (n > 1)
		qsort(t->items, n, sizeof(t->items[0]), by_start);
}

/* Sorts everything by time. Slices are cut by calls, whose order may differ between launching
 * threads. */
static void sort_and_link(struct fmt_cause_side *s)
{
	size_t n = 0;

	if (s->n_calls > 1)
		qsort(s->calls, s->n_calls, sizeof(s->calls[0]), by_correlation);
	for (uint32_t i = 0; i < s->n_tracks; i++)
		sort_track(s, &s->tracks[i]);
	for (size_t i = 0; i < s->n_waits; i++) {
		const struct fmt_cause_call *c =
			call_of(s, (uint64_t)s->waits[i].recorded_ns); /* so far its correlation */

		if (!c && s->scope.is_part) /* recorded before the window */
			continue;
		if (is_left_out(s, call_of(s, s->waits[i].correlation)))
			continue;
		s->waits[n] = s->waits[i];
		s->waits[n++].recorded_ns = c ? c->event->start_ns : INT64_MIN;
	}
	s->n_waits = n;
	if (s->n_waits > 1)
		qsort(s->waits, s->n_waits, sizeof(s->waits[0]), by_wait);
}

size_t fmt_cause_side_before(const struct fmt_cause_side *s, uint32_t track, int64_t at_ns)
{
	const struct fmt_cause_track *t = &s->tracks[track];

	return array_bound(i, 0, t->n, t->items[i].launch_ns < at_ns);
}

/* ---- digests */

/* An operation of the rank, by correlation. */
struct launched {
	uint64_t correlation;
	const struct fmt_event *event;
};

static int by_launch(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->event, y->event);
}

static int list_launched(const struct fmt_cause_side *s, struct launched **ret, size_t *n)
{
	size_t total = 0;

	for (uint32_t i = 0; i < s->n_tracks; i++)
		total += s->tracks[i].n;
	*ret = calloc(total + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_tracks; i++)
		for (size_t k = 0; k < s->tracks[i].n; k++) {
			const struct fmt_cause_item *x = &s->tracks[i].items[k];

			if (FMT_IS_OP(x->template->kind))
				(*ret)[(*n)++] = (struct launched){x->event->correlation, x->event};
		}
	qsort(*ret, *n, sizeof(**ret), by_launch);
	return 0;
}

/* Returns the collective that an NCCL call began: the next on its stream, as a group launches its
 * calls when it ends. */
static const struct fmt_event *collective_of(const struct fmt_cause_side *s,
					     const struct fmt_slice *slice,
					     const struct fmt_event *call)
{
	uint32_t track = stream_of(s, value_of(s, slice, call, "stream.id"));
	const struct fmt_cause_track *t = track < s->n_tracks ? &s->tracks[track] : NULL;

	for (size_t i = t ? fmt_cause_side_before(s, track, call->start_ns) : 0; t && i < t->n; i++)
		if (t->items[i].template->kind == FMT_COLLECTIVE)
			return t->items[i].event;
	return NULL;
}

/* Returns the operation of a digest: the event itself, or the operation that its call launched. */
static const struct fmt_event *op_of(const struct fmt_cause_side *s, const struct fmt_slice *slice,
				     const struct fmt_event *e, const struct launched *list,
				     size_t n)
{
	const struct fmt_template *t = fmt_template(s->names, e->template);
	const struct fmt_event *op = NULL;

	if (!t || FMT_IS_OP(t->kind))
		return t ? e : NULL;
	for (size_t i = array_bound(k, 0, n, list[k].correlation < e->correlation);
	     i < n && !op && list[i].correlation == e->correlation; i++)
		op = list[i].event;
	return op ? op : collective_of(s, slice, e);
}

static int by_op(const void *a, const void *b)
{
	const struct fmt_cause_digest *x = a, *y = b;

	return array_order(x->op, y->op) ?: array_order(x->digest->access, y->digest->access)
	       ?: array_order(x->position, y->position);
}

static int add_digest(struct fmt_cause_side *s, const struct fmt_slice *slice,
		      const struct fmt_digest *d, const struct launched *list, size_t n)
{
	const struct fmt_event *op;

	if (d->op < slice->first_number || d->op - slice->first_number >= slice->n_events)
		return 0;
	op = op_of(s, slice, &slice->events[d->op - slice->first_number], list, n);
	if (!op)
		return 0;
	if (array_reserve(&s->digests, s->n_digests + 1, &s->digests_cap) < 0)
		return -ENOMEM;
	s->digests[s->n_digests] =
		(struct fmt_cause_digest){op, d, slice->pages + d->first_page, s->n_digests};
	s->n_digests++;
	return 0;
}

static int add_digests(struct fmt_cause_side *s)
{
	struct launched *list = NULL;
	size_t n = 0;
	int r = list_launched(s, &list, &n);

	for (size_t i = 0; i < s->n_slices && r == 0; i++)
		for (size_t k = 0; k < s->slices[i]->n_digests && r == 0; k++)
			r = add_digest(s, s->slices[i], &s->slices[i]->digests[k], list, n);
	free(list);
	if (s->n_digests > 1)
		qsort(s->digests, s->n_digests, sizeof(s->digests[0]), by_op);
	return r;
}

const struct fmt_cause_digest *fmt_cause_side_digests(const struct fmt_cause_side *s,
						      const struct fmt_cause_item *x, size_t *n)
{
	size_t first = array_bound(i, 0, s->n_digests, s->digests[i].op < x->event), end = first;

	while (end < s->n_digests && s->digests[end].op == x->event)
		end++;
	*n = end - first;
	return s->digests + first;
}

/* Finds the thread that made each allocation. In a part of a run, only some of the calls were read:
 * then allocations are identified without threads. */
static void find_threads(struct fmt_cause_side *s)
{
	for (size_t i = 0; i < s->memory.n; i++) {
		struct fmt_cause_buffer *b = &s->memory.items[i];
		const struct fmt_cause_call *c = s->scope.is_part ? NULL : call_of(s, b->made);

		b->thread = c ? c->event->track : FMT_CAUSE_NO_THREAD;
	}
	fmt_cause_memory_index_threads(&s->memory);
}

/* Lists the graphs with a function of the host. */
static int find_host_graphs(struct fmt_cause_side *s)
{
	static const char node[] = "\"kind\": \"host\"";
	const char *at = fmt_fact_value(s->names, s->rank, FMT_FACT_GRAPHS), *graph;
	const char *end = at ? at + strlen(at) : NULL;
	size_t len;

	while (at && fmt_json_element(&at, end, &graph, &len)) {
		int64_t number = fmt_json_member_i64(graph, len, "graph", -1);

		if (number < 0 || !memmem(graph, len, node, strlen(node)))
			continue;
		if (array_reserve(&s->host_graphs, s->n_host_graphs + 1, &s->host_graphs_cap) < 0)
			return -ENOMEM;
		s->host_graphs[s->n_host_graphs++] = number;
	}
	if (s->n_host_graphs > 0)
		qsort(s->host_graphs, s->n_host_graphs, sizeof(*s->host_graphs), array_by_i64);
	return 0;
}

static bool is_inside(const struct fmt_cause_scope *s, const struct fmt_slice_info *slice)
{
	return fmt_iteration_order(slice->iteration.number, s->first) >= 0 &&
	       fmt_iteration_order(slice->iteration.number, s->last) <= 0;
}

int fmt_cause_side_read(struct fmt_trace *t, uint32_t rank, const struct fmt_cause_scope *scope,
			struct fmt_cause_side *ret, struct fmt_error *err)
{
	int r;

	ret->names = fmt_trace_names(t);
	ret->rank = rank;
	ret->scope = *scope;
	ret->last_iteration = FMT_BEFORE;
	ret->tracks = calloc(fmt_n_tracks(ret->names, rank) + 1u, sizeof(*ret->tracks));
	ret->threads = calloc(fmt_n_tracks(ret->names, rank) + 1u, sizeof(*ret->threads));
	if (!ret->tracks || !ret->threads)
		return -ENOMEM;
	ret->n_tracks = fmt_n_tracks(ret->names, rank);
	r = fmt_cause_memory_read(t, rank, &ret->memory) ?: find_host_graphs(ret);
	for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices && r == 0; i++)
		if (is_inside(scope, fmt_trace_slice(t, rank, i)))
			r = read_slice(ret, t, i, err);
	if (r < 0)
		return r;
	sort_and_link(ret);
	find_threads(ret);
	return add_digests(ret);
}

bool fmt_cause_side_has_host_node(const struct fmt_cause_side *s, const struct fmt_cause_item *x)
{
	int64_t number = fmt_cause_side_value(s, x, "graph");
	size_t at = array_bound(i, 0, s->n_host_graphs, s->host_graphs[i] < number);

	return at < s->n_host_graphs && s->host_graphs[at] == number;
}

/* In a call, an argument of that name may be the address for a size. */
int64_t fmt_cause_side_bytes(const struct fmt_cause_side *s, const struct fmt_cause_item *x)
{
	if (!FMT_IS_OP(x->template->kind))
		return -1;
	return value_of(s, x->slice, x->event,
			x->template->kind == FMT_COLLECTIVE ? FMT_KEY_BYTES : "bytes");
}

bool fmt_cause_side_same(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y)
{
	size_t n, m;
	const char *s = fmt_string(a->names, x->template->name, &n);
	const char *t = fmt_string(b->names, y->template->name, &m);

	return x->template->kind == y->template->kind && n == m && memcmp(s, t, n) == 0 &&
	       fmt_cause_side_bytes(a, x) == fmt_cause_side_bytes(b, y);
}

void fmt_cause_side_track(const struct fmt_cause_side *s, uint32_t track, char *ret, size_t cap)
{
	const struct fmt_track *l = fmt_track(s->names, s->rank, track);
	const char *kind = l->kind == FMT_STREAM ? "stream" : "thread";

	if (l->text_ids & 2)
		snprintf(ret, cap, "%s %.40s", kind, fmt_string(s->names, l->tid_text, NULL));
	else
		snprintf(ret, cap, "%s %" PRId64, kind, l->tid);
}
