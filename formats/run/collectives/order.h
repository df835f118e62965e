/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations are one collective, by the order of calls: for recordings that say which
 * communicator each call used.
 *
 * NCCL pairs calls by their order: the k-th collective of each rank on a communicator, and the k-th
 * send from one rank to another with the k-th receive there. A kernel that serves several calls is
 * one operation: everything that it is paired with is one collective, in which each participant
 * waits for its peers (formats/run/peers.h). Collectives of a communicator are numbered so that the
 * numbers rise on every rank.
 *
 * One thread. Functions return 0 or a negative errno. */
#pragma once

#include "formats/trace/memberships.h"

#include <stdbool.h>

/* One transfer of a send or receive. */
struct fmt_message {
	uint32_t peer; /* rank in the communicator */
	uint8_t receives;
};

struct fmt_collective_op {
	const struct fmt_message *messages; /* not owned */
	uint32_t n_messages;
	uint8_t is_message; /* sends and receives; else a collective of all ranks */
	uint32_t from;	    /* the caller's */
	int64_t seq;	    /* out: the collective's number */
	fmt_str peers;	    /* out: a list for FMT_KEY_PEERS; 0: all participants */
};

/* A rank of a communicator, and its operations there. */
struct fmt_participant {
	struct fmt_membership member; /* comm: out */
	uint32_t rank;		      /* of the trace: its index, or UINT32_MAX; and its number */
	uint32_t number;
	uint32_t owner; /* the caller's; orders participants that are otherwise the same */
	struct fmt_collective_op *ops; /* the caller's; in the order of the calls */
	size_t n_ops, ops_cap;
};

/* Names each communicator that was used, with the numbers of its ranks, and numbers its
 * collectives. Sorts the participants. */
int fmt_collectives_by_order(struct fmt_participant *p, size_t n, struct fmt_names *names);

/* Stores the memberships of the trace's ranks as facts. */
int fmt_participants_put(const struct fmt_participant *p, size_t n, uint32_t n_ranks,
			 struct fmt_names *names);
