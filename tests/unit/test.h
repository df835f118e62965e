/* SPDX-License-Identifier: Apache-2.0 */

/* A unit test program: each TEST(name) { ... } is a test, and each TEST_EACH(name, n) { ... } is a
 * test for each _i from 0 to n - 1. Each runs in its own process. The exit status is 0 if all
 * passed. */
#pragma once

#include <check.h>
#include <errno.h>
#include <stdlib.h>

static TCase *test_case;

static inline void test_add(const TTest *test, int n)
{
	if (!test_case)
		test_case = tcase_create("tests");
	tcase_add_loop_test(test_case, test, 0, n);
}

#define TEST_EACH(name, n)                                                                         \
	static void name(int _i);                                                                  \
	__attribute__((constructor)) static void add_##name(void)                                  \
	{                                                                                          \
		static const TTest test = {#name, name, __FILE__, __LINE__};                       \
                                                                                                   \
		test_add(&test, (int)(n));                                                         \
	}                                                                                          \
	static void name(int _i __attribute__((unused)))

#define TEST(name) TEST_EACH(name, 1)

#define TEST_ROWS(name, array)                                                                     \
	static void name##_row(const typeof((array)[0]) *row);                                     \
	TEST_EACH(name, sizeof(array) / sizeof((array)[0]))                                        \
	{                                                                                          \
		name##_row(&(array)[_i]);                                                          \
	}                                                                                          \
	static void name##_row(const typeof((array)[0]) *row)

int main(void)
{
	Suite *suite = suite_create(program_invocation_short_name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(test_case, 0); /* the caller (meson) has a time limit */
	suite_add_tcase(suite, test_case);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_VERBOSE);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
