/* SPDX-License-Identifier: Apache-2.0 */

/* What only a whole run tells, before any of it is written: ranks, communicators and the numbers of
 * collectives, and what iterations are told by. The first reading of a recording keeps little of
 * its events (rec_plan_shed), so memory is bounded; the second writes them (making.h). A run that
 * fits into memory is read once. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/meetings.h"
#include "formats/run/gpucapture/trace/steps.h"

struct rec_plan {
	struct rec_ranks ranks;
	struct rec_meetings meetings;
	struct rec_steps_of *steps; /* owned: by rank */
	size_t n_processes;
	bool is_shed; /* events were forgotten: the recording is to be read again */
};

void rec_plan_done(struct rec_plan *p);

/* Forgets events of which nothing more will be learnt, once there are several segments of them:
 * collectives and numbered ranges stay. Sets plan->is_shed then. 0 or a negative errno. */
int rec_plan_shed(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  size_t segment);

/* Fills the rest of the plan when all was read: names devices and communicators. 0 or a negative
 * errno. */
int rec_plan_find(struct rec_plan *plan, struct rec_process *const *processes, size_t n,
		  struct fmt_names *names);

/* Whether the plan is of such processes: a recording must not change between two readings. */
bool rec_plan_fits(const struct rec_plan *plan, struct rec_process *const *processes, size_t n);
