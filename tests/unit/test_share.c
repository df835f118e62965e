/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/share.h"
#include "tests/unit/test.h"

TEST(shared_values_are_found_by_what_was_recorded)
{
	struct rex_share *s;
	uint8_t recorded[REX_SHARED_BYTES] = {1}, here[REX_SHARED_BYTES] = {2},
		got[REX_SHARED_BYTES];
	struct rex_counts counts;

	ck_assert_int_eq(rex_share_open(-1, &s), 0);
	ck_assert_int_eq(rex_share_put(s, recorded, sizeof(recorded), here), 0);
	ck_assert_int_eq(rex_share_get(s, recorded, sizeof(recorded), got), 0);
	ck_assert_mem_eq(got, here, sizeof(got));
	rex_share_add_counts(s, &(struct rex_counts){.made = 3, .seeded = 1});
	rex_share_add_counts(s, &(struct rex_counts){.made = 4});
	rex_share_get_counts(s, &counts);
	ck_assert(counts.made == 7 && counts.seeded == 1);
}

TEST(processes_wait_for_calls_that_returned_before)
{
	struct rex_share *s;

	ck_assert_int_eq(rex_share_open(-1, &s), 0);
	ck_assert(rex_share_have_reached(s, 0, 1, 100));  /* it has no others */
	ck_assert(!rex_share_have_reached(s, 0, 2, 100)); /* 1 has not started */
	rex_share_set_progress(s, 1, 100);		  /* its next call returned at 100 */
	ck_assert(rex_share_have_reached(s, 0, 2, 99) && !rex_share_have_reached(s, 0, 2, 101));
	ck_assert(rex_share_have_reached(s, 0, 2, 100)); /* at one time, process 0 is first */
	rex_share_set_progress(s, 1, 50);		 /* published late by another thread */
	ck_assert(rex_share_have_reached(s, 0, 2, 99));
	rex_share_set_progress(s, 1, INT64_MAX);
	ck_assert(rex_share_have_reached(s, 0, 2, INT64_MAX - 1) &&
		  !rex_share_have_reached(s, 1, 2, 1));
	rex_share_set_progress(s, 0, 100);
	ck_assert(rex_share_have_reached(s, 1, 2, 99) && !rex_share_have_reached(s, 1, 2, 100));
}
