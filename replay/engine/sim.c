/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/sim.h"

#include "replay/engine/state.h"

#include "base/array.h"
#include "base/scope.h"

#include <assert.h>

static void block_free(struct sim_block *b)
{
	if (!b)
		return;
	free(b->times);
	free(b->ranges);
	free(b->program.points);
	free(b->program.waits);
	free(b->program.far);
	free(b);
}

static void rank_done(struct rank *r)
{
	for (size_t i = 0; i < r->n_blocks; i++)
		block_free(r->blocks[i]);
	for (size_t i = 0; i < r->n_spare; i++)
		block_free(r->spare[i]);
	for (uint32_t i = 0; i < r->n_lanes; i++)
		free(r->lanes[i].room);
	free(r->blocks);
	free(r->spare);
	free(r->lanes);
	free(r->active);
}

void sim_free(struct sim *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->ranks && i < s->n_ranks; i++)
		rank_done(&s->ranks[i]);
	for (size_t i = 0; i < s->n_programs; i++) {
		free(s->programs[i].points);
		free(s->programs[i].waits);
		free(s->programs[i].far);
	}
	sim_meetings_free(s->meetings);
	free(s->ranks);
	free(s->queue);
	free(s->idle);
	free(s->finished);
	free(s->programs);
	free(s);
}

define_cleanup(sim_free_ptr, struct sim *, sim_free);

int sim_new(uint32_t n_ranks, struct sim **ret)
{
	scoped(sim_free_ptr) struct sim *s = calloc(1, sizeof(*s));
	size_t n = n_ranks + 1ul;

	if (!s)
		return -ENOMEM;
	s->n_ranks = n_ranks;
	s->ranks = calloc(n, sizeof(*s->ranks));
	s->queue = malloc(n * sizeof(*s->queue));
	s->idle = malloc(n * sizeof(*s->idle));
	if (!s->ranks || !s->queue || !s->idle || sim_meetings_new(n_ranks, &s->meetings) < 0)
		return -ENOMEM;
	*ret = take(s);
	return 0;
}

int sim_rank(struct sim *s, uint32_t rank, uint32_t n_lanes, int64_t clock_ns)
{
	struct rank *r = &s->ranks[rank];

	r->lanes = calloc(n_lanes + 1ul, sizeof(*r->lanes));
	r->active = malloc((n_lanes + 1ul) * sizeof(*r->active));
	if (!r->lanes || !r->active)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_lanes; i++)
		r->lanes[i].now_ns = SIM_NEVER;
	r->n_lanes = n_lanes;
	r->clock_ns = clock_ns;
	sim_name_idle(s, rank);
	return 0;
}

int sim_room(struct sim *s, uint32_t rank, uint32_t lane)
{
	struct lane *l = &s->ranks[rank].lanes[lane];

	if (!l->room)
		l->room = calloc(1, sizeof(*l->room));
	return l->room ? 0 : -ENOMEM;
}

struct sim_meetings *sim_meetings(struct sim *s)
{
	return s->meetings;
}

const struct sim_counts *sim_counts(const struct sim *s)
{
	return &s->counts;
}

void sim_enqueue(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];

	if (r->queued)
		return;
	r->queued = 1;
	s->queue[(s->queue_at + s->n_queue++) % s->n_ranks] = rank;
}

void sim_name_idle(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];

	if (r->idle || r->ended)
		return;
	r->idle = 1;
	s->idle[s->n_idle++] = rank;
}

uint32_t sim_idle(struct sim *s)
{
	while (s->n_idle > 0) {
		uint32_t rank = s->idle[--s->n_idle];

		s->ranks[rank].idle = 0;
		if (!s->ranks[rank].ended)
			return rank;
	}
	return SIM_NONE;
}

/* ---- blocks ---- */

static struct sim_block *spare_block(struct rank *r)
{
	struct sim_block *b;

	if (r->n_spare > 0)
		return r->spare[--r->n_spare];
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->ranges = malloc((r->n_lanes + 1ul) * sizeof(*b->ranges));
	if (!b->ranges)
		return free(b), NULL;
	return b;
}

