/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg.h"

#include "formats/render/export/svg_track.h"
#include "formats/render/report/report.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

static const struct {
	const char *in;
	size_t len, most;
	const char *want;
} strings[] = {
	{"a<b>&\"'", 7, 99, "a&lt;b&gt;&amp;\"'"},
	{"\x01\x1b\n\x7f", 4, 99, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xff\xe2\x82\xac", 4, 99, "\xef\xbf\xbd\xe2\x82\xac"},
	{"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", 9, 99,
	 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* XML excludes U+FFFE and U+FFFF */
	{"abcdef", 6, 4, "abc…"},
	{"abcd", 4, 4, "abcd"},
	{"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9, 2, "\xe2\x82\xac…"},
};

TEST_ROWS(test_strings, strings)
{
	scoped(text_done) struct text t = {0};

	fmt_svg_string(&t, row->in, row->len, row->most);
	text_char(&t, 0);
	ck_assert_str_eq(t.data, row->want);
}

TEST(test_pixels)
{
	static const struct {
		double v;
		const char *want;
	} rows[] = {{0, "0"},	  {1.04, "1"},	  {1.05, "1.1"},
		    {9.96, "10"}, {-0.5, "-0.5"}, {1234, "1234"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_str_eq(fmt_px(rows[i].v).s, rows[i].want);
}

/* Wait time is unknown without the other ranks. */
TEST(test_waiting_needs_the_other_ranks)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace =
		made_trace(made_path(folder, "t"), 2, 2, 40);
	const struct fmt_part part = {1, 0, NULL, NULL};

	for (int across = 0; across < 2; across++) {
		scoped(fmt_report_freep) struct fmt_report *report = NULL;
		scoped(text_done) struct text t = {0};

		ck_assert_int_eq(fmt_report_new(trace, &part, across, &report, NULL), 0);
		ck_assert_uint_gt(report->n_collectives, 0);
		for (size_t i = 0; i < report->n_collectives; i++)
			ck_assert_uint_eq(report->collectives[i].n_shared,
					  across ? report->collectives[i].n_ops : 0);
		ck_assert_int_eq(fmt_svg(trace, &part, across, &t, NULL), 0);
		text_char(&t, 0);
		ck_assert_int_eq(strstr(t.data, "waiting for the last GPU") != NULL, across);
	}
}
