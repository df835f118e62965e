/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/constants.h"

#include "tests/unit/test.h"

#include "base/scope.h"

#include <string.h>

TEST(test_round_trip)
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
	{"{\"gaps_ns\":[1,[0,1,2]],\"copy_ns\":3,\"launch_ns\":7}", 7, 3, 2},
};

TEST_ROWS(test_strange_facts, rows)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	struct fmt_constants got;
	fmt_str s;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_constants_get(names, 0, &got), 0);
	ck_assert_int_eq(got.copy_ns, 15000);
	ck_assert_int_eq(fmt_names_string(names, row->text, strlen(row->text), &s), 0);
	ck_assert_int_eq(fmt_names_fact(names, 0, "gputrace.emulation", s), 0);
	ck_assert_int_eq(fmt_constants_get(names, 0, &got), 1);
	ck_assert_int_eq(got.launch_ns, row->launch_ns);
	ck_assert_int_eq(got.copy_ns, row->copy_ns);
	ck_assert_int_eq(got.gap_ns[0][1], row->gap_ns);
}

static const struct {
	const char *text; /* NULL: the fact is missing */
	int64_t want[3];
} gap_rows[] = {
	{NULL, {0, 0, 0}},	    {"[]", {0, 0, 0}},	      {"[7,0,-8]", {7, 0, -8}},
	{"[0, 7,0,9,9", {0, 7, 0}}, {"{\"0\":7}", {0, 0, 0}}, {"[5", {5, 0, 0}},
};

TEST_ROWS(test_gaps_of_templates, gap_rows)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	const char *text = row->text;
	scoped(fmt_template_gaps_done) struct fmt_template_gaps got;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_template_gaps_init(&got, 3), 0);
	if (text)
		ck_assert_int_eq(fmt_names_fact_json(names, FMT_WHOLE_TRACE, "gputrace.gaps", text,
						     strlen(text)),
				 0);
	fmt_template_gaps_get(names, &got);
	for (uint32_t k = 0; k < 4; k++)
		ck_assert_int_eq(fmt_template_gap(&got, k), k < 3 ? row->want[k] : 0);
	ck_assert_int_eq(fmt_template_gaps_put(names, &got), 0);
	memset(got.ns, 0, 3 * sizeof(*got.ns));
	fmt_template_gaps_get(names, &got);
	ck_assert_int_eq(memcmp(got.ns, row->want, sizeof(row->want)), 0);
}
