/* SPDX-License-Identifier: Apache-2.0 */

/* Receives requests and has them answered.
 *
 * One thread does both: to hand a request to another and wake that takes longer than most requests
 * do. When many come at once, threads of a pool help for as long as there are any. */
#pragma once

#include "fs/pool.h"

/* Where requests come from. Its functions are called by several threads at once. */
struct fs_source {
	int fd; /* readable when there is one; never blocks */
	/* Receives a request and has it answered: 1; 0 = there is none; or a negative errno.
	 * *buffer is the thread's, NULL at first and ended by drop(). */
	int (*next)(void *context, void **buffer);
	void (*drop)(void *buffer);
	bool (*ended)(void *context); /* may be set by a signal */
	void *context;
};

/* Returns when the source has ended: 0 or a negative errno. Threads of the pool may still be using
 * it, until fs_pool_done(). */
int fs_loop_run(const struct fs_source *source, struct fs_pool *pool);
