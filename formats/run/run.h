/* SPDX-License-Identifier: Apache-2.0 */

/* A whole run in memory, without its ranges: what an importer hands to formats/run/infer, and gets
 * back enriched.
 *
 * Owned by the importer. Arrays are indexed by rank as in fmt_names. Positions are indices into a
 * rank's events; the importer turns them into numbers when it writes the slices.
 */
#pragma once

#include "formats/trace/names.h"

#include <stdlib.h>

struct fmt_run_edge {
	uint32_t from, to; /* positions */
	int64_t lag_ns;
	uint8_t kind; /* enum fmt_edge_kind */
	uint8_t rule;
	int32_t rank; /* of `from`, less that of `to` */
};

/* The communicator and number of one collective, as formats/run/infer found them. */
struct fmt_run_collective {
	uint32_t event; /* position */
	int32_t comm;	/* -1: unknown */
	int64_t seq;
};

/* The process group of a collective, from a range around its launch, where the operation itself
 * does not name it. */
struct fmt_run_group {
	uint32_t event;			  /* position of the operation */
	fmt_str name, ranks, description; /* as recorded; the latter two may be 0 */
	int64_t seq;			  /* PyTorch's number of the collective; -1 unknown */
};

struct fmt_run_rank {
	uint32_t number;  /* the recorder's rank */
	uint32_t process; /* from 1, the same for GPUs that threads share; 0: it shares none */
	int event_times;  /* ends of operations are those of events recorded behind their calls,
			     starts on  idle streams as long after the calls as such events */
	struct fmt_event
		*events; /* calls, ops and syncs; by track, then start, enclosing before enclosed */
	size_t n_events;
	int64_t *values; /* of the events, as in struct fmt_slice */
	size_t n_values;
	struct fmt_run_group *groups; /* by event */
	size_t n_groups;
	struct fmt_iteration *iterations; /* by start, without FMT_BEFORE and FMT_AFTER */
	size_t n_iterations;

	uint32_t *number_of; /* by position, for edges to other ranks: see fmt_run_number() */
	fmt_number first;    /* to be added */

	struct fmt_run_edge
		*edges; /* filled by formats/run/infer, by `to`; freed by fmt_run_done() */
	size_t n_edges;
	struct fmt_run_collective *collectives; /* likewise, by event */
	size_t n_collectives;
};

/* Frees all that the rank owns. */
static inline void fmt_run_rank_done(struct fmt_run_rank *r)
{
	free(r->events);
	free(r->values);
	free(r->groups);
	free(r->iterations);
	free(r->number_of);
	free(r->edges);
	free(r->collectives);
}

struct fmt_run {
	struct fmt_names *names; /* not owned; inference adds rules, communicators and facts */
	struct fmt_run_rank *ranks;
	uint32_t n_ranks;
};
