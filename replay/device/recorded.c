/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/recorded.h"

#include "base/array.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/value.h"
#include "formats/trace/wrap.h"

#include <errno.h>
#include <string.h>

void rex_process_done(struct rex_process *p)
{
	for (size_t i = 0; i < p->n_slices; i++)
		fmt_slice_free(p->slices[i]);
	free(p->slices);
	free(p->ranks);
	free(p->calls);
	free(p->threads);
	free(p->firsts);
	free(p->contents);
	free(p->keyframe);
	free(p->ops);
	free(p->iterations);
	memset(p, 0, sizeof(*p));
}

/* ---- ranks of one process */

/* A rank of a process with a recorded number. */
struct member {
	const char *host, *process;
	uint32_t rank;
};

static int by_process(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return strcmp(x->process, y->process) ?: strcmp(x->host, y->host)
	       ?: array_order(x->rank, y->rank);
}

int rex_processes_find(const struct fmt_trace *trace, struct rex_processes *ret)
{
	const struct fmt_names *names = fmt_trace_names(trace);
	uint32_t n = fmt_trace_n_ranks(trace), first = 0;
	scoped(free_ptr) struct member *members = calloc(n + 1u, sizeof(*members));
	size_t n_members = 0;

	ret->by_rank = calloc(n + 1u, sizeof(*ret->by_rank));
	ret->n = 0;
	if (!members || !ret->by_rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct member m = {fmt_fact_value(names, i, "host"),
				   fmt_fact_value(names, i, "process"), i};

		ret->by_rank[i] = i; /* initially, the first rank of its process */
		if (m.host && m.process)
			members[n_members++] = m;
	}
	qsort(members, n_members, sizeof(*members), by_process);
	for (size_t i = 0; i < n_members; i++) {
		first = i > 0 && strcmp(members[i].process, members[i - 1].process) == 0 &&
					strcmp(members[i].host, members[i - 1].host) == 0
				? first
				: members[i].rank;
		ret->by_rank[members[i].rank] = first;
	}
	for (uint32_t i = 0; i < n; i++)
		ret->by_rank[i] = ret->by_rank[i] == i ? ret->n++ : ret->by_rank[ret->by_rank[i]];
	return 0;
}

void rex_processes_done(struct rex_processes *p)
{
	free(p->by_rank);
}

int64_t rex_processes_rank(const struct fmt_trace *trace, const struct rex_processes *p,
			   uint32_t index)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(trace); i++)
		if (p->by_rank[i] == index)
			return fmt_trace_rank(trace, i)->number;
	return index;
}

static int find_ranks(struct rex_process *p, uint32_t index)
{
	scoped(rex_processes_done) struct rex_processes all = {0};
	int r = rex_processes_find(p->trace, &all);

	if (r < 0)
		return r;
	p->index = index;
	p->n_processes = all.n;
	for (uint32_t i = 0; i < fmt_trace_n_ranks(p->trace); i++) {
		if (all.by_rank[i] != index)
			continue;
		if (array_reserve(&p->ranks, p->n_ranks + 1, &p->ranks_cap) < 0)
			return -ENOMEM;
		p->ranks[p->n_ranks++] = i;
	}
	return p->n_ranks > 0 ? 0 : -EINVAL;
}

/* ---- calls */

/* Finds the threads of all ranks. */
static int find_threads(struct rex_process *p)
{
	const struct fmt_names *names = fmt_trace_names(p->trace);
	const struct fmt_track *t;
	size_t n = 0;

	for (size_t i = 0; i < p->n_ranks; i++)
		for (uint32_t k = 0; (t = fmt_track(names, p->ranks[i], k)); k++) {
			if (t->kind != FMT_THREAD)
				continue;
			if (array_reserve(&p->threads, p->n_threads + 1, &p->threads_cap) < 0)
				return -ENOMEM;
			p->threads[p->n_threads++] = t->tid;
		}
	if (p->n_threads > 0)
		qsort(p->threads, p->n_threads, sizeof(p->threads[0]), array_by_i64);
	for (size_t i = 0; i < p->n_threads; i++)
		if (i == 0 || p->threads[i] != p->threads[i - 1])
			p->threads[n++] = p->threads[i];
	p->n_threads = n;
	return 0;
}

