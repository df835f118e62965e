/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/turns.h"

#include "base/scope.h"

#include <errno.h>
#include <pthread.h>

struct place {
	uint32_t call; /* the thread's current or next one */
	bool within;   /* it has begun */
	uint8_t how;   /* enum rex_turn, if within */
};

struct rex_turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n_threads;
	bool given_up;
	struct place threads[];
};

int rex_turns_new(uint32_t n_calls, uint32_t n_threads, struct rex_turns **ret)
{
	struct rex_turns *t = calloc(1, sizeof(*t) + n_threads * sizeof(t->threads[0]));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->n_threads = n_threads;
	for (uint32_t i = 0; i < n_threads; i++)
		t->threads[i].call = n_calls;
	*ret = t;
	return 0;
}

void rex_turns_free(struct rex_turns *t)
{
	free(t);
}

void rex_turns_next(struct rex_turns *t, uint32_t thread, uint32_t call)
{
	pthread_mutex_lock(&t->lock);
	t->threads[thread].call = call;
	t->threads[thread].within = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static bool is_free(const struct rex_turns *t, uint32_t thread, enum rex_turn how)
{
	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct place *p = &t->threads[i];
		bool meets = p->within && how != REX_TURN_ALONE && p->how >= how;

		if (i != thread && p->call < t->threads[thread].call && !meets)
			return false;
	}
	return true;
}

bool rex_turns_begin(struct rex_turns *t, uint32_t thread, enum rex_turn how)
{
	bool ready;

	pthread_mutex_lock(&t->lock);
	while (!t->given_up && !is_free(t, thread, how))
		pthread_cond_wait(&t->changed, &t->lock);
	ready = !t->given_up;
	t->threads[thread].within = true;
	t->threads[thread].how = (uint8_t)how;
	if (how != REX_TURN_ALONE)
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
