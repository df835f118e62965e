/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/write.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"

struct job {
	const struct fmt_names *names;
	const struct fmt_run_rank *run;
	const struct fmt_run_source *source;
	const struct fmt_run_plan *plan;
	struct fmt_run_slice made;
	fmt_number first; /* of the numbers of its events: the plan's begin with 0 */
	size_t edge;	  /* near the edges of the next event */
};

static void job_done(struct job *j)
{
	j->made.slice.values = NULL; /* of the run */
	fmt_slice_done(&j->made.slice);
}

/* Returns the first edge to `event` or a later event. */
static size_t edges_from(const struct job *j, uint32_t event)
{
	const struct fmt_run_rank *run = j->run;
	size_t n = run->n_edges;

	if (j->edge <= n && (j->edge == n || run->edges[j->edge].to >= event) &&
	    (j->edge == 0 || run->edges[j->edge - 1].to < event))
		return j->edge;
	return array_bound(i, 0, n, run->edges[i].to < event);
}

int fmt_run_number(struct fmt_run_rank *rank, const struct fmt_run_source *source, fmt_number first)
{
	rank->first = first;
	return fmt_run_plan(rank, source, &rank->plan);
}

static int take_edges(struct job *j, uint32_t event)
{
	const struct fmt_run_rank *run = j->run;
	struct fmt_slice *s = &j->made.slice;

	for (j->edge = edges_from(j, event);
	     j->edge < run->n_edges && run->edges[j->edge].to == event; j->edge++) {
		const struct fmt_run_edge *e = &run->edges[j->edge];
		const struct fmt_run_rank *of = run + e->rank;

		if (e->rank != 0 && !of->plan)
			continue;
		if (array_reserve(&s->edges, s->n_edges + 1, &j->made.edges_cap) < 0)
			return -ENOMEM;
		s->edges[s->n_edges++] = (struct fmt_edge){
			.from = e->rank != 0 ? of->first + of->plan->number_of[e->from]
					     : j->first + j->plan->number_of[e->from],
			.to = j->first + j->plan->number_of[e->to],
			.lag_ns = e->lag_ns,
			.kind = e->kind,
			.rule = e->rule,
			.rank = e->rank,
		};
	}
	return 0;
}

/* Calls, operations and synchronisations of the slice, which are in order. Their values remain in
 * the array of the run. */
static int take_events(struct job *j, uint64_t n)
{
	struct fmt_slice *s = &j->made.slice;

	if (array_reserve(&s->events, n, &j->made.events_cap) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = j->made.event_at[i];

		s->events[s->n_events++] = j->run->events[at];
		if (take_edges(j, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int write_slice(struct job *j, size_t index, struct fmt_rank_writer *w,
		       struct fmt_error *err)
{
	const struct fmt_run_span *of = &j->plan->slices[index];
	bool last = index + 1 == j->plan->n_slices;
	struct fmt_slice *s = &j->made.slice;
	int r;

	s->iteration = of->iteration;
	s->index = (uint32_t)index;
	s->first_number = fmt_rank_writer_next(w);
	s->values = j->run->values;
	s->n_values = j->run->n_values;
	s->n_events = s->n_ranges = s->n_edges = s->n_digests = s->n_pages = 0;
	j->made.event_at = j->plan->event_at + (s->first_number - j->first);
	r = take_events(j, of->records);
	if (r == 0 && j->source->take_ranges)
		r = j->source->take_ranges(j->source->context, &j->made, last ? 0 : of[1].from_ns,
					   last);
	if (r == 0 && j->source->take_digests)
		r = j->source->take_digests(j->source->context, &j->made);
	if (r < 0)
		return r;
	fmt_edges_sort(s->edges, s->n_edges);
	return fmt_rank_writer_slice(w, s, err);
}

int fmt_run_append(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		   const struct fmt_run_source *source, struct fmt_rank_writer *w,
		   struct fmt_error *err)
{
	scoped(job_done) struct job j = {
		.names = names, .run = run, .source = source, .first = fmt_rank_writer_next(w)};
	scoped(fmt_run_plan_free_ptr) struct fmt_run_plan *own = NULL;
	int r = run->plan ? 0 : fmt_run_plan(run, source, &own);

	j.plan = run->plan ?: own;
	j.made.slice.rank = index;
	for (size_t i = 0; r == 0 && i < j.plan->n_slices; i++) {
		r = write_slice(&j, i, w, err);
		if (r == 0 && source->progress)
			r = source->progress(source->progress_context, i + 1, j.plan->n_slices);
	}
	fmt_rank_writer_trim(w);
	return r;
}

int fmt_run_write(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		  const struct fmt_run_source *source, struct fmt_writer *writer,
		  struct fmt_error *err)
{
	struct fmt_rank_writer *w;
	int r = fmt_writer_rank(writer, index, run->number, &w, err);

	return r < 0 ? r : fmt_run_append(names, run, index, source, w, err);
}

void fmt_run_number_collectives(struct fmt_run_rank *run)
{
	for (size_t i = 0; i < run->n_collectives; i++) {
		const struct fmt_run_collective *c = &run->collectives[i];
		int64_t *values = run->values + run->events[c->event].first_value;

		values[FMT_COLLECTIVE_COMM] = c->comm;
		values[FMT_COLLECTIVE_SEQ] = c->seq;
	}
}
