/* SPDX-License-Identifier: Apache-2.0 */

/* Which GPU each event of a file is of, where the file has several processes or devices. One
 * thread.
 *
 * Correlation numbers count within a process. In a file that was put together from those of several
 * processes the same number stands for several launches: which of them an operation is of follows
 * from whose device it ran on, and that from when launches and operations were. */
#pragma once

#include "formats/run/kineto/rank.h"

/* A GPU of a process, with what the process did for it. */
struct kineto_part {
	uint32_t process; /* by the order of their ids; parts of one process are neighbours */
	int64_t device;	  /* its ordinal, or -1 */
};

struct kineto_owners {
	struct kineto_part *parts; /* owned */
	uint32_t n_parts;	   /* 0: there is but one GPU, and nothing below is set */
	uint64_t guessed;  /* operations of devices that processes share: launched by whom fits best
			    */
	uint32_t *part_of; /* owned: of each event */
	uint32_t *home;	   /* owned: of each track, the part that has its ranges */
	uint32_t *process_of; /* owned: of each track that is a thread; KINETO_NOBODY */
};

#define KINETO_NOBODY UINT32_MAX

/* `k` has been read to its end. 0, -ENOMEM, or -EFBIG: it has more processes and GPUs than a file
 * has.
 */
int kineto_owners_find(const struct kineto_rank *k, const struct kineto_templates *templates,
		       struct kineto_owners *ret);
void kineto_owners_done(struct kineto_owners *o);

/* The ordinal that a stream's device has: its number, or the one its text ends in; or -1. */
int64_t kineto_device_ordinal(const struct kineto_strings *strings, const struct kineto_arg *pid);
