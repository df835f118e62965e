/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/busy.h"

#include "tests/unit/test.h"

#include "base/array.h"
#include "base/scope.h"

/* Operations {start, end, is a collective}, and how the time is divided. */
static const struct {
	const char *what;
	int64_t ops[6][3];
	size_t n;
	struct fmt_busy want;
} rows[] = {
	{"nothing", {{0}}, 0, {0}},
	{"one kernel", {{5, 9, 0}}, 1, {5, 9, 4, 4, 0, 0, 0}},
	{"one collective", {{5, 9, 1}}, 1, {5, 9, 4, 0, 4, 0, 0}},
	{"a gap", {{0, 2, 0}, {5, 6, 0}}, 2, {0, 6, 6, 3, 0, 0, 3}},
	{"half hidden", {{0, 10, 0}, {5, 15, 1}}, 2, {0, 15, 15, 10, 5, 5, 0}},
	{"a gap in the kernels that hide a collective",
	 {{0, 4, 0}, {6, 8, 0}, {2, 10, 1}},
	 3,
	 {0, 10, 10, 6, 4, 4, 0}},
	{"overlapping kernels", {{0, 4, 0}, {1, 3, 0}, {2, 6, 0}}, 3, {0, 6, 6, 6, 0, 0, 0}},
	{"out of order", {{8, 9, 0}, {0, 4, 0}, {2, 3, 1}, {1, 6, 1}}, 4, {0, 9, 9, 5, 2, 3, 2}},
	{"an end before its start", {{4, 1, 0}, {6, 7, 1}}, 2, {4, 7, 3, 0, 1, 0, 2}},
	{"the last operation has no duration", {{0, 1, 0}, {7, 7, 0}}, 2, {0, 7, 7, 1, 0, 0, 6}},
};

/* Divides the time from the first start to the last end. */
static int divide(struct fmt_busy_ops *ops, struct fmt_busy *ret)
{
	struct fmt_busy_span span = fmt_busy_span(ops, 0);

	return fmt_busy_divide(ops, &span, ret);
}

TEST_ROWS(test_division, rows)
{
	scoped(fmt_busy_ops_done) struct fmt_busy_ops ops = {0};
	struct fmt_busy got;

	for (size_t k = 0; k < row->n; k++)
		ck_assert_int_eq(
			fmt_busy_add(&ops, row->ops[k][0], row->ops[k][1], (int)row->ops[k][2]), 0);
	ck_assert_int_eq(divide(&ops, &got), 0);
	ck_assert_msg(memcmp(&got, &row->want, sizeof(got)) == 0, "%s", row->what);
}

/* Counts the nanoseconds from `start` to `end` by what ran in each: nothing (0), a kernel (1), a
 * collective (2), or both (3). */
static struct fmt_busy count(const uint8_t *seen, int64_t start, int64_t end)
{
	struct fmt_busy b = {.start_ns = start, .end_ns = end, .device_ns = end - start};

	for (int64_t t = start; t < end; t++) {
		b.compute_ns += seen[t] & 1;
		b.exposed_ns += seen[t] == 2;
		b.hidden_ns += seen[t] == 3;
		b.idle_ns += seen[t] == 0;
	}
	return b;
}

TEST(test_times_at_the_ends_of_the_scale)
{
	scoped(fmt_busy_ops_done) struct fmt_busy_ops ops = {0};
	struct fmt_busy got;

	ck_assert_int_eq(fmt_busy_add(&ops, INT64_MIN, INT64_MAX, 0), 0);
	ck_assert_int_eq(fmt_busy_add(&ops, INT64_MAX, INT64_MAX, 1), 0);
	ck_assert_int_eq(divide(&ops, &got), 0);
	ck_assert_int_gt(got.device_ns, 0);
}

/* Iterations that overlap: each row counts the operations of all iterations within its span. */
TEST(test_overlapping_iterations)
{
	/* {iteration, start, end, collective}: 0 overlaps 1, 2 begins during 1, and 3 is
	 * separate. */
	static const int64_t ops[][4] = {
		{0, 0, 10, 0},	{0, 10, 40, 1}, {1, 20, 30, 0},	  {1, 50, 60, 0},
		{2, 45, 55, 0}, {2, 70, 80, 1}, {3, 100, 110, 0},
	};
	static const struct fmt_busy want[] = {
		{0, 40, 40, 20, 20, 10, 0}, /* iteration 1 runs in it from 20 to 30 */
		/* the collective of iteration 0 until 40, the kernel of 2 from 45 */
		{20, 60, 40, 25, 10, 10, 5},
		{45, 80, 35, 15, 10, 0, 10},
		{100, 110, 10, 10, 0, 0, 0},
	};
	static const struct fmt_busy whole = {0, 110, 110, 45, 30, 10, 35};
	scoped(fmt_busy_run_done) struct fmt_busy_run run = {0};

	for (int64_t i = 0, k = 0; i < 4; i++) {
		ck_assert_int_eq(fmt_busy_run_begin(&run, ops[k][1]), 0);
		for (; k < (int64_t)ARRAY_SIZE(ops) && ops[k][0] == i; k++)
			ck_assert_int_eq(
				fmt_busy_add(&run.ops, ops[k][1], ops[k][2], (int)ops[k][3]), 0);
	}
	ck_assert_int_eq(fmt_busy_run_end(&run), 0);
	ck_assert_uint_eq(run.n_rows, 4);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_msg(memcmp(&run.rows[i], &want[i], sizeof(*want)) == 0, "row %zu", i);
	ck_assert_int_eq(memcmp(&run.whole, &whole, sizeof(whole)), 0);
	ck_assert_uint_eq(run.ops.n, 0);
}

/* Compares rows of many iterations and the total with a count of single nanoseconds. Operations
 * that no later row needs are dropped on the way. */
TEST(test_rows_against_counting)
{
	enum { ROWS = 200, OPS = 10, LENGTH = 100 };
	static uint8_t seen[(ROWS + 5) * LENGTH];
	static int64_t spans[ROWS][2];
	scoped(fmt_busy_run_done) struct fmt_busy_run run = {0};
	size_t most = 0;
	uint32_t random = 1;

	for (int i = 0; i < ROWS; i++) {
		ck_assert_int_eq(fmt_busy_run_begin(&run, i * LENGTH), 0);
		spans[i][0] = INT64_MAX;
		for (int k = 0; k < OPS; k++) {
			random = random * 1664525 + 1013904223;
			int start = i * LENGTH + (int)((random >> 8) % (3 * LENGTH));
			int length = (int)(random >> 24) % 40;

			ck_assert_int_eq(fmt_busy_add(&run.ops, start, start + length, k % 3 == 0),
					 0);
			for (int t = start; t < start + length; t++)
				seen[t] |= k % 3 == 0 ? 2 : 1;
			spans[i][0] = start < spans[i][0] ? start : spans[i][0];
			spans[i][1] = start + length > spans[i][1] ? start + length : spans[i][1];
		}
		most = run.ops.n > most ? run.ops.n : most;
	}
	ck_assert_int_eq(fmt_busy_run_end(&run), 0);
	ck_assert_uint_le(most, 8 * OPS);
	for (int i = 0; i <= ROWS; i++) {
		const struct fmt_busy *got = i < ROWS ? &run.rows[i] : &run.whole;
		struct fmt_busy want = count(seen, got->start_ns, got->end_ns);

		if (i < ROWS) {
			ck_assert_int_eq(got->start_ns, spans[i][0]);
			ck_assert_int_eq(got->end_ns, spans[i][1]);
		}
		ck_assert_msg(memcmp(got, &want, sizeof(want)) == 0, "row %d", i);
	}
}
