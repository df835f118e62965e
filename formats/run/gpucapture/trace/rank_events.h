/* SPDX-License-Identifier: Apache-2.0 */

/* Distributes the events of all processes to the ranks of a segment, in the order that a run
 * requires. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

/* Adds the events, ranges and digests that are in the segment, of the first ends[i] events of each
 * process. The times of its ranks are set; its iterations are not. Sets the index of each event in
 * its rank. Adds collectives of unknown communicators to *unmatched. Returns 0 or a negative errno.
 */
int rec_rank_events_add(struct rec_segment *s, struct rec_process *const *processes, size_t n,
			const uint32_t *ends, const struct rec_plan *plan, uint64_t *unmatched);

/* Adds the digests and contents of the process's operations, whose indexes are set. Returns 0 or
 * -ENOMEM. */
int rec_rank_add_digests(struct rec_segment *s, const struct rec_plan *plan, struct rec_process *p);
