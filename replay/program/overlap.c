/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/compile.h"

#include "base/array.h"

#define NONE UINT64_MAX

static int is_collective(const struct compile *c, size_t i)
{
	return c->p->templates[c->slice->events[i].template].kind == FMT_COLLECTIVE;
}

/* Returns the launch of the operation in the order of calls; operations without a call in the slice
 * come first. */
static int64_t launched_ns(const struct compile *c, const struct fmt_event *e)
{
	uint32_t found = e->correlation ? launches_get(&c->p->launches, e->correlation) : 0;

	if (!found)
		return INT64_MIN;
	return c->slice->events[found & OWN_COPY ? found & ~OWN_COPY : found - 1].start_ns;
}

static int add_launch(struct program *p, struct overlap_launch launch)
{
	if (array_reserve(&p->order, p->n_order + 1, &p->order_cap) < 0)
		return -ENOMEM;
	p->order[p->n_order++] = launch;
	return 0;
}

static int by_launch(const void *x, const void *y)
{
	const struct overlap_launch *a = x, *b = y;

	return array_order(a->launched_ns, b->launched_ns) ?: array_order(a->event, b->event);
}

static int by_event(const void *x, const void *y)
{
	const struct overlap_wait *a = x, *b = y;

	return array_order(a->event, b->event);
}

/* Makes the operation wait for the last one of the other sort on each other stream. */
static int wait_for_others(struct compile *c, const struct overlap_launch *launch)
{
	struct program *p = c->p;
	const uint64_t *last = c->rank->last[!launch->collective];
	uint32_t own = c->slice->events[launch->event].track;

	for (uint32_t i = 0; i < c->rank->n_tracks; i++) {
		if (i == own || last[i] == NONE)
			continue;
		if (array_reserve(&p->overlap_waits, p->n_overlap_waits + 1,
				  &p->overlap_waits_cap) < 0)
			return -ENOMEM;
		p->overlap_waits[p->n_overlap_waits++] =
			(struct overlap_wait){launch->event, last[i]};
	}
	return 0;
}

static int reserve_last(struct compile *c)
{
	uint32_t n = c->rank->n_tracks;

	for (int k = 0; k < 2; k++) {
		if (c->rank->last[k])
			continue;
		c->rank->last[k] = arena_take(&c->p->arena, (n + 1ul) * sizeof(uint64_t), 8);
		if (!c->rank->last[k])
			return -ENOMEM;
		memset(c->rank->last[k], 0xff, n * sizeof(uint64_t));
	}
	return 0;
}

/* Sorts operations by launch, which is also the order of each stream. */
static int find_order(struct compile *c)
{
	const struct fmt_slice *s = c->slice;
	int64_t before = INT64_MIN; /* the launch of the last operation of `track` */
	uint32_t track = UINT32_MAX;

	c->p->n_order = 0;
	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];
		int64_t at;

		if (!c->rank->tracks[e->track].stream ||
		    c->p->templates[e->template].kind == FMT_SYNC)
			continue;
		at = launched_ns(c, e);
		if (track == e->track && at < before)
			at = before;
		before = at;
		track = e->track;
		if (add_launch(c->p,
			       (struct overlap_launch){at, (uint32_t)i, is_collective(c, i)}) < 0)
			return -ENOMEM;
	}
	if (c->p->n_order > 0)
		qsort(c->p->order, c->p->n_order, sizeof(*c->p->order), by_launch);
	return 0;
}

/* Finds the time from the end of an operation to the start of a waiting one of the other sort, from
 * edges of the slice. */
static void find_lags(struct compile *c)
{
	const struct fmt_slice *s = c->slice;

	for (size_t k = 0; k < s->n_edges; k++) {
		const struct fmt_edge *e = &s->edges[k];
		uint64_t from = e->from - s->first_number, to = e->to - s->first_number;
		int sort;

		if (e->kind != FMT_EDGE_START || e->rank != 0 || from >= s->n_events ||
		    to >= s->n_events || !c->rank->tracks[s->events[from].track].stream ||
		    !c->rank->tracks[s->events[to].track].stream)
			continue;
		sort = is_collective(c, to);
		if (sort == is_collective(c, from) || c->p->shares[e->rule] ||
		    c->rank->sort_lag_known[sort])
			continue;
		c->rank->sort_lag_ns[sort] = e->lag_ns;
		c->rank->sort_lag_known[sort] = 1;
	}
}

static int find_waits(struct compile *c)
{
	const struct overlap_launch *order;
	size_t n;

	find_lags(c);
	if (reserve_last(c) < 0 || find_order(c) < 0)
		return -ENOMEM;
	order = c->p->order;
	n = c->p->n_order;
	for (size_t i = 0, end; i < n; i = end) {
		/* Operations of one launch do not wait for each other. */
		for (end = i; end < n && order[end].launched_ns == order[i].launched_ns; end++)
			if (wait_for_others(c, &order[end]) < 0)
				return -ENOMEM;
		for (size_t k = i; k < end; k++)
			c->rank->last[order[k].collective][c->slice->events[order[k].event].track] =
				2 * (c->slice->first_number + order[k].event) + 1;
	}
	if (c->p->n_overlap_waits > 0)
		qsort(c->p->overlap_waits, c->p->n_overlap_waits, sizeof(*c->p->overlap_waits),
		      by_event);
	return 0;
}

void overlap_begin(struct compile *c)
{
	c->p->n_overlap_waits = c->p->overlap_at = 0;
	if (find_waits(c) < 0)
		c->error = -ENOMEM;
}

void overlap_wait(struct compile *c, struct sim_point *point, size_t i)
{
	struct program *p = c->p;
	int sort;

	for (; p->overlap_at < p->n_overlap_waits; p->overlap_at++) {
		const struct overlap_wait *w = &p->overlap_waits[p->overlap_at];

		if (w->event > i)
			break;
		if (w->event < i)
			continue;
		sort = is_collective(c, i);
		compile_wait_moment(c, point, w->moment,
				    c->rank->sort_lag_known[sort] ? c->rank->sort_lag_ns[sort]
								  : c->rank->constants->event_ns,
				    0);
	}
}

int overlap_ignores_edge(const struct compile *c, const struct fmt_edge *e, size_t i)
{
	const struct fmt_slice *s = c->slice;
	uint64_t from = e->from - s->first_number;

	return c->p->shares[e->rule] && e->rank == 0 && from < s->n_events &&
	       is_collective(c, i) != is_collective(c, from);
}

/* Returns 1 for a collective that another operation's event, or an earlier collective, delays. */
int overlap_ignores_launch(const struct compile *c, size_t edge, size_t i)
{
	const struct fmt_slice *s = c->slice;

	if (!is_collective(c, i))
		return 0;
	for (; edge < s->n_edges && s->edges[edge].to == s->first_number + i; edge++)
		if (s->edges[edge].kind == FMT_EDGE_START && !fmt_edge_is_own(&s->edges[edge]) &&
		    !overlap_ignores_edge(c, &s->edges[edge], i))
			return 1;
	return 0;
}
