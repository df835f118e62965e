/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/process.h"
#include "formats/run/infer/edge.h"

#include "base/array.h"
#include "base/scope.h"

void infer_process_done(struct infer_process *p)
{
	free(p->views);
	free(p->n_returned);
	*p = (struct infer_process){0};
}

int infer_process_init(struct infer_process *p, struct infer_view *views, uint32_t n_views,
		       uint32_t rank)
{
	uint32_t process = views[rank].rank->process;

	*p = (struct infer_process){0};
	for (uint32_t i = 0; i < rank && process; i++)
		if (views[i].rank->process == process)
			return 0;
	p->views = malloc((n_views + (size_t)1) * sizeof(struct infer_view *));
	p->n_returned = calloc(n_views + (size_t)1, sizeof(*p->n_returned));
	if (!p->views || !p->n_returned)
		return -ENOMEM;
	p->views[p->n++] = &views[rank];
	for (uint32_t i = rank + 1; i < n_views && process; i++)
		if (views[i].rank->process == process)
			p->views[p->n++] = &views[i];
	return 0;
}

void infer_process_rewind(const struct infer_process *p)
{
	memset(p->n_returned, 0, p->n * sizeof(*p->n_returned));
}

static uint64_t correlation_of(const struct infer_view *v, const struct infer_call *c)
{
	return v->rank->events[c->event].correlation;
}

uint32_t infer_process_next(const struct infer_process *p, uint32_t *view)
{
	const struct infer_call *best = NULL;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct infer_view *v = p->views[i];
		const struct infer_call *c;

		if (p->n_returned[i] == v->n_calls)
			continue;
		c = &v->calls[v->order[p->n_returned[i]]];
		if (best && (c->start_ns > best->start_ns ||
			     (c->start_ns == best->start_ns &&
			      correlation_of(v, c) >= correlation_of(p->views[*view], best))))
			continue;
		best = c;
		*view = i;
	}
	return best ? p->views[*view]->order[p->n_returned[*view]++] : INFER_NONE;
}

/* ---- thread-order ---- */

struct thread_call {
	uint32_t view, call; /* INFER_NONE: none yet */
};

/* A thread of the process, its last call, and the last call that began before that. Calls that
 * begin at the same time do not wait for each other: their order is not that of their events. */
struct thread {
	int64_t pid, tid;
	struct thread_call last, before;
};

struct threads {
	struct thread *all;
	size_t n, cap;
	uint32_t **numbers; /* by view and its thread: index of the process's */
	uint32_t n_views;
};

static void threads_done(struct threads *t)
{
	for (uint32_t i = 0; t->numbers && i < t->n_views; i++)
		free(t->numbers[i]);
	free(t->numbers);
	free(t->all);
}

static int find_thread(struct threads *t, const struct fmt_track *track, uint32_t *ret)
{
	for (*ret = 0; *ret < t->n; ++*ret)
		if (t->all[*ret].tid == track->tid && t->all[*ret].pid == track->pid)
			return 0;
	if (array_reserve(&t->all, t->n + 1, &t->cap) < 0)
		return -ENOMEM;
	t->all[t->n++] = (struct thread){track->pid, track->tid, {0, INFER_NONE}, {0, INFER_NONE}};
	return 0;
}

static int find_threads(struct threads *t, const struct infer_process *p)
{
	int r = 0;

	t->n_views = p->n;
	t->numbers = calloc(p->n, sizeof(*t->numbers));
	for (uint32_t i = 0; i < p->n && t->numbers; i++) {
		const struct infer_view *v = p->views[i];

		t->numbers[i] = malloc((v->n_threads + (size_t)1) * sizeof(**t->numbers));
		if (!t->numbers[i])
			return -ENOMEM;
		for (uint32_t k = 0; k < v->n_threads && r == 0; k++)
			r = find_thread(t, fmt_track(v->names, v->index, v->threads[k].track),
					&t->numbers[i][k]);
	}
	return t->numbers ? r : -ENOMEM;
}

/* The call begins its own time after the thread's last call; a nested call, after its start. */
static int follow_thread(const struct infer_process *p, uint32_t view, uint32_t call,
			 struct thread_call last)
{
	struct infer_view *v = p->views[view], *of = p->views[last.view];
	const struct infer_call *c = &v->calls[call], *from = &of->calls[last.call];
	uint32_t to = infer_outermost_event(v, c->event);
	int inside = from->end_ns > c->start_ns;

	if (v->n_edges > 0 && v->edges[v->n_edges - 1].to == to &&
	    v->edges[v->n_edges - 1].rule == INFER_THREAD_ORDER)
		return 0;
	return infer_add_edge(v,
			      &(struct infer_edge){.from = from->event,
						   .to = to,
						   .from_op = INFER_NONE,
						   .to_op = INFER_NONE,
						   .from_view = of,
						   .lag_ns = c->start_ns - (inside ? from->start_ns
										   : from->end_ns),
						   .kind = inside ? FMT_EDGE_SPAWN : FMT_EDGE_START,
						   .rule = INFER_THREAD_ORDER});
}

static int64_t start_of(const struct infer_process *p, struct thread_call at)
{
	return at.call == INFER_NONE ? INT64_MIN : p->views[at.view]->calls[at.call].start_ns;
}

int infer_add_thread_order(const struct infer_process *p)
{
	scoped(threads_done) struct threads t = {0};
	int r = find_threads(&t, p);
	uint32_t view, call;

	infer_process_rewind(p);
	while (r == 0 && (call = infer_process_next(p, &view)) != INFER_NONE) {
		const struct infer_call *c = &p->views[view]->calls[call];
		struct thread *thread = &t.all[t.numbers[view][c->thread]];

		if (c->nested)
			continue;
		if (start_of(p, thread->last) < c->start_ns)
			thread->before = thread->last;
		if (thread->before.call != INFER_NONE && thread->before.view != view)
			r = follow_thread(p, view, call, thread->before);
		thread->last = (struct thread_call){view, call};
	}
	return r;
}
