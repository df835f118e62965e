/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/names.h"

#include "base/scope.h"
#include "formats/trace/store/names_code.h"
#include "tests/unit/test.h"

#include <stdio.h>

TEST(test_strings_are_named_once)
{
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	fmt_str a, b, none;
	size_t len;
	char text[16];

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_string(n, "", 0, &none), 0);
	ck_assert_uint_eq(none, 0);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%u", i);
		ck_assert_int_eq(fmt_names_string(n, text, strlen(text), &a), 0);
		ck_assert_uint_eq(a, i + 1);
	}
	ck_assert_int_eq(fmt_names_string(n, "17", 2, &b), 0);
	ck_assert_uint_eq(b, 18);
	ck_assert_int_eq(fmt_names_string(n, "a\0b", 3, &a), 0);
	ck_assert_int_eq(fmt_names_string(n, "a\0c", 3, &b), 0);
	ck_assert_uint_ne(a, b);
	ck_assert_str_eq(fmt_string(n, a, &len), "a");
	ck_assert_uint_eq(len, 3);
	ck_assert_str_eq(fmt_string(n, 123456, &len), "");
}

TEST(test_constant_arguments_distinguish_templates)
{
	struct fmt_arg args[] = {{.key = 1, .type = FMT_INT, .value = 5},
				 {.key = 2, .type = FMT_INT, .varies = 1, .value = 77}};
	struct fmt_template s = {.kind = FMT_CALL, .name = 3, .n_args = 2, .args = args};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	uint32_t a, b, c;

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_template(n, &s, &a), 0);
	args[1].value = 78; /* without meaning, because the argument varies */
	ck_assert_int_eq(fmt_names_template(n, &s, &b), 0);
	args[0].value = 6;
	ck_assert_int_eq(fmt_names_template(n, &s, &c), 0);
	ck_assert_uint_eq(a, b);
	ck_assert_uint_ne(a, c);
	ck_assert_uint_eq(fmt_template(n, a)->n_values, 1);
	ck_assert_int_eq(fmt_template(n, a)->args[0].value, 5);
	ck_assert_int_eq(fmt_template(n, a)->args[1].value, 0);
	ck_assert_ptr_null(fmt_template(n, 2));
	s.kind = FMT_KINDS;
	ck_assert_int_eq(fmt_names_template(n, &s, &c), -EINVAL);
}

TEST(test_arguments_are_found_by_key)
{
	struct fmt_arg args[] = {{.type = FMT_INT, .varies = 1},
				 {.type = FMT_INT, .value = 9},
				 {.type = FMT_INT, .varies = 1}};
	struct fmt_template s = {.kind = FMT_CALL, .n_args = 3, .args = args};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	uint32_t template, index;
	int64_t value;

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_string(n, "x", 1, &args[0].key), 0);
	ck_assert_int_eq(fmt_names_string(n, "y", 1, &args[1].key), 0);
	ck_assert_int_eq(fmt_names_string(n, "z", 1, &args[2].key), 0);
	ck_assert_int_eq(fmt_names_template(n, &s, &template), 0);
	ck_assert_int_eq(fmt_template_varying(n, fmt_template(n, template), "z", &index), 1);
	ck_assert_uint_eq(index, 1);
	ck_assert_int_eq(fmt_template_const(n, fmt_template(n, template), "y", &value), 1);
	ck_assert_int_eq(value, 9);
	ck_assert_int_eq(fmt_template_const(n, fmt_template(n, template), "x", &value), 0);
	ck_assert_int_eq(fmt_template_varying(n, fmt_template(n, template), "none", &index), 0);
}