int sim_block_new(struct sim *s, uint32_t rank, uint32_t n_slots, struct sim_block **ret)
{
	struct rank *r = &s->ranks[rank];
	struct sim_block *b;

	/* Room for the block wherever it will be listed, so that nothing fails later. */
	if (array_reserve(&r->blocks, r->n_blocks + 1, &r->blocks_cap) < 0 ||
	    array_reserve(&r->spare, r->n_blocks + r->n_spare + 1, &r->spare_cap) < 0 ||
	    array_reserve(&s->programs, s->n_programs + s->n_ranks + 1, &s->programs_cap) < 0)
		return -ENOMEM;
	b = spare_block(r);
	if (!b)
		return -ENOMEM;
	r->spare[r->n_spare++] = b; /* owned by the rank until it is pushed */
	if (array_reserve(&b->times, n_slots, &b->times_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_slots; i++)
		b->times[i] = SIM_PENDING;
	memset(b->ranges, 0, r->n_lanes * sizeof(*b->ranges));
	if (!b->program.points && s->n_programs > 0)
		b->program = s->programs[--s->n_programs];
	b->program.n_points = b->program.n_waits = b->program.n_far = 0;
	b->n_slots = n_slots;
	b->first = r->n_moments;
	b->open = 0;
	b->finished = 0;
	*ret = b;
	return 0;
}

static void drop_oldest(struct rank *r)
{
	r->spare[r->n_spare++] = r->blocks[0];
	memmove(r->blocks, r->blocks + 1, --r->n_blocks * sizeof(*r->blocks));
	r->first_number++;
	r->n_kept--;
	r->n_finished--;
}

static void drop_old(struct rank *r)
{
	while (r->n_kept > SIM_KEPT_BLOCKS &&
	       r->kept_slots - r->blocks[0]->n_slots >= SIM_KEPT_SLOTS) {
		r->kept_slots -= r->blocks[0]->n_slots;
		drop_oldest(r);
	}
}

int sim_lane_enter(struct rank *r, uint32_t lane, uint64_t number)
{
	struct lane *l = &r->lanes[lane];

	for (size_t i = (size_t)(number - r->first_number); i < r->n_blocks; i++) {
		struct sim_block *b = r->blocks[i];

		if (b->ranges[lane].at == b->ranges[lane].end)
			continue;
		l->block = b;
		l->block_number = r->first_number + i;
		l->at = b->program.points + b->ranges[lane].at;
		l->end = b->program.points + b->ranges[lane].end;
		return 1;
	}
	return 0;
}

int sim_push(struct sim *s, uint32_t rank, struct sim_block *b)
{
	struct rank *r = &s->ranks[rank];
	uint64_t number;

	assert(r->n_spare > 0 && r->spare[r->n_spare - 1] == b);
	r->n_spare--;
	r->blocks[r->n_blocks++] = b;
	r->n_moments += b->n_slots;
	drop_old(r);
	number = r->first_number + r->n_blocks - 1;
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		if (b->ranges[i].at == b->ranges[i].end)
			continue;
		b->open++;
		if (!r->lanes[i].block) {
			sim_lane_enter(r, i, number);
			r->active[r->n_active++] = i;
		}
	}
	s->counts.points += b->program.n_points;
	sim_seal(s->meetings, rank, 0);
	sim_wake(s);
	sim_enqueue(s, rank);
	return sim_finish(s, rank);
}

int sim_end(struct sim *s, uint32_t rank)
{
	s->ranks[rank].ended = 1;
	sim_seal(s->meetings, rank, 1);
	sim_wake(s);
	sim_enqueue(s, rank);
	return 0;
}

struct sim_block *sim_block_of(const struct rank *r, uint64_t moment)
{
	for (size_t i = r->n_blocks; i-- > 0;) {
		if (moment >= r->blocks[i]->first)
			return moment - r->blocks[i]->first < r->blocks[i]->n_slots ? r->blocks[i]
										    : NULL;
	}
	return NULL;
}

int sim_finish(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];

	while (r->n_finished < r->n_blocks && r->blocks[r->n_finished]->open == 0) {
		if (array_reserve(&s->finished, s->n_finished + 1, &s->finished_cap) < 0)
			return -ENOMEM;
		s->finished[s->n_finished++] = (struct finished){rank, r->blocks[r->n_finished]};
		r->blocks[r->n_finished++]->finished = 1;
	}
	return 0;
}

struct sim_block *sim_finished(struct sim *s, uint32_t *rank)
{
	struct finished f;

	if (s->finished_at == s->n_finished) {
		s->finished_at = s->n_finished = 0;
		return NULL;
	}
	f = s->finished[s->finished_at++];
	*rank = f.rank;
	return f.block;
}

void sim_release(struct sim *s, uint32_t rank, struct sim_block *b)
{
	struct rank *r = &s->ranks[rank];

	r->n_kept++;
	r->kept_slots += b->n_slots;
	b->owner = NULL;
	if (s->n_programs < s->programs_cap) {
		s->programs[s->n_programs++] = b->program;
		b->program = (struct sim_program){0};
	}
}

void *sim_abandon(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		struct rank *r = &s->ranks[i];

		for (size_t k = 0; k < r->n_blocks; k++) {
			if (r->blocks[k]->owner)
				return take(r->blocks[k]->owner);
		}
	}
	return NULL;
}

uint32_t sim_unfinished(const struct sim *s, uint32_t rank)
{
	return (uint32_t)(s->ranks[rank].n_blocks - s->ranks[rank].n_finished);
}

uint32_t sim_ended(const struct sim *s, uint32_t rank)
{
	return s->ranks[rank].ended;
}
