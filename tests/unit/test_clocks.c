/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "formats/raw/clock.h"
#include "formats/run/clocks.h"
#include "tests/unit/test.h"

#include <stdlib.h>

#define SECOND INT64_C(1000000000)
#define US 1000
#define MOMENTS 600

/* Deterministic noise of a few microseconds, sometimes of a millisecond. */
static int64_t noise(uint32_t clock, uint64_t moment)
{
	uint64_t h = (moment * 16 + clock + 1) * 0x9e3779b97f4a7c15u;

	h ^= h >> 29;
	return moment % 37 == 5 && clock > 0 ? 1000 * US : (int64_t)(h % (8 * US)) - 4 * US;
}

/* The clock of a host as a function of true time. */
struct host {
	int64_t offset_ns;
	double drift;
};

static int64_t host_clock_ns(const struct host *h, int64_t real_ns)
{
	return real_ns + h->offset_ns + (int64_t)(h->drift * (double)real_ns);
}

static int64_t real_of(uint64_t moment)
{
	return 5 * SECOND + (int64_t)moment * SECOND / 10;
}

static size_t take_samples(const struct host *hosts, uint32_t n_hosts, uint64_t moments,
			   struct fmt_clock_sample *s)
{
	size_t n = 0;

	for (uint64_t m = 0; m < moments; m++)
		for (uint32_t i = 0; i < n_hosts; i++)
			s[n++] = (struct fmt_clock_sample){
				m, host_clock_ns(&hosts[i], real_of(m)) + noise(i, m), i};
	return n;
}

static const struct host hosts[] = {
	{0, 0},
	{-37 * SECOND, 30e-6},
	{1700000000 * SECOND, -80e-6},
	{12345, 0},
};

TEST(offsets_and_drifts_are_found)
{
	static struct fmt_clock_sample s[MOMENTS * 4];
	struct fmt_clock clocks[4] = {0};
	struct fmt_clocks_error error;
	size_t n = take_samples(hosts, 4, MOMENTS, s);

	ck_assert_int_eq(fmt_clocks_align(s, n, true, clocks, 4), 0);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert(clocks[i].known);
		for (uint64_t m = 0; m < MOMENTS; m++) {
			int64_t at = fmt_clock_ns(&clocks[i], host_clock_ns(&hosts[i], real_of(m)));

			ck_assert_int_le(llabs(at - real_of(m)), 4 * US);
		}
	}
	ck_assert_double_eq_tol(clocks[1].drift, hosts[1].drift, 2e-7);
	ck_assert_double_eq_tol(clocks[2].drift, hosts[2].drift, 2e-7);
	ck_assert_int_eq(fmt_clocks_error(s, n, clocks, &error), 0);
	ck_assert_uint_eq(error.moments, MOMENTS);
	ck_assert_int_lt(error.p50_ns, 9 * US);
	ck_assert_int_lt(error.p95_ns, 12 * US);
	ck_assert_int_gt(error.max_ns, 990 * US);
}

/* Fits a constant offset if drift is disabled or does not improve the fit. */
TEST(constant_offsets)
{
	static struct fmt_clock_sample s[MOMENTS * 4];
	struct fmt_clock clocks[4] = {0};

	take_samples(hosts, 4, MOMENTS, s);
	ck_assert_int_eq(fmt_clocks_align(s, MOMENTS * 4, false, clocks, 4), 0);
	ck_assert(clocks[1].drift == 0 && clocks[2].drift == 0);
	ck_assert_int_eq(fmt_clocks_align(s, MOMENTS * 4, true, clocks, 4), 0);
	ck_assert(clocks[3].drift == 0);
	ck_assert_int_le(llabs(clocks[3].ahead_ns - 12345), US);
}

/* Too few samples for a line: uses the median. */
TEST(few_moments)
{
	struct fmt_clock_sample s[3 * 2];
	struct fmt_clock clocks[2] = {0};

	for (uint64_t n = 1; n <= 3; n++) {
		take_samples(hosts, 2, n, s);
		ck_assert_int_eq(fmt_clocks_align(s, n * 2, true, clocks, 2), 0);
		ck_assert(clocks[1].known && clocks[1].drift == 0);
		ck_assert_int_le(llabs(clocks[1].ahead_ns + 37 * SECOND), 200 * US);
	}
}

/* The differences form two groups, up to 8 us apart. The result is their mean of 4 us, without the
 * outlier of 900 us. */
TEST(the_mean_of_near_differences)
{
	static const int64_t off_us[] = {0, 0, 1, 1, 1, 2, 8, 8, 8, 8, 7, 900};
	struct fmt_clock_sample s[2 * ARRAY_SIZE(off_us)];
	struct fmt_clock clocks[2] = {0};

	for (uint64_t i = 0; i < ARRAY_SIZE(off_us); i++) {
		s[2 * i] = (struct fmt_clock_sample){i, (int64_t)i * 10000 * US, 0};
		s[2 * i + 1] = (struct fmt_clock_sample){
			i, (int64_t)i * 10000 * US + SECOND + off_us[i] * US, 1};
	}
	ck_assert_int_eq(fmt_clocks_align(s, ARRAY_SIZE(s), false, clocks, 2), 0);
	ck_assert_int_le(llabs(clocks[1].ahead_ns - (SECOND + 4 * US)), US / 2);
}

