/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg.h"

#include "formats/render/export/svg_track.h"
#include "tests/unit/test.h"
#include "tests/unit/training.h"

static struct fmt_trace *write_and_open(const char *folder, uint32_t ranks, uint32_t iterations,
					uint32_t layers)
{
	struct training t;
	char name[16];

	snprintf(name, sizeof(name), "t%u", ranks);
	training_init(&t, ranks, iterations, layers);
	return training_open(&t, folder, name);
}

static struct text render(struct fmt_trace *trace, struct fmt_part part, bool across)
{
	struct text t = {0};
	struct fmt_error err = {.what = ""};

	ck_assert_msg(fmt_svg(trace, &part, across, &t, &err) == 0, "%s", err.what);
	text_char(&t, 0);
	ck_assert_int_eq(t.error, 0);
	t.len--;
	return t;
}

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

TEST(test_contents_of_a_picture)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace = write_and_open(folder, 4, 3, 8);
	scoped(text_done) struct text t = render(trace, FMT_WHOLE, true);
	struct text u;

	ck_assert_ptr_nonnull(strstr(t.data, ">4 GPUs · NVIDIA H100 80GB HBM3 · "));
	ck_assert_ptr_nonnull(strstr(t.data, ">GPU 3</text>"));
	ck_assert_ptr_nonnull(strstr(t.data, ">iteration 6</text>"));
	ck_assert_ptr_nonnull(strstr(t.data, ">stream 20</text>"));
	ck_assert_ptr_nonnull(strstr(t.data, "of it waiting for the last GPU</title>"));
	ck_assert_ptr_null(strstr(t.data, "<script"));
	ck_assert_ptr_null(strstr(t.data, "k<\"a")); /* the unescaped name */
	ck_assert_str_eq(t.data + t.len - 7, "</svg>\n");
	u = render(trace, FMT_WHOLE, true);
	ck_assert_str_eq(t.data, u.data);
	text_done(&t);
	text_done(&u);
	t = render(trace, (struct fmt_part){5, 2}, true);
	ck_assert_ptr_nonnull(strstr(t.data, ">Iteration 5 · GPU 2 · "));
	ck_assert_ptr_null(strstr(t.data, ">GPU 1</text>"));
	ck_assert_ptr_nonnull(strstr(t.data, "waiting for the last GPU</title>"));
	text_done(&t);
	/* wait time is unknown without the other ranks */
	t = render(trace, (struct fmt_part){5, 2}, false);
	ck_assert_ptr_null(strstr(t.data, "waiting for"));
}

/* In the picture of one iteration, work of other iterations is pale. */
TEST(test_other_iterations_are_pale)
{
	static const char pale[] = "<rect class=\"p\" x=\"", legend[] = ">other iterations<";
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct training made;
	scoped(text_done) struct text t;

	training_init(&made, 2, 6, 4);
	made.runs_ahead = true;
	trace = training_open(&made, folder, "t");
	t = render(trace, (struct fmt_part){6, FMT_ANY, NULL, NULL}, true);
	ck_assert_ptr_nonnull(strstr(strstr(t.data, legend), pale));
	ck_assert_ptr_nonnull(strstr(t.data, "; of iteration 5</title>"));
	ck_assert_ptr_nonnull(strstr(t.data, "; of iteration 7</title>"));
	text_done(&t);
	t = render(trace, FMT_WHOLE, true);
	ck_assert_ptr_null(strstr(t.data, pale));
	ck_assert_ptr_null(strstr(t.data, legend));
}

TEST(test_size_is_bounded)
{
	static const struct {
		uint32_t ranks, iterations, layers;
	} runs[] = {{1, 2, 400}, {8, 3, 400}, {64, 2, 100}, {300, 1, 40}};
	scoped(made_removep) char *folder = made_directory();

	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		scoped(fmt_trace_closep) struct fmt_trace *trace =
			write_and_open(folder, runs[i].ranks, runs[i].iterations, runs[i].layers);
		scoped(text_done) struct text t = render(trace, FMT_WHOLE, true);

		ck_assert_uint_lt(t.len, 2000000);
		ck_assert_int_eq(!!strstr(t.data, ">the first 256 of 300 GPUs<"),
				 runs[i].ranks == 300);
	}
}
