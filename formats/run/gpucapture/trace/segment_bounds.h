/* SPDX-License-Identifier: Apache-2.0 */

/* Passes processes from one segment to the next: finds the complete events, and drops the written
 * ones. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

struct rec_segment_bounds {
	uint32_t *ends;	  /* owned: for each process, the end of its complete events */
	int64_t until_ns; /* latest time at which the segment can end */
};

size_t rec_count_events(struct rec_process *const *processes, size_t n);

/* Finds the complete events of each process. `force`: does not wait for data of any event except
 * the last `least`. Returns 0 or -ENOMEM. */
int rec_segment_bounds_find(struct rec_process *const *processes, size_t n, bool force,
			    size_t least, struct rec_segment_bounds *ret);
void rec_segment_bounds_done(struct rec_segment_bounds *r);

/* Gives event i the number to[i], or drops it if to[i] is REC_NONE. An operation must be dropped
 * together with its call. to[] has n_events + 1 elements. `lent`: the values of the process, if it
 * no longer owns them; else NULL. Returns 0 or a negative errno, after which the process is
 * unusable. */
int rec_process_renumber(struct rec_process *p, uint32_t *to, const int64_t *lent);
