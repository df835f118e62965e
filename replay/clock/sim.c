/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/sim.h"

#include "replay/clock/sim_impl.h"

#include "base/array.h"
#include "base/scope.h"

#include <assert.h>
#include <stdalign.h>

void sim_free(struct sim *s)
{
	if (!s)
		return;
	sim_collectives_free(s->collectives);
	sim_variants_free(s->variants);
	sim_causes_free(s->causes);
	for (uint32_t i = 0; s->ranks && i < s->n_ranks; i++)
		free(s->ranks[i].watchers);
	free(s->queue);
	free(s->idle);
	free(s->finished);
	arena_done(&s->arena);
	free(s);
}

define_cleanup(sim_free_ptr, struct sim *, sim_free);

static void *zeroes(struct sim *s, size_t bytes, size_t align)
{
	void *ret = arena_take(&s->arena, bytes, align);

	return ret ? memset(ret, 0, bytes) : NULL;
}

int sim_new(uint32_t n_ranks, struct sim **ret)
{
	scoped(sim_free_ptr) struct sim *s = calloc(1, sizeof(*s));
	size_t n = n_ranks + 1ul;

	if (!s)
		return -ENOMEM;
	s->n_ranks = n_ranks;
	s->ranks = zeroes(s, n * sizeof(*s->ranks), alignof(struct rank));
	s->queue = malloc(n * sizeof(*s->queue));
	s->idle = malloc(n * sizeof(*s->idle));
	if (!s->ranks || !s->queue || !s->idle || sim_collectives_new(n_ranks, &s->collectives) < 0)
		return -ENOMEM;
	*ret = take(s);
	return 0;
}

int sim_init_rank(struct sim *s, uint32_t rank, uint32_t n_tracks, int64_t clock_ns)
{
	struct rank *r = &s->ranks[rank];

	r->tracks = zeroes(s, n_tracks * (sizeof(*r->tracks) + sizeof(*r->active)),
			   alignof(struct track));
	if (!r->tracks)
		return -ENOMEM;
	r->active = (uint32_t *)(r->tracks + n_tracks);
	for (uint32_t i = 0; i < n_tracks; i++)
		r->tracks[i].now_ns = SIM_NEVER;
	r->n_tracks = n_tracks;
	r->clock_ns = clock_ns;
	sim_add_idle(s, rank);
	return sim_variants_rank(s, r);
}

int64_t sim_clock_ns(const struct sim *s, uint32_t rank)
{
	return s->ranks[rank].clock_ns;
}

int sim_add_capacity(struct sim *s, uint32_t rank, uint32_t track)
{
	struct track *l = &s->ranks[rank].tracks[track];

	if (!l->capacity)
		l->capacity = zeroes(s, sizeof(*l->capacity), alignof(struct capacity));
	return l->capacity ? 0 : -ENOMEM;
}

struct sim_collectives *sim_collectives(struct sim *s)
{
	return s->collectives;
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

void sim_add_idle(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];

	if (r->idle || r->ended)
		return;
	r->idle = 1;
	s->idle[(s->idle_at + s->n_idle++) % s->n_ranks] = rank;
}

uint32_t sim_next_idle(struct sim *s)
{
	while (s->n_idle > 0) {
		uint32_t rank = s->idle[s->idle_at];

		s->idle_at = (s->idle_at + 1) % s->n_ranks;
		s->n_idle--;
		s->ranks[rank].idle = 0;
		if (!s->ranks[rank].ended)
			return rank;
	}
	return SIM_NONE;
}

/* ---- blocks ---- */

/* Allocates a block, followed by its ranges. */
static struct sim_block *block_new(struct sim *s, const struct rank *r)
{
	struct sim_block *b = arena_take(&s->arena, sizeof(*b) + r->n_tracks * sizeof(*b->ranges),
					 alignof(struct sim_block));

	if (b)
		*b = (struct sim_block){.ranges = (struct sim_range *)(b + 1)};
	return b;
}

static struct sim_program *program_take(struct sim *s)
{
	struct sim_program *p = s->programs;

	if (p)
		s->programs = p->next;
	else
		p = zeroes(s, sizeof(*p), alignof(struct sim_program));
	return p;
}

int sim_reserve(struct sim *s, struct sim_program *p, size_t points, size_t waits, size_t far)
{
	if (arena_reserve(&s->arena, &p->points, points, &p->points_cap) < 0 ||
	    arena_reserve(&s->arena, &p->waits, waits, &p->waits_cap) < 0 ||
	    arena_reserve(&s->arena, &p->scales, points, &p->scales_cap) < 0 ||
	    arena_reserve(&s->arena, &p->far, far, &p->far_cap) < 0)
		return -ENOMEM;
	return 0;
}

int sim_block_new(struct sim *s, uint32_t rank, uint32_t n_slots, struct sim_block **ret)
{
	struct rank *r = &s->ranks[rank];
	struct sim_block *b;

	if (!r->spare)
		r->spare = block_new(s, r);
	b = r->spare; /* owned by the rank until it is pushed */
	if (!b || arena_reserve(&s->arena, &b->times, n_slots, &b->times_cap) < 0)
		return -ENOMEM;
	if (!b->program)
		b->program = program_take(s);
	if (!b->program)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_slots; i++)
		b->times[i] = SIM_PENDING;
	b->n_slots = n_slots;
	if (sim_variants_block(s, b) < 0)
		return -ENOMEM;
	memset(b->ranges, 0, r->n_tracks * sizeof(*b->ranges));
	b->program->n_points = b->program->n_waits = b->program->n_far = 0;
	b->first = r->n_moments;
	b->open = b->released = b->kept = 0;
	*ret = b;
	return 0;
}

