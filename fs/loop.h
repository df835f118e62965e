/* SPDX-License-Identifier: Apache-2.0 */

/* Receives requests and answers them.
 *
 * One thread does both, because handing a request to another thread takes longer than answering
 * most requests. If many requests are waiting, threads of a pool help until none is left. */
#pragma once

#include "fs/pool.h"

/* A source of requests. Its functions are called by several threads at once. */
struct fs_source {
	int fd; /* readable while a request is waiting; non-blocking */
	/* Receives a request and answers it. 1; 0: no request is waiting; or a negative errno.
	 * *buffer belongs to the thread: NULL at first, freed by drop(). */
	int (*next)(void *context, void **buffer);
	void (*drop)(void *buffer);
	bool (*ended)(void *context); /* may be set by a signal */
	void *context;
};

/* Returns when the source has ended: 0 or a negative errno. Threads of the pool may still be using
 * it, until fs_pool_done(). */
int fs_loop_run(const struct fs_source *source, struct fs_pool *pool);
