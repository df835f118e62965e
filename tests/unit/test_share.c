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

TEST(values_that_no_process_announces_are_not_expected)
{
	struct rex_share *s;
	uint64_t recorded = 1, here = 2, other = 3, got;

	ck_assert_int_eq(rex_share_open(-1, &s), 0);
	ck_assert_int_eq(rex_share_announce(s, &recorded, sizeof(recorded)), 0);
	rex_share_end_announcements(s, 1);
	ck_assert_int_eq(rex_share_get(s, &other, sizeof(other), &got), -ENOENT);
	ck_assert_int_eq(rex_share_put(s, &recorded, sizeof(recorded), &here), 0);
	ck_assert_int_eq(rex_share_get(s, &recorded, sizeof(recorded), &got), 0);
	ck_assert_uint_eq(got, here);
}

TEST(processes_wait_for_calls_that_returned_before)
{
	struct rex_share *s;

	ck_assert_int_eq(rex_share_open(-1, &s), 0);
	ck_assert(!rex_share_has_reached(s, 1, 0, 100)); /* it has not started */
	rex_share_set_progress(s, 1, 100);		 /* its next call returned at 100 */
	ck_assert(rex_share_has_reached(s, 1, 0, 99) && !rex_share_has_reached(s, 1, 0, 101));
	ck_assert(rex_share_has_reached(s, 1, 0, 100)); /* at one time, process 0 is first */
	rex_share_set_progress(s, 1, 50);		/* published late by another thread */
	ck_assert(rex_share_has_reached(s, 1, 0, 99));
	rex_share_set_progress(s, 1, INT64_MAX);
	ck_assert(rex_share_has_reached(s, 1, 0, INT64_MAX - 1) &&
		  !rex_share_has_reached(s, 0, 1, 1));
	rex_share_set_progress(s, 0, 100);
	ck_assert(rex_share_has_reached(s, 0, 1, 99) && !rex_share_has_reached(s, 0, 1, 100));
}
