/* SPDX-License-Identifier: Apache-2.0 */

/* Matches the operations of a collective by the order of calls, for recordings that contain the
 * communicator of each call.
 *
 * NCCL matches the k-th collective of each rank on a communicator, and the k-th send from one rank
 * to another with the k-th receive there. A kernel that fuses several calls is one operation: all
 * operations matched with it form one collective, in which each participant waits for its peers
 * (formats/run/peers.h). Collectives of a communicator are numbered so that the numbers ascend on
 * every rank.
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
	uint32_t from;	    /* for the caller */
	int64_t seq;	    /* out: number of the collective */
	fmt_str peers;	    /* out: a list for FMT_KEY_PEERS; 0: all participants */
};

/* One rank of a communicator and its operations there. */
struct fmt_participant {
	struct fmt_membership member; /* comm is set by fmt_collectives_match_by_order() */
	uint32_t rank; /* index among the trace's ranks, or UINT32_MAX; `number`: the rank's number
			*/
	uint32_t number;
	uint32_t owner; /* for the caller; orders participants that are otherwise equal */
	struct fmt_collective_op *ops; /* owned by the caller; in the order of the calls */
	size_t n_ops, ops_cap;
};

/* Names each communicator that was used, with the numbers of its ranks, and numbers its
 * collectives. Sorts the participants. */
int fmt_collectives_match_by_order(struct fmt_participant *p, size_t n, struct fmt_names *names);

/* Stores the communicators of each rank as facts. */
int fmt_participants_put(const struct fmt_participant *p, size_t n, uint32_t n_ranks,
			 struct fmt_names *names);
