/* SPDX-License-Identifier: Apache-2.0 */

/* State of the clock, shared by its files. */
#pragma once

#include "replay/clock/capacity.h"
#include "replay/clock/sim.h"

#include "base/arena.h"

#define CACHE_LINE 64

/* The state of a track, in one cache line. */
struct track {
	_Alignas(CACHE_LINE) int64_t now_ns; /* time of the last point */
	const struct sim_point *at, *end;
	struct sim_block *block; /* block with the next points */
	int64_t *times;		 /* times of the block */
	const struct sim_wait *waits;
	struct capacity *capacity; /* or NULL */
	uint8_t joined;		   /* the point has joined its collectives */
	uint8_t drop;		   /* ignore waits of the point whose time is unknown */
};
_Static_assert(sizeof(struct track) == CACHE_LINE, "one cache line");

struct rank {
	_Alignas(CACHE_LINE) struct track *tracks;
	uint32_t *active; /* tracks that have points left, in ascending order of their activation */
	uint32_t n_tracks, n_active;
	int64_t clock_ns;
	uint8_t ended, queued, idle;

	/* Blocks, from older to newer: released, finished, unfinished. */
	struct sim_block *unfinished; /* the oldest; NULL: none */
	struct sim_block *newest, *oldest;
	struct sim_block *spare; /* a list through `newer` */
	uint32_t n_finished;
	uint32_t n_unfinished;
	uint64_t finished_slots; /* number of slots of the finished blocks */
	uint64_t n_moments;	 /* in all blocks so far */
	uint32_t *watchers;	 /* owned: ranks that wait for a moment of this one */
	size_t n_watchers, watchers_cap;
	int64_t *variant_now; /* by track, then variant: time of the last point */
};

struct finished {
	uint32_t rank;
	struct sim_block *block;
};

struct sim {
	struct arena arena; /* of ranks, tracks, blocks and programs */
	struct rank *ranks;
	uint32_t n_ranks;
	struct sim_collectives *collectives;

	uint32_t *queue; /* ranks that may continue: a ring of n_ranks */
	uint32_t queue_at, n_queue;
	uint32_t *idle; /* a ring of n_ranks, so that ranks get their blocks in turn */
	uint32_t idle_at, n_idle;

	struct finished *finished;
	size_t finished_at, n_finished, finished_cap;

	struct sim_program *programs; /* spare: a list */

	struct variants *variants; /* variant.c; NULL: none */
	struct causes *causes;	   /* cause.c; NULL: not requested */
	struct sim_counts counts;
	int error; /* -ENOMEM: a wait for another rank could not be stored */
};

void sim_enqueue(struct sim *s, uint32_t rank);

/* Adds the rank to those that sim_next_idle() returns. */
void sim_add_idle(struct sim *s, uint32_t rank);

/* Queues the ranks that wait for moments of this one. */
void sim_wake_watchers(struct sim *s, struct rank *r);

/* Moves the track to its range in the first block, at or after `from`, that has one. Returns 0 if
 * not found. */
int sim_track_enter(struct rank *r, uint32_t track, struct sim_block *from);

/* Moves the oldest blocks without points left to the finished blocks. */
int sim_finish(struct sim *s, uint32_t rank);

/* Returns the block with the moment of a wait of kind SIM_FAR or SIM_OTHER, and its slot in *slot;
 * NULL as from sim_block_of(). */
struct sim_block *sim_far_block(const struct sim *s, const struct rank *r,
				const struct sim_program *p, const struct sim_wait *w,
				uint32_t *slot);

/* Returns the block with a moment; NULL if it is no longer kept, or not pushed yet. */
struct sim_block *sim_block_of(const struct rank *r, uint64_t moment);

/* Variants (variant.c). Functions that reserve space return 0 or -ENOMEM. */
struct variants;
void sim_variants_free(struct variants *v);
int sim_variants_rank(struct sim *s, struct rank *r);
int sim_variants_block(struct sim *s, struct sim_block *b);
int sim_variants_collectives(struct sim *s);

/* Drops a wait for the slot, whose time is unknown. */
void sim_variants_drop_wait(const struct sim *s, struct sim_block *b, uint64_t slot);

/* Computes points [at, end) of the track, which the clock has just passed; none of them is a
 * collective. */
void sim_variants_run(struct sim *s, uint32_t rank, struct track *l, const struct sim_point *at,
		      const struct sim_point *end);

/* Returns the lag of a wait in variant k. */
int64_t sim_variants_lag(const struct sim *s, uint32_t k, const struct sim_wait *w);

/* The track joins the collective of one wait, before the clock does. It leaves the collectives of
 * the waits from `w` on, before any of them is freed. */
void sim_variants_join(struct sim *s, const struct rank *r, const struct track *l,
		       const struct sim_wait *w);
void sim_variants_leave(struct sim *s, struct rank *r, struct track *l, const struct sim_wait *w);

/* Queues the ranks that ended collectives allow to continue. */
void sim_wake(struct sim *s);

/* Causes (cause.c). Returns the moment at which the track arrived at the collective of its next
 * point. */
static inline uint64_t sim_arrival(const struct sim *s, const struct rank *r, const struct track *l)
{
	return s->causes ? SIM_REF(r - s->ranks, l->block->first + l->at[-1].slot) : 0;
}

/* Reserves space for the collectives of a pushed block. Returns 0 or -ENOMEM. */
int sim_causes_push(struct sim *s, const struct sim_block *b);
void sim_causes_free(struct causes *c);

/* For the collective that the track leaves: adds the last rank to arrive in variant k; then of the
 * clock itself, which ends the entry. */
void sim_causes_variant(struct sim *s, uint32_t k, uint64_t last);
void sim_causes_leave(struct sim *s, const struct track *l, uint64_t last);
