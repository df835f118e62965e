/* SPDX-License-Identifier: Apache-2.0 */

/* A request of the kernel that another thread than the receiving one may answer later. */
#pragma once

#include "fs/ino.h"

#include <stddef.h>

struct fs_call {
	void (*answer)(const struct fs_call *c);
	void *request;			       /* the request that `answer` replies to */
	void (*then)(const struct fs_call *c); /* answers, after a run was emulated */
	fs_ino ino;
	size_t size;
	uint64_t offset;
	char name[FS_NAME_BYTES];
	bool is_direct;	      /* a read that bypasses the page cache */
	bool is_pooled;	      /* a thread of the pool answers it: set by fs_pool_submit() */
	struct fs_call *next; /* list of the call's owner */
};
