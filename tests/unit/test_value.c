/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/value.h"

#include "base/array.h"
#include "tests/unit/test.h"

/* A rate is printed with the fewest digits, at least 15, that restore the number. */
static void check_rate(int64_t bytes, int64_t ns)
{
	char made[FMT_RATE_TEXT], want[FMT_RATE_TEXT];
	double rate = ns > 0 ? (double)bytes / (double)ns : 0;
	int digits = 15, n = fmt_rate_text(bytes, ns, made);

	do
		snprintf(want, sizeof(want), "%.*g", digits, rate);
	while (strtod(want, NULL) != rate && digits++ < 17);
	ck_assert_str_eq(made, want);
	ck_assert_uint_eq((size_t)n, strlen(want));
}

TEST(test_rates_have_the_fewest_digits_that_restore_them)
{
	static const int64_t edges[] = {0,
					1,
					-1,
					2,
					3,
					10,
					1000,
					999999999999999,
					1000000000000000,
					9007199254740993,
					INT64_MAX,
					INT64_MIN};
	uint64_t x = 1;

	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		for (size_t k = 0; k < ARRAY_SIZE(edges); k++)
			check_rate(edges[i], edges[k]);
	for (int i = 0; i < 10000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		check_rate((int64_t)(x >> 20 >> x % 43), (int64_t)(x >> 30 & 0xffffff) + 1);
	}
}

TEST(test_dimensions_are_three_numbers)
{
	static const struct {
		const char *text;
		uint32_t want[3];
	} rows[] = {
		{"[8,2,1]", {8, 2, 1}},	   {"[544, 65535, 2147483647]", {544, 65535, 2147483647}},
		{"[1,2]", {0, 0, 0}},	   {"8,2,1", {0, 0, 0}},
		{"[a, 2, 1]", {0, 0, 0}},  {"", {0, 0, 0}},
		{"[8, -5, 1]", {0, 0, 0}}, {"[+8, 2, 1]", {0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t dims[3] = {9, 9, 9};

		fmt_value_dims(rows[i].text, dims);
		for (int k = 0; k < 3; k++)
			ck_assert_msg(dims[k] == rows[i].want[k], "%s: %u", rows[i].text, dims[k]);
	}
}
