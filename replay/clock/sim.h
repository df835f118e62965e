/* SPDX-License-Identifier: Apache-2.0 */

/* The virtual clock: points in time on tracks, over any number of ranks.
 *
 * * A *track* is an ordered sequence of *points*: of a host thread, a stream or a copy engine. An
 * operation has two points, its start and its end. A point comes own_ns after the previous point of
 * its track, and not before any moment that it *waits* for. Ranks take part in *collectives*
 * (collective.h). All durations of a GPU machine are expressed by these.
 *
 * The clock gets points in *blocks*: the next points of one rank, on all its tracks. A block may
 * hold a whole iteration of a trace, or a single call of a running program. Each point has a *slot*
 * of its block, where its time is stored and by which other points wait for it:
 *
 *     sim_block_new(sim, rank, n_slots, &b);      fill b->program and b->ranges
 *     sim_push(sim, rank, b);
 *     sim_advance(sim);                           computes all times that can be known
 *     while ((b = sim_next_finished(sim, &rank)))      in the order of each rank's pushes
 *             use b->times, then sim_release(sim, b);
 *
 * The result does not depend on the order in which ranks and tracks are processed: there are only
 * sums and maxima. Times are nanoseconds; sums wrap. Not thread-safe. Functions return 0 or -ENOMEM
 * unless stated otherwise.
 */
#pragma once

#include "replay/clock/collective.h"

#define SIM_NEVER MOMENT_NEVER /* time of a slot without a point */
/* own_ns of a point that does not depend on the previous one. */
#define SIM_INDEPENDENT (INT64_MIN / 2)

/* A moment of a rank, in 60 bits. */
#define SIM_REF(rank, moment) ((uint64_t)(rank) << 40 | (moment))
#define SIM_REF_RANK(ref) ((uint32_t)((ref) >> 40))
#define SIM_REF_MOMENT(ref) ((ref) & ((1ull << 40) - 1))
#define SIM_REF_MASK ((1ull << 60) - 1)

struct sim_point {
	int64_t own_ns; /* after the preceding point of the track */
	uint32_t slot;
	uint32_t wait; /* its first wait, or SIM_NONE */
};

enum sim_wait_kind {
	SIM_MOMENT, /* not before the time of slot `operand` + lag_ns */
	SIM_FAR,    /* the same for the moment far[operand], maybe in another block of the rank */
	SIM_OTHER,  /* the same for a moment of another rank: far[operand] is a SIM_REF */
	SIM_AT,	    /* not before lag_ns, of which variants scale the last `operand` ns */
	SIM_COLLECTIVE, /* until collective `operand` ends. The rank joins at the previous point;
			   own_ns is its recorded duration. All waits of the point are then
			   collectives: it joins all of them and leaves with the last */
	SIM_TRANSFER,	/* the same, but the rank leaves lag_ns after the last arrival */
	SIM_FREE,	/* until some of the track's capacity is free; the last wait */
	SIM_CAPACITY,	/* until the point has used share `operand` of the capacity for lag_ns, or
			   less for longer, since the previous point, which has SIM_FREE; the last
			   wait */
};

struct sim_wait {
	int64_t lag_ns;
	uint32_t operand;
	uint8_t kind;	/* enum sim_wait_kind */
	uint8_t last;	/* last wait of the point */
	uint16_t scale; /* of lag_ns in variants */
};

/* The points of a block and their waits. Owned by the clock, which reuses it for later blocks; grow
 * its arrays by sim_reserve(). */
struct sim_program {
	struct sim_point *points;
	struct sim_wait *waits;
	uint16_t *scales; /* of own_ns of the points in variants */
	uint64_t *far;	  /* moments: numbered 0, 1, 2 ... over the slots of all blocks of a rank */
	uint32_t n_points, n_waits, n_far;
	uint32_t points_cap, scales_cap, waits_cap, far_cap;
	struct sim_program *next; /* internal: list of spare programs */
};

