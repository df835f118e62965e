/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/json.h"

#include "tests/unit/test.h"

/* One row per way to write microseconds. */
static const struct {
	const char *text;
	int result;
	int64_t ns;
	int rounded;
} rows[] = {
	{"0", 0, 0, 0},
	{"1", 0, 1000, 0},
	{"0.001", 0, 1, 0},
	{"-1.5", 0, -1500, 0},
	{"4458676983423.243", 0, 4458676983423243, 0},
	{"1698957660989038", 0, 1698957660989038000, 0},
	{"1698957660989038.123", 0, 1698957660989038123, 0},
	{"1.5e3", 0, 1500000, 0},
	{"1E-3", 0, 1, 0},
	{"1e+2", 0, 100000, 0},
	{"10000e-7", 0, 1, 0},
	{"0.0005", 0, 0, 1},
	{"1.0000", 0, 1000, 0},
	{"1.0009", 0, 1000, 1},
	{"0.000000000000000000000000001", 0, 0, 1},
	{"9223372036854775.807", 0, INT64_MAX, 0},
	{"9223372036854775.808", -ERANGE, 0, 0},
	{"9223372036854776", -ERANGE, 0, 0},
	{"1e400", -ERANGE, 0, 0},
	{"1e-400", 0, 0, 1},
	{"0e99999999999", 0, 0, 0},
	{"", -EINVAL, 0, 0},
	{"-", -EINVAL, 0, 0},
	{"x", -EINVAL, 0, 0},
	{"1x", -EINVAL, 0, 0},
	{"1e", 0, 1000, 0},
};

TEST_ROWS(test_times_are_exact, rows)
{
	int64_t ns = 0;
	int rounded = 0;
	int r = kineto_time_ns(row->text, strlen(row->text), &ns, &rounded);

	ck_assert_msg(r == row->result, "%s: %d", row->text, r);
	ck_assert_msg(ns == row->ns, "%s: %lld", row->text, (long long)ns);
	ck_assert_msg(rounded == row->rounded, "%s", row->text);
}
