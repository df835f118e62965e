/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/reach.h"

#include "formats/run/gpucapture/trace/carry.h"

#include <errno.h>
#include <stdlib.h>

void rec_reach_done(struct rec_reach *r)
{
	free(r->ends);
}

size_t rec_count_events(struct rec_process *const *processes, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += processes[i]->n_events;
	return sum;
}

/* When the last call that was looked at ended; INT64_MIN. */
static int64_t last_end(const struct rec_process *p)
{
	return p->n_events > 0 ? p->end.last_call_ns : INT64_MIN;
}

/* When the call began that the event is, or that launched it. */
static int64_t began(const struct rec_process *p, const struct rec_event *e)
{
	return e->call == REC_NONE ? e->start_ns : p->events[e->call].start_ns;
}

/* When about so many of the events had not begun yet: as the process has it that did most. */
static int64_t begin_of_last(struct rec_process *const *processes, size_t n, size_t last)
{
	size_t there = rec_count_events(processes, n);
	const struct rec_process *most = processes[0];

	for (size_t i = 1; i < n; i++)
		if (processes[i]->n_events > most->n_events)
			most = processes[i];
	if (there <= last)
		return INT64_MIN;
	return began(most, &most->events[(size_t)((double)most->n_events * (double)(there - last) /
						  (double)there)]);
}

/* How many of the process's events are older. */
static uint32_t count_older(const struct rec_process *p, int64_t than_ns)
{
	uint32_t n = 0;

	while (n < p->n_events && began(p, &p->events[n]) < than_ns)
		n++;
	return n;
}

/* Calls stand in the order of their ends: what begins before the first that is left out does has
 * nearly always ended as well. What has not is written with the next segment. */
int rec_reach_find(struct rec_process *const *processes, size_t n, bool force, size_t least,
		   struct rec_reach *ret)
{
	int64_t given_up_ns = force ? begin_of_last(processes, n, least) : INT64_MIN;

	*ret = (struct rec_reach){malloc((n + 1) * sizeof(*ret->ends)), INT64_MIN, force};
	if (!ret->ends)
		return -ENOMEM;
	/* One that does nothing any more holds nobody up. */
	for (size_t i = 0; i < n; i++)
		if (last_end(processes[i]) > ret->until_ns)
			ret->until_ns = last_end(processes[i]);
	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = processes[i];
		uint32_t end = rec_process_complete(p, count_older(p, given_up_ns));

		ret->ends[i] = end;
		if (end < p->n_events && p->events[end].start_ns < ret->until_ns)
			ret->until_ns = p->events[end].start_ns;
	}
	return 0;
}
