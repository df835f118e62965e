/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/segment_bounds.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/process/call.h"
#include "formats/run/gpucapture/process/digests.h"
#include "formats/run/gpucapture/process/times.h"
#include "formats/run/gpucapture/trace/ranks.h"

/* Returns the call that launched the event, or the event itself if it is a call. */
static uint32_t owner_of(const struct rec_process *p, uint32_t event)
{
	uint32_t call = p->events[event].call;

	return call == REC_NONE ? event : call;
}

/* Returns the first event >= `from` whose times, or whose enclosing call, are outstanding. Earlier
 * events are complete or given up. */
static uint32_t first_incomplete(const struct rec_process *p, uint32_t from)
{
	uint32_t end = (uint32_t)p->n_events, waits = rec_times_first_pending(p, from);
	uint32_t digested = rec_digests_first_pending(p, from);

	if (waits != REC_NONE)
		end = owner_of(p, waits);
	if (digested < end)
		end = digested;
	for (size_t i = 0; i < p->n_threads; i++)
		for (size_t k = 0; k < p->threads[i]->n_launched; k++) {
			uint32_t call = owner_of(p, p->threads[i]->launched[k].event);

			end = call >= from && call < end ? call : end;
		}
	return end > from ? end : from;
}

void rec_segment_bounds_done(struct rec_segment_bounds *r)
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

/* Returns the end of the last processed call, or INT64_MIN. */
static int64_t last_end(const struct rec_process *p)
{
	return p->n_events > 0 ? p->end.last_call_ns : INT64_MIN;
}

/* Returns a time after which about `last` events began, according to the process with the most
 * events. */
static int64_t begin_of_last(struct rec_process *const *processes, size_t n, size_t last)
{
	size_t there = rec_count_events(processes, n);
	const struct rec_process *most = processes[0];

	for (size_t i = 1; i < n; i++)
		if (processes[i]->n_events > most->n_events)
			most = processes[i];
	if (there <= last)
		return INT64_MIN;
	return rec_launch_time(most,
			       &most->events[(size_t)((double)most->n_events *
						      (double)(there - last) / (double)there)]);
}

/* Counts the events of the process that began before `than_ns`. */
static uint32_t count_older(const struct rec_process *p, int64_t than_ns)
{
	uint32_t n = 0;

	while (n < p->n_events && rec_launch_time(p, &p->events[n]) < than_ns)
		n++;
	return n;
}

/* Calls are sorted by their ends: events that begin before the first one left out have nearly
 * always ended, too. Others are written with the next segment. */
int rec_segment_bounds_find(struct rec_process *const *processes, size_t n, bool force,
			    size_t least, struct rec_segment_bounds *ret)
{
	int64_t given_up_ns = force ? begin_of_last(processes, n, least) : INT64_MIN;

	*ret = (struct rec_segment_bounds){malloc((n + 1) * sizeof(*ret->ends)), INT64_MIN};
	if (!ret->ends)
		return -ENOMEM;
	/* A process that is idle delays no other. */
	for (size_t i = 0; i < n; i++)
		if (last_end(processes[i]) > ret->until_ns)
			ret->until_ns = last_end(processes[i]);
	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = processes[i];
		uint32_t end = first_incomplete(p, count_older(p, given_up_ns));

		ret->ends[i] = end;
		if (end < p->n_events && p->events[end].start_ns < ret->until_ns)
			ret->until_ns = p->events[end].start_ns;
	}
	return 0;
}

/* ---- remaining records */

/* Moves the values of the remaining events, which get new indexes. */
static int carry_values(struct rec_process *p, const int64_t *lent)
{
	scoped(free_ptr) int64_t *own = take(p->values);
	const int64_t *old = lent ?: own;
	size_t cap = p->values_cap;
	int r;

	p->n_values = p->values_cap = 0;
	r = array_reserve(&p->values, cap, &p->values_cap); /* the next segment is about as large */
	for (size_t i = 0; i < p->n_events && r == 0; i++) {
		struct rec_event *e = &p->events[i];

		r = rec_add_values(p, old + e->first_value,
				   fmt_template(p->names, e->template)->n_values, &e->first_value);
	}
	return r;
}

static void renumber_launched(struct rec_thread *t, const uint32_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_launched; i++) {
		struct rec_launched_op l = t->launched[i];

		l.event = to[l.event];
		if (l.event != REC_NONE)
			t->launched[n++] = l;
	}
	t->n_launched = n;
}

/* Also renumbers their messages, which are in the same order. */
static void renumber_collectives(struct rec_process *p, const uint32_t *to)
{
	size_t n = 0, n_messages = 0;

	for (size_t i = 0; i < p->nccl.n_collectives; i++) {
		struct rec_collective c = p->nccl.collectives[i];

		c.event = to[c.event];
		if (c.event == REC_NONE)
			continue;
		for (uint32_t k = 0; k < c.n_messages; k++)
			p->nccl.messages[n_messages + k] = p->nccl.messages[c.first_message + k];
		c.first_message = (uint32_t)n_messages;
		n_messages += c.n_messages;
		p->nccl.collectives[n++] = c;
	}
	p->nccl.n_collectives = n;
	p->nccl.n_messages = n_messages;
}

static void renumber_events(struct rec_process *p, const uint32_t *to)
{
	for (size_t i = 0; i < p->n_events; i++)
		if (p->events[i].call != REC_NONE)
			p->events[i].call = to[p->events[i].call];
	renumber_collectives(p, to);
	for (size_t i = 0; i < p->n_threads; i++)
		renumber_launched(p->threads[i], to);
	for (size_t i = 0; i < p->n_tracks; i++) {
		uint32_t timed = to[p->tracks[i].timed];

		p->tracks[i].timed = timed == REC_NONE ? 0 : timed;
	}
}

int rec_process_renumber(struct rec_process *p, uint32_t *to, const int64_t *lent)
{
	size_t n = 0;
	int r;

	to[p->n_events] = REC_NONE; /* initial value of `timed` of tracks without events */
	for (size_t i = 0; i < p->n_events; i++)
		if (to[i] != REC_NONE)
			p->events[n++] = p->events[i];
	p->n_events = n;
	renumber_events(p, to);
	rec_pending_renumber(&p->times.waits, to);
	r = rec_digests_renumber(p, to);
	return r < 0 ? r : carry_values(p, lent);
}
