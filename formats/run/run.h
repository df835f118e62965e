/* SPDX-License-Identifier: Apache-2.0 */

/* A whole run in memory, without its ranges. An importer fills it, and formats/run/infer adds to
 * it.
 *
 * Owned by the importer. Arrays are indexed by rank as in fmt_names. Positions are indexes into a
 * rank's events; the importer converts them to numbers when it writes the slices. */
#pragma once

#include "formats/trace/names.h"

#include <stdlib.h>

struct fmt_run_edge {
	uint32_t from, to; /* positions */
	int64_t lag_ns;
	uint8_t kind; /* enum fmt_edge_kind */
	uint8_t rule;
	int32_t rank; /* rank of `from` minus rank of `to` */
};

/* The communicator and number of one collective, found by formats/run/infer. */
struct fmt_run_collective {
	uint32_t event; /* position */
	int32_t comm;	/* -1: unknown */
	int64_t seq;
};

/* The process group of a collective whose operation does not name it, from a range around the
 * launch. */
struct fmt_run_group {
	uint32_t event;			  /* position of the operation */
	fmt_str name, ranks, description; /* as recorded; the latter two may be 0 */
	int64_t seq;			  /* number of the collective from PyTorch; -1: unknown */
};

struct fmt_run_rank {
	uint32_t number;  /* the recorder's rank */
	uint32_t process; /* from 1; equal for GPUs that share threads; 0: shares no threads */
	int event_times;  /* ends of operations are those of events recorded behind their calls,
			     starts on  idle streams as long after the calls as such events */
	struct fmt_event *events; /* by track, then start, enclosing before enclosed */
	size_t n_events;
	int64_t *values; /* of the events, as in struct fmt_slice */
	size_t n_values;
	struct fmt_run_group *groups; /* by event */
	size_t n_groups;
	struct fmt_iteration *iterations; /* by start, without FMT_BEFORE and FMT_AFTER */
	size_t n_iterations;

	struct fmt_run_plan *plan; /* for edges to other ranks: see fmt_run_number(); owned */
	fmt_number first;	   /* offset of its numbers in the trace */

	struct fmt_run_edge *edges; /* set by formats/run/infer; by `to`; owned */
	size_t n_edges;
	struct fmt_run_collective *collectives; /* the same, by event */
	size_t n_collectives;
};

void fmt_run_plan_free(struct fmt_run_plan *p); /* slicing.h */

/* Frees all data of the rank. */
static inline void fmt_run_rank_done(struct fmt_run_rank *r)
{
	free(r->events);
	free(r->values);
	free(r->groups);
	free(r->iterations);
	fmt_run_plan_free(r->plan);
	free(r->edges);
	free(r->collectives);
}

struct fmt_run {
	struct fmt_names *names; /* not owned; inference adds rules, communicators and facts */
	struct fmt_run_rank *ranks;
	uint32_t n_ranks;
};
