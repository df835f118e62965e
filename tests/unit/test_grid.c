/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/grid.h"

#include "base/scope.h"
#include "tests/unit/test.h"

static const struct {
	char form; /* c: count, t: time, s: size */
	int64_t v;
	const char *want;
} numbers[] = {
	{'c', 0, "0"},
	{'c', 999, "999"},
	{'c', 1000, "1,000"},
	{'c', 1234567, "1,234,567"},
	{'c', -1, "18,446,744,073,709,551,615"},
	{'t', 0, "0 ns"},
	{'t', 999, "999 ns"},
	{'t', 1000, "1.00 us"},
	{'t', 12345, "12.3 us"},
	{'t', 999499, "999 us"},
	{'t', 999500, "1.00 ms"},
	{'t', 1234567890, "1.23 s"},
	{'t', 3600000000000, "3600 s"},
	{'t', -1500, "-1.50 us"},
	{'t', INT64_MIN, "-9223372037 s"},
	{'s', 1, "1 B"},
	{'s', 4096, "4.10 kB"},
	{'s', INT64_MAX, "9.22 EB"},
};

TEST_ROWS(test_numbers, numbers)
{
	struct fmt_number_text t = row->form == 'c'   ? fmt_commas((uint64_t)row->v)
				   : row->form == 't' ? fmt_time(row->v)
						      : fmt_size((uint64_t)row->v);

	ck_assert_str_eq(t.s, row->want);
}

static const struct {
	const char *in;
	size_t len, most;
	const char *want;
} harmless[] = {
	{"plain", 5, 99, "plain"},
	{"\033[2J\n", 5, 99, "\\x1b[2J\\x0a"},
	{"\xc2\x9b\x7f", 3, 99, "\\xc2\\x9b\\x7f"}, /* C1 control characters are escaped too */
	{"\xe2\x82\xac\xff", 4, 99, "\xe2\x82\xac\\xff"},
	{"abcdef", 6, 3, "ab…"},
	{"abc", 3, 3, "abc"},
	{"", 0, 3, ""},
};

TEST_ROWS(test_control_characters_are_escaped, harmless)
{
	scoped(text_done) struct text t = {0};

	fmt_text_sanitised(&t, row->in, row->len, row->most);
	text_char(&t, 0);
	ck_assert_str_eq(t.data, row->want);
}

TEST(test_layout)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rl", .head = true};
	scoped(text_done) struct text t = {0};

	fmt_grid_cell(&g, "n");
	fmt_grid_cell(&g, "name");
	fmt_grid_count(&g, 1000);
	fmt_grid_bytes(&g, "\xe2\x82\xac", 3, 9);
	fmt_grid_share(&g, 1, 3);
	fmt_grid_cell(&g, "x");
	fmt_grid_share(&g, 1, 0);
	fmt_grid_cell(&g, "\033[1my\033[0m");
	fmt_grid_print(&g, &t, false);
	text_char(&t, 0);
	ck_assert_str_eq(t.data, "       n  name\n"
				 "   1,000  \xe2\x82\xac\n"
				 "  33.3 %  x\n"
				 "       -  \033[1my\033[0m\n");
	ck_assert_uint_eq(g.n, 0);
}
