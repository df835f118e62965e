/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/array.h"
#include "base/scope.h"

#include "tests/unit/test.h"

static const struct {
	int64_t ns;
	const char *want;
} us[] = {
	{0, "0.000"},
	{1, "0.001"},
	{999, "0.999"},
	{1000, "1.000"},
	{1698957660982811000, "1698957660982811.000"},
	{-1500, "-1.500"},
	{INT64_MAX, "9223372036854775.807"},
	{INT64_MIN, "-9223372036854775.808"},
};

TEST_ROWS(test_microseconds, us)
{
	scoped(text_done) struct text t = {0};

	text_end(&t, text_put_us(text_reserve(&t, TEXT_NUMBER), row->ns));
	text_char(&t, 0);
	ck_assert_int_eq(t.error, 0);
	ck_assert_str_eq(t.data, row->want);
}

TEST(test_integers)
{
	static const int64_t values[] = {0,  9,	    10,	       99,	  100,
					 -1, 12345, INT32_MIN, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		scoped(text_done) struct text t = {0};
		char want[32];

		snprintf(want, sizeof(want), "%lld", (long long)values[i]);
		text_i64(&t, values[i]);
		text_char(&t, 0);
		ck_assert_str_eq(t.data, want);
	}
}

static int count(struct text *t)
{
	*(uint64_t *)t->context += t->len;
	return 0;
}

TEST(test_flushing_keeps_the_buffer_small)
{
	uint64_t seen = 0;
	scoped(text_done) struct text t = {.limit = 4096, .flush = count, .context = &seen};

	for (int i = 0; i < 100000; i++)
		text_printf(&t, "%d\n", i);
	ck_assert_int_eq(text_flush(&t), 0);
	ck_assert_uint_eq(seen, 588890);
	ck_assert_uint_eq(t.flushed, seen);
	ck_assert_uint_lt(t.cap, 16384);
}

static int refuse(struct text *t)
{
	return -ENOSPC;
}

TEST(test_a_flush_error_is_sticky)
{
	scoped(text_done) struct text t = {.limit = 1, .flush = refuse};

	text_str(&t, "one");
	text_str(&t, "two");
	text_str(&t, "three");
	ck_assert_int_eq(text_flush(&t), -ENOSPC);
}

/* Rounds like printf: the exact binary value, ties to even. */
TEST(test_fixed_is_as_printf)
{
	static const double some[] = {0,     0.5,   1.5,    2.125,   2.135, 0.9995, 99.95,
				      9.995, 1e8,   -0.25,  -7,	     1e300, 2.5,    0.0005,
				      0.25,  0.125, 1.0625, 123.456, 4e9,   1e-9,   999999.9995};
	double v = 1e-4;

	for (size_t i = 0; i < 3000; i++, v *= 1.0111) {
		double shown = i < ARRAY_SIZE(some) ? some[i] : v;

		for (unsigned d = 0; d <= 3; d++) {
			scoped(text_done) struct text t = {0};
			char right[400];

			snprintf(right, sizeof(right), "%.*f", (int)d, shown);
			text_fixed(&t, shown, d);
			text_char(&t, 0);
			ck_assert_str_eq(t.data, right);
		}
	}
}

TEST(test_printf_of_any_length)
{
	scoped(text_done) struct text t = {0};
	char long_one[1000];

	memset(long_one, 'x', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = 0;
	text_printf(&t, "%s", "");
	text_printf(&t, "%d%s.", 7, long_one);
	text_printf(&t, "%s", "end");
	ck_assert_uint_eq(t.len, 1 + 999 + 1 + 3);
	ck_assert_mem_eq(t.data + t.len - 5, "x.end", 5);
}

/* Digits are produced eight at a time: tests every length, with nines, zeros and random digits. */
TEST(test_digits)
{
	uint64_t seed = 1;

	for (int i = 0; i < 200000; i++) {
		char got[TEXT_NUMBER], want[32];
		uint64_t v;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v = (seed ^ seed >> 29) >> i % 64;
		v = i % 5 == 1 ? v / 10000 * 10000 : i % 5 == 2 ? v / 100000000 * 100000000 - 1 : v;
		snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
		ck_assert_ptr_eq(text_put_u64(got, v), got + strlen(want));
		ck_assert_mem_eq(got, want, strlen(want));
	}
}
