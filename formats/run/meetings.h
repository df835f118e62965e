/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations of different ranks are one collective, where the recorder knows communicators.
 *
 * NCCL pairs calls by their order: the k-th collective of each rank on a communicator, and the k-th
 * send of a rank to another with that one's k-th receive from it. What one kernel does with several
 * others, all of these are one, in which each waits for its peers (formats/run/peers.h). Meetings
 * of a communicator are numbered so that the numbers rise on every rank. */
#pragma once

#include "formats/trace/memberships.h"

#include <stdbool.h>

/* One transfer of a send or receive. */
struct fmt_message {
	uint32_t peer; /* rank in the communicator */
	uint8_t receives;
};

struct fmt_meeting_op {
	const struct fmt_message *messages; /* not owned */
	uint32_t n_messages;
	uint8_t is_message; /* sends and receives; else a collective of all */
	uint32_t from;	    /* the caller's */
	int64_t seq;	    /* out: the meeting's number */
	fmt_str peers;	    /* out: a list for FMT_KEY_PEERS; 0: all who meet */
};

/* A member of a communicator, and what it did there. */
struct fmt_party {
	struct fmt_membership member; /* comm: out */
	uint32_t rank;		      /* of the trace: its index, or FMT_NO_RANK; and its number */
	uint32_t number;
	uint32_t owner; /* the caller's, and who comes first of those that are the same */
	struct fmt_meeting_op *ops; /* the caller's; in the order of the calls */
	size_t n_ops, ops_cap;
	int64_t next; /* the number of the communicator's next meeting */
};

#define FMT_NO_RANK UINT32_MAX

/* Names each communicator in which something was done, with the numbers of its ranks, and numbers
 * the meetings. Sorts the parties. 0 or a negative errno. */
int fmt_meetings_find(struct fmt_party *parties, size_t n, struct fmt_names *names);

/* Numbers the meetings of a run that comes piece by piece, for what has no number yet of each
 * party: from `next` on, which is moved on and the same for all parties of a communicator. Where
 * some of those who meet have not come yet, and what is behind them, the numbers are -1: all of
 * that is to be given again with what comes next; nobody waits for ranks that are no party. With
 * `last` everything gets a number. Names nothing but peers. Sorts the parties. 0 or a negative
 * errno. */
int fmt_meetings_follow(struct fmt_party *parties, size_t n, bool last, struct fmt_names *names);

/* Names the communicator of these parties alone: the one of that number. */
int fmt_meetings_name(const struct fmt_party *parties, size_t n, uint32_t number,
		      struct fmt_names *names, uint32_t *ret);

/* Sets the members' facts of the trace's ranks. */
int fmt_parties_put(const struct fmt_party *parties, size_t n, uint32_t n_ranks,
		    struct fmt_names *names);
