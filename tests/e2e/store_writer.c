/* SPDX-License-Identifier: Apache-2.0 */

/* store_writer DIR [SLICES]: writes a trace as a recorder does, until it is killed or has written
 * SLICES slices. Prints the number of each slice after it was written completely. */
#include "tests/unit/made.h"

static const char *path;
static uint32_t limit = UINT32_MAX;

START_TEST(test_write)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_INLINE};
	struct fmt_rank_writer *rank;
	struct fmt_writer *w;
	struct fmt_error err;
	struct made m;

	made_init(&m, 1);
	ck_assert_int_eq(fmt_writer_open(path, m.names, &options, &w, &err), 0);
	ck_assert_int_eq(fmt_writer_rank(w, 0, 0, &rank, &err), 0);
	for (uint32_t k = 0; k < limit; k++) {
		struct fmt_slice *s = made_slice(&m, 0, k, 50 + k % 7, fmt_rank_writer_next(rank));
		char name[32];

		/* New names in each slice. */
		snprintf(name, sizeof(name), "kernel_%u", k);
		made_template(&m, FMT_KERNEL, name, NULL, 0);
		ck_assert_int_eq(fmt_rank_writer_slice(rank, s, &err), 0);
		fmt_slice_free(s);
		printf("%u\n", k);
		fflush(stdout);
	}
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
	made_done(&m);
}
END_TEST

/* The assertions of made.h need a Check test: one that runs in this process. */
int main(int argc, char **argv)
{
	Suite *suite = suite_create("writer");
	TCase *tcase = tcase_create("writer");
	SRunner *runner;
	int failed;

	if (argc < 2)
		return 2;
	path = argv[1];
	if (argc > 2)
		limit = (uint32_t)strtoul(argv[2], NULL, 10);
	tcase_add_test(tcase, test_write);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
