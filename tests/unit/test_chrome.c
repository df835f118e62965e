/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/chrome.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

enum { RANKS = 3 };

TEST(test_a_document_is_the_sum_of_its_slices)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *trace =
		made_trace(made_path(folder, "t"), RANKS, 2, 40);
	scoped(fmt_chrome_freep) struct fmt_chrome *x = NULL;
	struct fmt_part part = {1, FMT_ANY};
	struct fmt_walk w;
	scoped(text_done) struct text t = {0};
	scoped(text_done) struct text sum = {0};
	size_t lengths[2][RANKS] = {{0}};
	uint64_t length;

	ck_assert_int_eq(fmt_chrome(trace, FMT_CHROME_MERGED, &part, &t, NULL), 0);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(trace), RANKS, FMT_CHROME_MERGED, 0, &x),
			 0);
	for (int round = 0; round < 2; round++) {
		sum.len = 0;
		fmt_chrome_head(x, trace, &part, &sum);
		for (w = fmt_walk(trace, &part); fmt_walk_next(&w);) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
			size_t before = sum.len;

			ck_assert_int_eq(
				fmt_slice_load(trace, w.rank, w.slice, FMT_WANT_ALL, &s, NULL), 0);
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
	scoped(made_done) struct made m;
	struct fmt_chrome *x;
	struct text t = {0};

	made_init(&m, 1);
	ck_assert_int_eq(fmt_chrome_new(m.names, 1, FMT_CHROME_MERGED, 0, &x), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fmt_event e = bad[i];
		struct fmt_slice s = {.events = &e, .n_events = 1};
		struct fmt_slice r = {.ranges = &e, .n_ranges = 1};

		ck_assert_int_eq(fmt_chrome_slice(x, &s, &t), -EBADMSG);
		ck_assert_int_eq(fmt_chrome_slice(x, &r, &t), -EBADMSG);
	}
	ck_assert_uint_eq(t.len, 0);
	fmt_chrome_free(x);
	ck_assert_int_eq(fmt_chrome_new(m.names, 1, FMT_CHROME_RANK, 1, &x), -EINVAL);
}
