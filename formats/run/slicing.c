/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/slicing.h"

#include "base/array.h"
#include "base/scope.h"

/* An iteration is cut where a bin begins. */
#define BINS (1u << 16)
#define LEAST_BINS 16u

/* A span of time that becomes one slice, or several. */
struct interval {
	struct fmt_iteration iteration;
	int64_t from_ns, to_ns;	   /* bins divide this; times outside go to the first or last */
	int64_t first_ns, last_ns; /* of the events in it */
	uint64_t records;
};

struct fmt_planner {
	struct interval *intervals;
	size_t n, last;	 /* last: result of the last interval_at(); the next event is usually in it,
			    too */
	uint32_t *bins;	 /* NULL: not needed so far */
	uint32_t n_bins; /* of each */
};

static void planner_done(struct fmt_planner *p)
{
	free(p->intervals);
	free(p->bins);
}

void fmt_run_plan_free(struct fmt_run_plan *p)
{
	if (!p)
		return;
	free(p->slices);
	free(p->number_of);
	free(p->event_at);
	free(p);
}

static int planner_init(struct fmt_planner *p, const struct fmt_run_source *source,
			const struct fmt_iteration *iterations, size_t n)
{
	const struct fmt_iteration *last = &iterations[n - 1];
	const struct fmt_iteration before =
		source->before ? *source->before : (struct fmt_iteration){.number = FMT_BEFORE};
	int64_t end = last->start_ns + last->duration_ns;

	p->n = n + 2;
	p->n_bins = BINS / (uint32_t)(p->n < BINS ? p->n : BINS);
	p->n_bins = p->n_bins < LEAST_BINS ? LEAST_BINS : p->n_bins;
	p->intervals = calloc(p->n, sizeof(*p->intervals));
	if (!p->intervals)
		return -ENOMEM;
	p->intervals[0] = (struct interval){before,    source->first_ns, iterations[0].start_ns,
					    INT64_MAX, INT64_MIN,	 0};
	for (size_t i = 0; i < n; i++) {
		int64_t to = i + 1 < n ? iterations[i + 1].start_ns : end;

		p->intervals[i + 1] = (struct interval){
			iterations[i], iterations[i].start_ns, to, INT64_MAX, INT64_MIN, 0};
	}
	p->intervals[n + 1] =
		(struct interval){{FMT_AFTER, 0, 0}, end, source->last_ns, INT64_MAX, INT64_MIN, 0};
	/* Events that start at the end of the last iteration do not belong to it, unless its length
	 * is 0. */
	if (end == last->start_ns)
		p->intervals[n + 1].from_ns = end + 1;
	if (source->more)
		p->intervals[n + 1].from_ns = INT64_MAX;
	return 0;
}

static size_t interval_at(struct fmt_planner *p, int64_t at_ns)
{
	size_t i = p->last;

	if ((i > 0 && p->intervals[i].from_ns > at_ns) ||
	    (i + 1 < p->n && p->intervals[i + 1].from_ns <= at_ns))
		p->last = array_bound(k, 1, p->n, p->intervals[k].from_ns <= at_ns) - 1;
	return p->last;
}

static void count_bin(struct fmt_planner *p, size_t i, int64_t at_ns)
{
	const struct interval *s = &p->intervals[i];
	double length = (double)s->to_ns - (double)s->from_ns;
	double share = length > 0 ? ((double)at_ns - (double)s->from_ns) / length : 0;
	uint32_t bin = share <= 0 ? 0 : share >= 1 ? p->n_bins - 1 : (uint32_t)(share * p->n_bins);

	p->bins[i * p->n_bins + bin]++;
}

static void count_event(struct fmt_planner *p, int64_t at_ns, int64_t start_ns, int64_t end_ns)
{
	size_t i = interval_at(p, at_ns);
	struct interval *s = &p->intervals[i];

	if (p->bins) {
		count_bin(p, i, at_ns);
		return;
	}
	s->records++;
	s->first_ns = start_ns < s->first_ns ? start_ns : s->first_ns;
	s->last_ns = end_ns > s->last_ns ? end_ns : s->last_ns;
}

/* The moment that decides where an event belongs: an operation is where its call is. */
static int64_t deciding_time(const struct fmt_run_rank *run, const uint32_t *owner, size_t i)
{
	return run->events[owner[i] == FMT_RUN_NONE ? i : owner[i]].start_ns;
}

/* The call of each operation. One without a call was launched before the next on its stream that
 * has one, so it belongs there, or before; and a stream's operations stay in their order from slice
 * to slice. */
static int find_owners(const struct fmt_run_rank *run, const uint32_t *call_of, uint32_t **ret)
{
	uint32_t *owner = malloc((run->n_events + 1) * sizeof(*owner)), next = FMT_RUN_NONE;

	if (!owner)
		return -ENOMEM;
	for (size_t i = run->n_events; i-- > 0;) {
		const struct fmt_event *e = &run->events[i];

		if (i + 1 < run->n_events && run->events[i + 1].track != e->track)
			next = FMT_RUN_NONE;
		owner[i] = call_of[i];
		if (call_of[i] != FMT_RUN_NONE)
			next = call_of[i];
		else if (next != FMT_RUN_NONE && run->events[next].start_ns < e->start_ns)
			owner[i] = next;
	}
	*ret = owner;
	return 0;
}

void fmt_planner_add_range(struct fmt_planner *p, int64_t start_ns, int64_t end_ns)
{
	count_event(p, start_ns, start_ns, end_ns);
}

