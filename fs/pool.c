/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/pool.h"

#include "base/host.h"
#include "base/scope.h"

#include <errno.h>

int fs_pool_init(struct fs_pool *p, unsigned max_threads)
{
	*p = (struct fs_pool){.max_threads = max_threads};
	p->end = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->given, NULL);
	p->threads = calloc(max_threads, sizeof(*p->threads));
	return p->threads ? 0 : -ENOMEM;
}

/* Waits for the next call; NULL if the pool is closing. */
static struct fs_call *next_call(struct fs_pool *p)
{
	struct fs_call *c;

	pthread_mutex_lock(&p->lock);
	p->n_idle++;
	while (!p->first && !p->closing)
		pthread_cond_wait(&p->given, &p->lock);
	p->n_idle--;
	c = p->first;
	if (c) {
		p->first = c->next;
		p->n_waiting--;
	}
	if (!p->first)
		p->end = &p->first;
	pthread_mutex_unlock(&p->lock);
	return c;
}

static void *run_pool_thread(void *arg)
{
	struct fs_call *c;

	while ((c = next_call(arg))) {
		c->answer(c);
		free(c);
	}
	return NULL;
}

/* With the lock held: starts threads for the waiting calls. At least one must exist. */
static int start_threads(struct fs_pool *p)
{
	int r = 0;

	if (p->n_waiting < p->n_idle || p->n_threads == p->max_threads)
		return 0;
	r = host_thread_start(&p->threads[p->n_threads], run_pool_thread, p);
	p->n_threads += r == 0;
	return p->n_threads > 0 ? 0 : r;
}

int fs_pool_submit(struct fs_pool *p, const struct fs_call *c)
{
	scoped(free_ptr) struct fs_call *kept = malloc(sizeof(*kept));
	int r;

	if (!kept)
		return -ENOMEM;
	*kept = *c;
	kept->is_pooled = true;
	kept->next = NULL;
	pthread_mutex_lock(&p->lock);
	r = start_threads(p);
	if (r == 0) {
		*p->end = kept;
		p->end = &kept->next;
		p->n_waiting++;
		kept = NULL;
		pthread_cond_signal(&p->given);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

bool fs_pool_is_free(struct fs_pool *p)
{
	bool is_free;

	pthread_mutex_lock(&p->lock);
	is_free = p->n_waiting < p->n_idle || p->n_threads < p->max_threads;
	pthread_mutex_unlock(&p->lock);
	return is_free;
}

bool fs_pool_is_busy(struct fs_pool *p)
{
	bool is_busy;

	pthread_mutex_lock(&p->lock);
	is_busy = p->n_waiting > 0 || p->n_idle < p->n_threads;
	pthread_mutex_unlock(&p->lock);
	return is_busy;
}

void fs_pool_done(struct fs_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->given);
	free(p->threads);
}
