/* SPDX-License-Identifier: Apache-2.0 */

/* Which GPU each event of a file belongs to, where the file has several devices. One thread.
 *
 * Correlation ids are unique within a process. In a file merged from those of several processes one
 * id can stand for calls of several of them: then nothing says which call launched an operation,
 * and the file is refused. */
#pragma once

#include "formats/run/kineto/rank.h"

/* A GPU of a process. */
struct kineto_part {
	uint32_t process; /* by the order of their ids; parts of one process are neighbours */
	int64_t device;	  /* its ordinal, or -1 */
};

struct kineto_owners {
	struct kineto_part *parts; /* owned */
	uint32_t n_parts;	   /* 0: there is but one GPU, and nothing below is set */
	uint32_t *part_of;	   /* owned: of each event */
	uint32_t *home;		   /* owned: of each track, the part that has its ranges */
};

#define KINETO_NOBODY UINT32_MAX

/* `k` has been read to its end; its calls are joined. 0, -ENOMEM, -EFBIG for more GPUs than a file
 * has, or -EXDEV where operations of several processes cannot be told apart. */
int kineto_owners_find(struct kineto_rank *k, const struct kineto_templates *templates,
		       struct kineto_owners *ret);
void kineto_owners_done(struct kineto_owners *o);

/* The ordinal that a stream's device has: its number, or the one its text ends in; or -1. */
int64_t kineto_device_ordinal(const struct fmt_strings *strings, const struct kineto_arg *pid);