static int add_op(struct rex_process *p, const struct fmt_event *e)
{
	if (array_reserve(&p->ops, p->n_ops + 1, &p->ops_cap) < 0)
		return -ENOMEM;
	p->ops[p->n_ops++] = (struct rex_op){e->correlation, e->duration_ns};
	return 0;
}

static int add_call(struct rex_process *p, uint32_t rank, const struct fmt_slice *s,
		    const struct fmt_event *e)
{
	const struct fmt_names *names = fmt_trace_names(p->trace);
	const struct fmt_template *t = fmt_template(names, e->template);
	struct rex_call c = {.rank = rank, .order = -1};
	const struct fmt_track *track = fmt_track(names, rank, e->track);
	int index;

	if (t && FMT_IS_OP(t->kind))
		return add_op(p, e);
	if (!t || t->kind != FMT_CALL)
		return 0;
	index = api_find(fmt_string(names, t->name, NULL));
	if (index < 0) {
		p->unknown++;
		return 0;
	}
	if (!track || track->kind != FMT_THREAD)
		return 0;
	c.thread = (uint32_t)array_bound(i, 0, p->n_threads, p->threads[i] < track->tid);
	c.api = api_call((unsigned)index);
	c.args = (struct rex_args){names, t, fmt_event_values(s, e)};
	c.start_ns = e->start_ns;
	c.end_ns = fmt_add(e->start_ns, e->duration_ns);
	if (c.end_ns < c.start_ns) /* damaged */
		c.end_ns = c.start_ns;
	c.correlation = e->correlation;
	c.before = fmt_iteration_order(s->iteration.number, p->range.first) < 0;
	rex_args_int(&c.args, "order", NULL, &c.order);
	if (!rex_args_int(&c.args, "began", NULL, &c.began) || c.began > c.order)
		c.began = -1; /* none, or damaged */
	c.result = rex_args_result(&c.args);
	if (array_reserve(&p->calls, p->n_calls + 1, &p->calls_cap) < 0)
		return -ENOMEM;
	p->calls[p->n_calls++] = c;
	return 0;
}

/* ---- contents and iterations */

static int by_number(const void *a, const void *b)
{
	const struct fmt_digest *x = a, *y = b;

	return array_order(x->op, y->op) ?: array_order(x->offset_bytes, y->offset_bytes);
}

/* Adds the contents of events of the slice, from index *at. */
static int add_contents(struct rex_process *p, uint32_t rank, const struct fmt_slice *s,
			const struct fmt_digest *list, size_t n, size_t *at)
{
	bool is_first = s->iteration.number == p->range.first;

	if (fmt_iteration_order(s->iteration.number, p->range.first) < 0)
		return 0;
	for (; *at < n && list[*at].op < s->first_number + s->n_events; ++*at) {
		const struct fmt_digest *d = &list[*at];

		struct rex_content c = {
			.offset_bytes = d->offset_bytes,
			.length_bytes = d->length_bytes,
			.allocation = d->allocation,
			.name = {d->digest[0], d->digest[1]},
			.rank = rank,
			.access = d->access,
		};

		if (d->op < s->first_number)
			continue;
		c.correlation = s->events[d->op - s->first_number].correlation;
		if (array_reserve(&p->contents, p->n_contents + 1, &p->contents_cap) < 0 ||
		    array_reserve(&p->keyframe, p->n_keyframe + 1, &p->keyframe_cap) < 0)
			return -ENOMEM;
		if (d->access < FMT_LIVE)
			p->contents[p->n_contents++] = c;
		else if (d->access == FMT_LIVE && is_first)
			p->keyframe[p->n_keyframe++] = c;
	}
	return 0;
}

static int add_iteration(struct rex_process *p, const struct fmt_iteration *iteration,
			 int64_t *last)
{
	int64_t number = iteration->number;

	if (number == *last || number < 0 || fmt_iteration_order(number, p->range.first) < 0)
		return 0;
	*last = number;
	if (array_reserve(&p->iterations, p->n_iterations + 1, &p->iterations_cap) < 0)
		return -ENOMEM;
	p->iterations[p->n_iterations++] = *iteration;
	return 0;
}

static int read_slice(struct rex_process *p, uint32_t rank, uint32_t slice, struct fmt_slice **ret,
		      struct fmt_error *err)
{
	struct fmt_slice *s;
	int r = fmt_slice_load(p->trace, rank, slice, FMT_WANT_CALLS | FMT_WANT_OPS, &s, err);

