/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/contents.h"

#include "tests/unit/test.h"

/* Operation 7 reads two buffers and writes three pages; operation 9 writes one page. */
static struct fmt_digest some[] = {
	{.op = 9, .length_bytes = 5, .digest = {1, 1}, .access = FMT_WRITTEN},
	{.op = 7, .length_bytes = 140000, .digest = {2, 2}, .n_pages = 3, .access = FMT_WRITTEN},
	{.op = 7, .length_bytes = 16, .digest = {3, 3}},
	{.op = 7, .length_bytes = 17, .digest = {4, 4}},
};
static uint64_t pages[] = {1, 2, 3, 4, 5, 6};

/* Compares operation 7 of the slice above with operation 7 of `digests`. */
static int differ(struct fmt_digest *digests, size_t n, uint64_t *their_pages, struct text *first)
{
	struct fmt_slice a = {.digests = some, .n_digests = 4, .pages = pages, .n_pages = 6};
	struct fmt_slice b = {
		.digests = digests, .n_digests = n, .pages = their_pages, .n_pages = 6};
	struct fmt_contents x = {0}, y = {0};
	struct text second = {0};
	int r;

	ck_assert_int_eq(fmt_contents_add(&x, &a), 0);
	ck_assert_int_eq(fmt_contents_add(&y, &b), 0);
	r = fmt_contents_differ(&x, 7, &y, 7, first, &second);
	fmt_contents_done(&x);
	fmt_contents_done(&y);
	text_done(&second);
	return r;
}

static void ck_says(struct text *t, const char *what)
{
	text_char(t, 0);
	ck_assert_msg(strstr(t->data, what), "no '%s' in '%s'", what, t->data);
	text_done(t);
}

START_TEST(test_equal_digests)
{
	struct fmt_digest other[4];
	struct text t = {0};

	memcpy(other, some, sizeof(some));
	ck_assert_int_eq(differ(other, 4, pages, &t), 0);
	other[0].digest[0]++;
	ck_assert_int_eq(differ(other, 4, pages, &t), 0);
	ck_assert_uint_eq(t.len, 0);
}
END_TEST

START_TEST(test_first_page_of_a_written_buffer)
{
	uint64_t other_pages[] = {1, 2, 3, 5, 5, 7};
	struct fmt_digest other[4];
	struct text t = {0};

	memcpy(other, some, sizeof(some));
	other[1].digest[1]++;
	ck_assert_int_eq(differ(other, 4, other_pages, &t), 1);
	ck_says(&t, "wrote 140000 bytes");
	ck_assert_int_eq(differ(other, 4, other_pages, &t), 1);
	ck_says(&t, "page 1 of 3");
}
END_TEST

START_TEST(test_inputs_are_reported_before_outputs)
{
	struct fmt_digest other[4];
	struct text t = {0};

	memcpy(other, some, sizeof(some));
	other[1].digest[1]++;
	other[3].digest[1]++;
	ck_assert_int_eq(differ(other, 4, pages, &t), 1);
	ck_says(&t, "read 17 bytes");
}
END_TEST

START_TEST(test_other_buffers_are_not_compared)
{
	struct fmt_digest other[4];
	struct text t = {0};

	memcpy(other, some, sizeof(some));
	other[1].digest[1]++;
	ck_assert_int_eq(differ(other, 3, pages, &t), 0);
	other[1].length_bytes++;
	ck_assert_int_eq(differ(other, 4, pages, &t), 0);
	ck_assert_int_eq(differ(NULL, 0, NULL, &t), 0);
}
END_TEST

TESTS("contents", test_equal_digests, test_first_page_of_a_written_buffer,
      test_inputs_are_reported_before_outputs, test_other_buffers_are_not_compared)
