/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/plan.h"

#include "formats/run/gpucapture/trace/devices.h"

/* A recording of at most this many segments is written as one. */
#define WHOLE_SEGMENTS 2

void rec_plan_done(struct rec_plan *p)
{
	for (uint32_t i = 0; p->iterations && i < p->ranks.n; i++)
		fmt_iterations_done(&p->iterations[i].all);
	free(p->iterations);
	rec_pairing_done(&p->pairing);
	rec_ranks_done(&p->ranks);
	*p = (struct rec_plan){0};
}

static uint64_t count_events(struct rec_process *const *processes, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += processes[i]->counts.calls + processes[i]->counts.ops;
	return sum;
}

int rec_plan_end_round(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		       size_t segment)
{
	uint64_t events = count_events(processes, n);
	int r = 0;

	plan->segment = segment;
	if (events - plan->cut_events < segment)
		return 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = fmt_iterations_add(&processes[i]->cuts, (int64_t)plan->n_cuts,
				       processes[i]->last_ns, 0);
	plan->n_cuts++;
	plan->cut_events = events;
	return r;
}

int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names)
{
	int r = rec_ranks_find(processes, n, &plan->ranks);

	plan->n_processes = n;
	if (count_events(processes, n) <= WHOLE_SEGMENTS * plan->segment)
		plan->n_cuts = 0;
	if (r == 0)
		r = rec_devices_put(processes, &plan->ranks, names);
	if (r == 0)
		r = rec_pairing_find(processes, n, &plan->ranks, names, &plan->pairing);
	plan->iterations = calloc(plan->ranks.n + (size_t)1, sizeof(*plan->iterations));
	if (r == 0 && !plan->iterations)
		r = -ENOMEM;
	return r < 0 ? r
		     : rec_iterations_find(processes, &plan->ranks, plan->n_cuts, plan->iterations);
}

bool rec_plan_has_iterations(const struct rec_plan *plan, int64_t first, int64_t last)
{
	for (uint32_t i = 0; i < plan->ranks.n; i++)
		for (size_t k = 0; k < plan->iterations[i].all.n; k++)
			if (plan->iterations[i].all.list[k].number >= first &&
			    plan->iterations[i].all.list[k].number <= last)
				return true;
	return false;
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
