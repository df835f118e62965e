/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/raw/clock.h"
#include "tests/unit/test.h"

#include <time.h>

/* Models a 2.5 GHz counter against a clock that is slewed by up to 500 ppm and sampled with an
 * error of 100 ns. */
static int64_t true_ns(uint64_t ticks)
{
	double s = (double)(ticks - 1000000) / 2.5e9;

	return 5000 + (int64_t)(s * 1e9 * (1 + 100e-6)) + (int64_t)(s > 30 ? (s - 30) * 400e3 : 0);
}

TEST(times_ascend_and_stay_close)
{
	scoped(cap_clock_done) struct cap_clock c = {.first_ticks = 1000000,
						     .first_ns = true_ns(1000000)};
	uint64_t at = 1000000 + 50000000;
	int64_t last = INT64_MIN, worst = 0;

	ck_assert_int_eq(cap_clock_add(&c, at, true_ns(at) + 100), 0);
	for (int round = 0; round < 1000; round++) {
		int64_t early = cap_clock_ns(&c, at + 1);

		for (int i = 0; i < 100; i++) {
			int64_t ns, off;

			at += 2500000;
			ns = cap_clock_ns(&c, at);
			off = ns - true_ns(at);
			ck_assert_int_gt(ns, last);
			last = ns;
			if (round > 0 && labs(off) > worst)
				worst = labs(off);
		}
		ck_assert_int_eq(cap_clock_add(&c, at, true_ns(at) + (round % 3 - 1) * 100), 0);
		ck_assert_int_eq(cap_clock_ns(&c, at - 2500000 * 100 + 1), early);
	}
	/* After a step of 400 ppm the fitted line lags by at most the change in one second. */
	ck_assert_int_lt(worst, 500000);
	ck_assert_uint_eq(c.n, 1001);
}

TEST(the_clock_of_this_machine)
{
#ifdef __x86_64__
	struct cap_clock c;
	struct timespec t;

	if (!cap_clock_is_usable())
		return;
	ck_assert_int_eq(cap_clock_init(&c), 0);
	for (int i = 0; i < 3; i++) {
		uint64_t before, after;

		before = __builtin_ia32_rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __builtin_ia32_rdtsc();
		ck_assert_int_le(cap_clock_ns(&c, before),
				 (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + 1000000);
		ck_assert_int_ge(cap_clock_ns(&c, after),
				 (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - 1000000);
		ck_assert_int_eq(cap_clock_sample(&c), 0);
	}
	ck_assert_uint_le(c.n, 4);
	cap_clock_done(&c);
#endif
}
