/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/turns.h"

#include "base/scope.h"

#include <errno.h>
#include <pthread.h>

struct rex_turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n, first; /* calls; the first that has not returned */
	bool given_up;
	uint8_t returned[];
};

int rex_turns_new(uint32_t n_calls, struct rex_turns **ret)
{
	struct rex_turns *t = calloc(1, sizeof(*t) + n_calls);

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->n = n_calls;
	*ret = t;
	return 0;
}

void rex_turns_free(struct rex_turns *t)
{
	free(t);
}

bool rex_turns_wait(struct rex_turns *t, uint32_t n)
{
	bool ready;

	pthread_mutex_lock(&t->lock);
	while (t->first < n && !t->given_up)
		pthread_cond_wait(&t->changed, &t->lock);
	ready = !t->given_up;
	pthread_mutex_unlock(&t->lock);
	return ready;
}

void rex_turns_returned(struct rex_turns *t, uint32_t call)
{
	pthread_mutex_lock(&t->lock);
	t->returned[call] = 1;
	if (call == t->first) {
		while (t->first < t->n && t->returned[t->first])
			t->first++;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}

void rex_turns_give_up(struct rex_turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->given_up = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}
