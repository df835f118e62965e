/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/memberships.h"

#include "tests/unit/test.h"

/* Communicator memberships that two ranks claim, and the list of missing members. */
static const struct {
	struct fmt_membership m[2];
	const char *missing;
} rows[] = {
	{{{.id = 7, .n = 2, .rank = 0}, {.id = 7, .n = 2, .rank = 1}}, NULL},
	{{{.id = 7, .n = 4, .rank = 0}, {.id = 7, .n = 4, .rank = 2}}, "[1, 3]"},
	{{{.id = 7, .n = 3, .rank = 0}, {.id = 8, .n = 2, .rank = 0}}, "[1, 2]"},
	{{{.id = 7, .n = 2, .rank = 0}, {.id = 8, .n = 3, .rank = 1}}, "[0, 2]"},
	{{{.id = 7, .n = 2, .rank = 2}, {.id = 7, .n = 0, .rank = 0}}, NULL},
	/* No other rank agrees. */
	{{{.id = 0, .n = 2, .rank = 1}, {.id = 0, .n = 2, .rank = 0}}, NULL},
	{{{.id = 7, .n = 1, .rank = 0}, {.id = 7, .n = 3, .rank = 2}}, "[0, 1]"},
};

TEST_ROWS(missing_members_are_listed, rows)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (uint32_t rank = 0; rank < 2; rank++)
		ck_assert_int_eq(fmt_memberships_put(names, rank, &row->m[rank], 1), 0);
	ck_assert_int_eq(fmt_memberships_put_missing(names, 2), 0);
	ck_assert_pstr_eq(fmt_fact_value(names, FMT_WHOLE_TRACE, "missing_ranks"), row->missing);
}
