/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/infer/constants.h"

#include "tests/unit/test.h"

#include "base/scope.h"

#include <string.h>

START_TEST(test_round_trip)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	struct fmt_constants put = {.anchor_ns = 1698955628331009000,
				    .clock_ns = -70123,
				    .launch_ns = -17500,
				    .from_start = 1,
				    .copy_ns = 5,
				    .event_ns = 3000,
				    .gap_ns = {{1, 2, 3, 4},
					       {5, 6, 7, 8},
					       {-9, 10},
					       [FMT_GAP_MEMSET] = {[FMT_GAP_MEMSET] = 13}},
				    .unexplained = 12};
	struct fmt_constants got;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_constants_put(names, 3, &put), 0);
	ck_assert_int_eq(fmt_constants_get(names, 3, &got), 1);
	ck_assert_int_eq(memcmp(&put, &got, sizeof(put)), 0);
}
END_TEST

static const struct {
	const char *text;
	int64_t launch_ns, copy_ns, gap_ns; /* gap_ns[0][1] */
} rows[] = {
	{"{}", 0, 15000, 0},
	{"{\"launch_ns\":7}", 7, 15000, 0},
	{"{\"launch_ns\":\"x\",\"gaps_ns\":[1,[0,1,2]]}", 0, 15000, 2},
	{"{\"gaps_ns\":[1", 0, 15000, 1},
	{"{\"gaps_ns\":[1,[9,1,7],[0,-1,7],[0,1", 0, 15000, 1},
	{"{\"copy_ns\":99999999999999999999999}", 0, INT64_MAX / 4, 0},
	{"[]", 0, 15000, 0},
};

START_TEST(test_strange_facts)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		scoped(fmt_names_freep) struct fmt_names *names = NULL;
		struct fmt_constants got;
		fmt_str s;

		ck_assert_int_eq(fmt_names_new(&names), 0);
		ck_assert_int_eq(fmt_constants_get(names, 0, &got), 0);
		ck_assert_int_eq(got.copy_ns, 15000);
		ck_assert_int_eq(fmt_names_string(names, rows[i].text, strlen(rows[i].text), &s),
				 0);
		ck_assert_int_eq(fmt_names_fact(names, 0, "gputrace.emulation", s), 0);
		ck_assert_int_eq(fmt_constants_get(names, 0, &got), 1);
		ck_assert_int_eq(got.launch_ns, rows[i].launch_ns);
		ck_assert_int_eq(got.copy_ns, rows[i].copy_ns);
		ck_assert_int_eq(got.gap_ns[0][1], rows[i].gap_ns);
	}
}
END_TEST

TESTS("constants", test_round_trip, test_strange_facts)
