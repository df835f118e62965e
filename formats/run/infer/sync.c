/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/walk.h"

#include "formats/run/infer/event_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE INFER_TOLERANCE_NS
#define SMALL_COPY_BYTES                                                                           \
	65536 /* a pageable copy up to this size goes through the command buffer                   \
	       */
#define STAGED_NS (500 * INFER_US) /* a piece of such a copy takes less */
#define WAITED_NS (50 * INFER_US)  /* a call of this length waited for something */
#define BACK 64
#define MOST_LINKS 32

static const char *name_of(const struct infer_view *v, const struct infer_call *c)
{
	const struct fmt_template *s = fmt_template(v->names, v->rank->events[c->event].template);

	return fmt_string(v->names, s->name, NULL);
}

/* Hashes the name of a call to 8 bits. Names with the same hash share what was measured. */
static uint8_t name_bucket(const char *name)
{
	unsigned h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return (uint8_t)(h ^ h >> 8);
}

/* Returns the end of `op` on the clock of the host. */
static int64_t end_of(const struct infer_view *v, uint32_t op)
{
	return v->ops[op].end_ns - v->constants.launch_ns;
}

static int ended_before_return(const struct infer_view *v, uint32_t op, const struct infer_call *c)
{
	return op != INFER_NONE && end_of(v, op) <= c->end_ns + TOLERANCE;
}

/* The host's own part of the call is the time after the last operation that it waited for. */
static int add_returns_of(struct infer_walk *w, uint32_t call, const struct infer_ref *ops,
			  uint32_t n, enum infer_rule rule)
{
	struct infer_view *v = w->view;
	struct infer_call *c = &v->calls[call];
	int64_t from = c->start_ns;
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		if (ops[i].view->ops[ops[i].op].end_ns > from)
			from = ops[i].view->ops[ops[i].op].end_ns;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = infer_add_edge(v,
				   &(struct infer_edge){.from = ops[i].view->ops[ops[i].op].event,
							.to = c->event,
							.from_op = ops[i].op,
							.to_op = INFER_NONE,
							.from_view = ops[i].view,
							.lag_ns = c->end_ns - from,
							.kind = FMT_EDGE_RETURN,
							.rule = (uint8_t)rule});
	c->waits = n > 0;
	return r;
}

/* As add_returns_of(), for operations of this rank. */
static int add_returns(struct infer_walk *w, uint32_t call, const uint32_t *ops, uint32_t n,
		       enum infer_rule rule)
{
	struct infer_ref *refs = malloc((n + (size_t)1) * sizeof(*refs));
	int r = refs ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && r == 0; i++)
		refs[i] = (struct infer_ref){w->view, ops[i]};
	if (r == 0)
		r = add_returns_of(w, call, refs, n, rule);
	free(refs);
	return r;
}

/* Returns the operation of any stream that ended last before the call returned, at most `within`
 * before. */
static uint32_t ended_last(const struct infer_walk *w, const struct infer_call *c, int64_t within)
{
	const struct infer_view *v = w->view;
	uint32_t best = INFER_NONE;

	for (uint32_t s = 0; s < v->n_streams; s++) {
		uint32_t at =
			infer_last_ended(v, s, c->end_ns + TOLERANCE + v->constants.launch_ns);

		for (int i = 0;
		     i < BACK && at != INFER_NONE && !infer_is_launched_by(v, &v->ops[at], c); i++)
			at = infer_prev_op(v, &v->ops[at]);
		if (at == INFER_NONE || !infer_is_launched_by(v, &v->ops[at], c) ||
		    end_of(v, at) < c->end_ns - within)
			continue;
		if (best == INFER_NONE || v->ops[at].end_ns > v->ops[best].end_ns)
			best = at;
	}
	return best;
}

/* Lists the operations that a synchronisation of the stream waits for, if they ended before the
 * call returned: the newest one of the stream, and those that it has since been made to wait for.
 * Returns their number; *end_ns is the latest end. */
