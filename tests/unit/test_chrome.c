/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome.h"

#include "formats/trace/json.h"
#include "tests/unit/test.h"
#include "tests/unit/training.h"

enum { RANKS = 3, ITERATIONS = 2, LAYERS = 4 };

/* A trace of the training run, in a temporary folder. */
struct fixture {
	char *folder;
	struct fmt_trace *trace;
};

static void setup(struct fixture *f, uint32_t ranks)
{
	struct training t;

	f->folder = made_directory();
	training_init(&t, ranks, ITERATIONS, LAYERS);
	f->trace = training_open(&t, f->folder, "t");
}

static void teardown(struct fixture *f)
{
	fmt_trace_close(f->trace);
	made_remove(f->folder);
}

static size_t count(const struct text *t, const char *what)
{
	size_t n = 0;

	for (const char *at = t->data;
	     (at = memmem(at, (size_t)(t->data + t->len - at), what, strlen(what))); at++)
		n++;
	return n;
}

static struct text render(struct fixture *f, enum fmt_chrome_form form, struct fmt_part part)
{
	struct text t = {0};
	struct fmt_error err = {.what = ""};

	ck_assert_msg(fmt_chrome(f->trace, form, &part, &t, &err) == 0, "%s", err.what);
	ck_assert(fmt_json_valid(t.data, t.len));
	return t;
}

TEST(test_every_event_is_there)
{
	scoped(teardown) struct fixture f;
	scoped(text_done) struct text t;
	size_t launches = LAYERS * (TRAINING_KERNELS + 1) + 1;
	size_t events = 2 * launches + 1 + 1; /* a synchronisation and a range */

	setup(&f, RANKS);
	t = render(&f, FMT_CHROME_MERGED, FMT_WHOLE);
	ck_assert_uint_eq(count(&t, "{\"ph\":\"X\""), RANKS * ITERATIONS * events);
	ck_assert_uint_eq(count(&t, "{\"ph\":\"i\""), RANKS * ITERATIONS);
	ck_assert_uint_eq(count(&t, "{\"ph\":\"s\""), RANKS * ITERATIONS * launches);
	ck_assert_uint_eq(count(&t, "{\"ph\":\"f\",\"bp\":\"e\""), RANKS * ITERATIONS * launches);
	ck_assert_uint_eq(count(&t, "\"process_name\""), 2 * RANKS);
	text_done(&t);
	t = render(&f, FMT_CHROME_RANK, (struct fmt_part){FMT_ANY, 1});
	ck_assert_uint_eq(count(&t, "{\"ph\":\"X\""), ITERATIONS * events);
	text_done(&t);
	t = render(&f, FMT_CHROME_MERGED, (struct fmt_part){5, 2});
	ck_assert_uint_eq(count(&t, "{\"ph\":\"X\""), events);
}

TEST(test_lines)
{
	static const char *const want[] = {
		/* invalid UTF-8 is replaced, other special characters are escaped */
		"\"name\":\"void k<\\\"a\\\\b\\\">(&amp;\\u0001\\u001b[31m\xef\xbf\xbd\xef\xbf\xbd)"
		" ]]>\\n\\t\xe2\x82\xac\"",
		/* arguments beside "args" stay there; a value that is invalid JSON becomes a
		 * string */
		"\"s\":\"t\",\"args\":{\"Total Allocated\":-5,\"note\":\"void k",
		"\"shape\":[[2,3],[]]}}",
		/* arguments that inference added carry our prefix */
		"\"args\":{\"gputrace comm\":0,\"gputrace seq\":3,\"gputrace collective\":"
		"\"all_reduce\",\"gputrace dtype\":\"BFloat16\",\"gputrace message_bytes\":"
		"16777216,\"correlation\":20}}",
		"\"args\":{\"bytes\":4096,\"correlation\":21,\"memory bandwidth (GB/s)\":1.6384}}",
		"\"pid\":4001,\"tid\":4001,\"ts\":17000000000",
		"\"hostile \\\"\\u0002\xef\xbf\xbd\": \"] broken\"",
	};
	scoped(teardown) struct fixture f;
	scoped(text_done) struct text t;

	setup(&f, RANKS);
	t = render(&f, FMT_CHROME_RANK, (struct fmt_part){FMT_ANY, 1});
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_msg(count(&t, want[i]) > 0, "no %s", want[i]);
	text_done(&t);
	t = render(&f, FMT_CHROME_RANK, (struct fmt_part){FMT_ANY, 0});
	ck_assert_uint_gt(count(&t, "\"shape\":\"[2,\"}}"), 0);
}

