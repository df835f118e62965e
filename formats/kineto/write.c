/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/kineto/write.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/export/tsv.h"
#include "formats/kineto/plan.h"

#include <stdbool.h>

define_cleanup(tsv_freep, struct fmt_tsv *, fmt_tsv_free);

struct job {
	struct kineto_naming *naming;
	struct kineto_ready *ready;
	const struct fmt_run_rank *run;
	struct kineto_plan plan;
	struct kineto_spool_reader *reader;
	struct fmt_event pending; /* the next range, when `is_pending` */
	const int64_t *pending_values;
	bool is_pending;
	struct fmt_slice slice;
	size_t events_cap, ranges_cap, values_cap, edges_cap;
	int64_t *raw; /* values of the slice's ranges, as they are in the spool */
	size_t n_raw, raw_cap;
	size_t edge; /* near where the next event's edges stand */
};

static void job_done(struct job *j)
{
	kineto_plan_done(&j->plan);
	kineto_spool_reader_free(j->reader);
	free(j->slice.events);
	free(j->slice.ranges);
	free(j->slice.values);
	free(j->slice.edges);
	free(j->raw);
}

/* The first edge to `event` or behind. */
static size_t edges_from(const struct job *j, uint32_t event)
{
	const struct fmt_run_rank *run = j->run;
	size_t lo = 0, hi = run->n_edges;

	if (j->edge <= hi && (j->edge == hi || run->edges[j->edge].to >= event) &&
	    (j->edge == 0 || run->edges[j->edge - 1].to < event))
		return j->edge;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (run->edges[mid].to < event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int take_edges(struct job *j, uint32_t event)
{
	const struct fmt_run_rank *run = j->run;
	struct fmt_slice *s = &j->slice;

	for (j->edge = edges_from(j, event);
	     j->edge < run->n_edges && run->edges[j->edge].to == event; j->edge++) {
		const struct fmt_run_edge *e = &run->edges[j->edge];

		if (array_reserve(&s->edges, s->n_edges + 1, &j->edges_cap) < 0)
			return -ENOMEM;
		s->edges[s->n_edges++] = (struct fmt_edge){
			.from = j->plan.number_of[e->from],
			.to = j->plan.number_of[e->to],
			.lag_ns = e->lag_ns,
			.kind = e->kind,
			.rule = e->rule,
		};
	}
	return 0;
}

/* Calls, operations and synchronisations of the slice, which are in order. */
static int take_events(struct job *j, uint64_t n)
{
	struct fmt_slice *s = &j->slice;
	const struct fmt_names *names = j->naming->names;

	if (array_reserve(&s->events, n, &j->events_cap) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = j->plan.event_at[s->first_number + i];
		struct fmt_event e = j->run->events[at];
		uint32_t n_values = fmt_site(names, e.site)->n_values;

		if (array_reserve(&s->values, s->n_values + n_values, &j->values_cap) < 0)
			return -ENOMEM;
		if (n_values > 0)
			memcpy(s->values + s->n_values, j->run->values + e.first_value,
			       n_values * sizeof(*s->values));
		e.first_value = (uint32_t)s->n_values;
		s->n_values += n_values;
		s->events[s->n_events++] = e;
		if (take_edges(j, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Appends the pending range, its values as they are in the spool. */
static int take_range(struct job *j)
{
	struct fmt_slice *s = &j->slice;
	uint32_t n = j->naming->sites->sites[j->pending.site].n_varying;

	if (array_reserve(&s->ranges, s->n_ranges + 1, &j->ranges_cap) < 0 ||
	    array_reserve(&j->raw, j->n_raw + n, &j->raw_cap) < 0)
		return -ENOMEM;
	if (j->n_raw + n > UINT32_MAX)
		return -EOVERFLOW;
	if (n > 0)
		memcpy(j->raw + j->n_raw, j->pending_values, n * sizeof(*j->raw));
	j->pending.first_value = (uint32_t)j->n_raw;
	j->pending.start_ns += j->ready->rank->base_ns;
	j->pending.lane = j->ready->lane_of[j->pending.lane];
	j->n_raw += n;
	s->ranges[s->n_ranges++] = j->pending;
	j->is_pending = false;
	return 0;
}

/* Ranges that start before `end_ns`, sorted and named. */
static int take_ranges(struct job *j, int64_t end_ns, bool last)
{
	struct fmt_slice *s = &j->slice;
	int64_t base_ns = j->ready->rank->base_ns;
	int r;

	for (;;) {
		if (!j->is_pending) {
			r = kineto_spool_next(j->reader, &j->pending, &j->pending_values);
			if (r < 0)
				return r;
			j->is_pending = r > 0;
		}
		if (!j->is_pending || (!last && j->pending.start_ns + base_ns >= end_ns))
			break;
		r = take_range(j);
		if (r < 0)
			return r;
	}
	kineto_order_ranges(s->ranges, s->n_ranges, j->raw, j->naming->sites);
	for (size_t i = 0; i < s->n_ranges; i++) {
		r = kineto_name_event(j->naming, &s->ranges[i],
				      j->raw ? j->raw + s->ranges[i].first_value : NULL, &s->values,
				      &s->n_values, &j->values_cap);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_to(const void *a, const void *b)
{
	const struct fmt_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->rule - y->rule;
}

static int write_slice(struct job *j, size_t index, struct fmt_rank_writer *w,
		       struct fmt_error *err)
{
	const struct kineto_slice *of = &j->plan.slices[index];
	bool last = index + 1 == j->plan.n_slices;
	struct fmt_slice *s = &j->slice;
	int r;

	s->iteration = of->iteration;
	s->index = (uint32_t)index;
	s->first_number = fmt_rank_writer_next(w);
	s->n_events = s->n_ranges = s->n_values = s->n_edges = 0;
	j->n_raw = 0;
	r = take_events(j, of->records);
	if (r == 0)
		r = take_ranges(j, last ? 0 : of[1].from_ns, last);
	if (r < 0)
		return r;
	if (s->n_edges > 0)
		qsort(s->edges, s->n_edges, sizeof(*s->edges), by_to);
	return fmt_rank_writer_slice(w, s, err);
}

/* Leaves what a mount wants to know of the slice before anybody reads it: how long its tables are.
 */
static int write_lengths(const struct job *j, struct fmt_tsv *tables, struct fmt_rank_writer *w)
{
	uint64_t lengths[FMT_TABLES];
	int r = fmt_tsv_lengths(tables, &j->slice, lengths);

	if (r < 0)
		return r;
	return fmt_writer_lengths(w, j->slice.index, FMT_TSV_VERSION, lengths, FMT_TABLES);
}

static int progress(const struct job *j, size_t slices)
{
	const struct kineto_options *o = j->ready->options;

	return o->progress ? o->progress(o->context, "writing", slices, j->plan.n_slices) : 0;
}

int kineto_write_rank(struct kineto_naming *t, struct kineto_ready *ready,
		      const struct fmt_run_rank *run, uint32_t index, struct fmt_writer *writer,
		      struct fmt_error *err)
{
	scoped(job_done) struct job j = {.naming = t, .ready = ready, .run = run};
	scoped(tsv_freep) struct fmt_tsv *tables = NULL;
	struct kineto_rank *k = ready->rank;
	struct fmt_rank_writer *w;
	int r = kineto_plan(k, run, ready->call_of, &j.plan);

	if (r == 0)
		r = kineto_spool_read(&k->spool, &j.reader);
	if (r == 0)
		r = fmt_writer_rank(writer, index, run->number, &w, err);
	if (r == 0)
		r = fmt_tsv_new(t->names, &tables);
	j.slice.rank = index;
	for (size_t i = 0; i < j.plan.n_slices && r == 0; i++) {
		r = write_slice(&j, i, w, err);
		if (r == 0)
			r = write_lengths(&j, tables, w);
		if (r == 0)
			r = progress(&j, i + 1);
	}
	return r;
}
