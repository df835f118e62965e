/* SPDX-License-Identifier: Apache-2.0 */

/* The communicators of all processes and what was done in them, as formats/run/meetings.h pairs it.
 * One thread. */
#pragma once

#include "capture/recorder/trace/ranks.h"
#include "formats/run/run.h"

struct rec_meeting {
	uint32_t comm; /* of the names; FMT_NO_COMM: its communicator is not known */
	int64_t seq;
	fmt_str peers; /* a list for FMT_KEY_PEERS; 0: all who meet */
};

struct rec_meetings {
	struct fmt_party *parties; /* owned; `owner` is the process's index, `from` a collective */
	size_t n, n_processes;
	struct rec_meeting **of; /* owned: by process and collective */
};

/* Names the communicators, and pairs all collectives. 0 or a negative errno. */
int rec_meetings_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		      struct fmt_names *names, struct rec_meetings *ret);
void rec_meetings_done(struct rec_meetings *m);

/* Writes down in the operations of a process which collective each is. *unmatched counts those
 * whose communicator is not known. */
int rec_meetings_settle(const struct rec_meetings *m, struct rec_process *p, uint64_t *unmatched);

/* ---- of a run that is written a stretch at a time */

/* Numbers what has come: the collectives of a communicator one after the other; once there are
 * sends and receives, as fmt_meetings_follow() does, and with `last` all that is left. -EAGAIN: the
 * first of these comes when not all members have done the same collectives. */
int rec_meetings_number(struct rec_process *const *processes, size_t n,
			const struct rec_ranks *ranks, bool last, struct fmt_names *names);
/* The first event from `from` on of which it is not known yet with whom it meets; REC_NONE. */
uint32_t rec_meetings_first(const struct rec_process *p, uint32_t from);

/* Writes down what was numbered, for the operations of each process before ends[it]: these
 * collectives are forgotten. Communicators are named from *n_named on. -ENOTSUP: what waited too
 * long for those who meet has no number. -EAGAIN: a communicator that was used in an earlier
 * stretch has a new member here. */
int rec_meetings_follow(struct rec_process *const *processes, size_t n, const uint32_t *ends,
			const struct rec_ranks *ranks, struct fmt_names *names, uint32_t *n_named,
			uint64_t *unmatched);
/* At its end: who is in which communicator. */
int rec_meetings_members(struct rec_process *const *processes, size_t n,
			 const struct rec_ranks *ranks, struct rec_meetings *ret);

/* Counts what each party did before the first collective that is left in the run. 0 or -ENOMEM. */
int rec_meetings_skip(struct rec_meetings *m, const struct fmt_run *run);
