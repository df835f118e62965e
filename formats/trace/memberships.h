/* SPDX-License-Identifier: Apache-2.0 */

/* The communicators of each rank, as recorded: a fact of each rank. Needed to join traces of parts
 * of one run, and to find the ranks that are missing from a trace. */
#pragma once

#include "formats/trace/names.h"

/* Key of the fact. */
#define FMT_MEMBERSHIPS_KEY "gputrace.communicators"
#define FMT_NO_COMM UINT32_MAX

struct fmt_membership {
	uint64_t id;	  /* of the communicator: globally unique, equal on all members */
	uint64_t parent;  /* id of the communicator that it was split from; 0: none */
	int64_t key;	  /* orders members of a split, before their rank */
	uint32_t rank;	  /* in the communicator; for a split: in its parent */
	uint32_t n;	  /* number of ranks; 0: unknown */
	int32_t device;	  /* of the member */
	uint32_t skipped; /* number of its collectives before the kept ones */
	uint32_t comm;	  /* in the names; FMT_NO_COMM: it was not used */
};

/* Sets the fact of a rank of the trace; no effect without members. Returns 0 or a negative
 * errno. */
int fmt_memberships_put(struct fmt_names *names, uint32_t rank, const struct fmt_membership *m,
			size_t n);

/* Returns the rank's communicators in *ret, which the caller frees; none if the fact is missing or
 * invalid. Returns 0 or -ENOMEM. */
int fmt_memberships_get(const struct fmt_names *names, uint32_t rank, struct fmt_membership **ret,
			size_t *n);

/* Sets facts about ranks of the largest communicator that are missing from the trace's n_ranks
 * ranks: a list and their number; no facts if none is missing. Returns 0 or a negative errno. */
#define FMT_MISSING_KEY "capture.missing_ranks"
int fmt_memberships_put_missing(struct fmt_names *names, uint32_t n_ranks);

/* fmt_rank_value() returns the rank from the value of a fact with a launcher's environment variable
 * ("env.RANK" and so on); -1: unknown. fmt_rank_keys: the keys of these facts, most reliable first;
 * NULL-terminated. */
int64_t fmt_rank_value(const char *value);
extern const char *const fmt_rank_keys[];
