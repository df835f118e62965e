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
