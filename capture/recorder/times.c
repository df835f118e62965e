/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/times.h"

#include "capture/recorder/process.h"

#include <errno.h>
#include <stdlib.h>

void rec_times_done(struct rec_times *t)
{
	free(t->slots);
	*t = (struct rec_times){0};
}

static size_t home(const struct rec_times *t, const struct rec_time *s)
{
	return ((s->id * 0x9e3779b97f4a7c15u + s->index * 0xc2b2ae3d27d4eb4fu) >> 32) &
	       (t->size - 1);
}

/* Where it is, or would be. */
static struct rec_time *place(struct rec_times *t, const struct rec_time *of)
{
	size_t at = home(t, of);

	while (t->slots[at].id && (t->slots[at].id != of->id || t->slots[at].index != of->index))
		at = (at + 1) & (t->size - 1);
	return &t->slots[at];
}

static int grow(struct rec_times *t)
{
	struct rec_times grown = {.size = t->size ? t->size * 2 : 1024, .n = t->n, .came = t->came};

	if (t->n * 3 < t->size * 2)
		return 0;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].id)
			*place(&grown, &t->slots[i]) = t->slots[i];
	free(t->slots);
	*t = grown;
	return 0;
}

static int put(struct rec_times *t, const struct rec_time *made)
{
	struct rec_time *slot;

	if (grow(t) < 0)
		return -ENOMEM;
	slot = place(t, made);
	t->n += !slot->id;
	*slot = *made;
	return 0;
}

/* What is found further from its home than the free slot moves there. */
static void drop(struct rec_times *t, struct rec_time *slot)
{
	size_t mask = t->size - 1, hole = (size_t)(slot - t->slots);

	for (size_t i = (hole + 1) & mask; t->slots[i].id; i = (i + 1) & mask) {
		if (((i - home(t, &t->slots[i])) & mask) < ((i - hole) & mask))
			continue;
		t->slots[hole] = t->slots[i];
		hole = i;
	}
	t->slots[hole].id = 0;
	t->n--;
}

static struct rec_time *find(struct rec_times *t, const struct rec_time *of)
{
	struct rec_time *slot = t->size > 0 ? place(t, of) : NULL;

	return slot && slot->id ? slot : NULL;
}

static void settle(struct rec_process *p, uint32_t event, int64_t start_ns, int64_t end_ns)
{
	struct rec_event *op = &p->events[event];
	struct rec_lane *lane = &p->lanes[op->lane];

	lane->timed = event > lane->timed ? event : lane->timed;
	if (end_ns < start_ns)
		return;
	/* Its host moment is read before the call's own, and the thread may be held up in between.
	 */
	if (op->call != REC_NONE && start_ns < p->events[op->call].start_ns)
		start_ns = p->events[op->call].start_ns;
	op->start_ns = start_ns < end_ns ? start_ns : end_ns;
	op->duration_ns = end_ns - op->start_ns;
}

int rec_times_come(struct rec_process *p, uint64_t id, uint32_t index, int64_t start_ns,
		   int64_t end_ns)
{
	const struct rec_time made = {id + 1, index, REC_NONE, start_ns, end_ns};
	struct rec_time *slot = find(&p->times, &made);

	p->times.came = true;
	if (!slot || slot->event == REC_NONE)
		return put(&p->times, &made);
	settle(p, slot->event, start_ns, end_ns);
	drop(&p->times, slot);
	return 0;
}

int rec_times_await(struct rec_process *p, uint32_t event)
{
	struct rec_event *op = &p->events[event];
	const struct rec_time made = {.id = op->correlation, .index = op->index, .event = event};
	struct rec_time *slot = find(&p->times, &made);

	op->duration_ns = REC_NO_TIME;
	if (!slot || slot->event != REC_NONE)
		return put(&p->times, &made);
	settle(p, event, slot->start_ns, slot->end_ns);
	drop(&p->times, slot);
	return 0;
}

/* Times of one stream come in the order of its operations, or nearly so. */
#define DISORDER 1024

static bool is_lost(const struct rec_process *p, uint32_t event)
{
	return p->lanes[p->events[event].lane].timed > event + DISORDER;
}

uint32_t rec_times_first(const struct rec_process *p, uint32_t from)
{
	const struct rec_times *t = &p->times;
	uint32_t first = REC_NONE;

	for (size_t i = 0; t->came && i < t->size; i++) {
		uint32_t event = t->slots[i].event;

		if (t->slots[i].id && event >= from && event < first && !is_lost(p, event))
			first = event;
	}
	return first;
}

int rec_times_move(struct rec_times *t, const uint32_t *to)
{
	struct rec_times moved = {.came = t->came};

	for (size_t i = 0; i < t->size; i++) {
		struct rec_time slot = t->slots[i];

		if (!slot.id)
			continue;
		if (slot.event != REC_NONE && to[slot.event] == REC_NONE)
			continue;
		if (slot.event != REC_NONE)
			slot.event = to[slot.event];
		if (put(&moved, &slot) < 0) {
			rec_times_done(&moved);
			return -ENOMEM;
		}
	}
	rec_times_done(t);
	*t = moved;
	return 0;
}