/* A track's part of a block: points[at .. end), whose slots lie in [first_slot, end_slot). */
struct sim_range {
	uint32_t at, end;
	uint32_t first_slot, end_slot;
};

struct sim_block {
	uint64_t first;	   /* moment of slot 0 */
	int64_t *times;	   /* by slot; SIM_PENDING at first */
	int64_t *variants; /* times in variant k: variants[k * n_slots ..] */
	uint32_t n_slots;
	uint8_t kept; /* the caller needs it and its program until sim_free() */
	struct sim_program *program;
	struct sim_range *ranges; /* by track; all empty at first */
	void *owner;		  /* for the caller */

	/* Internal. `open`: number of tracks with points left in this block. */
	uint32_t open, released, times_cap, variants_cap;
	struct sim_block *older, *newer;
};

struct sim;

/* Points can wait for moments in at least this many of the rank's finished blocks and slots. A
 * launch may wait for a launch a thousand launches earlier, which can be many short iterations
 * back. */
#define SIM_KEPT_BLOCKS 2
#define SIM_KEPT_SLOTS 4096

struct sim_counts {
	uint64_t points;
	uint64_t broken;  /* waits and collectives dropped because they could never end */
	uint64_t too_far; /* waits for moments that are no longer kept, or never existed */
};

int sim_new(uint32_t n_ranks, struct sim **ret);
void sim_free(struct sim *s);

/* Sets the number of tracks and the clock offset of a rank. Once, before its first block. */
int sim_init_rank(struct sim *s, uint32_t rank, uint32_t n_tracks, int64_t clock_ns);

/* Returns the offset of its clock from common time. */
int64_t sim_clock_ns(const struct sim *s, uint32_t rank);

/* Gives a track a capacity (capacity.h), which its points with SIM_FREE and SIM_CAPACITY use. */
int sim_add_capacity(struct sim *s, uint32_t rank, uint32_t track);

/* Returns the collectives of all ranks, to make groups and declare collectives. */
struct sim_collectives *sim_collectives(struct sim *s);

/* Makes the next block of the rank, with n_slots times. Owned by `s`. */
int sim_block_new(struct sim *s, uint32_t rank, uint32_t n_slots, struct sim_block **ret);

/* Reserves space for these total numbers of items; keeps the existing ones. */
int sim_reserve(struct sim *s, struct sim_program *p, size_t points, size_t waits, size_t far);

/* Adds the block to the clock. All its collectives must have been declared. */
int sim_push(struct sim *s, uint32_t rank, struct sim_block *b);

/* Ends a rank: no block will follow. */
void sim_end_rank(struct sim *s, uint32_t rank);

/* Computes times until no track can continue. */
int sim_advance(struct sim *s);

/* Returns the next block whose times are all known, or NULL. Release it by sim_release(). */
struct sim_block *sim_next_finished(struct sim *s, uint32_t *rank);
void sim_release(struct sim *s, struct sim_block *b);
void sim_release_program(struct sim *s, struct sim_block *b); /* earlier; optional */

/* For clean-up after an error: returns the owner of a block that was pushed and not released, and
 * clears it; NULL after the last. */
void *sim_next_abandoned(struct sim *s);

/* Returns a rank without points left, not ended, once for each of its blocks; or SIM_NONE. */
uint32_t sim_next_idle(struct sim *s);

/* Returns the number of unfinished pushed blocks; returns whether sim_end_rank() was called. */
uint32_t sim_unfinished(const struct sim *s, uint32_t rank);
uint32_t sim_ended(const struct sim *s, uint32_t rank);

/* Breaks a deadlock of unfinished blocks. Drops one wait of each cycle of waits; if there is no
 * cycle, ends the collective with the earliest arrival without its missing participants. Returns
 * the number of waits and collectives dropped. */
int sim_break_deadlock(struct sim *s);

const struct sim_counts *sim_counts(const struct sim *s);
