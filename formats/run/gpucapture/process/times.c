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

static int take_times(struct rec_process *p, uint64_t id, int64_t start_ns, int64_t end_ns)
{
	const struct rec_pending_entry made = {id + 1, REC_NONE, {{start_ns, end_ns}}};
	struct rec_pending_entry *slot = rec_pending_get(&p->times.waits, id + 1);

	if (!slot)
		return -ENOMEM;
	if (!slot->id || slot->event == REC_NONE) {
		rec_pending_set(&p->times.waits, slot, &made);
		return 0;
	}
	if (slot->event != REC_DROPPED)
		set_times(p, slot->event, start_ns, end_ns);
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
	return take_times(p, t->id, start_ns, end_ns);
}

int rec_times_ignore(struct rec_process *p, uint64_t id)
{
	const struct rec_pending_entry made = {.id = id + 1, .event = REC_DROPPED};
	struct rec_pending_entry *slot;

	if (p->only_plan && !p->planned_times)
		return 0;
	slot = rec_pending_get(&p->times.waits, made.id);
	if (!slot)
		return -ENOMEM;
	if (slot->id)
		rec_pending_remove(&p->times.waits, slot);
	else
		rec_pending_set(&p->times.waits, slot, &made);
	return 0;
}

static int expect_times(struct rec_process *p, const struct rec_pending_entry *made)
{
	struct rec_pending_entry *slot = rec_pending_get(&p->times.waits, made->id);

	if (!slot)
		return -ENOMEM;
	if (!slot->id || slot->event != REC_NONE) {
		rec_pending_set(&p->times.waits, slot, made);
		return 0;
	}
	set_times(p, made->event, slot->start_ns, slot->end_ns);
	rec_pending_remove(&p->times.waits, slot);
	return 0;
}

int rec_times_expect(struct rec_process *p, uint32_t event)
{
	struct rec_event *op = &p->events[event];

	op->duration_ns = REC_NO_TIME;
	return expect_times(p, &(struct rec_pending_entry){.id = op->correlation, .event = event});
}

int rec_times_expect_planned(struct rec_process *p, uint64_t id)
{
	uint32_t last = (uint32_t)p->nccl.n_collectives - 1;

	return p->planned_times
		       ? expect_times(p, &(struct rec_pending_entry){.id = id + 1, .event = last})
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