static void drop_old(struct rank *r)
{
	while (r->n_finished > SIM_KEPT_BLOCKS && r->oldest->released &&
	       r->finished_slots - r->oldest->n_slots >= SIM_KEPT_SLOTS) {
		struct sim_block *b = r->oldest;

		r->finished_slots -= b->n_slots;
		r->n_finished--;
		r->oldest = b->newer;
		r->oldest->older = NULL;
		if (b->kept)
			continue;
		b->newer = r->spare;
		r->spare = b;
	}
}

int sim_track_enter(struct rank *r, uint32_t track, struct sim_block *from)
{
	struct track *l = &r->tracks[track];

	for (struct sim_block *b = from; b; b = b->newer) {
		const struct sim_range *range = &b->ranges[track];

		if (range->at == range->end)
			continue;
		l->block = b;
		l->times = b->times;
		l->waits = b->program->waits;
		l->at = b->program->points + range->at;
		l->end = b->program->points + range->end;
		return 1;
	}
	return 0;
}

static void add_block(struct rank *r, struct sim_block *b)
{
	assert(r->spare == b);
	r->spare = b->newer;
	b->newer = NULL;
	b->older = r->newest;
	if (b->older)
		b->older->newer = b;
	else
		r->oldest = b;
	r->newest = b;
	if (!r->unfinished)
		r->unfinished = b;
	r->n_unfinished++;
	r->n_moments += b->n_slots;
}

int sim_push(struct sim *s, uint32_t rank, struct sim_block *b)
{
	struct rank *r = &s->ranks[rank];

	if (sim_variants_collectives(s) < 0 || sim_causes_push(s, b) < 0)
		return -ENOMEM;
	add_block(r, b);
	drop_old(r);
	for (uint32_t i = 0; i < r->n_tracks; i++) {
		if (b->ranges[i].at == b->ranges[i].end)
			continue;
		b->open++;
		if (!r->tracks[i].block) {
			sim_track_enter(r, i, b);
			r->active[r->n_active++] = i;
		}
	}
	s->counts.points += b->program->n_points;
	sim_seal(s->collectives, rank, 0);
	sim_wake(s);
	sim_enqueue(s, rank);
	return sim_finish(s, rank);
}

void sim_end_rank(struct sim *s, uint32_t rank)
{
	s->ranks[rank].ended = 1;
	sim_wake_watchers(s, &s->ranks[rank]);
	sim_seal(s->collectives, rank, 1);
	sim_wake(s);
	sim_enqueue(s, rank);
}

struct sim_block *sim_block_of(const struct rank *r, uint64_t moment)
{
	struct sim_block *b = r->newest;

	while (b && moment < b->first)
		b = b->older;
	return b && moment - b->first < b->n_slots ? b : NULL;
}

struct sim_block *sim_far_block(const struct sim *s, const struct rank *r,
				const struct sim_program *p, const struct sim_wait *w,
				uint32_t *slot)
{
	uint64_t far = p->far[w->operand];
	uint64_t moment = w->kind == SIM_OTHER ? SIM_REF_MOMENT(far) : far;
	struct sim_block *b =
		sim_block_of(w->kind == SIM_OTHER ? &s->ranks[SIM_REF_RANK(far)] : r, moment);

	if (b)
		*slot = (uint32_t)(moment - b->first);
	return b;
}

void sim_wake_watchers(struct sim *s, struct rank *r)
{
	while (r->n_watchers > 0)
		sim_enqueue(s, r->watchers[--r->n_watchers]);
}

int sim_finish(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];

	for (; r->unfinished && r->unfinished->open == 0; r->unfinished = r->unfinished->newer) {
		if (array_reserve(&s->finished, s->n_finished + 1, &s->finished_cap) < 0)
			return -ENOMEM;
		s->finished[s->n_finished++] = (struct finished){rank, r->unfinished};
		r->n_unfinished--;
		r->n_finished++;
		r->finished_slots += r->unfinished->n_slots;
	}
	return 0;
}

struct sim_block *sim_next_finished(struct sim *s, uint32_t *rank)
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

void sim_release_program(struct sim *s, struct sim_block *b)
{
	if (!b->program || b->kept)
		return;
	b->program->next = s->programs;
	s->programs = take(b->program);
}

void sim_release(struct sim *s, struct sim_block *b)
{
	sim_release_program(s, b);
	b->owner = NULL;
	b->released = 1;
}

void *sim_next_abandoned(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_ranks; i++)
		for (struct sim_block *b = s->ranks[i].oldest; b; b = b->newer)
			if (b->owner)
				return take(b->owner);
	return NULL;
}

uint32_t sim_unfinished(const struct sim *s, uint32_t rank)
{
	return s->ranks[rank].n_unfinished;
}

uint32_t sim_ended(const struct sim *s, uint32_t rank)
{
	return s->ranks[rank].ended;
}
