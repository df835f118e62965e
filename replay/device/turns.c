/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/turns.h"

#include "base/scope.h"

#include <errno.h>
#include <pthread.h>

struct rex_turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n_threads;
	bool given_up;
	struct {
		struct rex_turn call; /* current or next call */
		bool within;	      /* it has begun */
	} threads[];
};

int rex_turns_new(uint32_t n_threads, struct rex_turns **ret)
{
	struct rex_turns *t = calloc(1, sizeof(*t) + n_threads * sizeof(t->threads[0]));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->n_threads = n_threads;
	*ret = t;
	return 0;
}

void rex_turns_free(struct rex_turns *t)
{
	free(t);
}

void rex_turns_next(struct rex_turns *t, uint32_t thread, const struct rex_turn *call)
{
	pthread_mutex_lock(&t->lock);
	t->threads[thread].call = call ? *call : (struct rex_turn){.number = UINT32_MAX};
	t->threads[thread].within = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* Returns true if a call may begin while another one, which returned earlier in the recording, is
 * in progress. */
static bool may_overlap(const struct rex_turn *call, const struct rex_turn *other)
{
	if (call->after > other->number)
		return false;
	if (call->kind == REX_TURN_MEETS)
		return other->kind == REX_TURN_BLOCKS || other->kind == REX_TURN_MEETS;
	return call->kind == REX_TURN_ENDS && other->kind == REX_TURN_ENDS;
}

/* Among calls in progress and next calls, the one that returned first in the recording decides. */
static bool is_free(const struct rex_turns *t, uint32_t thread)
{
	uint32_t first = thread;

	for (uint32_t i = 0; i < t->n_threads; i++)
		if (t->threads[i].call.number < t->threads[first].call.number)
			first = i;
	return first == thread || (t->threads[first].within &&
				   may_overlap(&t->threads[thread].call, &t->threads[first].call));
}

bool rex_turns_begin(struct rex_turns *t, uint32_t thread)
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

void rex_turns_give_up(struct rex_turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->given_up = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}
