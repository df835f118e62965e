/* SPDX-License-Identifier: Apache-2.0 */

/* The processes between two segments of their run: which of their events can be in the next one, as
 * nothing more will be learnt of them, and forgetting what is written. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

struct rec_reach {
	uint32_t *ends;	  /* owned: of each process, its events before this one */
	int64_t until_ns; /* the segment can end then */
	bool force;	  /* within an iteration, if it must be */
};

size_t rec_count_events(struct rec_process *const *processes, size_t n);

/* Where it is forced, what is waited for of all events but the last `least` is given up. 0 or
 * -ENOMEM. */
int rec_reach_find(struct rec_process *const *processes, size_t n, bool force, size_t least,
		   struct rec_reach *ret);
void rec_reach_done(struct rec_reach *r);

/* Forgets the events of which gone[] says so, an operation always with its call, and what belongs
 * to them; the others get new numbers. 0 or a negative errno: then the process is unusable. */
int rec_process_carry(struct rec_process *p, const bool *gone);
