/* SPDX-License-Identifier: Apache-2.0 */

/* main() of a unit test program: one suite with one case. Prints each test; the exit status is 0 if
 * all passed. */
#pragma once

#include <check.h>
#include <stdlib.h>

static inline int run_case(const char *name, TCase *tcase)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0); /* the caller (meson) has a time limit */
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_VERBOSE);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int run_tests(const char *name, const TTest *const *tests, size_t n)
{
	TCase *tcase = tcase_create(name);

	for (size_t i = 0; i < n; i++)
		tcase_add_test(tcase, tests[i]);
	return run_case(name, tcase);
}

#define TESTS(name, ...)                                                                           \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *const tests[] = {__VA_ARGS__};                                        \
		return run_tests(name, tests, sizeof(tests) / sizeof(tests[0]));                   \
	}
