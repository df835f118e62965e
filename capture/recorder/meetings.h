/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations of different ranks are one collective.
 *
 * NCCL pairs calls by their order: the k-th collective of each rank on a communicator, and the k-th
 * send of a rank to another with that one's k-th receive from it. What one kernel does with several
 * others, all of these are one, in which each waits for its peers (formats/peers.h). Meetings of a
 * communicator are numbered so that the numbers rise on every rank. */
#pragma once

#include "capture/recorder/ranks.h"

struct rec_meeting {
	uint32_t comm; /* of the names; REC_NONE: its communicator is not known */
	int64_t seq;
	fmt_str peers; /* a list for FMT_KEY_PEERS; 0: all who meet */
};

/* Names the communicators with their ranks, and for each process and collective of it tells the
 * meeting: ret[process->index][collective], each list for the caller to free, as ret itself. 0 or a
 * negative errno. */
int rec_meetings_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		      struct fmt_names *names, struct rec_meeting ***ret);
void rec_meetings_free(struct rec_meeting **m, size_t n);
