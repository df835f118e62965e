/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/spares.h"
#include "tests/unit/test.h"

#define KB 1024u

START_TEST(test_a_buffer_is_used_again)
{
	struct fs_spares s;
	struct text t = {0}, other = {0};
	char *data;

	fs_spares_init(&s, 1024 * KB);
	fs_spares_take(&s, &t, 100 * KB);
	ck_assert_uint_ge(t.cap, 100 * KB);
	data = t.data;
	fs_spares_give(&s, t.data, t.cap);
	fs_spares_take(&s, &other, 90 * KB);
	ck_assert_ptr_eq(other.data, data);
	/* A buffer is returned once only. */
	t = (struct text){0};
	fs_spares_take(&s, &t, 90 * KB);
	ck_assert_ptr_ne(t.data, data);
	/* A buffer is not used for a text that is much shorter. */
	fs_spares_give(&s, other.data, other.cap);
	other = (struct text){0};
	fs_spares_take(&s, &other, 10 * KB);
	ck_assert_ptr_ne(other.data, data);
	text_done(&other);
	text_done(&t);
	fs_spares_done(&s);
}
END_TEST

START_TEST(test_spare_memory_is_bounded)
{
	struct fs_spares s;

	fs_spares_init(&s, 300 * KB);
	for (size_t i = 0; i < 20; i++) {
		fs_spares_give(&s, malloc((64 + i) * KB), (64 + i) * KB);
		ck_assert_uint_le(s.bytes, 300 * KB);
	}
	ck_assert_uint_gt(s.bytes, 200 * KB);
	fs_spares_give(&s, malloc(301 * KB), 301 * KB);
	ck_assert_uint_le(s.bytes, 300 * KB);
	fs_spares_done(&s);
}
END_TEST

TESTS("spares", test_a_buffer_is_used_again, test_spare_memory_is_bounded)
