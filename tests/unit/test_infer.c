/* SPDX-License-Identifier: Apache-2.0 */

/* Inference from data that only recordings of gpucapture contain. inferred.py tests inference from
 * profiler files. */
#include "formats/run/infer/constants.h"
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

/* The end of a kernel is an event that is recorded behind its launch, which takes 6 us: a kernel of
 * 3 us on an idle stream seems to take 6 us, too. In a queue, such kernels take 3 us. */
TEST(test_late_ends)
{
	static struct row rows[40];

	for (int i = 0; i < 20; i++) {
		int at = 1000 * (i / 2), queued = i % 2;

		rows[2 * i] = (struct row){CALL, LAUNCH, at + 6 * queued, 6, i + 1, 0};
		rows[2 * i + 1] = queued  ? (struct row){ON_7, "k", at + 34, 3, i + 1, 0}
				  : i % 4 ? (struct row){ON_7, "k", at + 4, 6, i + 1, 0}
					  : (struct row){ON_7, "long", at + 4, 30, i + 1, 0};
	}
	for (int event_times = 0; event_times < 2; event_times++) {
		scoped(unmake) struct made m;
		struct fmt_constants c;
		int n = 0;

		make(&m, rows, ARRAY_SIZE(rows), 1, event_times);
		fmt_constants_get(m.names, 0, &c);
		ck_assert_int_eq(c.from_start, event_times);
		ck_assert_int_eq(c.launch_ns, event_times ? 4000 : -2000);
		for (size_t i = 0; i < m.ranks[0].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[0].edges[i];

			if (strcmp(rule_of(&m, e), "late-end") != 0)
				continue;
			ck_assert_int_eq(m.row_of[0][e->to]->duration, 6);
			ck_assert_uint_eq(e->from, e->to);
			ck_assert_int_eq(e->kind, FMT_EDGE_RETURN);
			ck_assert_int_eq(e->lag_ns, 3000);
			n++;
		}
		ck_assert_int_eq(n, event_times ? 5 : 0);
	}
}

TEST(test_empty_run)
{
	scoped(unmake) struct made m;

	make(&m, NULL, 0, 2, 0);
	ck_assert_uint_eq(m.ranks[0].n_edges, 0);
}
