/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/trace/steps.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#define THREAD 0
#define STREAM 1

/* Repeats a few kernels: calls first, then what each of them launched. */
static void repeat(struct fmt_run_rank *rank, struct fmt_run_part *part, const uint32_t *kernels,
		   size_t n_kernels, uint32_t call, size_t n)
{
	rank->n_events = 2 * n;
	rank->events = calloc(2 * n, sizeof(*rank->events));
	part->call_of = calloc(2 * n, sizeof(*part->call_of));
	ck_assert(rank->events && part->call_of);
	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)i * 100;

		rank->events[i] = (struct fmt_event){
			.start_ns = at, .duration_ns = 10, .site = call, .lane = THREAD};
		rank->events[n + i] = (struct fmt_event){.start_ns = at + 20,
							 .duration_ns = 50,
							 .site = kernels[i % n_kernels],
							 .lane = STREAM};
		part->call_of[i] = FMT_RUN_NONE;
		part->call_of[n + i] = (uint32_t)i;
	}
	part->first_ns = 0;
	part->last_ns = (int64_t)n * 100;
}

/* Repetitions of three kernels: how many there are, how many iterations, of how many each. */
static const struct {
	size_t repetitions, iterations, each;
} rows[] = {
	{4, 4, 1},
	{4096, 4096, 1},
	{4097, 28, 147}, /* 1024 calls and operations, of six and a part each */
	{100000, 681, 147},
};

START_TEST(many_short_repetitions_are_one_iteration)
{
	struct made m;
	struct rec_process process = {0};
	struct rec_rank only = {.process = &process};
	const struct rec_ranks ranks = {.ranks = &only, .n = 1};

	made_init(&m, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint32_t kernels[] = {made_site(&m, FMT_KERNEL, "a", NULL, 0),
					    made_site(&m, FMT_KERNEL, "b", NULL, 0),
					    made_site(&m, FMT_KERNEL, "c", NULL, 0)};
		struct fmt_run_rank rank = {0};
		struct fmt_run_part part = {0};
		struct fmt_run run = {.names = m.names, .ranks = &rank, .n_ranks = 1};
		const struct fmt_iteration *all;
		scoped(rec_steps_of_done) struct rec_steps_of of = {0};

		repeat(&rank, &part, kernels, 3, m.launch, 3 * rows[i].repetitions);
		ck_assert_int_eq(rec_steps_find(&run, &ranks, &part, false, &of), 0);
		ck_assert_uint_eq(of.each, rows[i].each);
		ck_assert_uint_eq(rank.n_iterations, rows[i].iterations);
		all = rank.iterations;
		for (size_t k = 0; k < rank.n_iterations; k++) {
			ck_assert_int_eq(all[k].number, (int64_t)k);
			ck_assert(k == 0 ||
				  all[k].start_ns == all[k - 1].start_ns + all[k - 1].duration_ns);
		}
		/* The last one is whole. */
		ck_assert_int_eq(all[rank.n_iterations - 1].start_ns,
				 (int64_t)(300 * (rows[i].repetitions - rows[i].each)));
		free(rank.events);
		free(rank.iterations);
		fmt_run_part_done(&part);
	}
	made_done(&m);
}
END_TEST

TESTS("steps", many_short_repetitions_are_one_iteration)
