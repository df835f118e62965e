/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/capacity.h"

#include "tests/unit/test.h"

/* Operations that request capacity in turn; the expected start and end of each. */
struct ask {
	int64_t ready_ns, duration_ns;
	double part;
	int64_t start_ns, end_ns;
};

static const struct {
	const char *what;
	struct ask asks[5];
} cases[] = {
	{"one at a time", {{0, 10, 1, 0, 10}, {5, 10, 1, 10, 20}, {12, 3, 1, 20, 23}}},
	{"two halves at once", {{0, 10, 0.5, 0, 10}, {2, 10, 0.5, 2, 12}, {4, 3, 0.5, 10, 13}}},
	{"a large operation beside a small one", {{0, 10, 0.25, 0, 10}, {0, 30, 1, 0, 33}}},
	{"a small operation beside a large one", {{0, 10, 0.9, 0, 10}, {1, 4, 0.05, 1, 5}}},
	{"in the capacity that two others leave",
	 {{0, 10, 0.5, 0, 10}, {0, 5, 0.25, 0, 5}, {0, 9, 1, 0, 16}}},
	{"before one that starts later", {{100, 10, 1, 100, 110}, {0, 10, 1, 0, 10}}},
	{"before and after it", {{100, 10, 1, 100, 110}, {95, 10, 1, 95, 115}}},
	{"before it and beside it", {{100, 10, 0.5, 100, 110}, {95, 12, 1, 95, 112}}},
	{"between two", {{0, 10, 1, 0, 10}, {30, 10, 1, 30, 40}, {0, 20, 1, 10, 30}}},
	{"an operation without duration",
	 {{0, 10, 1, 0, 10}, {10, 0, 1, 10, 10}, {10, 5, 1, 10, 15}}},
	{"the same without free capacity", {{0, 10, 1, 0, 10}, {5, 0, 1, 10, 10}}},
	{"three thirds", {{0, 9, 1. / 3, 0, 9}, {0, 9, 1. / 3, 0, 9}, {0, 9, 1. / 3, 0, 10}}},
	{"not in capacity left by rounding",
	 {{0, 9, 1. / 3, 0, 9}, {0, 9, 2. / 3, 0, 10}, {1, 9, 1, 9, 19}}},
	{"more than the capacity counts as all of it", {{0, 10, 7, 0, 10}, {0, 10, 0, 10, 20}}},
	{"a very long operation", {{0, INT64_MAX / 2, 1, 0, INT64_MAX / 2}}},
};

TEST_ROWS(test_operations_take_free_capacity, cases)
{
	struct capacity r = {0};

	for (const struct ask *a = row->asks; a->end_ns; a++) {
		int64_t start = capacity_start(&r, a->ready_ns);
		int64_t end = capacity_reserve(&r, start, a->duration_ns, capacity_share(a->part));

		ck_assert_msg(start == a->start_ns && end == a->end_ns,
			      "%s: ask %d is from %ld to %ld, not %ld to %ld", row->what,
			      (int)(a - row->asks), (long)start, (long)end, (long)a->start_ns,
			      (long)a->end_ns);
	}
}

/* Steps are sorted, none uses more than the capacity, and the last uses nothing. */
static int is_sound(const struct capacity *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->steps[i].held > CAPACITY_WHOLE ||
		    (i > 0 && r->steps[i - 1].from_ns >= r->steps[i].from_ns))
			return 0;
	return r->n <= CAPACITY_STEPS && r->steps[r->n - 1].held == 0;
}

TEST(test_steps_stay_sorted)
{
	struct capacity r = {0};
	uint32_t seed = 1;

	for (int n = 0; n < 5000; n++) {
		int64_t at[3], end;

		for (int i = 0; i < 3; i++)
			at[i] = (seed = seed * 1103515245 + 12345) >> 16 & 1023;
		at[0] = capacity_start(&r, n * 300 + at[0]);
		end = capacity_reserve(&r, at[0], at[1], 1 + (uint32_t)at[2] * 64);
		if (end < at[0] + at[1] || !is_sound(&r))
			ck_abort_msg("after %d", n);
	}
}

/* A stream that has run ahead does not delay others. */
TEST(test_old_steps_are_forgotten)
{
	struct capacity r = {0};
	int64_t at = 0;

	for (int i = 0; i < 3 * CAPACITY_STEPS; i++, at += 20)
		ck_assert_int_eq(capacity_reserve(&r, capacity_start(&r, at), 10, CAPACITY_WHOLE),
				 at + 10);
	ck_assert_int_eq(capacity_start(&r, 5), 5);
	ck_assert_int_eq(capacity_start(&r, at - 20 + 5), at - 10);
}