	if (r < 0)
		return r;
	if (array_reserve(&p->slices, p->n_slices + 1, &p->slices_cap) < 0) {
		fmt_slice_free(s);
		return -ENOMEM;
	}
	p->slices[p->n_slices++] = s;
	for (size_t i = 0; i < s->n_events && r == 0; i++)
		r = add_call(p, rank, s, &s->events[i]);
	*ret = s;
	return r;
}

static int read_rank(struct rex_process *p, uint32_t rank, struct fmt_error *err)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	size_t n = 0, at = 0;
	int64_t last = FMT_BEFORE;
	int r = fmt_contents_read(p->trace, rank, &list, &n, err);

	if (r == 0 && n > 0)
		qsort(list, n, sizeof(*list), by_number);
	for (uint32_t i = 0; i < fmt_trace_rank(p->trace, rank)->n_slices && r == 0; i++) {
		const struct fmt_iteration *it = &fmt_trace_slice(p->trace, rank, i)->iteration;
		struct fmt_slice *s;

		if (fmt_iteration_order(it->number, p->range.last) > 0)
			continue;
		r = read_slice(p, rank, i, &s, err);
		if (r == 0)
			r = add_contents(p, rank, s, list, n, &at);
		if (r == 0 && rank == p->ranks[0])
			r = add_iteration(p, it, &last);
	}
	return r;
}

/* ---- nested calls, and order */

/* Sorts by thread, then by correlation: the order in which the calls of a thread began. Start times
 * do not suffice, because calls on an emulated GPU may take no time. */
static int by_thread(const void *a, const void *b)
{
	const struct rex_call *x = a, *y = b;

	return array_order(x->thread, y->thread) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(x->correlation, y->correlation);
}

static int by_return(const void *a, const void *b)
{
	const struct rex_call *x = a, *y = b;

	if (x->order >= 0 || y->order >= 0)
		return array_order(x->order, y->order);
	return array_order(x->end_ns, y->end_ns) ?: array_order(x->thread, y->thread)
	       ?: array_order(x->correlation, y->correlation);
}

static bool is_blas(const struct rex_call *c)
{
	return c->api->library == API_LIBRARY_CUBLAS || c->api->library == API_LIBRARY_CUBLASLT;
}

/* Marks nested calls. Those within a cuBLAS call are executed instead of it, if any of the process
 * launches a kernel, unless cuBLAS calls are requested; those within its copies always are, since
 * the contents are recorded with them. */
static void mark_nested(struct rex_process *p)
{
	struct rex_call *outer = NULL;
	bool launches = false;

	for (size_t i = 0; i < p->n_calls; i++) {
		struct rex_call *c = &p->calls[i];

		if (outer && outer->thread == c->thread && c->end_ns <= outer->end_ns &&
		    c->start_ns < outer->end_ns) {
			c->nested = true;
			c->inside = is_blas(outer);
			c->skipped = !c->inside || c->api->library != API_LIBRARY_CUDA;
			if (c->inside && !c->skipped && outer->api->class == API_CLASS_COPY) {
				outer->skipped = true;
				c->inside = false;
			}
			launches |= c->inside && c->api->class == API_CLASS_LAUNCH;
		} else {
			outer = c;
		}
	}
	launches &= !p->range.cublas_calls;
	for (size_t i = 0; i < p->n_calls; i++) {
		struct rex_call *c = &p->calls[i];

		if (launches ? is_blas(c) : c->inside)
			c->skipped = true;
	}
}

/* The group of NCCL calls of a thread. */
struct group {
	uint32_t first, depth;
};

static void set_group(struct rex_process *p, uint32_t i, struct group *g)
{
	struct rex_call *c = &p->calls[i];

	c->group = i;
	if (c->api->class == API_CLASS_GROUP_BEGIN && g->depth++ == 0)
		g->first = i;
	else if (c->api->class == API_CLASS_GROUP_END && g->depth > 0 && --g->depth == 0)
		c->group = g->first;
}

/* A call began after the previous call of its thread had returned. Processes are ordered by the
 * recorded `began` and `order`, else by times. If that order is recorded only from the first call
 * that shares an object, calls before it are not ordered between processes. */
