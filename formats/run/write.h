/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a rank of a run, or a segment of one, slice by slice, with the ranges and digests that its
 * source returns slice by slice. One thread. */
#pragma once

#include "formats/run/run.h"
#include "formats/trace/store/writer.h"

#include <stdbool.h>

#define FMT_RUN_NONE UINT32_MAX

/* A slice in the making. */
struct fmt_run_slice {
	struct fmt_slice slice;
	size_t events_cap, ranges_cap, values_cap, edges_cap, digests_cap, pages_cap;
	const uint32_t *event_at; /* of each of its events: where it is in the run */
};

struct fmt_planner;

/* Functions return 0 or a negative errno; any may be NULL. */
struct fmt_run_source {
	void *context;
	const uint32_t *call_of;   /* of each event: the call that launched it, or FMT_RUN_NONE */
	int64_t first_ns, last_ns; /* from the first recorded start to the last end */
	/* For a run that is written in segments: */
	const struct fmt_iteration
		*before; /* the iteration of events before the first iteration; NULL: FMT_BEFORE */
	bool more;	 /* events after the end of the last iteration belong to it */

	/* Calls fmt_planner_range() for each range. */
	int (*count_ranges)(void *context, struct fmt_planner *p);
	/* Appends the ranges that start before end_ns, or with `last` all that are left, in the
	 * order of model.h; their values behind those that are there. */
	int (*take_ranges)(void *context, struct fmt_run_slice *s, int64_t end_ns, bool last);
	/* Appends the digests of the slice's operations, and their pages. */
	int (*take_digests)(void *context, struct fmt_run_slice *s);
	/* `done` slices of `total` are written. */
	int (*progress)(void *progress_context, size_t done, size_t total);
	void *progress_context;
};

void fmt_planner_range(struct fmt_planner *p, int64_t start_ns, int64_t end_ns);

/* `run` has all edges, and at least one iteration; `index` is its number among the ranks in the
 * names. */
int fmt_run_write(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		  const struct fmt_run_source *source, struct fmt_writer *writer,
		  struct fmt_error *err);
/* The same behind what `writer` has of the rank already. */
int fmt_run_write_more(const struct fmt_names *names, const struct fmt_run_rank *run,
		       uint32_t index, const struct fmt_run_source *source,
		       struct fmt_rank_writer *writer, struct fmt_error *err);

/* Numbers the events of a rank for edges to other ranks, which leave out ranks without numbers. The
 * writer has written `first` events of the rank so far. rank->number_of is the caller's. */
int fmt_run_number(struct fmt_run_rank *rank, const struct fmt_run_source *source,
		   fmt_number first);

/* Writes down in the events which collective each is, as formats/run/infer found out. */
void fmt_run_number_collectives(struct fmt_run_rank *run);
