/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/walk.h"

#include "formats/run/infer/event_links.h"

#define TOLERANCE INFER_TOLERANCE_NS
#define BACK 64 /* maximum number of collectives of a stream to search for one that has ended */

/* comm-wait-compute, compute-wait-comm, event-wait: links of the stream since its last
 * operation. */
static int linked_waits(struct infer_walk *w, uint32_t op, int64_t *base_ns)
{
	const struct infer_view *v = w->view;
	struct infer_op *o = &w->view->ops[op];
	int r = 0;

	for (uint32_t i = w->links[o->stream]; i != INFER_NONE && r == 0; i = v->links[i].next) {
		const struct infer_add_link *l = &v->links[i];
		const struct infer_op *from = &l->view->ops[l->op];
		enum infer_rule rule = from->kind == FMT_COLLECTIVE ? INFER_COMPUTE_WAIT_COMM
				       : o->kind == FMT_COLLECTIVE  ? INFER_COMM_WAIT_COMPUTE
								    : INFER_EVENT_WAIT;

		if (from->end_ns > o->start_ns + TOLERANCE ||
		    (l->view == v && from->stream == o->stream))
			continue;
		if (from->end_ns + v->constants.event_ns > *base_ns)
			*base_ns = from->end_ns + v->constants.event_ns;
		if (l->recorded)
			rule = INFER_EVENT_WAIT_RECORDED;
		o->waits = 1;
		r = infer_add_edge(w->view, &(struct infer_edge){.from = from->event,
								 .to = o->event,
								 .from_op = l->op,
								 .to_op = op,
								 .from_view = l->view,
								 .kind = FMT_EDGE_START,
								 .rule = (uint8_t)rule});
	}
	w->links[o->stream] = INFER_NONE;
	return r;
}

struct evidence {
	int64_t off_ns; /* distance between the explained time and the start */
	int64_t base_ns;
	uint32_t from;
	enum infer_rule rule;
};

/* Returns true if a call since its previous operation may have made the stream of `op` wait. */
static bool may_wait(const struct infer_walk *w, const struct infer_op *op,
		     const struct infer_call *call)
{
	return !call || !w->view->has_waits || w->waits[op->stream] != w->n_waits;
}

/* event-wait: an operation that ended on another stream just when `op` started. */
static void find_event_wait(const struct infer_walk *w, uint32_t stream, uint32_t op,
			    const struct infer_call *call, int64_t base_ns, struct evidence *best)
{
	const struct infer_view *v = w->view;
	const struct infer_op *o = &v->ops[op];
	uint32_t at = infer_last_ended(v, stream, o->start_ns + 2 * INFER_US);
	int64_t window, off;

	if (!may_wait(w, o, call))
		return;
	for (int i = 0;
	     i < BACK && at != INFER_NONE && call && !infer_is_launched_by(v, &v->ops[at], call);
	     i++)
		at = infer_prev_op(v, &v->ops[at]);
	if (at == INFER_NONE || (call && !infer_is_launched_by(v, &v->ops[at], call)))
		return;
	window = o->kind == FMT_COLLECTIVE || v->ops[at].kind == FMT_COLLECTIVE ? 60 : 25;
	off = o->start_ns - v->ops[at].end_ns;
	if (off > window * INFER_US || v->ops[at].end_ns <= base_ns)
		return;
	off = off < 0 ? -off : off;
	if (best->from == INFER_NONE || off < best->off_ns)
		*best = (struct evidence){off, v->ops[at].end_ns, at, INFER_EVENT_WAIT};
}

/* capacity: a kernel of another stream used the whole device, until all of its blocks were
 * scheduled or, if the waiting stream has priority, until a wave of them ended. */
static void find_capacity_wait(const struct infer_walk *w, uint32_t stream, uint32_t op,
			       const struct infer_call *call, int64_t base_ns,
			       struct evidence *best)
{
	const struct infer_view *v = w->view;
	const struct infer_op *o = &v->ops[op], *z;
	uint32_t at = infer_last_started(v, stream, o->start_ns);
	int64_t last_wave, wave, since, off;

	if (at == INFER_NONE)
		return;
	z = &v->ops[at];
	/* If the stream can wait for an event, it waits for the operation that ended just then. */
	if (z->kind == FMT_COLLECTIVE ||
	    z->end_ns <= o->start_ns + (may_wait(w, o, call) ? 2 : -25) * INFER_US ||
	    o->start_ns <= base_ns + 25 * INFER_US || z->start_ns > base_ns + 50 * INFER_US)
		return;
	last_wave = infer_release_ns(w->shapes, z, &wave);
	since = z->start_ns > base_ns ? z->start_ns : base_ns;
	if (o->start_ns < z->start_ns + last_wave - 60 * INFER_US - last_wave / 10 &&
	    o->start_ns - since > wave + wave / 4)
		return;
	off = o->start_ns - (z->start_ns + last_wave);
	off = off < 0 ? -off : off;
	if (best->from == INFER_NONE || off < best->off_ns)
		*best = (struct evidence){off, o->start_ns, at, INFER_CAPACITY};
}

