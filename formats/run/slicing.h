/* SPDX-License-Identifier: Apache-2.0 */

/* Divides a rank into slices, and assigns its calls and operations to them. One thread. */
#pragma once

#include "base/scope.h"
#include "formats/run/run.h"

#include <stdbool.h>

#define FMT_RUN_NONE UINT32_MAX

/* A slice under construction. */
struct fmt_run_slice {
	struct fmt_slice slice; /* its values belong to the run */
	size_t events_cap, ranges_cap, edges_cap, digests_cap, pages_cap;
	const uint32_t *event_at; /* the index in the run of each of its events */
};

struct fmt_planner;

/* Functions return 0 or a negative errno; any may be NULL. */
struct fmt_run_source {
	void *context;
	const uint32_t *call_of;   /* of each event: launching call, or FMT_RUN_NONE */
	int64_t first_ns, last_ns; /* from the first recorded start to the last end */
	/* For a run that is written in segments: */
	const struct fmt_iteration *before; /* of events before the first one; NULL: FMT_BEFORE */
	bool more; /* events after the end of the last iteration belong to it */

	/* Calls fmt_planner_add_range() for each range. */
	int (*count_ranges)(void *context, struct fmt_planner *p);
	/* Appends the ranges that start before end_ns, or with `last` all remaining ones, in the
	 * order of model.h. Sets the slice's values, if ranges have any: the array begins with
	 * those of the run. */
	int (*take_ranges)(void *context, struct fmt_run_slice *s, int64_t end_ns, bool last);
	/* Appends the digests of the slice's operations, and their pages. */
	int (*take_digests)(void *context, struct fmt_run_slice *s);
	/* `done` slices of `total` are written. */
	int (*progress)(void *progress_context, size_t done, size_t total);
	void *progress_context;
};

void fmt_planner_add_range(struct fmt_planner *p, int64_t start_ns, int64_t end_ns);

struct fmt_run_span {
	struct fmt_iteration iteration;
	int64_t from_ns; /* it contains events that start from here until the next slice */
	uint64_t records;
};

struct fmt_run_plan {
	struct fmt_run_span *slices; /* owned; by time; only iterations may be empty */
	size_t n_slices, cap;
	uint32_t *number_of; /* owned: the number of each event in the trace, from 0 */
	uint32_t *event_at;  /* owned: the inverse of number_of */
};

/* `run` has the events and iterations, `source` the ranges. Returns 0 or -errno. The caller frees
 * *ret. */
int fmt_run_plan(const struct fmt_run_rank *run, const struct fmt_run_source *source,
		 struct fmt_run_plan **ret);

define_cleanup(fmt_run_plan_free_ptr, struct fmt_run_plan *, fmt_run_plan_free);
