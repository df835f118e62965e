/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/iterations.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#define THREAD 0
#define STREAM 1

/* Repeats `n` kernels: all calls first, then the operation of each. */
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
			.start_ns = at, .duration_ns = 10, .template = call, .track = THREAD};
		rank->events[n + i] = (struct fmt_event){.start_ns = at + 20,
							 .duration_ns = 50,
							 .template = kernels[i % n_kernels],
							 .track = STREAM};
		part->call_of[i] = FMT_RUN_NONE;
		part->call_of[n + i] = (uint32_t)i;
	}
	part->first_ns = 0;
	part->last_ns = (int64_t)n * 100;
}

/* A run of one rank and the iterations found in it. */
struct steps {
	struct made made;
	struct fmt_run_rank rank;
	struct fmt_run_part part;
	struct rec_iterations_state state;
};

static void steps_find(struct steps *s)
{
	struct rec_process process = {0}, *const processes[] = {&process};
	struct rec_rank only = {0};
	const struct rec_ranks ranks = {.ranks = &only, .n = 1};
	struct fmt_run run = {.names = s->made.names, .ranks = &s->rank, .n_ranks = 1};

	ck_assert_int_eq(rec_iterations_plan(run.names, &process, &s->part, &s->state), 0);
	ck_assert_int_eq(
		rec_iterations_find(&run, &ranks, processes, 1, &s->part, false, &s->state), 0);
}

static void steps_done(struct steps *s)
{
	rec_iterations_state_done(&s->state);
	free(s->rank.events);
	free(s->rank.iterations);
	fmt_run_part_done(&s->part);
	made_done(&s->made);
}

/* Repetitions of three kernels: their number, the number of iterations, and the repetitions in
 * each. */
static const struct {
	size_t repetitions, iterations, each;
} rows[] = {
	{4, 4, 1},
	{4096, 4096, 1},
	{4097, 28, 147}, /* at least 1024 items an iteration; a repetition counts 7 */
	{100000, 681, 147},
};

TEST_ROWS(many_short_repetitions_are_one_iteration, rows)
{
	scoped(steps_done) struct steps s = {0};
	const struct fmt_iteration *all;
	uint32_t kernels[3];

	made_init(&s.made, 1);
	for (int k = 0; k < 3; k++)
		kernels[k] = made_template(&s.made, FMT_KERNEL, (char[]){'a' + k, 0}, NULL, 0);
	repeat(&s.rank, &s.part, kernels, 3, s.made.launch, 3 * row->repetitions);
	steps_find(&s);
	ck_assert_uint_eq(s.state.each, row->each);
	ck_assert_uint_eq(s.rank.n_iterations, row->iterations);
	all = s.rank.iterations;
	for (size_t k = 0; k < s.rank.n_iterations; k++) {
		ck_assert_int_eq(all[k].number, (int64_t)k);
		ck_assert(k == 0 ||
			  all[k].start_ns == all[k - 1].start_ns + all[k - 1].duration_ns);
	}
	/* The last iteration is complete. */
	ck_assert_int_eq(all[s.rank.n_iterations - 1].start_ns,
			 (int64_t)(300 * (row->repetitions - row->each)));
}

/* Ranges that cover a twentieth of a run: their name, and whether they mark iterations. A range may
 * begin before the previous one ends, on another thread. */
static const struct {
	const char *format;
	int duration_ns; /* a range begins every 400 ns */
	bool tells;
} named[] = {
	{"train_step %d", 300, true},
	{"train_step %d", 401, true},
	{"train_step %d", 4000, false},
	{"Batch%d", 300, true},
	{"ProfilerStep#%d, op_id = 7", 300, true},
	{"iteration %d of 9 layers", 300, false},
	{"layer %d", 300, false},
	{"step", 300, false},
};

static void check_ranges(const char *format, int duration_ns, bool tells)
{
	scoped(steps_done) struct steps s = {0};
	uint32_t kernel;
	char name[64];

	made_init(&s.made, 1);
	kernel = made_template(&s.made, FMT_KERNEL, "a", NULL, 0);
	repeat(&s.rank, &s.part, &kernel, 1, s.made.launch, 600);
	s.part.n_ranges = 10;
	s.part.ranges = calloc(s.part.n_ranges, sizeof(*s.part.ranges));
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), format, i);
		s.part.ranges[i] = (struct fmt_event){
			.start_ns = 50000 + i * 400,
			.duration_ns = duration_ns,
			.template = made_template(&s.made, FMT_RANGE, name, NULL, 0)};
	}
	steps_find(&s);
	ck_assert_msg((s.state.way == REC_ITERATIONS_RANGES) == tells, "%s", format);
	ck_assert_uint_eq(s.rank.iterations[tells ? 9 : 0].number, tells ? 9 : 0);
	ck_assert_int_eq(s.rank.iterations[tells ? 9 : 0].start_ns, tells ? 53600 : 0);
}

TEST_ROWS(ranges_named_like_steps_are_iterations, named)
{
	check_ranges(row->format, row->duration_ns, row->tells);
}