TEST(test_processes_of_ranks_differ)
{
	static const char *const want[] = {"\"pids\": [[1000, 4000], [1001, 0]]",
					   "\"pids\": [[2000, 4001], [2001, 1]]",
					   "\"pids\": [[3000, 4002], [3001, 2]]"};
	scoped(teardown) struct fixture f;
	scoped(text_done) struct text t;

	setup(&f, RANKS);
	t = render(&f, FMT_CHROME_MERGED, FMT_WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_msg(count(&t, want[i]) == 1, "no %s", want[i]);
	ck_assert_uint_eq(count(&t, "\"pid\":4000"), 0);
	ck_assert_uint_gt(count(&t, "\"pid\":3001,\"tid\":20"), 0);
}

TEST(test_one_rank_merged_is_that_rank)
{
	scoped(teardown) struct fixture f;
	scoped(text_done) struct text t;
	scoped(text_done) struct text u;

	setup(&f, 1);
	t = render(&f, FMT_CHROME_MERGED, FMT_WHOLE);
	u = render(&f, FMT_CHROME_RANK, (struct fmt_part){FMT_ANY, 0});
	ck_assert_uint_eq(t.len, u.len);
	ck_assert_mem_eq(t.data, u.data, t.len);
}

TEST(test_a_document_is_the_sum_of_its_slices)
{
	scoped(teardown) struct fixture f;
	scoped(fmt_chrome_freep) struct fmt_chrome *x = NULL;
	struct fmt_part part = {5, FMT_ANY};
	struct fmt_walk w;
	scoped(text_done) struct text t;
	scoped(text_done) struct text sum = {0};
	size_t lengths[2][RANKS] = {{0}};
	uint64_t length;

	setup(&f, RANKS);
	t = render(&f, FMT_CHROME_MERGED, part);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(f.trace), RANKS, FMT_CHROME_MERGED, 0, &x),
			 0);
	for (int round = 0; round < 2; round++) {
		sum.len = 0;
		fmt_chrome_head(x, f.trace, &part, &sum);
		for (w = fmt_walk(f.trace, &part); fmt_walk_next(&w);) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
			size_t before = sum.len;

			ck_assert_int_eq(
				fmt_slice_load(f.trace, w.rank, w.slice, FMT_WANT_ALL, &s, NULL),
				0);
			ck_assert_int_eq(fmt_chrome_slice(x, s, &sum), 0);
			lengths[round][w.rank] = sum.len - before;
			ck_assert_int_eq(fmt_chrome_offsets(x, s, NULL, &length), 0);
			ck_assert_uint_eq(length, sum.len - before);
		}
		text_str(&sum, FMT_CHROME_TAIL);
		ck_assert_uint_eq(sum.len, t.len);
		ck_assert_mem_eq(sum.data, t.data, t.len);
	}
	ck_assert_mem_eq(lengths[0], lengths[1], sizeof(lengths[0]));
}

TEST(test_invalid_references)
{
	static const struct fmt_event bad[] = {
		{.template = 1 << 20}, {.track = 1 << 20}, {.first_value = UINT32_MAX}};
	scoped(teardown) struct fixture f;
	struct fmt_chrome *x;
	struct text t = {0};

	setup(&f, 1);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(f.trace), 1, FMT_CHROME_MERGED, 0, &x), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fmt_event e = bad[i];
		struct fmt_slice s = {.events = &e, .n_events = 1};
		struct fmt_slice r = {.ranges = &e, .n_ranges = 1};

		ck_assert_int_eq(fmt_chrome_slice(x, &s, &t), -EBADMSG);
		ck_assert_int_eq(fmt_chrome_slice(x, &r, &t), -EBADMSG);
	}
	ck_assert_uint_eq(t.len, 0);
	fmt_chrome_free(x);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(f.trace), 1, FMT_CHROME_RANK, 1, &x),
			 -EINVAL);
}
