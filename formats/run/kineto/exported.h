/* SPDX-License-Identifier: Apache-2.0 */

/* The member "gputrace" of a file that gputrace exported: its ranks with their facts and names, and
 * the rank of each pid (README.md). One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

/* A pid in a file of several ranks. */
struct kineto_exported_pid {
	struct kineto_arg shown, real;
	size_t rank; /* index */
};

struct kineto_exported {
	struct kineto_exported_pid *pids; /* owned */
	size_t n_pids, pids_cap;
	struct fmt_hash_table table; /* of pids, as in the file */
	int64_t base_ns;	     /* added to the times of the file */
	bool is_present, has_base, has_facts;
};

void kineto_exported_done(struct kineto_exported *x);

/* Reads the member; im->ranks[first] is the first rank of the file and exists already. Returns 0,
 * -ENOMEM, or -EBADMSG with *why for invalid contents. */
int kineto_exported_read(struct kineto_exported *x, struct kineto_import *im, size_t first,
			 const char *json, size_t len, const char **why);

/* Returns NULL if not listed. */
const struct kineto_exported_pid *kineto_exported_find(const struct kineto_exported *x,
						       const struct kineto_arg *shown);
