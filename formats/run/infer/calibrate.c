/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/calibrate.h"
#include "formats/run/infer/edge.h"

#include "formats/run/infer/gap.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdbool.h>

#define US INFER_US
#define IDLE_NS (20 * US) /* a stream is idle when its last operation ended so long before */
#define MOST_LAUNCH_NS (500 * US) /* a longer launch was delayed by something */
#define LAUNCHES_NS (30 * US)	  /* undelayed launches differ at most by this */
#define MOST_CALL_NS (50 * US)	  /* maximum duration of a call whose end locates the launch */
#define LEAST_LAUNCHES                                                                             \
	10 /* minimum number of launches for deciding between start and end of calls */
#define LAUNCH_NS (5 * US) /* default, if the run does not show it */
#define COPY_NS (15 * US)
#define EVENT_NS (3 * US)
#define MOST_EVENT_NS (60 * US)

/* Sorts `n` values and returns the mean of those within `within` of their median. */
static int64_t mean_near_median(int64_t *values, size_t n, int64_t within)
{
	int64_t median, sum = 0, count = 0;

	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), array_by_i64);
	median = values[n / 2];
	for (size_t i = 0; i < n; i++)
		if (values[i] - median <= within && median - values[i] <= within) {
			sum += values[i] - median;
			count++;
		}
	return median + sum / count;
}

/* Number of sorted values within LAUNCHES_NS from values[first]. */
static size_t count_close(const int64_t *values, size_t n, size_t first)
{
	return array_bound(i, first, n, values[i] - values[first] <= LAUNCHES_NS) - first;
}

/* Sorts the latencies of n launches. Undelayed launches form a dense group at the beginning:
 * returns the mean of that first group. A group of one does not count if there are many values. */
static int64_t earliest_latency(int64_t *values, size_t n)
{
	size_t least = n / 64 < 2 ? n / 64 + 1 : 3, first = 0, n_close;
	int64_t sum = 0;

	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), array_by_i64);
	while (first < n && count_close(values, n, first) < least)
		first++;
	first = first < n ? first : 0;
	n_close = count_close(values, n, first);
	for (size_t i = first; i < n && values[i] - values[first] <= MOST_CALL_NS; i++)
		if (count_close(values, n, i) > n_close) {
			first = i;
			n_close = count_close(values, n, i);
		}
	for (size_t i = first; i < first + n_close; i++)
		sum += values[i] - values[first];
	return values[first] + sum / (int64_t)n_close;
}

/* Selects launches, and the reference point for their latency. */
struct look {
	int from_start;	 /* of the call; else from its end */
	int collectives; /* includes collectives, although they wait for other streams */
	int waiting;	 /* includes launches on streams that may wait for an event */
	int64_t most_call_ns;
};

/* Whether no recorded dependency except its launch and its stream delays an operation, and the call
 * is short enough to locate the launch. */
static int shows_launch_latency(const struct infer_view *v, const struct infer_op *op,
				const struct look *look)
{
	const struct infer_call *call = op->call != INFER_NONE ? &v->calls[op->call] : NULL;

	return call && !op->pageable && !op->waits &&
	       (look->collectives || op->kind != FMT_COLLECTIVE) &&
	       (look->waiting || !call->after_wait) &&
	       call->end_ns - call->start_ns <= look->most_call_ns;
}

static int64_t after_call(const struct infer_view *v, const struct infer_op *op,
			  const struct look *look)
{
	const struct infer_call *call = &v->calls[op->call];

	return op->start_ns - (look->from_start ? call->start_ns : call->end_ns);
}

/* Collects times from a call to the start of its operation, on streams that were idle for
 * idle_ns. */
static size_t collect_launches(const struct infer_view *v, const struct look *look, int64_t idle_ns,
			       int64_t *seen)
{
	size_t n = 0;

	for (uint32_t i = 0; i < v->n_ops; i++) {
		const struct infer_op *op = &v->ops[i];
		int64_t after;

		if (!shows_launch_latency(v, op, look))
			continue;
		after = after_call(v, op, look);
		if (after < MOST_LAUNCH_NS &&
		    (infer_prev_op(v, op) == INFER_NONE ||
		     v->ops[infer_prev_op(v, op)].end_ns < op->start_ns - after + idle_ns))
			seen[n++] = after;
	}
	return n;
}

