/* SPDX-License-Identifier: Apache-2.0 */

/* Facts that depend on the whole run: ranks, communicators, numbers of collectives, and iterations.
 * A recording is read twice. The first reading finds the plan and keeps no events
 * (rec_process.only_plan); the second one writes them (trace_writer.h). One thread. */
#pragma once

#include "formats/run/gpucapture/trace/iterations.h"
#include "formats/run/gpucapture/trace/pairing.h"

struct rec_plan {
	struct rec_ranks ranks;
	struct rec_pairing pairing;
	struct rec_iterations *iterations; /* owned: by rank */
	size_t n_processes;
	size_t n_cuts; /* times at which a segment may end in a run without iterations; 0: the run
			  is written as one segment */
	size_t segment;
	uint64_t cut_events; /* number of events before the last cut */
};

void rec_plan_done(struct rec_plan *p);

/* To be called during the first reading, for example after each round. Adds a cut after each
 * `segment` calls and operations. Returns 0 or -ENOMEM. */
int rec_plan_end_round(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		       size_t segment);

/* Completes the plan after the first reading: names devices and communicators. Returns 0 or a
 * negative errno. */
int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names);

/* Returns true if a rank has an iteration with a number from `first` to `last`. */
bool rec_plan_has_iterations(const struct rec_plan *plan, int64_t first, int64_t last);

/* Returns true if the plan was made of these processes: a recording must not change between two
 * readings. */
bool rec_plan_matches(const struct rec_plan *plan, struct rec_process *const *processes, size_t n);
