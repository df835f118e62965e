/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/sim.h"

#include "replay/clock/sim_impl.h"

#include "base/scope.h"

#include <errno.h>

/* Returns the track of the block whose range contains the slot. A slot in no range, or already
 * passed, will never get a time: then returns the waiting track itself. */
static uint32_t track_of_slot(const struct rank *r, const struct sim_block *b, uint32_t slot,
			      uint32_t self)
{
	for (uint32_t i = 0; i < r->n_tracks; i++) {
		const struct sim_range *range = &b->ranges[i];

		if (range->at < range->end && slot >= range->first_slot && slot < range->end_slot)
			return r->tracks[i].block ? i : self;
	}
	return self;
}

/* Returns the track of the rank that the track's point waits for; itself for a time that will never
 * be known; SIM_NONE for a collective or a block that was not pushed yet. */
static uint32_t waits_for(const struct rank *r, uint32_t self)
{
	const struct track *l = &r->tracks[self];
	const struct sim_wait *w;

	if (!l->block || l->at->wait == SIM_NONE)
		return SIM_NONE;
	for (w = l->block->program->waits + l->at->wait;; w++) {
		struct sim_block *b = l->block;
		uint64_t moment;

		if (w->kind == SIM_FAR) {
			moment = l->block->program->far[w->operand];
			b = sim_block_of(r, moment);
			if (!b)
				return self;
			if (b->times[moment - b->first] == SIM_PENDING)
				return track_of_slot(r, b, (uint32_t)(moment - b->first), self);
		} else if (w->kind == SIM_MOMENT && b->times[w->operand] == SIM_PENDING) {
			return track_of_slot(r, b, w->operand, self);
		}
		if (w->last)
			return SIM_NONE;
	}
}

/* Follows the waits from `track`; seen[] contains the walk that visited each track. A walk that
 * reaches itself has found a cycle of waits: the first track of the cycle drops its waits. */
static int break_from(struct rank *r, uint32_t track, uint32_t walk, uint32_t *seen)
{
	uint32_t i = track, first;

	while (i != SIM_NONE && seen[i] == 0) {
		seen[i] = walk;
		i = waits_for(r, i);
	}
	if (i == SIM_NONE || seen[i] != walk)
		return 0;
	first = i;
	for (uint32_t k = waits_for(r, i); k != i; k = waits_for(r, k))
		first = k < first ? k : first;
	r->tracks[first].drop = 1;
	return 1;
}

static int break_rank(struct rank *r)
{
	uint32_t *seen;
	int broken = 0;

	if (r->n_active == 0)
		return 0;
	seen = calloc(r->n_tracks + 1ul, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_active; i++)
		broken += break_from(r, r->active[i], i + 1, seen);
	free(seen);
	return broken;
}

/* Drops the waits of a track that waits for another rank: ranks wait for each other in a cycle. */
static int break_others(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		struct rank *r = &s->ranks[i];

		for (uint32_t k = 0; k < r->n_active; k++) {
			struct track *l = &r->tracks[r->active[k]];
			const struct sim_wait *w =
				l->block && l->at->wait != SIM_NONE ? l->waits + l->at->wait : NULL;

			for (; w && w->kind != SIM_OTHER; w = w->last ? NULL : w + 1)
				;
			if (!w || l->drop)
				continue;
			l->drop = 1;
			sim_enqueue(s, i);
			return 1;
		}
	}
	return 0;
}

int sim_break_deadlock(struct sim *s)
{
	int broken = 0;

	for (uint32_t i = 0; i < s->n_ranks; i++) {
		int n = break_rank(&s->ranks[i]);

		if (n < 0)
			return n;
		if (n > 0)
			sim_enqueue(s, i);
		broken += n;
	}
	if (broken == 0)
		broken = sim_force_end(s->collectives);
	if (broken == 0)
		broken = break_others(s);
	sim_wake(s);
	s->counts.broken += (uint64_t)broken;
	return broken;
}
