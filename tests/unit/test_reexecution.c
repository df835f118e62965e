/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/device/objects.h"
#include "replay/device/share.h"
#include "replay/device/turns.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

START_TEST(handles_are_the_latest)
{
	struct rex_objects *o;
	uint64_t here;

	ck_assert_int_eq(rex_objects_new(&o), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		ck_assert_int_eq(rex_handle_set(o, API_MEANING_STREAM, i, 2 * i), 0);
	ck_assert_int_eq(rex_handle_set(o, API_MEANING_STREAM, 7, 99), 0);
	ck_assert(rex_handle_get(o, API_MEANING_STREAM, 7, &here) && here == 99);
	ck_assert(rex_handle_get(o, API_MEANING_STREAM, 5000, &here) && here == 10000);
	ck_assert(!rex_handle_get(o, API_MEANING_EVENT, 7, &here));
	ck_assert(!rex_handle_get(o, API_MEANING_STREAM, 5001, &here));
	rex_objects_free(o);
}
END_TEST

START_TEST(later_ranges_replace_earlier_ones)
{
	struct rex_objects *o;
	uint64_t here;
	char *small, *large;

	ck_assert_int_eq(rex_objects_new(&o), 0);
	ck_assert_int_eq(rex_range_set(o, 1000, 100, 5000), 0);
	ck_assert_int_eq(rex_range_set(o, 1100, 100, 7000), 0);
	ck_assert(rex_address(o, 1099, &here) && here == 5099);
	ck_assert(rex_address(o, 1100, &here) && here == 7000);
	ck_assert(!rex_address(o, 1200, &here) && !rex_address(o, 999, &here));
	ck_assert_int_eq(rex_range_set(o, 1050, 100, 9000), 0);
	ck_assert(rex_address(o, 1149, &here) && here == 9099);
	ck_assert(!rex_address(o, 1000, &here) && !rex_address(o, 1150, &here));

	/* Host memory: the same for the same address; more for more. */
	small = rex_host_memory(o, 4096, 10);
	large = rex_host_memory(o, 4096, 1000);
	ck_assert(small && large && small != large);
	memset(large, 1, 1000);
	ck_assert_ptr_eq(rex_host_memory(o, 4096, 10), small);
	ck_assert_ptr_eq(rex_host_memory(o, 4096, 11), large);
	rex_objects_free(o);
}
END_TEST

START_TEST(shared_values_are_found_by_what_was_recorded)
{
	struct rex_share *s;
	uint8_t recorded[REX_SHARED_BYTES] = {1}, here[REX_SHARED_BYTES] = {2},
		got[REX_SHARED_BYTES];
	uint64_t made, seeded;

	ck_assert_int_eq(rex_share_open(-1, &s), 0);
	ck_assert_int_eq(rex_share_put(s, recorded, sizeof(recorded), here), 0);
	ck_assert_int_eq(rex_share_get(s, recorded, sizeof(recorded), got), 0);
	ck_assert_mem_eq(got, here, sizeof(got));
	rex_share_count(s, 3, 1);
	rex_share_count(s, 4, 0);
	rex_share_counts(s, &made, &seeded);
	ck_assert(made == 7 && seeded == 1);
}
END_TEST

/* A thread that begins its call and notes it. */
struct beginner {
	struct rex_turns *turns;
	uint32_t thread;
	int begun;
};

static void *begin(void *arg)
{
	struct beginner *b = arg;

	if (rex_turns_begin(b->turns, b->thread))
		__atomic_store_n(&b->begun, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int begins_soon(struct beginner *b)
{
	const struct timespec nap = {0, 20000000};

	for (int i = 0; i < 3 && !__atomic_load_n(&b->begun, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	return __atomic_load_n(&b->begun, __ATOMIC_ACQUIRE);
}

/* The kinds of two calls, the second of which returned later; it began when `after` calls had
 * returned. Does it begin while the first is in progress? */
static const struct {
	enum rex_turn_kind first, second;
	uint32_t after;
	int begins;
} turns[] = {
	{REX_TURN_ALONE, REX_TURN_ALONE, 0, 0},	 {REX_TURN_BLOCKS, REX_TURN_ALONE, 0, 0},
	{REX_TURN_BLOCKS, REX_TURN_MEETS, 0, 1}, {REX_TURN_MEETS, REX_TURN_MEETS, 0, 1},
	{REX_TURN_MEETS, REX_TURN_MEETS, 1, 0},	 {REX_TURN_ALONE, REX_TURN_MEETS, 0, 0},
	{REX_TURN_ENDS, REX_TURN_MEETS, 0, 0},	 {REX_TURN_ENDS, REX_TURN_ENDS, 0, 1},
	{REX_TURN_MEETS, REX_TURN_ENDS, 0, 0},
};

static void check_turn(size_t i)
{
	const struct rex_turn first = {0, 0, turns[i].first};
	const struct rex_turn second = {1, turns[i].after, turns[i].second};
	struct beginner b = {.thread = 1};
	pthread_t id;

	ck_assert_int_eq(rex_turns_new(2, &b.turns), 0);
	rex_turns_next(b.turns, 0, &first);
	rex_turns_next(b.turns, 1, &second);
	ck_assert(rex_turns_begin(b.turns, 0));
	ck_assert_int_eq(pthread_create(&id, NULL, begin, &b), 0);
	ck_assert_int_eq(begins_soon(&b), turns[i].begins);
	rex_turns_next(b.turns, 0, NULL);
	pthread_join(id, NULL);
	ck_assert_int_eq(b.begun, 1);
	rex_turns_give_up(b.turns);
	ck_assert(!rex_turns_begin(b.turns, 0));
	rex_turns_free(b.turns);
}

START_TEST(calls_keep_their_order)
{
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
		check_turn(i);
}
END_TEST

TESTS("reexecution", handles_are_the_latest, later_ranges_replace_earlier_ones,
      shared_values_are_found_by_what_was_recorded, calls_keep_their_order)
