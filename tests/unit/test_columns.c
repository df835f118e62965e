/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/columns.h"

#include "base/array.h"
#include "base/scope.h"
#include "tests/unit/test.h"

TEST(test_columns_hold_any_integer)
{
	static const int64_t values[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1000000007, 1000000008};
	scoped(fmt_columns_out_done) struct fmt_columns_out out = {0};
	scoped(fmt_columns_done) struct fmt_columns in = {0};
	scoped(text_done) struct text raw = {0};
	struct fmt_column *c;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		fmt_columns_add(&out, 20, values[i]);
		fmt_columns_add(&out, 3, (int64_t)i);
		fmt_columns_add(&out, 2, 0);
		fmt_columns_add(&out, 19, 0);
	}
	ck_assert_int_eq(fmt_columns_put(&out, 8, &raw), 0);
	ck_assert_int_eq(fmt_columns_get(fmt_cursor(raw.data, raw.len), &in), 0);
	ck_assert_ptr_null(fmt_columns_find(&in, 2)); /* zeros below 8 are omitted */
	ck_assert_ptr_nonnull(fmt_columns_find(&in, 19));
	ck_assert_int_eq(fmt_columns_end(&in), -EBADMSG);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		ck_assert(fmt_column_next(fmt_columns_find(&in, 20)) == values[i]);
		ck_assert(fmt_column_next(fmt_columns_find(&in, 3)) == (int64_t)i);
		ck_assert(fmt_column_next(fmt_columns_find(&in, 19)) == 0);
	}
	ck_assert_int_eq(fmt_columns_end(&in), 0);
	c = fmt_columns_find(&in, 20);
	fmt_column_next(c);
	ck_assert_int_eq(c->in.bad, 1);
	ck_assert_int_eq(fmt_columns_end(&in), -EBADMSG);
}
