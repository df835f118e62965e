/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

/* Kernels that fill the device admit another after 95 % of their duration, once after 97 %. The lag
 * of each edge follows from the others and from the duration of the kernel. */
TEST(test_share_of_the_others)
{
	static const int durations[] = {1000, 1040, 1020, 1000}, starts[] = {950, 988, 989, 950};
	static struct row rows[16];
	scoped(unmake) struct made m;
	size_t n = 0, found = 0;

	for (int i = 0; i < 4; i++) {
		int at = 3000 * i;

		rows[n++] = (struct row){CALL, LAUNCH, at, 5, 2 * i + 1, 0};
		rows[n++] = (struct row){ON_7, "big", at + 10, durations[i], 2 * i + 1, 0};
		rows[n++] = (struct row){CALL, LAUNCH, at + 20, 5, 2 * i + 2, 0};
		rows[n++] = (struct row){ON_20, "k", at + 10 + starts[i], 9, 2 * i + 2, 0};
	}
	make(&m, rows, n, 1);
	for (size_t i = 0; i < m.ranks[0].n_edges; i++) {
		const struct fmt_run_edge *e = &m.ranks[0].edges[i];
		int64_t duration = m.ranks[0].events[e->from].duration_ns;

		if (strcmp(rule_of(&m, e), "capacity") != 0)
			continue;
		ck_assert_int_eq(e->lag_ns, duration * 95 / 100);
		found++;
	}
	ck_assert_uint_eq(found, 4);
}
