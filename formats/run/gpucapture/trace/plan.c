/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/plan.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/trace/devices.h"

void rec_plan_done(struct rec_plan *p)
{
	for (uint32_t i = 0; p->steps && i < p->ranks.n; i++)
		rec_iterations_state_done(&p->steps[i]);
	free(p->steps);
	rec_pairing_done(&p->pairing);
	rec_ranks_done(&p->ranks);
	*p = (struct rec_plan){0};
}

static int add_range(struct fmt_run_part *part, const struct rec_event *e)
{
	if (array_reserve(&part->ranges, part->n_ranges + 1, &part->ranges_cap) < 0)
		return -ENOMEM;
	part->ranges[part->n_ranges++] = (struct fmt_event){
		.start_ns = e->start_ns, .duration_ns = e->duration_ns, .template = e->template};
	fmt_run_part_extend(part, e->duration_ns >= 0
					  ? &part->ranges[part->n_ranges - 1]
					  : &(struct fmt_event){.start_ns = e->start_ns});
	return 0;
}

static int plan_rank(struct rec_plan *plan, uint32_t rank, struct rec_process *p)
{
	scoped(fmt_run_part_done) struct fmt_run_part part = {.first_ns = INT64_MAX,
							      .last_ns = INT64_MIN};
	int r = 0;

	for (size_t i = 0; i < p->n_events; i++) {
		const struct rec_event *e = &p->events[i];

		rec_process_extend_span(p, e->start_ns,
					e->start_ns + (e->duration_ns > 0 ? e->duration_ns : 0));
	}
	for (size_t i = 0; i < p->n_ranges && r == 0; i++)
		if (rec_rank_of(&plan->ranks, p, &p->ranges[i]) == rank)
			r = add_range(&part, &p->ranges[i]);
	if (p->has_span) {
		part.first_ns = p->first_ns < part.first_ns ? p->first_ns : part.first_ns;
		part.last_ns = p->last_ns > part.last_ns ? p->last_ns : part.last_ns;
	}
	fmt_run_part_sort(&part);
	return r < 0 ? r : rec_iterations_plan(p->names, p, &part, &plan->steps[rank]);
}

int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names)
{
	int r = rec_ranks_find(processes, n, &plan->ranks);

	plan->n_processes = n;
	for (size_t i = 0; i < n; i++)
		plan->n_events += processes[i]->counts.calls + processes[i]->counts.ops;
	if (r == 0)
		r = rec_devices_put(processes, &plan->ranks, names);
	if (r == 0)
		r = rec_pairing_find(processes, n, &plan->ranks, names, &plan->pairing);
	plan->steps = calloc(plan->ranks.n + (size_t)1, sizeof(*plan->steps));
	if (r == 0 && !plan->steps)
		r = -ENOMEM;
	for (uint32_t i = 0; i < plan->ranks.n && r == 0; i++)
		r = plan_rank(plan, i, processes[plan->ranks.ranks[i].process]);
	return r;
}

bool rec_plan_matches(const struct rec_plan *plan, struct rec_process *const *processes, size_t n)
{
	const uint32_t *first = plan->ranks.first_track;
	bool fits = n <= plan->n_processes;

	for (size_t i = 0; i < n && fits; i++)
		fits = processes[i]->n_tracks <= first[i + 1] - first[i] &&
		       processes[i]->nccl.made <= plan->pairing.n_collectives[i];
	return fits;
}
