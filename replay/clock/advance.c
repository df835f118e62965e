/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/sim.h"

#include "replay/clock/capacity.h"
#include "replay/clock/sim_impl.h"

#include "base/array.h"

/* Returns the time of a moment, which may be in another block. */
static int64_t far_moment(struct sim *s, uint32_t rank, uint64_t moment)
{
	struct rank *r = &s->ranks[rank];
	struct sim_block *b = sim_block_of(r, moment);

	if (b)
		return b->times[moment - b->first];
	if (moment >= r->n_moments && !r->ended) {
		sim_add_idle(s, rank);
		return SIM_PENDING;
	}
	s->counts.too_far++;
	return SIM_NEVER;
}

/* Returns the time of a moment of another rank. If it is not known yet, that rank will wake this
 * one. */
static int64_t other_moment(struct sim *s, uint32_t rank, uint64_t ref)
{
	struct rank *of = &s->ranks[SIM_REF_RANK(ref)];
	int64_t when = far_moment(s, SIM_REF_RANK(ref), SIM_REF_MOMENT(ref));

	if (when != SIM_PENDING || (of->n_watchers > 0 && of->watchers[of->n_watchers - 1] == rank))
		return when;
	if (array_reserve(&of->watchers, of->n_watchers + 1, &of->watchers_cap) < 0)
		s->error = -ENOMEM;
	else
		of->watchers[of->n_watchers++] = rank;
	return when;
}

static void join_all(struct sim *s, const struct rank *r, struct track *l, const struct sim_wait *w)
{
	for (;; w++) {
		if (s->variants)
			sim_variants_join(s, r, l, w);
		sim_join(s->collectives, w->operand, fmt_sub(l->now_ns, r->clock_ns), l->at->own_ns,
			 sim_arrival(s, r, l));
		if (w->last)
			break;
	}
	l->joined = 1;
	sim_wake(s);
}

static int have_ended(const struct sim *s, const struct sim_wait *w)
{
	while (sim_collective(s->collectives, w->operand)->end_ns != SIM_PENDING) {
		if (w->last)
			return 1;
		w++;
	}
	return 0;
}

/* Returns 1 and the end in *t if the collectives of the waits from `w` have ended. Joins them first
 * if the track has not. */
static int wait_for_collectives(struct sim *s, struct rank *r, struct track *l,
				const struct sim_wait *w, int64_t *t)
{
	uint64_t last;

	if (!l->joined)
		join_all(s, r, l, w);
	if (!have_ended(s, w))
		return 0;
	if (s->variants)
		sim_variants_leave(s, r, l, w);
	*t = l->now_ns;
	last = sim_arrival(s, r, l);
	for (;; w++) {
		const struct sim_collective *m = sim_collective(s->collectives, w->operand);
		int64_t end_ns = m->end_ns, lag_ns = r->clock_ns;

		if (w->kind == SIM_TRANSFER) {
			end_ns = m->when.latest_ns;
			lag_ns = fmt_add(w->lag_ns, lag_ns);
		} else {
			*t = moment_wait(*t, moment_after(l->now_ns, m->when.shortest_ns), 0);
		}
		if (moment_wait(*t, end_ns, lag_ns) > *t)
			last = m->last;
		*t = moment_wait(*t, end_ns, lag_ns);
		sim_leave(s->collectives, w->operand);
		if (w->last)
			break;
	}
	if (s->causes)
		sim_causes_leave(s, l, last);
	l->joined = 0;
	return 1;
}

/* Makes the variants drop the track's wait for an unknown moment, too. */
static void forget_variants(const struct sim *s, const struct rank *r, const struct track *l,
			    const struct sim_wait *w)
{
	struct sim_block *b = l->block;
	uint64_t moment = b->first + w->operand;

	if (w->kind == SIM_FAR) {
		moment = b->program->far[w->operand];
		b = sim_block_of(r, moment);
	}
	if (b)
		sim_variants_drop_wait(s, b, moment - b->first);
}

/* Returns 1 if all moments that the track's point waits for are known; if so, delays *t to them. */
static int apply_waits(struct sim *s, uint32_t rank, struct track *l, int64_t *t)
{
	const struct sim_wait *w = l->waits + l->at->wait;

	for (;; w++) {
		int64_t when;

		switch (w->kind) {
		case SIM_COLLECTIVE:
		case SIM_TRANSFER:
			return wait_for_collectives(s, &s->ranks[rank], l, w, t);
		case SIM_FREE:
			*t = capacity_start(l->capacity, *t);
			l->drop = 0;
			return 1;
		case SIM_CAPACITY:
			*t = capacity_reserve(l->capacity, *t, w->lag_ns, w->operand);
			l->drop = 0;
			return 1;
		case SIM_AT:
			when = 0;
			break;
		case SIM_FAR:
			when = far_moment(s, rank, l->block->program->far[w->operand]);
			break;
		case SIM_OTHER:
			when = other_moment(s, rank, l->block->program->far[w->operand]);
			break;
		default:
			when = l->times[w->operand];
			break;
		}
		if (when == SIM_PENDING && !l->drop)
			return 0;
		if (when == SIM_PENDING)
			forget_variants(s, &s->ranks[rank], l, w);
		*t = moment_wait(*t, when, w->lag_ns);
		if (w->last)
			break;
	}
	l->drop = 0;
	return 1;
}