/* Clock 1 has samples with 2 only, and 3 has none: both keep their guesses, and 2 follows the guess
 * of 1. */
TEST(unconnected_clocks_keep_their_guess)
{
	struct fmt_clock_sample s[] = {
		{7, 100, 1}, {7, 350, 2}, {8, 1100, 1}, {8, 1350, 2}, {9, 5, 3}};
	struct fmt_clock clocks[4] = {{0}, {.ahead_ns = 40}, {.ahead_ns = 9}, {.ahead_ns = -3}};
	struct fmt_clocks_error error;

	ck_assert_int_eq(fmt_clocks_align(s, ARRAY_SIZE(s), true, clocks, 4), 0);
	ck_assert_int_eq(clocks[1].ahead_ns, 40);
	ck_assert_int_eq(clocks[2].ahead_ns, 290);
	ck_assert_int_eq(clocks[3].ahead_ns, -3);
	ck_assert(clocks[0].known && !clocks[1].known && !clocks[2].known && !clocks[3].known);
	ck_assert_int_eq(fmt_clocks_error(s, ARRAY_SIZE(s), clocks, &error), 0);
	ck_assert_uint_eq(error.moments, 2);
	ck_assert_int_eq(error.max_ns, 0);
	ck_assert_int_eq(fmt_clocks_align(NULL, 0, true, clocks, 4), 0);
	ck_assert_int_eq(fmt_clocks_error(NULL, 0, clocks, &error), 0);
	ck_assert_uint_eq(error.moments, 0);
}

/* A correction for drift saturates at the range of int64. */
TEST(corrections_saturate)
{
	static const struct {
		double drift;
		int64_t at_ns, want_ns;
	} rows[] = {
		{4, INT64_MAX, 0},
		{-4, INT64_MAX, -1},
		{1e300, 1, 1 - INT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct fmt_clock c = {.drift = rows[i].drift};

		ck_assert_int_eq(fmt_clock_ns(&c, rows[i].at_ns), rows[i].want_ns);
	}
}

/* Clocks without common samples are aligned through a third one. Of several readings of one sample,
 * the last counts. */
TEST(clocks_are_aligned_through_a_third)
{
	struct fmt_clock_sample s[] = {
		{1, 1000, 2}, {1, 400, 1}, {2, 500, 0}, {2, 700, 1}, {2, 650, 1}};
	struct fmt_clock clocks[3] = {0};

	ck_assert_int_eq(fmt_clocks_align(s, ARRAY_SIZE(s), true, clocks, 3), 0);
	ck_assert_int_eq(clocks[1].ahead_ns, 200);
	ck_assert_int_eq(clocks[2].ahead_ns, 800);
	ck_assert_int_eq(fmt_clock_ns(&clocks[2], 1000), 200);
	ck_assert(clocks[2].known);
}

/* Alignment is monotonic: a later time never becomes an earlier one. */
TEST(order_is_kept)
{
	static const double drifts[] = {-9e-4, 9e-4, 3e-5};

	for (size_t i = 0; i < ARRAY_SIZE(drifts); i++) {
		struct fmt_clock c = {.at_ns = 1000, .ahead_ns = 77, .drift = drifts[i]};

		for (int64_t at = -5000; at < 5000; at++)
			ck_assert_int_le(fmt_clock_ns(&c, at), fmt_clock_ns(&c, at + 1));
	}
}

/* Two recorders with counters of different rates and different origins, as on two hosts. */
TEST(counters_of_two_hosts)
{
	static const struct {
		double ghz;
		uint64_t began;
		int64_t offset_ns;
	} tsc[] = {{2.1, 1000, 0}, {3.0003, UINT64_C(77) << 40, -91 * SECOND}};
	static struct fmt_clock_sample s[2 * 100];
	struct cap_clock clocks[2] = {0};
	struct fmt_clock aligned[2] = {0};
	struct fmt_clocks_error error;
	size_t n = 0;

	for (int h = 0; h < 2; h++) {
		clocks[h].first_ticks = tsc[h].began;
		clocks[h].first_ns = tsc[h].offset_ns;
		for (int64_t at = SECOND / 4; at <= 20 * SECOND; at += SECOND / 2)
			ck_assert_int_eq(
				cap_clock_add(&clocks[h],
					      tsc[h].began + (uint64_t)((double)at * tsc[h].ghz),
					      at + tsc[h].offset_ns + (at / SECOND % 3 - 1) * 100),
				0);
		for (uint64_t m = 0; m < 100; m++) {
			int64_t real = SECOND + (int64_t)m * SECOND / 7;
			uint64_t ticks = tsc[h].began + (uint64_t)((double)real * tsc[h].ghz);

			s[n++] = (struct fmt_clock_sample){m, cap_clock_ns(&clocks[h], ticks),
							   (uint32_t)h};
		}
	}
	ck_assert_int_eq(fmt_clocks_align(s, n, true, aligned, 2), 0);
	ck_assert_int_le(llabs(aligned[1].ahead_ns + 91 * SECOND), US);
	ck_assert_int_eq(fmt_clocks_error(s, n, aligned, &error), 0);
	ck_assert_int_lt(error.max_ns, US);
	for (int h = 0; h < 2; h++)
		cap_clock_done(&clocks[h]);
}
