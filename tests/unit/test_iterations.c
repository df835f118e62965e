/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/repetition.h"

#include "base/scope.h"
#include "tests/unit/test.h"

#include <string.h>

/* Launches as letters; ^ marks where an iteration begins. */
static const struct {
	const char *launches, *marks;
} rows[] = {
	{"", ""},
	{"abc", ""},
	{"abcdefgh", ""},
	{"abcabcabc", "^  ^  ^  "},
	/* Repetitions that are too short or too few may be a coincidence. */
	{"abababab", ""},
	{"abcdabcd", ""},
	{"abcdefghabcdefgh", "^       ^       "},
	{"xyzabcdefghabcdefgh", ""},
	/* Launches before the first iteration are not part of it. */
	{"xyzzyabcdabcdabcd", "     ^   ^   ^   "},
	/* Layers repeat within an iteration. */
	{"alllballlballlb", "^    ^    ^    "},
	/* The run ended during the third pattern, and the last launch differs. */
	{"allbllclallbllclallbllclallbllclalcbl", "^       ^       ^       ^            "},
	{"abcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdxyxyz",
	 "^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^        "},
	/* Iterations that differ in the middle are found by launches that occur once in each. */
	{"abcdefghabcdxefghabcdefghyabcdefgh", "^       ^        ^        ^       "},
};

static void check_row(const char *launches, const char *marks)
{
	scoped(free_ptr) size_t *starts = NULL;
	uint32_t symbols[64];
	size_t n = strlen(launches), n_starts, at = 0;

	for (size_t i = 0; i < n; i++)
		symbols[i] = (uint32_t)launches[i];
	ck_assert_int_eq(fmt_iterations_find(symbols, n, &starts, &n_starts), 0);
	for (size_t i = 0; marks[i]; i++) {
		if (marks[i] != '^')
			continue;
		ck_assert_msg(at < n_starts, "%s: %zu", launches, n_starts);
		ck_assert_msg(starts[at] == i, "%s: %zu", launches, starts[at]);
		at++;
	}
	ck_assert_msg(at == n_starts, "%s: %zu", launches, n_starts);
}

TEST_ROWS(test_repetition_is_found, rows)
{
	check_row(row->launches, row->marks);
}

TEST(test_time_is_linear)
{
	size_t n = 1 << 20, n_starts, *starts;
	scoped(free_ptr) uint32_t *symbols = calloc(n, sizeof(*symbols));

	ck_assert_ptr_nonnull(symbols);
	for (size_t i = 0; i < n; i++)
		symbols[i] = i % 4 == 3;
	ck_assert_int_eq(fmt_iterations_find(symbols, n, &starts, &n_starts), 0);
	ck_assert_uint_eq(n_starts, n / 4);
	free(starts);
}
