/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/times.h"

static void set_event_times(struct rec_process *p, uint32_t event, int64_t start_ns, int64_t end_ns)
{
	struct rec_event *op = &p->events[event];
	struct rec_track *track = &p->tracks[op->track];

	track->timed = event > track->timed ? event : track->timed;
	if (end_ns < start_ns)
		return;
	/* Its host time is read before that of its call, and the thread may be preempted in
	 * between. */
	if (op->call != REC_NONE && start_ns < p->events[op->call].start_ns)
		start_ns = p->events[op->call].start_ns;
	op->start_ns = start_ns < end_ns ? start_ns : end_ns;
	op->duration_ns = end_ns - op->start_ns;
}

/* In the first reading, collectives wait for times. */
static void set_times(struct rec_process *p, uint32_t event, int64_t start_ns, int64_t end_ns)
{
	if (!p->only_plan) {
		set_event_times(p, event, start_ns, end_ns);
		return;
	}
	p->nccl.collectives[event].start_ns = start_ns;
	p->nccl.collectives[event].end_ns = end_ns;
}

/* Joins an operation (`made` has an event) with its times (it has none), in either order: the first
 * waits for the second. */
static int join_times(struct rec_process *p, const struct rec_pending_entry *made)
{
	struct rec_pending_entry *slot = rec_pending_get(&p->times.waits, made->id);
	const struct rec_pending_entry *times;
	uint32_t event;

	if (!slot)
		return -ENOMEM;
	if (!slot->id || (slot->event == REC_NONE) == (made->event == REC_NONE)) {
		rec_pending_set(&p->times.waits, slot, made);
		return 0;
	}
	times = made->event == REC_NONE ? made : slot;
	event = made->event == REC_NONE ? slot->event : made->event;
	if (event != REC_DROPPED)
		set_times(p, event, times->start_ns, times->end_ns);
	rec_pending_remove(&p->times.waits, slot);
	return 0;
}

int rec_add_times(struct rec_process *p, const struct cap_times_record *t)
{
	int64_t start_ns = t->start_ns, end_ns = t->end_ns;

	if (t->id == UINT64_MAX || start_ns < 0 || end_ns > REC_LATEST_NS) {
		p->counts.damaged++;
		return 0;
	}
	if (p->clock && end_ns >= start_ns) {
		start_ns = fmt_clock_ns(p->clock, start_ns);
		end_ns = fmt_clock_ns(p->clock, end_ns);
	}
	return join_times(p,
			  &(struct rec_pending_entry){t->id + 1, REC_NONE, {{start_ns, end_ns}}});
}

int rec_times_ignore(struct rec_process *p, uint64_t id)
{
	return p->only_plan && !p->planned_times
		       ? 0
		       : join_times(p, &(struct rec_pending_entry){.id = id + 1,
								   .event = REC_DROPPED});
}

int rec_times_expect(struct rec_process *p, uint32_t event)
{
	struct rec_event *op = &p->events[event];

	op->duration_ns = REC_NO_TIME;
	return join_times(p, &(struct rec_pending_entry){.id = op->correlation, .event = event});
}

int rec_times_expect_planned(struct rec_process *p, uint64_t id)
{
	uint32_t last = (uint32_t)p->nccl.n_collectives - 1;

	return p->planned_times
		       ? join_times(p, &(struct rec_pending_entry){.id = id + 1, .event = last})
		       : 0;
}

/* Times of one stream arrive roughly in the order of its operations. */
#define DISORDER 1024

static bool is_lost(const struct rec_process *p, uint32_t event)
{
	return p->tracks[p->events[event].track].timed > event + DISORDER;
}

uint32_t rec_times_first_pending(const struct rec_process *p, uint32_t from)
{
	const struct rec_pending_table *w = &p->times.waits;
	uint32_t first = REC_NONE;

	for (size_t i = 0; !p->times.none && i < w->size; i++) {
		uint32_t event = w->slots[i].event;

		if (w->slots[i].id && event >= from && event < first && event < p->n_events &&
		    !is_lost(p, event))
			first = event;
	}
	return first;
}

uint64_t rec_times_missing(const struct rec_process *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_events; i++)
		n += FMT_IS_OP(p->events[i].kind) && p->events[i].duration_ns == REC_NO_TIME;
	return n;
}
