/* SPDX-License-Identifier: Apache-2.0 */

/* The virtual clock: points in time on tracks, over any number of ranks.
 *
 * A *track* is where things happen one after another: a host thread, a stream, a copy engine. It is
 * a row of *points* (an operation is two: its start and its end). A point comes own_ns after the
 * point before it on its track, and not before any moment that it *waits* for. Ranks meet in
 * *collectives* (collective.h). That is all: whatever takes time on a GPU machine is put together
 * from it.
 *
 * Points are given to the clock in *blocks*: what one rank does next, on all its tracks. A block
 * may hold a whole iteration of a recorded trace, or the one call that a program makes just now.
 * Each point has a *slot*, which is where its time is stored, and by which others wait for it:
 *
 *     sim_block_new(sim, rank, n_slots, &b);      fill b->program and b->ranges
 *     sim_push(sim, rank, b);
 *     sim_advance(sim);                           all that can be known is known now
 *     while ((b = sim_finished(sim, &rank)))      in the order in which a rank was given them
 *             use b->times, then sim_release(sim, rank, b);
 *
 * The result does not depend on the order in which ranks and tracks are worked on: there are only
 * sums and maxima. Times are nanoseconds; sums wrap. Not thread-safe. Functions return 0 or
 * -ENOMEM, where nothing else is said.
 */
#pragma once

#include "replay/engine/collective.h"

#define SIM_NONE UINT32_MAX
#define SIM_PENDING INT64_MIN  /* a time that is not known yet */
#define SIM_NEVER MOMENT_NEVER /* of a slot that no point fills */
/* own_ns of a point that does not come after the one before it. */
#define SIM_ANEW (INT64_MIN / 2)

struct sim_point {
	int64_t own_ns; /* after the point before it on the track */
	uint32_t slot;
	uint32_t wait; /* the first of its waits, or SIM_NONE */
};

enum sim_wait_kind {
	SIM_MOMENT, /* not before the time of slot `on` + lag_ns */
	SIM_FAR,    /* the same for the moment far[on], which may be in another block of the rank */
	SIM_AT,	    /* not before lag_ns */
	SIM_COLLECTIVE, /* when collective `on` ends, which the rank joins at the point before;
			own_ns is then how long it takes as far as this rank knows; all waits of the
			point are collectives, of which it joins each at once and leaves with the
			last */
	SIM_TRANSFER,	/* the same, but this rank leaves lag_ns after the last has come */
	SIM_FREE,	/* until some of the track's room is free; the last wait */
	SIM_CAPACITY,	/* until it has had `on` of the room for lag_ns, or less for longer, since
		       the point before, which waits for SIM_FREE; the last wait */
};

struct sim_wait {
	int64_t lag_ns;
	uint32_t on;
	uint8_t kind; /* enum sim_wait_kind */
	uint8_t last; /* of the point's waits */
};

/* What is to be worked through. It is the clock's, and used again for another block: grow its
 * arrays by sim_reserve(). */
struct sim_program {
	struct sim_point *points;
	struct sim_wait *waits;
	uint64_t *far; /* moments: numbered 0, 1, 2 ... over the slots of all blocks of a rank */
	uint32_t n_points, n_waits, n_far;
	uint32_t points_cap, waits_cap, far_cap;
	struct sim_program *next; /* the clock's own: of those that are spare */
};

/* A track's part of a block: points[at .. end), whose slots lie in [first_slot, end_slot). */
struct sim_range {
	uint32_t at, end;
	uint32_t first_slot, end_slot;
};

struct sim_block {
	uint64_t first; /* the moment of slot 0 */
	int64_t *times; /* of the slots; SIM_PENDING at first */
	uint32_t n_slots;
	uint32_t open; /* the clock's own: tracks that have points left here */
	struct sim_program *program;
	struct sim_range *ranges; /* by track; all empty at first */
	void *owner;		  /* the caller's own */

	/* The clock's own. */
	uint32_t times_cap;
	struct sim_block *older, *newer;
};

struct sim;

/* What can still be waited for of a rank's finished blocks: at least the last SIM_KEPT_BLOCKS, and
 * the last SIM_KEPT_SLOTS slots. A launch may wait for one a thousand launches before it, which can
 * be many short iterations. */
#define SIM_KEPT_BLOCKS 2
#define SIM_KEPT_SLOTS 8192

struct sim_counts {
	uint64_t points;
	uint64_t broken;  /* waits and collectives that could never have ended, and were dropped */
	uint64_t too_far; /* waits for moments that are not kept any more, or never came */
};

int sim_new(uint32_t n_ranks, struct sim **ret);
void sim_free(struct sim *s);

/* Says how many tracks rank has, and what to add to common time for its own. Once, before its first
 * block. */
int sim_rank(struct sim *s, uint32_t rank, uint32_t n_tracks, int64_t clock_ns);

/* Gives a track room (room.h) for operations that ask for it in the order of the track's points. */
int sim_capacity(struct sim *s, uint32_t rank, uint32_t track);

/* The collectives of all ranks, for naming groups and declaring what a block joins. */
struct sim_collectives *sim_collectives(struct sim *s);

/* A block with room for n_slots times, to be pushed next on its rank. Owned by `s`. */
int sim_block_new(struct sim *s, uint32_t rank, uint32_t n_slots, struct sim_block **ret);

/* Makes room for so many points, waits and far moments in all, and keeps those that are there. */
int sim_reserve(struct sim *s, struct sim_program *p, size_t points, size_t waits, size_t far);

/* Gives the block to the clock, after all that it joins was declared. */
int sim_push(struct sim *s, uint32_t rank, struct sim_block *b);

/* No block will follow on this rank. */
int sim_end(struct sim *s, uint32_t rank);

/* Works until nothing can go on. */
int sim_advance(struct sim *s);

/* The next block that is known in full, or NULL; to be given back by sim_release(). */
struct sim_block *sim_finished(struct sim *s, uint32_t *rank);
void sim_release(struct sim *s, uint32_t rank, struct sim_block *b);

/* For an end before the end: the owner of a block that was pushed and not released, which has none
 * from then on; NULL when there is no more. */
void *sim_abandon(struct sim *s);

/* A rank that has no points left, was not ended, and was not named since its last block; or
 * SIM_NONE. */
uint32_t sim_idle(struct sim *s);

/* Blocks that were given and are not finished. */
uint32_t sim_unfinished(const struct sim *s, uint32_t rank);
uint32_t sim_ended(const struct sim *s, uint32_t rank);

/* When nothing can go on although blocks are unfinished: drops what can never be satisfied. First
 * the waits that close a circle, one a circle; where there is none, the collective that began first
 * goes on with those who are there. Returns how many were dropped. */
int sim_break(struct sim *s);

const struct sim_counts *sim_counts(const struct sim *s);
