/* SPDX-License-Identifier: Apache-2.0 */
/* Links of calls that wait for an event, inferred from all iterations together. */
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

#define ITERATIONS 6

/* Returns the name of the operation that `to`, an operation or call of rank 0, waits for by an edge
 * of `rule`. */
static const char *waits_for(const struct made *m, const struct row *to, const char *rule)
{
	const struct fmt_run_rank *k = &m->ranks[0];

	for (size_t i = 0; i < k->n_edges; i++)
		if (m->row_of[0][k->edges[i].to] == to &&
		    strcmp(rule_of(m, &k->edges[i]), rule) == 0)
			return m->row_of[0][k->edges[i].from]->name;
	return "nothing";
}

/* The host waits for a kernel; in one iteration another one ends just before the call returns. */
TEST(test_host_waits)
{
	static struct row rows[8 * ITERATIONS];
	struct row *calls[ITERATIONS];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int i = 0; i < ITERATIONS; i++) {
		int at = 1000 * i, end = at + 310 + 20 * i, other = i == 2 ? end + 3 : at + 900;

		rows[n++] = (struct row){CALL, LAUNCH, at, 5, 10 * i + 1, 0};
		rows[n++] = (struct row){ON_7, "awaited", at + 10, end - at - 10, 10 * i + 1, 0};
		rows[n++] = (struct row){CALL, RECORD, at + 6, 1, 10 * i + 2, 0};
		rows[n++] = (struct row){CALL, LAUNCH, at + 10, 5, 10 * i + 3, 0};
		rows[n++] = (struct row){ON_20, "other", at + 20, other - at - 20, 10 * i + 3, 0};
		rows[n++] = (struct row){CALL, RECORD, at + 16, 1, 10 * i + 4, 0};
		calls[i] = &rows[n];
		rows[n++] = (struct row){
			CALL, "cudaEventSynchronize", at + 20, end + 5 - at - 20, 10 * i + 5, 0};
	}
	make(&m, rows, n, 1);
	for (int i = 0; i < ITERATIONS; i++)
		ck_assert_str_eq(waits_for(&m, calls[i], "sync-event"), "awaited");
}

/* In two iterations a kernel delays the stream that waits for it. In two others the stream is late
 * for another reason, just after another operation ends. */
TEST(test_stream_waits)
{
	static struct row rows[8 * ITERATIONS];
	struct row *ops[ITERATIONS];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int i = 0; i < ITERATIONS; i++) {
		int at = 1000 * i, end = at + (i < 3 ? 310 + 20 * i : 15);
		int start = i < 3 ? end + 2 : at + 60,
		    other = i == 3 ? start - 1 : at + 500 + 30 * i;

		rows[n++] = (struct row){CALL, LAUNCH, at, 5, 10 * i + 1, 0};
		rows[n++] = (struct row){ON_7, "awaited", at + 10, end - at - 10, 10 * i + 1, 0};
		rows[n++] = (struct row){CALL, RECORD, at + 6, 1, 10 * i + 2, 0};
		rows[n++] = (struct row){CALL, LAUNCH, at + 8, 5, 10 * i + 3, 0};
		rows[n++] = (struct row){FMT_KERNEL,	  30,	      "other", at + 18,
					 other - at - 18, 10 * i + 3, 0};
		rows[n++] = (struct row){CALL, WAIT, at + 15, 1, 10 * i + 4, 0};
		rows[n++] = (struct row){CALL, LAUNCH, at + 20, 5, 10 * i + 5, 0};
		ops[i] = &rows[n];
		rows[n++] = (struct row){ON_20, "waiting", start, 5, 10 * i + 5, 0};
	}
	make(&m, rows, n, 1);
	for (int i = 0; i < ITERATIONS; i++)
		ck_assert_str_eq(waits_for(&m, ops[i], "event-wait"), "awaited");
}

/* A thread launches on two GPUs: its calls for both GPUs form one sequence. */
TEST(test_thread_order)
{
	static const struct row rows[] = {
		{CALL, LAUNCH, 100, 10, 1, 0},	  {CALL, LAUNCH, 115, 10, 2, 1},
		{CALL, LAUNCH, 130, 10, 3, 1},	  {CALL, "cudaStreamSynchronize", 150, 500, 4, 0},
		{ON_7, "kernel", 200, 440, 1, 0}, {CALL, LAUNCH, 655, 10, 5, 1},
	};
	scoped(unmake) struct made m;
	size_t n = 0;

	make_process(&m, rows, ARRAY_SIZE(rows), 2, 1, 0);
	for (int rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < m.ranks[rank].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[rank].edges[i];
			const struct row *to = m.row_of[rank][e->to];
			const struct row *from = m.row_of[rank + e->rank][e->from];

			if (e->rank == 0)
				continue;
			ck_assert_str_eq(rule_of(&m, e), "thread-order");
			ck_assert_int_eq(e->rank, 1 - 2 * rank);
			ck_assert_int_eq(e->lag_ns,
					 (to->start - from->start - from->duration) * 1000);
			n++;
		}
	ck_assert_uint_eq(n, 3);
	unmake(&m);
	make(&m, rows, ARRAY_SIZE(rows), 2);
	for (int rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < m.ranks[rank].n_edges; i++)
			ck_assert_int_eq(m.ranks[rank].edges[i].rank, 0);
}
