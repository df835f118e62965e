/* SPDX-License-Identifier: Apache-2.0 */

/* Facts that depend on the whole run: ranks, communicators, numbers of collectives, and the
 * delimiters of iterations. A recording is read twice. The first reading finds the plan and keeps
 * no events (rec_process.only_plan); the second one writes them (trace_writer.h). One thread. */
#pragma once

#include "formats/run/gpucapture/trace/iterations.h"
#include "formats/run/gpucapture/trace/pairing.h"

struct rec_plan {
	struct rec_ranks ranks;
	struct rec_pairing pairing;
	struct rec_iterations_state *steps; /* owned: by rank */
	size_t n_processes;
	uint64_t n_events; /* calls and operations of all processes */
};

void rec_plan_done(struct rec_plan *p);

/* Fills the plan after the first reading: names devices and communicators. Returns 0 or a negative
 * errno. */
int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names);

/* Returns true if the plan was made of these processes: a recording must not change between two
 * readings. */
bool rec_plan_matches(const struct rec_plan *plan, struct rec_process *const *processes, size_t n);
