/* SPDX-License-Identifier: Apache-2.0 */

/* State of program.c and compile.c. */
#pragma once

#include "formats/run/infer/constants.h"

#include "replay/clock/sim.h"
#include "replay/program/launches.h"
#include "replay/program/program_counts.h"
#include "replay/what_if/change.h"

#include "base/arena.h"
#include "base/array.h"

/* State of a track between slices. */
struct program_track {
	int64_t last_ns; /* recorded time of the last point */
	uint8_t stream;
	uint8_t begun;	   /* the track has a point */
	uint8_t class;	   /* enum fmt_gap_class of its last operation */
	uint32_t template; /* of its last operation */
};

/* The other rank of operations in which only two ranks take part. */
struct program_pair {
	uint32_t comm, peer; /* number in the trace; index of the rank */
	uint32_t member;     /* this rank, as a participant of their group */
};

struct program_rank {
	const struct fmt_constants *constants;
	int64_t anchor_ns; /* from the constants, or computed if they have none */
	struct program_track *tracks;
	uint32_t n_tracks;
	int anchored;		/* the anchor is known */
	struct launches before; /* of the previous slice, if of the same iteration */
	uint64_t before_first;	/* its first moment (number) */
	const uint32_t *groups; /* by communicator; owned by the program */
	struct program_pair *pairs;
	size_t n_pairs, pairs_cap;
	int64_t sort_lag_ns[2]; /* lags of waits of an operation for one of the other kind, as in
				   last */
	uint8_t sort_lag_known[2];
	uint64_t *last[2]; /* overlap.c: by track, the end of its last operation; of collectives:
			      [1] */
};

/* A rank's number in the recording, and its index. */
struct numbered {
	uint32_t number, index;
};

struct template
{
	uint8_t kind;
	uint8_t is_numbered; /* a collective whose events have a sequence number */
	uint32_t comm_at, seq_at;
	uint32_t bytes_at; /* index of the size of its message; UINT32_MAX: equal in all events */
	int64_t bytes;	   /* the equal size; -1: unknown */
	const char *peers; /* formats/run/peers.h */
	uint8_t is_sized;  /* the recording contains the size of its process group */
};

/* A call that may contain later events. */
struct nest {
	uint32_t event;
	size_t edges; /* the first edge to an event in the call */
};

/* State of overlap.c: launch times of the slice's operations, and their additional waits. */
struct overlap_launch {
	int64_t launched_ns;
	uint32_t event;
	int collective;
};

struct overlap_wait {
	uint32_t event;
	uint64_t moment;
};

/* The time that scales the lag of an edge in a changed run, by the rule of the edge. */
enum program_scales {
	PROGRAM_CONSTANT, /* nothing */
	PROGRAM_FROM,	  /* the operation at the start of the edge */
	PROGRAM_DEVICE,	  /* unrecorded work of the device */
};

/* Marks a launch table value: a call that waits for its own copy. Such a copy starts a while after
 * the start of the call, not after its end. */
#define OWN_COPY 0x80000000u

struct program {
	struct arena arena; /* of ranks, tracks and constants */
	const struct fmt_names *names;
	struct sim *sim;
	struct change *change;	     /* NULL: no changes */
	const struct copies *copies; /* NULL: as recorded */
	const uint32_t *numbers;     /* of the recorded ranks */
	struct program_rank *ranks;
	struct numbered *by_number; /* the ranks, in the order of their numbers */
	uint32_t n_ranks;
	uint32_t *groups;     /* by copy, then communicator; SIM_NONE: fewer than two ranks */
	uint8_t *incomplete;  /* by communicator: some of its ranks are not in the trace */
	uint8_t misses_ranks; /* some ranks of the run are not in the trace */
	uint32_t n_groups;

	struct fmt_template_gaps template_gaps;
	struct template *templates;
	uint32_t n_templates;
	size_t templates_cap;

	enum what_if_overlap overlap;
	uint8_t has_transfers; /* transfer times of matched collectives were measured */
	uint8_t scales[256];   /* by rule: enum program_scales */
	uint8_t shares[256];   /* by rule: operations share the device or its queue */

	/* State of the current slice. */
	struct launches launches;
	struct nest *nest;
	size_t nest_cap;
	struct overlap_launch *order;
	size_t n_order, order_cap;
	struct overlap_wait *overlap_waits; /* by event */
	size_t n_overlap_waits, overlap_at, overlap_waits_cap;

	struct program_counts counts;
};

struct survey {
	size_t n_launches;
	uint64_t first, last; /* their correlation numbers */
	int64_t earliest_ns;  /* of the calls */
};

/* Returns the index of the rank with that recorded number; p->n_ranks if not found. */
uint32_t program_rank_of(const struct program *p, uint32_t number);

/* Returns the rank with that number in a communicator of `rank`; p->n_ranks if not found. */
uint32_t program_peer(const struct program *p, uint32_t rank, uint32_t comm, uint32_t number);

/* Returns the participant of `rank` in the group of `rank` and `peer`, made on first use; SIM_NONE
 * if out of memory. */
uint32_t program_pair(struct program *p, uint32_t rank, uint32_t comm, uint32_t peer);
