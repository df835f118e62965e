/* SPDX-License-Identifier: Apache-2.0 */

/* What the clock keeps; for the files that make it up. */
#pragma once

#include "replay/engine/room.h"
#include "replay/engine/sim.h"

struct lane {
	int64_t now_ns; /* of the last point */
	const struct sim_point *at, *end;
	struct sim_block *block; /* that they are in */
	uint64_t block_number;	 /* counted over all blocks of the rank */
	struct room *room;	 /* or NULL */
	uint8_t joined;		 /* the meetings that the point waits for */
	uint8_t drop;		 /* waits of the point that are not over are to be left out */
};

struct rank {
	struct lane *lanes;
	uint32_t *active; /* lanes that have points left, in ascending order of their activation */
	uint32_t n_lanes, n_active;

	struct sim_block **blocks; /* the oldest first: kept, finished, unfinished */
	size_t n_blocks, blocks_cap;
	size_t n_kept;	     /* released by the caller */
	uint64_t kept_slots; /* of those */
	size_t n_finished;
	uint64_t first_number; /* of blocks[0] */
	uint64_t n_moments;    /* in all blocks so far */

	struct sim_block **spare;
	size_t n_spare, spare_cap;

	int64_t clock_ns;
	uint8_t ended, queued, idle;
};

struct finished {
	uint32_t rank;
	struct sim_block *block;
};

struct sim {
	struct rank *ranks;
	uint32_t n_ranks;
	struct sim_meetings *meetings;

	uint32_t *queue; /* ranks that may go on: a ring of n_ranks */
	uint32_t queue_at, n_queue;
	uint32_t *idle;
	uint32_t n_idle;

	struct finished *finished;
	size_t finished_at, n_finished, finished_cap;

	struct sim_program *programs; /* spare */
	size_t n_programs, programs_cap;

	struct sim_counts counts;
};

void sim_enqueue(struct sim *s, uint32_t rank);

/* Names the rank to sim_idle(). */
void sim_name_idle(struct sim *s, uint32_t rank);

/* Sets the lane on its range in the next block that has one, from block `number` on; 0: none. */
int sim_lane_enter(struct rank *r, uint32_t lane, uint64_t number);

/* Hands on the oldest blocks that have no points left. */
int sim_finish(struct sim *s, uint32_t rank);

/* The block that holds a moment; NULL when it is not kept any more or did not come yet. */
struct sim_block *sim_block_of(const struct rank *r, uint64_t moment);

/* Ranks that a meeting's end lets go on. */
void sim_wake(struct sim *s);