#define IS_COLLECTIVE(kind) ((kind) == SIM_COLLECTIVE || (kind) == SIM_TRANSFER)

/* Computes the times of the track's points up to one that must wait. */
static void run_points(struct sim *s, uint32_t rank, struct track *l)
{
	const struct sim_point *at = l->at, *from = at; /* variants are at `from` */
	const struct sim_wait *waits = l->waits;
	int64_t *times = l->times;
	int64_t now = l->now_ns;

	for (; at < l->end; at++) {
		int64_t t = moment_after(now, at->own_ns);

		if (at->wait != SIM_NONE) {
			const struct sim_wait *w = &waits[at->wait];

			if (w->last && w->kind == SIM_MOMENT && times[w->operand] > SIM_NEVER) {
				t = moment_wait(t, times[w->operand], w->lag_ns);
				l->drop = 0;
			} else {
				l->now_ns = now;
				l->at = at;
				if (s->variants && IS_COLLECTIVE(w->kind)) {
					sim_variants_run(s, rank, l, from, at);
					from = at;
				}
				if (!apply_waits(s, rank, l, &t))
					break;
				from += s->variants && IS_COLLECTIVE(w->kind);
			}
		}
		t += t == SIM_PENDING;
		times[at->slot] = t;
		now = t;
	}
	if (s->variants)
		sim_variants_run(s, rank, l, from, at);
	l->now_ns = now;
	l->at = at;
}

/* Returns 1 if the track made progress. */
static int run_track(struct sim *s, uint32_t rank, uint32_t track)
{
	struct rank *r = &s->ranks[rank];
	struct track *l = &r->tracks[track];
	int went_on = 0;

	while (l->block) {
		const struct sim_point *before = l->at;

		run_points(s, rank, l);
		went_on |= l->at != before;
		if (l->at < l->end)
			break;
		l->block->open--;
		went_on = 1;
		if (!sim_track_enter(r, track, l->block->newer))
			l->block = NULL;
	}
	return went_on;
}

static int run_rank(struct sim *s, uint32_t rank)
{
	struct rank *r = &s->ranks[rank];
	uint32_t since = 0, i = 0;
	int left = 0; /* a track has left a block, which may be finished */
	int went_on = 0;

	/* Run all tracks in turn until none makes progress. */
	while (r->n_active > 0 && since < r->n_active) {
		const struct sim_block *block;

		if (i >= r->n_active)
			i = 0;
		block = r->tracks[r->active[i]].block;
		since = run_track(s, rank, r->active[i]) ? 0 : since + 1;
		went_on |= since == 0;
		left |= r->tracks[r->active[i]].block != block;
		if (r->tracks[r->active[i]].block)
			i++;
		else
			r->active[i] = r->active[--r->n_active];
	}
	if (r->n_active == 0)
		sim_add_idle(s, rank);
	if (went_on)
		sim_wake_watchers(s, r);
	return left ? sim_finish(s, rank) : 0;
}

/* Prefetch a rank this many ranks ahead of its turn. */
#define AHEAD 12

/* The rank n positions ahead in the queue. */
static const struct rank *ahead(const struct sim *s, uint32_t n)
{
	return &s->ranks[s->queue[(s->queue_at + n) % s->n_ranks]];
}

static void fetch(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		__builtin_prefetch((const char *)at + i);
}

/* With thousands of ranks, the data of a rank is no longer cached when its turn comes. So it is
 * prefetched during the turns of earlier ranks, in four steps: the rank, its tracks, their points,
 * and the data that the points refer to. */
static void fetch_ahead(const struct sim *s)
{
	const struct rank *r;

	if (s->n_queue <= AHEAD)
		return;
	fetch(ahead(s, AHEAD), sizeof(*r));
	r = ahead(s, AHEAD * 3 / 4);
	fetch(r->tracks, r->n_tracks * sizeof(*r->tracks));
	r = ahead(s, AHEAD / 2);
	for (uint32_t i = 0; i < r->n_active; i++)
		fetch(r->tracks[r->active[i]].at, 8 * CACHE_LINE);
	r = ahead(s, AHEAD / 4);
	for (uint32_t i = 0; i < r->n_active; i++) {
		const struct track *l = &r->tracks[r->active[i]];

		if (l->at == l->end)
			continue;
		fetch(l->times + l->at->slot, 4 * CACHE_LINE);
		if (l->at->wait != SIM_NONE)
			fetch(l->waits + l->at->wait, 4 * CACHE_LINE);
	}
}

int sim_advance(struct sim *s)
{
	while (s->n_queue > 0) {
		uint32_t rank = s->queue[s->queue_at];
		int r;

		fetch_ahead(s);
		s->queue_at = (s->queue_at + 1) % s->n_ranks;
		s->n_queue--;
		s->ranks[rank].queued = 0;
		r = run_rank(s, rank);
		if (r < 0 || s->error < 0)
			return r < 0 ? r : s->error;
	}
	return 0;
}

void sim_wake(struct sim *s)
{
	const uint32_t *ranks;
	uint32_t n;

	while ((n = sim_ended_group(s->collectives, &ranks)) > 0) {
		for (uint32_t i = 0; i < n; i++)
			sim_enqueue(s, ranks[i]);
	}
}
