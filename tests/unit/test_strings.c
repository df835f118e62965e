/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/strings.h"

#include "base/scope.h"
#include "tests/unit/test.h"

#include <stdio.h>

TEST(test_each_text_once)
{
	scoped(fmt_strings_done) struct fmt_strings t = {0};
	uint32_t number;
	char text[64];

	ck_assert_int_eq(fmt_strings_init(&t), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 1000; i++) {
			int len = snprintf(text, sizeof(text), "%0*u", (int)(i % 40), i);

			ck_assert_uint_eq(fmt_strings_find(&t, text, (size_t)len), round ? i : 0);
			ck_assert_int_eq(fmt_strings_add(&t, text, (size_t)len, &number), 0);
			ck_assert_uint_eq(number, i);
			ck_assert_str_eq(t.strings[i].s, text);
			ck_assert(fmt_strings_is(&t, i, text, (size_t)len));
			ck_assert(!fmt_strings_is(&t, i - 1, text, (size_t)len));
		}
	ck_assert_uint_eq(t.n, 1001);
}

TEST(test_empty_string_is_0)
{
	scoped(fmt_strings_done) struct fmt_strings t = {0};
	uint32_t number = 7;

	ck_assert_int_eq(fmt_strings_init(&t), 0);
	ck_assert_int_eq(fmt_strings_add(&t, "", 0, &number), 0);
	ck_assert_uint_eq(number, 0);
	ck_assert_uint_eq(fmt_strings_find(&t, "", 0), 0);
	ck_assert_str_eq(t.strings[0].s, "");
}

TEST(test_texts_may_hold_nul)
{
	scoped(fmt_strings_done) struct fmt_strings t = {0};
	uint32_t a, b;

	ck_assert_int_eq(fmt_strings_init(&t), 0);
	ck_assert_int_eq(fmt_strings_add(&t, "x\0y", 3, &a), 0);
	ck_assert_int_eq(fmt_strings_add(&t, "x\0z", 3, &b), 0);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(fmt_strings_find(&t, "x", 1), 0);
}
