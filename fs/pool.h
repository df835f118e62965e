/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that answer calls in addition to the receiving thread. They are started on demand and
 * have all signals blocked: the thread that ends the mount handles signals. */
#pragma once

#include "fs/call.h"

#include <pthread.h>

struct fs_pool {
	pthread_mutex_t lock;
	pthread_cond_t given;
	struct fs_call *first, **end; /* not yet started */
	unsigned n_waiting;	      /* number of calls */
	unsigned n_idle, n_threads, max_threads;
	pthread_t *threads;
	bool closing;
};

int fs_pool_init(struct fs_pool *p, unsigned max_threads);

/* Queues a copy of the call for one of the threads. Returns 0, or a negative errno: no thread will
 * answer it. */
int fs_pool_submit(struct fs_pool *p, const struct fs_call *c);

/* Returns true if a call that is queued now starts at once. */
bool fs_pool_is_free(struct fs_pool *p);

/* Returns true while a call is queued or being answered. */
bool fs_pool_is_busy(struct fs_pool *p);

/* Returns once all calls are answered. */
void fs_pool_done(struct fs_pool *p);