static uint32_t list_pending(const struct infer_walk *w, const struct infer_call *c,
			     uint32_t stream, struct infer_ref *ops, int64_t *end_ns)
{
	const struct infer_view *v = w->view;
	uint32_t n = 0;

	if (ended_before_return(v, w->last[stream], c))
		ops[n++] = (struct infer_ref){v, w->last[stream]};
	for (uint32_t i = w->links[stream]; i != INFER_NONE && n < MOST_LINKS; i = v->links[i].next)
		if (ended_before_return(v->links[i].view, v->links[i].op, c))
			ops[n++] = (struct infer_ref){v->links[i].view, v->links[i].op};
	*end_ns = INT64_MIN;
	for (uint32_t i = 0; i < n; i++)
		if (end_of(ops[i].view, ops[i].op) > *end_ns)
			*end_ns = end_of(ops[i].view, ops[i].op);
	return n;
}

/* sync-stream: the last used stream of the thread, unless the call returned too late for it and
 * directly after something else. */
static int sync_stream(struct infer_walk *w, uint32_t call)
{
	const struct infer_view *v = w->view;
	const struct infer_call *c = &v->calls[call];
	uint32_t op = w->last_compute[c->thread], n = 0;
	struct infer_ref ops[MOST_LINKS];
	int64_t end_ns = INT64_MIN;

	if (op == INFER_NONE)
		op = w->compute;
	if (op != INFER_NONE)
		n = list_pending(w, c, v->ops[op].stream, ops, &end_ns);
	if (c->end_ns - c->start_ns > WAITED_NS && (n == 0 || end_ns < c->end_ns - WAITED_NS)) {
		op = ended_last(w, c, WAITED_NS);
		if (op != INFER_NONE) {
			ops[0] = (struct infer_ref){v, op};
			n = 1;
		}
	}
	return add_returns_of(w, call, ops, n, INFER_SYNC_STREAM);
}

/* sync-event: the call's links; without links, the operation that ended directly before it
 * returned. */
static int sync_event(struct infer_walk *w, uint32_t call)
{
	const struct infer_call *c = &w->view->calls[call];
	uint32_t op = INFER_NONE;

	if (c->end_ns - c->start_ns > WAITED_NS)
		op = ended_last(w, c, WAITED_NS);
	return add_returns(w, call, &op, op != INFER_NONE, INFER_SYNC_EVENT);
}

/* poll: the operation that ended between the last two queries. */
static int sync_poll(struct infer_walk *w, uint32_t call)
{
	const struct infer_call *c = &w->view->calls[call];
	uint32_t op = ended_last(w, c, c->end_ns - c[c->n_polls - 2].start_ns + TOLERANCE);

	return add_returns(w, call, &op, op != INFER_NONE, INFER_POLL);
}

/* Adds edges for the links of a call whose operations ended before it returned. Returns 1, or 0 if
 * there are none. */
static int sync_links(struct infer_walk *w, uint32_t call, uint32_t link)
{
	const struct infer_view *v = w->view;
	struct infer_ref ops[MOST_LINKS];
	uint32_t n = 0;
	int r;

	for (uint32_t i = link; i < w->next_link && n < MOST_LINKS; i++) {
		const struct infer_add_link *l = &v->links[i];

		if (l->stream == INFER_NONE && ended_before_return(l->view, l->op, &v->calls[call]))
			ops[n++] = (struct infer_ref){l->view, l->op};
	}
	if (n == 0)
		return 0;
	r = add_returns_of(w, call, ops, n,
			   v->links[link].recorded ? INFER_SYNC_RECORDED : INFER_SYNC_EVENT);
	return r < 0 ? r : 1;
}

/* sync-device: the newest operation of each stream, unless known to have ended. */
static int sync_device(struct infer_walk *w, uint32_t call)
{
	const struct infer_view *v = w->view;
	const struct infer_call *c = &v->calls[call];
	uint32_t newest = INFER_NONE, n = 0;
	uint32_t *list = malloc((v->n_streams + (size_t)1) * sizeof(*list));
	int r;

	if (!list)
		return -ENOMEM;
	for (uint32_t s = 0; s < v->n_streams; s++) {
		uint32_t op = w->last[s];

		if (!ended_before_return(v, op, c))
			continue;
		if (newest == INFER_NONE || v->ops[op].end_ns > v->ops[newest].end_ns)
			newest = op;
		if (w->waited[s] != op)
			list[n++] = op;
		w->waited[s] = op;
	}
	if (n == 0 && newest != INFER_NONE)
		list[n++] = newest;
	r = add_returns(w, call, list, n, INFER_SYNC_DEVICE);
	free(list);
	return r;
}