/* queue-order: if all streams share one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1), operations
 * start in the order of their launches. */
static void find_queue_order(const struct infer_walk *w, uint32_t op, const struct infer_call *call,
			     int64_t base_ns, struct evidence *best)
{
	const struct infer_view *v = w->view;
	const struct infer_op *o = &v->ops[op], *before;
	int64_t off;

	if (!call || w->newest == INFER_NONE)
		return;
	before = &v->ops[w->newest];
	off = o->start_ns - before->start_ns;
	if (before->stream == o->stream || off < 0 || off > 25 * INFER_US ||
	    before->start_ns <= base_ns)
		return;
	if (best->from == INFER_NONE || off < best->off_ns)
		*best = (struct evidence){off, o->start_ns, w->newest, INFER_QUEUE_ORDER};
}

int infer_explain_delay(struct infer_walk *w, uint32_t op, const struct infer_call *call,
			int64_t *base_ns)
{
	struct infer_view *v = w->view;
	struct evidence best = {.from = INFER_NONE};

	for (uint32_t s = 0; s < v->n_streams; s++) {
		if (s == v->ops[op].stream)
			continue;
		find_event_wait(w, s, op, call, *base_ns, &best);
		find_capacity_wait(w, s, op, call, *base_ns, &best);
	}
	find_queue_order(w, op, call, *base_ns, &best);
	if (best.from == INFER_NONE)
		return 0;
	if (best.base_ns > *base_ns)
		*base_ns = best.base_ns;
	if (best.rule == INFER_EVENT_WAIT)
		return infer_add_op_edge(v, best.from, op, FMT_EDGE_START, INFER_EVENT_WAIT, 0);
	if (best.rule == INFER_QUEUE_ORDER)
		return infer_add_op_edge(v, best.from, op, FMT_EDGE_SPAWN, INFER_QUEUE_ORDER,
					 INFER_US);
	return infer_add_op_edge(v, best.from, op, FMT_EDGE_SPAWN, INFER_CAPACITY,
				 v->ops[op].start_ns - v->ops[best.from].start_ns);
}

static int is_graph(const struct infer_view *v, uint32_t op)
{
	return v->ops[op].call != INFER_NONE && v->calls[v->ops[op].call].api == INFER_API_GRAPH;
}

/* Returns 1 if `op`, or the previous operation of its stream, came from a graph, some of whose
 * nodes may not be recorded. */
static int in_graph(const struct infer_view *v, uint32_t op)
{
	return is_graph(v, op) || is_graph(v, infer_prev_op(v, &v->ops[op]));
}

static int explain_start(struct infer_walk *w, uint32_t op)
{
	struct infer_view *v = w->view;
	struct infer_op *o = &v->ops[op];
	int by_stream, r;
	int64_t base = infer_base_start_ns(v, o, &by_stream), first = base;

	r = linked_waits(w, op, &base);
	if (r == 0 && o->start_ns > base + TOLERANCE)
		r = infer_explain_delay(w, op, &v->calls[o->call], &base);
	if (r == 0 && o->start_ns > base + TOLERANCE && by_stream && base == first &&
	    in_graph(v, op)) {
		r = infer_add_op_edge(v, infer_prev_op(v, o), op, FMT_EDGE_START, INFER_GRAPH_GAP,
				      o->start_ns - v->ops[infer_prev_op(v, o)].end_ns);
		base = o->start_ns;
	}
	o->base_ns = base;
	o->explained = o->start_ns <= base + INFER_UNEXPLAINED_NS;
	return r;
}

int infer_add_op_waits(struct infer_walk *w, const struct infer_call *call)
{
	struct infer_view *v = w->view;
	int r = 0;

	for (uint32_t i = 0; i < call->n_ops && r == 0; i++) {
		uint32_t op = v->launched[call->first_op + i];

		r = explain_start(w, op);
		w->last[v->ops[op].stream] = w->newest = op;
		w->waits[v->ops[op].stream] = w->n_waits;
		if (v->ops[op].kind != FMT_COLLECTIVE)
			w->last_compute[call->thread] = w->compute = op;
	}
	return r;
}
