/* SPDX-License-Identifier: Apache-2.0 */

/* Assigns the events of a file with several devices to GPUs. One thread.
 *
 * Correlation ids are unique within a process. In a file merged from several processes one id can
 * belong to calls of several of them. Then the launching call of an operation is ambiguous, and the
 * file is refused. */
#pragma once

#include "formats/run/kineto/rank.h"

/* A GPU of a process. */
struct kineto_part {
	uint32_t process; /* in the order of process ids; parts of one process are adjacent */
	int64_t device;	  /* its ordinal, or -1 */
};

struct kineto_owners {
	struct kineto_part *parts; /* owned */
	uint32_t n_parts;	   /* 0: there is only one GPU, and the fields below are not set */
	uint32_t *part_of;	   /* owned: of each event */
	uint32_t *home;		   /* owned: of each track, the part that gets its ranges */
};

#define KINETO_NO_PART UINT32_MAX

/* `k` is completely read and its calls are joined. Returns 0, -ENOMEM, -EFBIG for too many GPUs, or
 * -EXDEV if operations of several processes cannot be separated. */
int kineto_owners_find(struct kineto_rank *k, const struct kineto_templates *templates,
		       struct kineto_owners *ret);
void kineto_owners_done(struct kineto_owners *o);

/* Returns the ordinal of a stream's device: its number, or the number at the end of its text; -1 if
 * none. */
int64_t kineto_device_ordinal(const struct fmt_strings *strings, const struct kineto_arg *pid);
