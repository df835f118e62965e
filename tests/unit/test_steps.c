/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/iterations.h"

#include "tests/unit/test.h"

/* A process with one GPU, and the iterations found in it. */
struct steps {
	struct fmt_names *names;
	struct rec_process *p;
	struct rec_ranks ranks;
	struct rec_iterations found;
};

static void steps_begin(struct steps *s)
{
	uint32_t track;

	ck_assert_int_eq(fmt_names_new(&s->names), 0);
	ck_assert_int_eq(rec_process_new(s->names, 1, 1, &s->p), 0);
	ck_assert_int_eq(
		rec_add_track(s->p, &(struct rec_track){.kind = FMT_THREAD, .device = -1}, &track),
		0);
	ck_assert_int_eq(rec_add_track(s->p, &(struct rec_track){.kind = FMT_STREAM}, &track), 0);
}

/* Launches `n` kernels, one every 100 ns, whose names repeat after `n_kernels`. */
static void steps_launch(struct steps *s, size_t n_kernels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)i * 100;
		const struct rec_launch launch = {at, (fmt_str)(1 + i % n_kernels)};

		ck_assert_int_eq(rec_add_launch(s->p, 0, 0, &launch), 0);
	}
	s->p->counts.calls = s->p->counts.ops = n;
	rec_process_extend_span(s->p, 0, (int64_t)n * 100);
}

/* Each search reads all launches that are kept, so it must drop a share of them. */
TEST(test_searches_drop_launches)
{
	scoped(rec_launches_done) struct rec_launches l = {0};

	for (size_t i = 0; i < 140000; i++) {
		size_t before = l.n;

		ck_assert_int_eq(rec_launches_add(&l, &(struct rec_launch){(int64_t)i * 100,
									   (fmt_str)(1 + i / 3)}),
				 0);
		ck_assert(l.n > before || l.n < before - before / 5);
	}
}

static void steps_find(struct steps *s)
{
	ck_assert_int_eq(rec_ranks_find(&s->p, 1, &s->ranks), 0);
	ck_assert_uint_eq(s->ranks.n, 1);
	ck_assert_int_eq(rec_iterations_find(&s->p, &s->ranks, 0, &s->found), 0);
}

static void steps_done(struct steps *s)
{
	fmt_iterations_done(&s->found.all);
	rec_ranks_done(&s->ranks);
	rec_process_free(s->p);
	fmt_names_free(s->names);
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

	steps_begin(&s);
	steps_launch(&s, 3, 3 * row->repetitions);
	steps_find(&s);
	ck_assert_int_eq(s.found.method, REC_ITERATIONS_REPEAT);
	ck_assert_uint_eq(s.found.each, row->each);
	ck_assert_uint_eq(s.found.all.n, row->iterations);
	all = s.found.all.list;
	for (size_t k = 0; k < s.found.all.n; k++) {
		ck_assert_int_eq(all[k].number, (int64_t)k);
		ck_assert(k == 0 ||
			  all[k].start_ns == all[k - 1].start_ns + all[k - 1].duration_ns);
	}
	/* The last iteration is complete. */
	ck_assert_int_eq(all[s.found.all.n - 1].start_ns,
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

static void add_range(struct steps *s, const char *name, int64_t start_ns, int64_t duration_ns)
{
	struct fmt_template template = {.kind = FMT_RANGE};
	struct rec_event e = {.start_ns = start_ns,
			      .duration_ns = duration_ns,
			      .call = REC_NONE,
			      .device = -1,
			      .kind = FMT_RANGE};

	ck_assert_int_eq(fmt_names_string(s->names, name, strlen(name), &template.name), 0);
	ck_assert_int_eq(fmt_names_template(s->names, &template, &e.template), 0);
	ck_assert_int_eq(rec_add_range(s->p, &e), 0);
}

static void check_ranges(const char *format, int duration_ns, bool tells)
{
	scoped(steps_done) struct steps s = {0};
	char name[64];

	steps_begin(&s);
	steps_launch(&s, 1, 600);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), format, i);
		add_range(&s, name, 50000 + i * 400, duration_ns);
	}
	steps_find(&s);
	ck_assert_msg((s.found.method == REC_ITERATIONS_RANGES) == tells, "%s", format);
	ck_assert_int_eq(s.found.all.list[tells ? 9 : 0].number, tells ? 9 : 0);
	ck_assert_int_eq(s.found.all.list[tells ? 9 : 0].start_ns, tells ? 53600 : 0);
}

TEST_ROWS(ranges_named_like_steps_are_iterations, named)
{
	check_ranges(row->format, row->duration_ns, row->tells);
}
