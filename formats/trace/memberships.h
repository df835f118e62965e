/* SPDX-License-Identifier: Apache-2.0 */

/* The communicators that each rank is a member of, as the recorder saw them: a fact of each rank.
 * Needed to join traces of parts of one run, and to find the ranks that are missing from a trace.
 */
#pragma once

#include "formats/trace/names.h"

/* The fact that holds them. */
#define FMT_MEMBERSHIPS_KEY "gputrace.communicators"
#define FMT_NO_COMM UINT32_MAX

struct fmt_membership {
	uint64_t id;	  /* of the communicator: the same on all its members, and of no other */
	uint64_t parent;  /* id of the communicator that it was split from; 0: none */
	int64_t key;	  /* what members of a split are ordered by, before their rank */
	uint32_t rank;	  /* in the communicator; of a split: in its parent */
	uint32_t n;	  /* how many ranks it has; 0: not known */
	int32_t device;	  /* of the member */
	uint32_t skipped; /* collectives that it did before those that were kept */
	uint32_t comm;	  /* of the names; FMT_NO_COMM: nothing was done there */
};

/* Sets the fact of a rank of the trace; nothing without members. 0 or a negative errno. */
int fmt_memberships_put(struct fmt_names *names, uint32_t rank, const struct fmt_membership *m,
			size_t n);

/* The rank's, for the caller to free; none where the fact is not there or makes no sense. 0 or
 * -ENOMEM. */
int fmt_memberships_get(const struct fmt_names *names, uint32_t rank, struct fmt_membership **ret,
			size_t *n);

/* The facts that say which ranks of the largest communicator none of the trace's n_ranks ranks is:
 * a list and their number, or nothing where all are there. 0 or a negative errno. */
#define FMT_MISSING_KEY "capture.missing_ranks"
int fmt_memberships_missing(struct fmt_names *names, uint32_t n_ranks);

/* The rank in the value of a fact that holds a launcher's environment variable ("env.RANK" and so
 * on), -1: unknown; and the keys of these facts, most trusted first; NULL ends them. */
int64_t fmt_rank_value(const char *value);
extern const char *const fmt_rank_keys[];