/* A call that copies from pageable memory may return when the last piece is in a staging buffer, so
 * its own part after the copy's end is negative. A call that copies to pageable memory does not;
 * but if its end was recorded by an event, the recorded end may be later. */
static int returns_when_staged(const struct infer_view *v, uint32_t op, const struct infer_call *c)
{
	const struct infer_op *o = &v->ops[op];

	return (o->copy == INFER_COPY_TO_DEVICE || o->pageable) && o->start_ns < c->end_ns &&
	       end_of(v, op) <= c->end_ns + STAGED_NS;
}

/* copy: a copy to pageable memory ends before its call returns; a copy from pageable memory nearly
 * so, except small ones. Other copies, if the run shows that the call waited for them. */
static int sync_copy(struct infer_walk *w, uint32_t call)
{
	const struct infer_view *v = w->view;
	const struct infer_call *c = &v->calls[call];
	uint32_t op = v->launched[c->first_op];
	const struct infer_op *o = &v->ops[op];
	int64_t bytes = 0;
	int waits;

	infer_event_arg(v, o->event, "bytes", &bytes);
	waits = o->pageable && (o->copy == INFER_COPY_TO_HOST || bytes > SMALL_COPY_BYTES);
	if (!waits && (o->pageable || o->copy == INFER_COPY_TO_HOST))
		waits = c->end_ns - c->start_ns > 2 * WAITED_NS &&
			end_of(v, op) > c->end_ns - 30 * INFER_US;
	if (o->kind != FMT_MEMCPY || !waits ||
	    (!ended_before_return(v, op, c) && !returns_when_staged(v, op, c)))
		return 0;
	return add_returns(w, call, &op, 1, INFER_COPY);
}

void infer_find_optional_syncs(struct infer_walk *w)
{
	struct infer_view *v = w->view;

	memset(w->last, 0xff, v->n_streams * sizeof(*w->last));
	for (uint32_t i = 0; i < v->n_calls; i++) {
		const struct infer_call *c = &v->calls[v->order[i]];

		for (uint32_t k = 0; k < c->n_ops; k++) {
			uint32_t op = v->launched[c->first_op + k];

			w->last[v->ops[op].stream] = op;
		}
		if (c->api != INFER_API_MAY_SYNC)
			continue;
		for (uint32_t s = 0; s < v->n_streams; s++)
			if (w->last[s] != INFER_NONE &&
			    end_of(v, w->last[s]) > c->end_ns + 100 * INFER_US)
				w->may_skip_sync[name_bucket(name_of(v, c))] = 1;
	}
	memset(w->last, 0xff, v->n_streams * sizeof(*w->last));
}

int infer_add_call_waits(struct infer_walk *w, uint32_t call, uint32_t link)
{
	const struct infer_view *v = w->view;
	const struct infer_call *c = &v->calls[call];
	int r = sync_links(w, call, link);

	if (r != 0)
		return r < 0 ? r : 0;
	switch (c->api) {
	case INFER_API_STREAM_SYNC:
		return sync_stream(w, call);
	case INFER_API_EVENT_SYNC:
		return sync_event(w, call);
	case INFER_API_POLL:
		return c->n_polls > 0 ? sync_poll(w, call) : 0;
	case INFER_API_DEVICE_SYNC:
		return sync_device(w, call);
	case INFER_API_MAY_SYNC:
		return w->may_skip_sync[name_bucket(name_of(v, c))] ? 0 : sync_device(w, call);
	case INFER_API_COPY:
		return c->n_ops > 0 ? sync_copy(w, call) : 0;
	default:
		return 0;
	}
}
