/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/plan.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/step_name.h"
#include "formats/run/gpucapture/trace/carry.h"
#include "formats/run/gpucapture/trace/facts.h"
#include "formats/run/gpucapture/trace/reach.h"

/* So many segments may be in memory. Of more, operations that wait for times are given up. */
#define LEAST_SEGMENTS 4
#define MOST_SEGMENTS 6

void rec_plan_done(struct rec_plan *p)
{
	for (uint32_t i = 0; p->steps && i < p->ranks.n; i++)
		rec_steps_of_done(&p->steps[i]);
	free(p->steps);
	rec_meetings_done(&p->meetings);
	rec_ranks_done(&p->ranks);
	*p = (struct rec_plan){0};
}

/* ---- the first reading */

/* Keeps ranges that can be iterations. */
static void shed_ranges(struct rec_process *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct fmt_template *t = fmt_template(p->names, p->ranges[i].template);
		struct cap_step_name step;
		size_t len;
		const char *name = fmt_string(p->names, t->name, &len);

		if (cap_step_name(name, len, &step))
			p->ranges[n++] = p->ranges[i];
	}
	p->n_ranges = n;
}

static void widen(struct rec_process *p, const struct rec_event *e)
{
	int64_t end_ns = e->start_ns + (e->duration_ns > 0 ? e->duration_ns : 0);

	if (!p->has_span || e->start_ns < p->first_ns)
		p->first_ns = e->start_ns;
	if (!p->has_span || end_ns > p->last_ns)
		p->last_ns = end_ns;
	p->has_span = true;
}

static int shed_process(struct rec_process *p, uint32_t end)
{
	scoped(free_ptr) bool *gone = calloc(p->n_events + 1, sizeof(*gone));

	if (!gone)
		return -ENOMEM;
	for (uint32_t i = 0; i < end; i++) {
		widen(p, &p->events[i]);
		gone[i] = true;
	}
	for (size_t i = 0; i < p->n_collectives; i++) {
		struct rec_collective *c = &p->collectives[i];

		if (c->event >= end)
			continue;
		c->start_ns = p->events[c->event].start_ns;
		c->end_ns = c->start_ns + p->events[c->event].duration_ns;
	}
	shed_ranges(p);
	return rec_process_carry(p, gone, true);
}

int rec_plan_shed(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  size_t segment)
{
	scoped(rec_reach_done) struct rec_reach reach = {0};
	size_t there = rec_count_events(processes, n);
	int r;

	if (there < LEAST_SEGMENTS * segment)
		return 0;
	plan->is_shed = true;
	r = rec_reach_find(processes, n, there >= MOST_SEGMENTS * segment, segment, &reach);
	for (size_t i = 0; i < n && r == 0; i++)
		r = shed_process(processes[i], reach.ends[i]);
	return r;
}

/* ---- when all was read */

static int add_range(struct fmt_run_part *part, const struct rec_event *e)
{
	if (array_reserve(&part->ranges, part->n_ranges + 1, &part->ranges_cap) < 0)
		return -ENOMEM;
	part->ranges[part->n_ranges++] = (struct fmt_event){
		.start_ns = e->start_ns, .duration_ns = e->duration_ns, .template = e->template};
	fmt_run_part_span(part, e->duration_ns >= 0 ? &part->ranges[part->n_ranges - 1]
						    : &(struct fmt_event){.start_ns = e->start_ns});
	return 0;
}

static int plan_rank(struct rec_plan *plan, uint32_t rank, struct rec_process *p)
{
	scoped(fmt_run_part_done) struct fmt_run_part part = {.first_ns = INT64_MAX,
							      .last_ns = INT64_MIN};
	int r = 0;

	for (size_t i = 0; i < p->n_events; i++)
		widen(p, &p->events[i]);
	for (size_t i = 0; i < p->n_ranges && r == 0; i++)
		if (rec_rank_of(&plan->ranks, p, &p->ranges[i]) == rank)
			r = add_range(&part, &p->ranges[i]);
	if (p->has_span) {
		part.first_ns = p->first_ns < part.first_ns ? p->first_ns : part.first_ns;
		part.last_ns = p->last_ns > part.last_ns ? p->last_ns : part.last_ns;
	}
	fmt_run_part_sort(&part);
	return r < 0 ? r : rec_steps_plan(p->names, p, &part, &plan->steps[rank]);
}

int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names)
{
	int r = rec_ranks_find(processes, n, &plan->ranks);

	plan->n_processes = n;
	if (r == 0)
		r = rec_devices_put(processes, &plan->ranks, names);
	if (r == 0)
		r = rec_meetings_find(processes, n, &plan->ranks, names, &plan->meetings);
	plan->steps = calloc(plan->ranks.n + (size_t)1, sizeof(*plan->steps));
	if (r == 0 && !plan->steps)
		r = -ENOMEM;
	for (uint32_t i = 0; plan->is_shed && i < plan->ranks.n && r == 0; i++)
		r = plan_rank(plan, i, processes[plan->ranks.ranks[i].process]);
	return r;
}

bool rec_plan_fits(const struct rec_plan *plan, struct rec_process *const *processes, size_t n)
{
	const uint32_t *first = plan->ranks.first_track;
	bool fits = n <= plan->n_processes;

	for (size_t i = 0; i < n && fits; i++)
		fits = processes[i]->n_tracks <= first[i + 1] - first[i] &&
		       processes[i]->collectives_made <= plan->meetings.n_of[i];
	return fits;
}
