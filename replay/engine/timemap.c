/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/timemap.h"

#include "formats/trace/wrap.h"
#include "replay/clock/sim.h"

#include "base/array.h"

static void add_point(struct timemap *p, int64_t recorded_ns, struct timemap_point point)
{
	int64_t before_ns = p->n > 0 ? p->points[p->n - 1].recorded_ns : INT64_MIN;

	point.recorded_ns = recorded_ns < before_ns ? before_ns : recorded_ns;
	p->points[p->n++] = point;
}

/* Returns the time between the latest hand-over to the thread before event `to` and its start; 0
 * without one. */
static int64_t handed_ns(const struct fmt_slice *s, fmt_number to, size_t *edge)
{
	int64_t least = INT64_MAX;

	while (*edge < s->n_edges && s->edges[*edge].to < to)
		++*edge;
	for (size_t k = *edge; k < s->n_edges && s->edges[k].to == to; k++) {
		const struct fmt_edge *e = &s->edges[k];

		if (e->kind != FMT_EDGE_RETURN && !fmt_edge_is_own(e) && e->lag_ns < least)
			least = e->lag_ns;
	}
	return least == INT64_MAX || least < 0 ? 0 : least;
}

static int64_t end_of(const struct fmt_event *e)
{
	return fmt_add(e->start_ns, e->duration_ns);
}

static int64_t distance(const struct timemap *p, int64_t recorded_ns)
{
	return p->host > 0 ? (int64_t)((double)recorded_ns * p->host) : recorded_ns;
}

/* Keeps only the points of the last slice; with `carry`, none. */
static void start_slice(struct timemap *p, const struct timemap_carry *carry)
{
	if (carry)
		p->n_before = p->n;
	if (p->n > 0 && (p->n_before < p->n || carry)) {
		p->n -= p->n_before;
		memmove(p->points, p->points + p->n_before, p->n * sizeof(*p->points));
	}
	p->n_before = p->n;
}

static void add_end(struct timemap *p, const struct fmt_event *events, int64_t i)
{
	add_point(p, end_of(&events[i]), (struct timemap_point){.slot = (uint32_t)(2 * i + 1)});
}

void timemap_variant(struct timemap *p, const struct timemap_carry *carry, const int64_t *times)
{
	size_t i = p->n_before;
	int64_t latest_ns = i > 0 ? p->points[i - 1].emulated_ns : INT64_MIN;

	if (carry && carry->known)
		p->points[i++].emulated_ns = latest_ns = carry->last.emulated_ns;
	for (; i < p->n; i++) {
		struct timemap_point *point = &p->points[i];
		int64_t t = times[point->slot];

		if (point->before_ns > 0)
			t = fmt_sub(t, distance(p, point->before_ns));
		point->emulated_ns = latest_ns = t > latest_ns ? t : latest_ns;
	}
}

int timemap_add_track(struct timemap *p, const struct timemap_carry *carry,
		      const struct fmt_slice *slice, size_t at, size_t end, const int64_t *times)
{
	const struct fmt_event *events = slice->events;
	fmt_number first = slice->first_number + at;
	size_t depth = 0, edge = array_bound(k, 0, slice->n_edges, slice->edges[k].to < first);

	start_slice(p, carry);
	if (array_reserve(&p->points, p->n + 3 * (end - at) + 1, &p->cap) < 0 ||
	    array_reserve(&p->open, end - at, &p->open_cap) < 0)
		return -ENOMEM;
	if (carry && carry->known)
		add_point(p, carry->last.recorded_ns, (struct timemap_point){0});
	for (size_t i = at; i < end; i++) {
		uint32_t slot = (uint32_t)(2 * i);
		int64_t lag_ns;

		if (times[2 * i] <= SIM_NEVER)
			continue;
		for (; depth > 0 && end_of(&events[p->open[depth - 1]]) <= events[i].start_ns;
		     depth--)
			add_end(p, events, p->open[depth - 1]);
		lag_ns = handed_ns(slice, slice->first_number + i, &edge);
		if (lag_ns > 0)
			add_point(p, fmt_sub(events[i].start_ns, lag_ns),
				  (struct timemap_point){.before_ns = lag_ns, .slot = slot});
		add_point(p, events[i].start_ns, (struct timemap_point){.slot = slot, .begins = 1});
		p->open[depth++] = (int64_t)i;
	}
	for (; depth > 0; depth--)
		add_end(p, events, p->open[depth - 1]);
	timemap_variant(p, carry, times);
	return 0;
}

void timemap_save(const struct timemap *p, struct timemap_carry *carry)
{
	if (p->n == 0)
		return;
	carry->last = p->points[p->n - 1];
	carry->known = 1;
}

/* The time at the recorded distance from the point. */
static int64_t shift(const struct timemap *p, const struct timemap_point *from, int64_t recorded_ns)
{
	return fmt_add(from->emulated_ns, distance(p, fmt_sub(recorded_ns, from->recorded_ns)));
}

int64_t timemap_emulated_ns(const struct timemap *p, int64_t recorded_ns)
{
	/* The number of points at or before the time. */
	size_t low = array_bound(i, 0, p->n, p->points[i].recorded_ns <= recorded_ns);
	const struct timemap_point *before, *after;
	int64_t t;

	if (p->n == 0)
		return recorded_ns;
	before = &p->points[low > 0 ? low - 1 : 0];
	if (low == 0 || low == p->n)
		return shift(p, before, recorded_ns);
	after = &p->points[low];
	if (p->stream && after->begins &&
	    fmt_sub(after->recorded_ns, recorded_ns) < fmt_sub(recorded_ns, before->recorded_ns)) {
		t = shift(p, after, recorded_ns);
		return t < before->emulated_ns ? before->emulated_ns : t;
	}
	t = shift(p, before, recorded_ns);
	return t > after->emulated_ns ? after->emulated_ns : t;
}

int64_t timemap_distance_ns(const struct timemap *p, int64_t recorded_ns)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < p->n; i++) {
		int64_t apart = fmt_sub(p->points[i].recorded_ns, recorded_ns);

		apart = apart < 0 ? -apart : apart;
		least = apart < least ? apart : least;
	}
	return least == INT64_MAX ? INT64_MAX / 2 : least;
}

void timemap_done(struct timemap *p)
{
	free(p->points);
	free(p->open);
	*p = (struct timemap){0};
}
