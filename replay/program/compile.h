/* SPDX-License-Identifier: Apache-2.0 */

/* Makes the points of a slice. */
#pragma once

#include "replay/program/program_state.h"

struct compile {
	struct program *p;
	struct program_rank *rank;
	uint32_t index;	       /* of the rank */
	uint16_t host, launch; /* scales of its threads' times: between calls, and within calls */
	const struct fmt_slice *slice;
	struct sim_block *block;
	struct sim_program *to;
	struct sim_point *points; /* those of `to`, and their scales */
	uint16_t *scales;
	uint32_t n_points;
	size_t edge;	 /* index of the first edge that ends in the current event or later */
	size_t edge_end; /* index of the event in which that edge ends; SIZE_MAX: no edge left */
	int error;
};

/* Sets c->edge for events from `number` on. */
void compile_seek_edges(struct compile *c, fmt_number number);

/* Add the points of events [at, end), all of one track. */
void compile_thread(struct compile *c, uint32_t track, size_t at, size_t end);
void compile_stream(struct compile *c, uint32_t track, size_t at, size_t end);

/* Adds a point with the scale of its own time. compile_wait() adds its waits next. */
static inline struct sim_point *compile_point(struct compile *c, uint32_t slot, int64_t own_ns,
					      uint16_t scale)
{
	struct sim_point *point = &c->points[c->n_points];

	*point = (struct sim_point){.own_ns = own_ns, .slot = slot, .wait = SIM_NONE};
	c->scales[c->n_points++] = scale;
	return point;
}

/* Sets the scale of the last point. */
static inline void compile_scale(struct compile *c, uint16_t scale)
{
	c->scales[c->n_points - 1] = scale;
}

/* Adds a wait for a moment of the rank, in this block or an earlier one. */
void compile_wait_moment(struct compile *c, struct sim_point *point, uint64_t moment,
			 int64_t lag_ns, uint16_t scale);

/* Adds a wait for an edge from another rank of the process. */
void compile_wait_other(struct compile *c, struct sim_point *point, const struct fmt_edge *e,
			uint16_t scale);

/* Adds the end of operation i: joins a collective with those of other ranks, and sets the scale.
 * `takes`: an edge with its transfer time, or NULL. */
void compile_ranks(struct compile *c, struct sim_point *point, size_t i,
		   const struct fmt_edge *takes);

static inline void compile_wait(struct compile *c, struct sim_point *point, struct sim_wait wait)
{
	if (c->to->n_waits == c->to->waits_cap &&
	    sim_reserve(c->p->sim, c->to, 0, c->to->n_waits + 1ul, 0) < 0) {
		c->error = -ENOMEM;
		return;
	}
	if (point->wait == SIM_NONE)
		point->wait = c->to->n_waits;
	else
		c->to->waits[c->to->n_waits - 1].last = 0;
	wait.last = 1;
	c->to->waits[c->to->n_waits++] = wait;
}

/* ---- overlap.c ----
 *
 * Waits between the collectives of a GPU and its other operations in changed runs.
 *
 * OVERLAP_OFF: operations of the two sorts do not run beside each other. In the order in which they
 * were launched, each waits for those of the other sort before it.
 *
 * OVERLAP_FULL: only data dependencies remain. Those are the events for which an operation waits,
 * and the order of a stream. A collective that waits for an event does not wait for its launch as
 * well, and neither sort keeps the other from the multiprocessors or from the queue of launches.
 */

/* OVERLAP_OFF. The points of the slice's threads have been made; those of its streams have not. */
void overlap_begin(struct compile *c);

/* OVERLAP_OFF: adds the waits of the operation that is event i; for rising i. */
void overlap_wait(struct compile *c, struct sim_point *point, size_t i);

/* OVERLAP_FULL: whether the changed run ignores an edge to the operation that is event i. */
int overlap_ignores_edge(const struct compile *c, const struct fmt_edge *e, size_t i);

/* OVERLAP_FULL: whether the operation does not wait for its launch. */
int overlap_ignores_launch(const struct compile *c, size_t edge, size_t i);