TEST(test_tracks_and_facts_belong_to_a_rank)
{
	struct fmt_track track = {.kind = FMT_THREAD, .pid = 1, .tid = 2};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	uint32_t a, b;
	fmt_str one, two;

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_string(n, "1", 1, &one), 0);
	ck_assert_int_eq(fmt_names_string(n, "2", 1, &two), 0);
	ck_assert_int_eq(fmt_names_track(n, 5, &track, &a), 0);
	ck_assert_int_eq(fmt_names_track(n, 5, &track, &b), 0);
	ck_assert_uint_eq(a, b);
	ck_assert_uint_eq(fmt_n_tracks(n, 4), 0);
	ck_assert_int_eq(fmt_names_fact(n, 5, "k", one), 0);
	ck_assert_int_eq(fmt_names_fact(n, FMT_WHOLE_TRACE, "k", one), 0);
	ck_assert_int_eq(fmt_names_fact(n, 5, "k", two), 0);
	ck_assert_str_eq(fmt_fact_value(n, 5, "k"), "2");
	ck_assert_str_eq(fmt_fact_value(n, FMT_WHOLE_TRACE, "k"), "1");
	ck_assert_ptr_null(fmt_fact_value(n, 4, "k"));
	ck_assert_ptr_null(fmt_fact(n, 5, 1));
}

TEST(test_strings_are_compressed_separately)
{
	struct fmt_template template = {.kind = FMT_CALL};
	scoped(text_done) struct text t = {0};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	uint32_t number;

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_string(n, "a", 1, &template.name), 0);
	ck_assert_int_eq(fmt_names_string(n, "bc", 2, &template.category), 0);
	ck_assert_int_eq(fmt_names_template(n, &template, &number), 0);
	ck_assert_int_eq(fmt_names_put(n, &t), 0);
	ck_assert_uint_gt(t.len, sizeof("\2a\0bc"));
	ck_assert_mem_eq(t.data, "\2a\0bc", sizeof("\2a\0bc"));
}

/* The reader's memory limit includes the memory of names. */
TEST(test_names_count_towards_the_limit)
{
	static const uint32_t ranks[] = {0};
	struct fmt_names_decoder reading = {ranks, 1, 1000};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	scoped(fmt_names_freep) struct fmt_names *again = NULL;
	struct fmt_cursor c;
	scoped(text_done) struct text t = {0};
	fmt_str s;

	ck_assert_int_eq(fmt_names_new(&n), 0);
	ck_assert_int_eq(fmt_names_new(&again), 0);
	for (int i = 0; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d", i);
		ck_assert_int_eq(fmt_names_string(n, name, strlen(name), &s), 0);
		ck_assert_int_eq(fmt_names_fact(n, FMT_WHOLE_TRACE, name, s), 0);
	}
	ck_assert_str_eq(fmt_fact_value(n, FMT_WHOLE_TRACE, "77"), "77");
	ck_assert_int_eq(fmt_names_put(n, &t), 0);
	c = fmt_cursor(t.data, t.len);
	ck_assert_int_eq(fmt_names_get(&c, &reading, again), -EFBIG);
	fmt_names_free(again);
	ck_assert_int_eq(fmt_names_new(&again), 0);
	c = fmt_cursor(t.data, t.len);
	reading.reserve_bytes = fmt_names_reserve(t.len);
	ck_assert_int_eq(fmt_names_get(&c, &reading, again), 0);
	ck_assert_str_eq(fmt_fact_value(again, FMT_WHOLE_TRACE, "77"), "77");
}

TEST(test_equal_tracks_are_damage)
{
	static const uint32_t ranks[] = {0};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_names_new(&n), 0);
	for (int64_t tid = 41; tid <= 42; tid++) {
		const struct fmt_track track = {.kind = FMT_STREAM, .tid = tid};
		uint32_t number;

		ck_assert_int_eq(fmt_names_track(n, 0, &track, &number), 0);
	}
	ck_assert_int_eq(fmt_names_put(n, &t), 0);
	for (int damaged = 0; damaged < 2; damaged++) {
		struct fmt_names_decoder reading = {ranks, 1, 1 << 20};
		scoped(fmt_names_freep) struct fmt_names *again = NULL;
		struct fmt_cursor c;
		char *second = memchr(t.data, 2 * 42, t.len);

		ck_assert_ptr_nonnull(second);
		*second = (char)(2 * (damaged ? 41 : 42));
		c = fmt_cursor(t.data, t.len);
		ck_assert_int_eq(fmt_names_new(&again), 0);
		ck_assert_int_eq(fmt_names_get(&c, &reading, again), damaged ? -EBADMSG : 0);
	}
}
