/* SPDX-License-Identifier: Apache-2.0 */

/* Distributes the events of all processes to the ranks of a segment, in the order that a run
 * requires, and keeps the new index of each event. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

struct rec_rank_events {
	struct rec_process *const *processes; /* not owned */
	const struct rec_ranks *ranks;	      /* not owned */
	struct rec_segment *segment;	      /* not owned */
	size_t n;			      /* number of processes */
	const uint32_t *ends;		      /* not owned; end of the events to use, by process */
	uint32_t *first;       /* owned: of each process, the offset of its events in event_index */
	uint32_t *first_value; /* owned: of each process, the offset of its values */
	uint32_t *event_index; /* owned: index of each event in its rank; FMT_RUN_NONE: left out */
	struct rec_rank_event_track **tracks; /* owned: by process and track */
};

/* Adds the events of the segment to its run and parts. Initialise `p` with the members that are not
 * owned, and zeros. Returns 0 or a negative errno. */
int rec_rank_events_add(struct rec_rank_events *p);
void rec_rank_events_done(struct rec_rank_events *p);

/* Returns the index of the event in its rank; FMT_RUN_NONE: left out. */
uint32_t *rec_rank_event_index(const struct rec_rank_events *p, const struct rec_process *process,
			       uint32_t event);

/* Finds the rank's track for a track of the process, or adds it. Returns 0 or -ENOMEM. */
int rec_rank_events_track(struct rec_rank_events *p, uint32_t rank,
			  const struct rec_process *process, uint32_t track, uint32_t *ret);

/* Adds the digests and contents of operations to the parts that contain the operations. Returns 0
 * or -ENOMEM. */
int rec_rank_add_digests(struct rec_process *p, const struct rec_rank_events *places);
