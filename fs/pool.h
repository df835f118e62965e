/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that answer calls beside the one that receives them. They are started when there is
 * something to do for them, and get no signals. */
#pragma once

#include "fs/call.h"

#include <pthread.h>

struct fs_pool {
	pthread_mutex_t lock;
	pthread_cond_t given;
	struct fs_call *first, **end; /* not yet begun */
	unsigned n_waiting;	      /* calls */
	unsigned n_idle, n_threads, max_threads;
	pthread_t *threads;
	bool closing;
};

int fs_pool_init(struct fs_pool *p, unsigned max_threads);

/* Has a copy of the call answered by one of the threads. 0, or a negative errno, and then nobody
 * answers it. */
int fs_pool_give(struct fs_pool *p, const struct fs_call *c);

/* Whether a call that is given now is begun at once. */
bool fs_pool_is_free(struct fs_pool *p);

/* Returns once all calls are answered. */
void fs_pool_done(struct fs_pool *p);

/* Starts a thread that gets no signals: they are for the one that ends the mount. 0 or a negative
 * errno. */
int fs_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