static int count_events(struct fmt_planner *p, const struct fmt_run_source *source,
			const struct fmt_run_rank *run, const uint32_t *owner)
{
	for (size_t i = 0; i < run->n_events; i++)
		count_event(p, deciding_time(run, owner, i), run->events[i].start_ns,
			    run->events[i].start_ns + run->events[i].duration_ns);
	return source->count_ranges ? source->count_ranges(source->context, p) : 0;
}

/* Counts the events of each bin if an interval is longer than a slice. */
static int count_bins(struct fmt_planner *p, const struct fmt_run_source *source,
		      const struct fmt_run_rank *run, const uint32_t *owner)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->n; i++)
		most = p->intervals[i].records > most ? p->intervals[i].records : most;
	if (most <= FMT_SLICE_EVENTS)
		return 0;
	p->bins = calloc(p->n * p->n_bins, sizeof(*p->bins));
	return p->bins ? count_events(p, source, run, owner) : -ENOMEM;
}

static int add_slice(struct fmt_run_plan *plan, const struct interval *s, int64_t from_ns)
{
	struct fmt_run_span slice = {.iteration = s->iteration, .from_ns = from_ns};

	if (array_reserve(&plan->slices, plan->n_slices + 1, &plan->cap) < 0)
		return -ENOMEM;
	if (s->iteration.number == FMT_BEFORE || s->iteration.number == FMT_AFTER) {
		slice.iteration.start_ns = s->first_ns;
		slice.iteration.duration_ns = s->last_ns - s->first_ns;
	}
	plan->slices[plan->n_slices++] = slice;
	return 0;
}

/* The moment at which bin `bin` begins. */
static int64_t bin_start(const struct interval *s, uint32_t bin, uint32_t n_bins)
{
	double length = (double)s->to_ns - (double)s->from_ns;
	int64_t at = s->from_ns + (int64_t)(length * bin / n_bins);

	return at > s->from_ns ? at : s->from_ns + 1;
}

/* Adds the slices of an interval: one, or as many as are needed to keep each below
 * FMT_SLICE_EVENTS. */
static int add_slices(struct fmt_run_plan *plan, const struct interval *s, const uint32_t *bins,
		      uint32_t n_bins, int64_t from_ns)
{
	uint64_t sum = 0;
	int r = add_slice(plan, s, from_ns);

	for (uint32_t i = 0; s->records > FMT_SLICE_EVENTS && i < n_bins && r == 0; i++) {
		if (sum > 0 && sum + bins[i] > FMT_SLICE_EVENTS) {
			r = add_slice(plan, s, bin_start(s, i, n_bins));
			sum = 0;
		}
		sum += bins[i];
	}
	return r;
}

static int make_slices(struct fmt_run_plan *plan, const struct fmt_planner *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct interval *s = &p->intervals[i];
		int64_t from_ns = i == 0 ? INT64_MIN : s->from_ns;
		int r;

		if (s->records == 0 && (i == 0 || i == p->n - 1))
			continue;
		r = add_slices(plan, s, p->bins ? p->bins + i * p->n_bins : NULL, p->n_bins,
			       from_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the slice of a moment. `near`: guess, such as the slice of the preceding moment. */
static uint32_t slice_at(const struct fmt_run_plan *plan, int64_t at_ns, uint32_t near)
{
	if ((near == 0 || plan->slices[near].from_ns <= at_ns) &&
	    (near + 1 >= plan->n_slices || plan->slices[near + 1].from_ns > at_ns))
		return near;
	return (uint32_t)array_bound(i, 1, plan->n_slices, plan->slices[i].from_ns <= at_ns) - 1;
}

/* Numbers events by slice, in their order within it. */
static int number(struct fmt_run_plan *plan, const struct fmt_run_rank *run, const uint32_t *owner)
{
	size_t n = run->n_events;
	scoped(free_ptr) uint64_t *next = calloc(plan->n_slices + 1, sizeof(*next));
	scoped(free_ptr) uint32_t *slice_of = malloc((n + 1) * sizeof(*slice_of));

	plan->number_of = malloc((n + 1) * sizeof(*plan->number_of));
	plan->event_at = malloc((n + 1) * sizeof(*plan->event_at));
	if (!next || !slice_of || !plan->number_of || !plan->event_at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		slice_of[i] =
			slice_at(plan, deciding_time(run, owner, i), i > 0 ? slice_of[i - 1] : 0);
		plan->slices[slice_of[i]].records++;
	}
	for (size_t i = 1; i < plan->n_slices; i++)
		next[i] = next[i - 1] + plan->slices[i - 1].records;
	for (size_t i = 0; i < n; i++) {
		plan->number_of[i] = (uint32_t)next[slice_of[i]]++;
		plan->event_at[plan->number_of[i]] = (uint32_t)i;
	}
	return 0;
}

int fmt_run_plan(const struct fmt_run_rank *run, const struct fmt_run_source *source,
		 struct fmt_run_plan **ret)
{
	scoped(planner_done) struct fmt_planner p = {0};
	scoped(free_ptr) uint32_t *owner = NULL;
	scoped(fmt_run_plan_free_ptr) struct fmt_run_plan *plan = calloc(1, sizeof(*plan));
	int r = plan ? planner_init(&p, source, run->iterations, run->n_iterations) : -ENOMEM;

	if (r == 0)
		r = find_owners(run, source->call_of, &owner);
	if (r == 0)
		r = count_events(&p, source, run, owner);
	if (r == 0)
		r = count_bins(&p, source, run, owner);
	if (r == 0)
		r = make_slices(plan, &p);
	if (r == 0)
		r = number(plan, run, owner);
	if (r == 0)
		*ret = take(plan);
	return r;
}