/* Returns the shortest time from a call to its operation, for runs without an idle stream. */
static int64_t least_launch(const struct infer_view *v, const struct look *look)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < v->n_ops; i++) {
		const struct infer_op *op = &v->ops[i];

		if (shows_launch_latency(v, op, look) && after_call(v, op, look) < least)
			least = after_call(v, op, look);
	}
	return least < 100 * US ? least : LAUNCH_NS;
}

/* Returns the time from a call to the start of its operation on an idle stream; INT64_MAX if there
 * is no such launch. It contains the offset between the clocks of device and host, so idle streams
 * are searched again once this is known. Half of the values are within *spread_ns; INT64_MAX: too
 * few values. */
static int64_t typical_launch(const struct infer_view *v, const struct look *look, int64_t *seen,
			      int64_t *spread_ns)
{
	size_t n = collect_launches(v, look, -IDLE_NS, seen);
	int64_t launch_ns = n > 0 ? earliest_latency(seen, n) : INT64_MAX;

	*spread_ns = INT64_MAX;
	n = n > 0 ? collect_launches(v, look, launch_ns - 5 * US, seen) : 0;
	if (n == 0)
		return launch_ns;
	launch_ns = earliest_latency(seen, n);
	if (n >= LEAST_LAUNCHES)
		*spread_ns = seen[n * 3 / 4] - seen[n / 4];
	return launch_ns;
}

/* As typical_launch(), but if no launch remains, also uses operations whose stream waits for an
 * event. Uses collectives if there are no other operations, or if all others were delayed. */
static int64_t launch_of_any(const struct infer_view *v, struct look look, int64_t *seen,
			     int64_t *spread_ns)
{
	int64_t launch_ns = typical_launch(v, &look, seen, spread_ns), unused, any;

	look.waiting = 1;
	if (launch_ns == INT64_MAX)
		launch_ns = typical_launch(v, &look, seen, spread_ns);
	look.collectives = 1;
	any = typical_launch(v, &look, seen, launch_ns < INT64_MAX ? &unused : spread_ns);
	if (any < INT64_MAX && any < launch_ns - LAUNCHES_NS)
		launch_ns = any;
	return launch_ns < INT64_MAX ? launch_ns : least_launch(v, &look);
}

/* Returns the maximum duration of calls whose latency counts; unlimited if few calls are short. */
static int64_t most_call(const struct infer_view *v)
{
	size_t n_short = 0, n_long = 0;

	for (uint32_t i = 0; i < v->n_calls; i++) {
		const struct infer_call *c = &v->calls[i];
		bool is_short = c->end_ns - c->start_ns <= MOST_CALL_NS;

		n_short += c->n_ops > 0 && is_short;
		n_long += c->n_ops > 0 && !is_short;
	}
	return n_short > n_long ? MOST_CALL_NS : INT64_MAX;
}

/* Measures launch_ns. It counts from the end of the call, or from its start if that has a much
 * smaller spread, or if the recorder computes starts on idle streams from the start of the call. */
static int calibrate_launch(struct infer_view *v)
{
	scoped(free_ptr) int64_t *seen = malloc((v->n_ops + (size_t)1) * sizeof(*seen));
	struct look look = {.most_call_ns = most_call(v)};
	int64_t by_start, by_end, from_start;

	if (!seen)
		return -ENOMEM;
	v->constants.launch_ns = launch_of_any(v, look, seen, &by_end);
	look.from_start = 1;
	from_start = launch_of_any(v, look, seen, &by_start);
	if (v->rank->event_times || (by_end < INT64_MAX && by_start < by_end / 4)) {
		v->constants.launch_ns = from_start;
		v->constants.from_start = 1;
	}
	return 0;
}

