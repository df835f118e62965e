/* SPDX-License-Identifier: Apache-2.0 */

/* The events of all processes as those of the ranks of a run, in the order that this has; and where
 * each went. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/part.h"

struct rec_rank_events {
	struct rec_process *const *processes; /* not owned */
	const struct rec_ranks *ranks;	      /* not owned */
	struct fmt_run *run;		      /* not owned */
	struct fmt_run_part *parts;	      /* not owned */
	size_t n;			      /* processes */
	const uint32_t *ends; /* not owned; of each process: its events from here on are left out;
				 NULL: none are */
	uint32_t *first;      /* owned: of the events of each process, in `at` */
	uint32_t *at;	      /* owned: of each event, where it is; FMT_RUN_NONE */
	struct rec_rank_event_track **tracks; /* owned: by process and track */
};

/* Makes the events of the run's ranks, and their ranges in `parts`. The ranks have their numbers
 * already. 0 or a negative errno. */
int rec_rank_events_new(struct rec_process *const *processes, size_t n, const uint32_t *ends,
			const struct rec_ranks *ranks, struct fmt_run *run,
			struct fmt_run_part *parts, struct rec_rank_events *ret);
void rec_rank_events_done(struct rec_rank_events *p);

/* The index of the event among the events of its rank; FMT_RUN_NONE: it was left out. */
uint32_t *rec_rank_event(const struct rec_rank_events *p, const struct rec_process *process,
			 uint32_t event);

/* Finds the rank's track for a track of the process; adds it if needed. 0 or -ENOMEM. */
int rec_rank_events_track(struct rec_rank_events *p, uint32_t rank,
			  const struct rec_process *process, uint32_t track, uint32_t *ret);

/* Adds the digests and contents of operations that are in the run to the parts that these are in. 0
 * or -ENOMEM. */
int rec_rank_digests(struct rec_process *p, const struct rec_rank_events *places);
