/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/drift.h"

#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)
#define OFFSET INT64_C(7000000000000)
#define UNCERTAIN 3000

/* Gain of the host's clock on the device's in ppm, before and after `turn_s`, and the largest
 * error allowed at any time and at the end. */
static const struct {
	const char *what;
	double ppm, then_ppm;
	int64_t turn_s, seconds;
	int64_t worst_ns, last_ns;
} clocks[] = {
	{"no drift", 0, 0, 0, 600, UNCERTAIN, UNCERTAIN},
	{"constant", 20, 20, 0, 600, 30000, 2 * UNCERTAIN},
	{"slower", -20, -20, 0, 600, 30000, 2 * UNCERTAIN},
	{"very small", 0.01, 0.01, 0, 600, 4 * UNCERTAIN, 3 * UNCERTAIN},
	{"changing", 5, -5, 300, 600, 30000, 3 * UNCERTAIN},
	{"very large", 2000, 2000, 0, 60, 2100000, 3 * UNCERTAIN},
};

static int64_t truth(size_t i, int64_t device_ns)
{
	int64_t turn_ns = clocks[i].turn_s * SECOND;
	double drift = device_ns < turn_ns
			       ? (double)device_ns * clocks[i].ppm
			       : (double)turn_ns * clocks[i].ppm +
					 (double)(device_ns - turn_ns) * clocks[i].then_ppm;

	return OFFSET + device_ns + (int64_t)(drift / 1e6);
}

/* Deterministic noise within the known error. */
static int64_t noise(int64_t n)
{
	return (int64_t)((uint64_t)n * 2654435761u % (2 * UNCERTAIN)) - UNCERTAIN;
}

/* Queries times between two anchors: earlier answers stay valid, and time is monotonic. */
static void check_between_anchors(size_t i, const struct cap_drift *d, int64_t from_ns,
				  int64_t *told, int64_t *last, int64_t *worst)
{
	if (*told)
		ck_assert_int_eq(cap_drift_to_host(d, from_ns), *told);
	for (int64_t t = from_ns; t <= from_ns + SECOND; t += SECOND / 2) {
		int64_t host_ns = cap_drift_to_host(d, t);

		ck_assert_int_ge(host_ns, *told);
		ck_assert_int_le(llabs(cap_drift_to_device(d, host_ns) - t), 1);
		*told = host_ns;
		*last = llabs(host_ns - truth(i, t));
		*worst = *last > *worst ? *last : *worst;
	}
}

static void follow(size_t i)
{
	int64_t told = 0, last = 0, worst = 0;
	struct cap_drift d;

	cap_drift_begin(&d, 0, OFFSET, UNCERTAIN);
	for (int64_t s = 1; s < clocks[i].seconds; s++) {
		int64_t at = s * SECOND, used = at - SECOND / 10;

		cap_drift_anchor(&d, at, truth(i, at) + noise(s), UNCERTAIN, used);
		check_between_anchors(i, &d, used, &told, &last, &worst);
	}
	ck_assert_msg(worst <= clocks[i].worst_ns, "%s: %ld ns off", clocks[i].what, (long)worst);
	ck_assert_msg(last <= clocks[i].last_ns, "%s: %ld ns off in the end", clocks[i].what,
		      (long)last);
	ck_assert_msg(d.residual_ns >= worst, "%s: %ld ns off, %ld said", clocks[i].what,
		      (long)worst, (long)d.residual_ns);
}

TEST(test_estimate_follows_the_clock)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		follow(i);
}

/* No anchor for a minute: times in between lie on the line between the anchors. */
TEST(test_a_missing_anchor)
{
	struct cap_drift d;

	cap_drift_begin(&d, 0, OFFSET, UNCERTAIN);
	cap_drift_anchor(&d, 60 * SECOND, OFFSET + 60 * SECOND + 6000000, UNCERTAIN, 0);
	for (int64_t s = 0; s <= 60; s++)
		ck_assert_int_le(
			llabs(cap_drift_to_host(&d, s * SECOND) - OFFSET - s * SECOND - s * 100000),
			UNCERTAIN);
	ck_assert_int_eq(d.residual_ns, UNCERTAIN);
}

/* A delayed anchor has a large error and must not spoil the estimate. */
TEST(test_a_delayed_anchor)
{
	struct cap_drift d;

	cap_drift_begin(&d, 0, OFFSET, UNCERTAIN);
	cap_drift_anchor(&d, SECOND, OFFSET + SECOND + 900 * UNCERTAIN, 1000 * UNCERTAIN,
			 SECOND / 2);
	ck_assert_int_eq(d.residual_ns, UNCERTAIN);
	ck_assert_int_eq(cap_drift_to_host(&d, 2 * SECOND), OFFSET + 2 * SECOND);
}

/* The host's clock stood still, or an anchor is repeated. */
TEST(test_repeated_and_stopped_clocks)
{
	struct cap_drift d;

	cap_drift_begin(&d, 0, OFFSET, UNCERTAIN);
	cap_drift_anchor(&d, 10 * SECOND, OFFSET + SECOND, UNCERTAIN, 10 * SECOND);
	cap_drift_anchor(&d, 10 * SECOND, OFFSET, UNCERTAIN, 11 * SECOND);
	for (int64_t s = 1; s < 20; s++)
		ck_assert_int_gt(cap_drift_to_host(&d, s * SECOND),
				 cap_drift_to_host(&d, (s - 1) * SECOND));
}