/* Returns the time from the start of a call to the copy that it waits for, if no such copy shows
 * it: like other launches, whose calls take about their median duration. */
static int launch_of_copies(const struct infer_view *v, int64_t *ret)
{
	scoped(free_ptr) int64_t *seen = malloc((v->n_calls + (size_t)1) * sizeof(*seen));
	size_t n = 0;

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_calls && !v->constants.from_start; i++) {
		int64_t ns = v->calls[i].end_ns - v->calls[i].start_ns;

		if (v->calls[i].n_ops > 0 && ns <= MOST_CALL_NS)
			seen[n++] = ns;
	}
	*ret = v->constants.launch_ns + (n > 0 ? mean_near_median(seen, n, LAUNCH_NS) : COPY_NS);
	return 0;
}

int infer_calibrate(struct infer_view *v)
{
	int r = calibrate_launch(v);

	if (r == 0)
		r = infer_gaps_by_class(v);
	if (v->n_calls > 0)
		v->constants.anchor_ns = v->calls[v->order[0]].start_ns;
	else if (v->n_ops > 0)
		v->constants.anchor_ns = v->ops[0].start_ns;
	v->constants.event_ns = EVENT_NS;
	return r < 0 ? r : launch_of_copies(v, &v->constants.copy_ns);
}

/* Returns 1 if only its call determines the start of the copy: its stream was idle, or, if `idle`
 * is 0, the stream has no gaps and the copy started some time after the previous operation. */
static int is_free(const struct infer_view *v, const struct infer_op *op, int idle)
{
	const struct infer_op *before;

	if (op->waits || infer_prev_op(v, op) == INFER_NONE)
		return !op->waits;
	before = &v->ops[infer_prev_op(v, op)];
	return idle ? before->end_ns < v->calls[op->call].start_ns - IDLE_NS
		    : infer_gap_ns(v, op) == 0 && before->end_ns + US < op->start_ns;
}

/* Measures the time from the start of a call that waits for its copy to the copy's start, on idle
 * streams. Returns 1; 0 if no copy started on an idle stream, then *ret is `otherwise`, or the
 * shortest time of such copies if that is less or nearly the same; or -ENOMEM. */
static int calibrate_copies(struct infer_view *v, enum infer_copy copy, int64_t otherwise,
			    int64_t *ret)
{
	scoped(free_ptr) int64_t *seen = malloc((v->n_edges + 1) * sizeof(*seen));
	int64_t least = INT64_MAX, most; /* of copies on busy streams as well */
	size_t n = 0, n_prompt;

	if (!seen)
		return -ENOMEM;
	for (int idle = 1; idle >= 0 && n == 0; idle--)
		for (size_t i = 0; i < v->n_edges; i++) {
			const struct infer_edge *e = &v->edges[i];
			const struct infer_op *op;
			int64_t after;

			if (e->kind != FMT_EDGE_RETURN || e->rule != INFER_COPY)
				continue;
			op = &v->ops[e->from_op];
			after = op->start_ns - v->calls[op->call].start_ns;
			if ((op->copy == INFER_COPY_TO_DEVICE) != (copy == INFER_COPY_TO_DEVICE))
				continue;
			least = after < least ? after : least;
			if (is_free(v, op, idle))
				seen[n++] = after;
		}
	if (n > 0)
		qsort(seen, n, sizeof(*seen), array_by_i64);
	most = least < otherwise + LAUNCH_NS ? least : otherwise;
	/* Later copies were delayed, for example by loading of code. */
	n_prompt = array_bound(i, 0, n, seen[i] <= most + MOST_LAUNCH_NS);
	*ret = n_prompt > 0 ? seen[n_prompt / 2] : most;
	return n_prompt > 0;
}

