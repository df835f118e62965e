/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/call_order.h"

#include "base/scope.h"

#include <errno.h>
#include <pthread.h>

struct rex_call_order {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n_threads;
	bool given_up;
	struct {
		struct rex_ordered_call call; /* current or next call */
		bool within;		      /* it has begun */
	} threads[];
};

int rex_call_order_new(uint32_t n_threads, struct rex_call_order **ret)
{
	struct rex_call_order *t = calloc(1, sizeof(*t) + n_threads * sizeof(t->threads[0]));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->n_threads = n_threads;
	*ret = t;
	return 0;
}

void rex_call_order_free(struct rex_call_order *t)
{
	free(t);
}

void rex_call_order_set_next(struct rex_call_order *t, uint32_t thread,
			     const struct rex_ordered_call *call)
{
	pthread_mutex_lock(&t->lock);
	t->threads[thread].call = call ? *call : (struct rex_ordered_call){.number = UINT32_MAX};
	t->threads[thread].within = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* Returns true if a call may begin while another one, which returned earlier in the recording, is
 * in progress. */
static bool may_overlap(const struct rex_ordered_call *call, const struct rex_ordered_call *other)
{
	if (call->after > other->number)
		return false;
	if (call->kind == REX_CALL_NCCL)
		return other->kind == REX_CALL_BLOCKING || other->kind == REX_CALL_NCCL;
	return call->kind == REX_CALL_DESTROY && other->kind == REX_CALL_DESTROY;
}

/* Returns the thread whose call returned first in the recording, among calls in progress and next
 * calls. */
static uint32_t first_thread(const struct rex_call_order *t)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < t->n_threads; i++)
		if (t->threads[i].call.number < t->threads[first].call.number)
			first = i;
	return first;
}

uint32_t rex_call_order_first(struct rex_call_order *t)
{
	uint32_t ret;

	pthread_mutex_lock(&t->lock);
	ret = t->n_threads > 0 ? t->threads[first_thread(t)].call.number : UINT32_MAX;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/* Returns true if the thread may begin its next call: if no other call, in progress or next, that
 * returned earlier in the recording has to end first. */
static bool is_free(const struct rex_call_order *t, uint32_t thread)
{
	uint32_t first = first_thread(t);

	return first == thread || (t->threads[first].within &&
				   may_overlap(&t->threads[thread].call, &t->threads[first].call));
}

bool rex_call_order_wait(struct rex_call_order *t, uint32_t thread)
{
	bool ready;

	pthread_mutex_lock(&t->lock);
	while (!t->given_up && !is_free(t, thread))
		pthread_cond_wait(&t->changed, &t->lock);
	ready = !t->given_up;
	t->threads[thread].within = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return ready;
}

void rex_call_order_abort(struct rex_call_order *t)
{
	pthread_mutex_lock(&t->lock);
	t->given_up = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}
