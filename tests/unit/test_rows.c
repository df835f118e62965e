/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/rows.h"
#include "tests/unit/test.h"

#define ROWS 1000u
#define MOST 20

/* Two kinds share their lowest bits. */
static uint32_t kind_of(uint32_t row)
{
	static const uint32_t kinds[] = {5, 5 + 64, 70000, 0};

	return kinds[row / 3 % 4];
}

static size_t length_of(uint32_t row)
{
	return kind_of(row) == 0 ? 0 : kind_of(row) == 5 ? 7 : MOST;
}

static int64_t value_of(uint32_t row, size_t i)
{
	if (i % 3 == 0)
		return INT64_MIN + (int64_t)i;
	if (i % 3 == 1)
		return row % 2 ? INT64_MAX : INT64_MIN;
	return (int64_t)row * 17 - 4000;
}

static void check_row(struct fmt_rows_reader *reader, uint32_t row)
{
	const int64_t *values;

	ck_assert_int_eq(fmt_rows_read(reader, row, &values), 0);
	for (size_t i = 0; i < length_of(row); i++)
		ck_assert_int_eq(values[i], value_of(row, i));
}

START_TEST(rows_come_back_in_any_order)
{
	struct fmt_rows rows = {0};
	struct fmt_rows_reader reader = {.rows = &rows};
	int64_t values[MOST];
	uint32_t number;

	for (uint32_t row = 0; row < ROWS; row++) {
		for (size_t i = 0; i < length_of(row); i++)
			values[i] = value_of(row, i);
		ck_assert_int_eq(fmt_rows_add(&rows, kind_of(row), values, length_of(row), &number),
				 0);
		ck_assert_uint_eq(number, row);
	}
	for (uint32_t row = 0; row < ROWS; row++)
		check_row(&reader, row);
	for (uint32_t row = ROWS; row-- > 0;)
		check_row(&reader, row);
	for (uint32_t row = 0; row < ROWS; row++)
		check_row(&reader, row * 389 % ROWS);
	fmt_rows_reader_done(&reader);
	fmt_rows_done(&rows);
}
END_TEST

START_TEST(repetition_takes_few_bytes)
{
	struct fmt_rows rows = {0};
	int64_t values[MOST] = {0};
	uint32_t number;

	for (size_t i = 0; i < MOST; i++)
		values[i] = INT64_MAX - (int64_t)i;
	for (uint32_t row = 0; row < 100000; row++) {
		/* beyond the largest value, too */
		values[3] = (int64_t)((uint64_t)values[3] + 4096);
		ck_assert_int_eq(fmt_rows_add(&rows, 7, values, MOST, &number), 0);
	}
	ck_assert_uint_le(rows.bytes.len, 100000 * 8);
	fmt_rows_done(&rows);
}
END_TEST

TESTS("rows", rows_come_back_in_any_order, repetition_takes_few_bytes)