static int set_neighbours(struct rex_process *p)
{
	scoped(free_ptr) uint32_t *last = calloc(p->n_threads + 1, sizeof(*last));
	scoped(free_ptr) struct group *groups = calloc(p->n_threads + 1, sizeof(*groups));
	int64_t order = -1;

	p->firsts = calloc(p->n_threads + 1, sizeof(*p->firsts));
	if (!last || !groups || !p->firsts)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_calls; i++) {
		p->calls[i].after = last[p->calls[i].thread];
		if (p->calls[i].nested) /* nested calls return before it */
			continue;
		last[p->calls[i].thread] = (uint32_t)i + 1;
		set_group(p, (uint32_t)i, &groups[p->calls[i].thread]);
	}
	for (size_t i = 0; i < p->n_threads; i++)
		p->firsts[i] = (uint32_t)p->n_calls;
	for (size_t i = p->n_calls; i-- > 0;) {
		struct rex_call *c = &p->calls[i];

		c->next = p->firsts[c->thread];
		p->firsts[c->thread] = (uint32_t)i;
		order = c->began < 0 ? order : c->order;
		c->returned = order < 0 ? c->end_ns : order;
		if (c->began < 0)
			c->began = order < 0 ? c->start_ns : 0;
	}
	return 0;
}

static int by_correlation(const void *a, const void *b)
{
	const struct rex_content *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->access, y->access)
	       ?: array_order(x->allocation, y->allocation)
	       ?: array_order(x->offset_bytes, y->offset_bytes);
}

static int by_call(const void *a, const void *b)
{
	const struct rex_op *x = a, *y = b;

	return array_order(x->correlation, y->correlation);
}

static int by_iteration(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns);
}

/* ---- calls before the window */

/* Skips calls before the window that leave no state behind, except calls captured into a graph.
 * Calls are in the order in which they returned. */
static void skip_before_window(struct rex_process *p)
{
	size_t captures = 0;

	for (size_t i = 0; i < p->n_calls; i++) {
		struct rex_call *c = &p->calls[i];

		if (!c->before)
			continue;
		captures += c->api->class == API_CLASS_CAPTURE_BEGIN && c->result == 0;
		if (!api_has_lasting_effect(c->api) &&
		    (captures == 0 || rex_find_op(p, c->correlation)))
			c->skipped = true;
		captures -= captures > 0 && c->api->class == API_CLASS_CAPTURE_END &&
			    api_capture_is_over((int)c->result);
	}
}

int rex_process_read(struct fmt_trace *trace, uint32_t index, struct rex_iteration_range range,
		     struct rex_process *ret, struct fmt_error *err)
{
	scoped(rex_process_done) struct rex_process p = {
		.trace = trace, .range = range, .device = -1};
	int r = find_ranks(&p, index);

	if (r == 0)
		r = find_threads(&p);
	for (size_t i = 0; i < p.n_ranks && r == 0; i++)
		r = read_rank(&p, p.ranks[i], err);
	if (r < 0)
		return r;
	if (p.n_calls > 0)
		qsort(p.calls, p.n_calls, sizeof(p.calls[0]), by_thread);
	mark_nested(&p);
	if (p.n_calls > 0)
		qsort(p.calls, p.n_calls, sizeof(p.calls[0]), by_return);
	if (p.n_contents > 0)
		qsort(p.contents, p.n_contents, sizeof(p.contents[0]), by_correlation);
	if (p.n_ops > 0)
		qsort(p.ops, p.n_ops, sizeof(p.ops[0]), by_call);
	if (p.n_iterations > 0)
		qsort(p.iterations, p.n_iterations, sizeof(p.iterations[0]), by_iteration);
	skip_before_window(&p);
	r = set_neighbours(&p);
	if (r == 0) {
		*ret = p;
		memset(&p, 0, sizeof(p));
	}
	return r;
}

const struct rex_op *rex_find_op(const struct rex_process *p, uint64_t correlation)
{
	size_t i = array_bound(k, 0, p->n_ops, p->ops[k].correlation < correlation);

	return i < p->n_ops && p->ops[i].correlation == correlation ? &p->ops[i] : NULL;
}

const struct rex_content *rex_find_contents(const struct rex_process *p, uint64_t correlation,
					    size_t *n)
{
	size_t first = array_bound(i, 0, p->n_contents, p->contents[i].correlation < correlation);
	size_t end = first;

	while (end < p->n_contents && p->contents[end].correlation == correlation)
		end++;
	*n = end - first;
	return *n > 0 ? &p->contents[first] : NULL;
}
