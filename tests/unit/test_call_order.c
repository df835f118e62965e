/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/device/call_order.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <time.h>

/* A thread that begins its call and sets `begun`. */
struct beginner {
	struct rex_call_order *turns;
	uint32_t thread;
	int begun;
};

static void *begin(void *arg)
{
	struct beginner *b = arg;

	if (rex_call_order_wait(b->turns, b->thread))
		__atomic_store_n(&b->begun, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Returns whether the call begins. Waits 60 ms for a call that should not begin; else up to 60 s,
 * because a loaded machine starts threads late. */
static int begins(struct beginner *b, int should)
{
	const struct timespec nap = {0, 20000000};
	int naps = should ? 3000 : 3;

	for (int i = 0; i < naps && !__atomic_load_n(&b->begun, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	return __atomic_load_n(&b->begun, __ATOMIC_ACQUIRE);
}

/* The kinds of two calls, the second of which returned later; it began when `after` calls had
 * returned. Does it begin while the first is in progress? */
static const struct {
	enum rex_call_kind first, second;
	uint32_t after;
	int begins;
} turns[] = {
	{REX_CALL_INDEPENDENT, REX_CALL_INDEPENDENT, 0, 0},
	{REX_CALL_BLOCKING, REX_CALL_INDEPENDENT, 0, 0},
	{REX_CALL_BLOCKING, REX_CALL_NCCL, 0, 1},
	{REX_CALL_NCCL, REX_CALL_NCCL, 0, 1},
	{REX_CALL_NCCL, REX_CALL_NCCL, 1, 0},
	{REX_CALL_INDEPENDENT, REX_CALL_NCCL, 0, 0},
	{REX_CALL_DESTROY, REX_CALL_NCCL, 0, 0},
	{REX_CALL_DESTROY, REX_CALL_DESTROY, 0, 1},
	{REX_CALL_NCCL, REX_CALL_DESTROY, 0, 0},
};

static void check_turn(size_t i)
{
	const struct rex_ordered_call first = {0, 0, turns[i].first};
	const struct rex_ordered_call second = {1, turns[i].after, turns[i].second};
	struct beginner b = {.thread = 1};
	pthread_t id;

	ck_assert_int_eq(rex_call_order_new(2, &b.turns), 0);
	rex_call_order_set_next(b.turns, 0, &first);
	rex_call_order_set_next(b.turns, 1, &second);
	ck_assert(rex_call_order_wait(b.turns, 0));
	ck_assert_int_eq(pthread_create(&id, NULL, begin, &b), 0);
	ck_assert_int_eq(begins(&b, turns[i].begins), turns[i].begins);
	rex_call_order_set_next(b.turns, 0, NULL);
	pthread_join(id, NULL);
	ck_assert_int_eq(b.begun, 1);
	rex_call_order_abort(b.turns);
	ck_assert(!rex_call_order_wait(b.turns, 0));
	rex_call_order_free(b.turns);
}

TEST(calls_keep_their_order)
{
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
		check_turn(i);
}
