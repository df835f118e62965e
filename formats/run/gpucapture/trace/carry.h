/* SPDX-License-Identifier: Apache-2.0 */

/* The processes between two segments: finds the events that are complete and can go to the next
 * segment, and forgets those that were written. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

struct rec_reach {
	uint32_t *ends;	  /* owned: of each process, its events before this one */
	int64_t until_ns; /* the segment can end then */
	bool force;	  /* within an iteration, if it must be */
};

size_t rec_count_events(struct rec_process *const *processes, size_t n);

/* Finds how far events are complete. `force`: no longer waits for data of any event but the last
 * `least` ones. 0 or -ENOMEM. */
int rec_reach_find(struct rec_process *const *processes, size_t n, bool force, size_t least,
		   struct rec_reach *ret);
void rec_reach_done(struct rec_reach *r);

/* Forgets the events whose gone[] is set (an operation always together with its call), and
 * renumbers the others. 0 or a negative errno: then the process is unusable. */
int rec_process_carry(struct rec_process *p, const bool *gone);