/* A large copy from pageable memory begins some time after its call. */
static int add_copy_starts(struct infer_view *v, int64_t lag_ns)
{
	size_t n = v->n_edges;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct infer_edge e = v->edges[i];
		struct infer_op *op;

		if (e.kind != FMT_EDGE_RETURN || e.rule != INFER_COPY ||
		    v->ops[e.from_op].copy != INFER_COPY_TO_DEVICE)
			continue;
		op = &v->ops[e.from_op];
		if (op->start_ns <= v->calls[op->call].start_ns + lag_ns + INFER_UNEXPLAINED_NS)
			op->explained = 1;
		r = infer_add_edge(v, &(struct infer_edge){.from = e.to,
							   .to = e.from,
							   .from_op = INFER_NONE,
							   .to_op = e.from_op,
							   .lag_ns = lag_ns,
							   .kind = FMT_EDGE_SPAWN,
							   .rule = INFER_COPY});
	}
	return r;
}

static int waits_for_event(const struct infer_edge *e)
{
	return e->kind == FMT_EDGE_START &&
	       (e->rule == INFER_COMM_WAIT_COMPUTE || e->rule == INFER_COMPUTE_WAIT_COMM ||
		e->rule == INFER_EVENT_WAIT || e->rule == INFER_EVENT_WAIT_RECORDED);
}

/* Waits of and for a collective differ from each other and from the rest. */
static int class_of(const struct infer_view *v, const struct infer_edge *e)
{
	return (v->ops[e->to_op].kind == FMT_COLLECTIVE) * 2 +
	       (infer_edge_source(v, e)->kind == FMT_COLLECTIVE);
}

/* Returns 1 if this edge determined the start of its operation, rather than its launch or the
 * previous operation of its stream. */
static int determines_start(const struct infer_view *v, const struct infer_edge *e)
{
	const struct infer_op *op = &v->ops[e->to_op];
	int64_t end_ns = infer_edge_source(v, e)->end_ns, after = op->base_ns - end_ns;

	if (e->to_op > 0 && op[-1].stream == op->stream && op[-1].end_ns > end_ns)
		return 0;
	return after >= 0 && after <= EVENT_NS;
}

static int calibrate_class(struct infer_view *v, int class, int64_t *ret)
{
	scoped(free_ptr) int64_t *seen = malloc((v->n_edges + 1) * sizeof(*seen));
	size_t n = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < v->n_edges; i++) {
		const struct infer_edge *e = &v->edges[i];
		int64_t after;

		if (!waits_for_event(e) || (class >= 0 && class_of(v, e) != class) ||
		    !determines_start(v, e))
			continue;
		after = v->ops[e->to_op].start_ns - infer_edge_source(v, e)->end_ns;
		if (after < MOST_EVENT_NS && after > -MOST_EVENT_NS)
			seen[n++] = after;
	}
	if (n >= 3)
		*ret = mean_near_median(seen, n, 20 * US);
	return 0;
}

static int calibrate_events(struct infer_view *v)
{
	int64_t lag_ns[4];
	int r = calibrate_class(v, -1, &v->constants.event_ns);

	for (int class = 0; class < 4 && r == 0; class ++) {
		lag_ns[class] = v->constants.event_ns;
		r = calibrate_class(v, class, &lag_ns[class]);
	}
	for (size_t i = 0; i < v->n_edges && r == 0; i++) {
		struct infer_edge *e = &v->edges[i];

		if (!waits_for_event(e))
			continue;
		e->lag_ns = lag_ns[class_of(v, e)];
		if (determines_start(v, e))
			v->ops[e->to_op].base_ns = infer_edge_source(v, e)->end_ns + e->lag_ns;
	}
	return r;
}

int infer_calibrate_edges(struct infer_view *v)
{
	int64_t to_host, to_device;
	int known = calibrate_copies(v, INFER_COPY_TO_HOST, v->constants.copy_ns, &to_host), r;

	if (known < 0)
		return known;
	r = calibrate_copies(v, INFER_COPY_TO_DEVICE, to_host, &to_device);
	v->constants.copy_ns = !known && to_device < to_host ? to_device : to_host;
	if (r >= 0 && to_device > v->constants.copy_ns)
		r = add_copy_starts(v, to_device);
	return r < 0 ? r : calibrate_events(v);
}
