/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/report.h"

#include "formats/render/losses.h"
#include "formats/trace/json.h"
#include "tests/unit/test.h"
#include "tests/unit/training.h"

enum { RANKS = 4, ITERATIONS = 3, LAYERS = 8 };

struct fixture {
	char *folder, path[300];
	struct fmt_trace *trace;
};

static void open_run(struct fixture *f, struct training *t)
{
	f->folder = made_directory();
	snprintf(f->path, sizeof(f->path), "%s/t", f->folder);
	f->trace = training_open(t, f->folder, "t");
}

static void setup_run(struct fixture *f, uint32_t iterations, bool overlaps)
{
	struct training t;

	training_init(&t, RANKS, iterations, LAYERS);
	t.overlaps = overlaps;
	if (overlaps)
		t.late_ns *= 10;
	open_run(f, &t);
}

/* A run whose host launches iterations before the GPUs have finished the previous one. */
static void setup_ahead(struct fixture *f)
{
	struct training t;

	training_init(&t, RANKS, 12, LAYERS);
	t.runs_ahead = true;
	open_run(f, &t);
}

static void setup(struct fixture *f, uint32_t iterations)
{
	setup_run(f, iterations, false);
}

static void teardown(struct fixture *f)
{
	fmt_trace_close(f->trace);
	made_remove(f->folder);
}

static struct fmt_report *report_of(struct fixture *f, struct fmt_part part, bool across)
{
	struct fmt_report *r;
	struct fmt_error err = {.what = ""};

	ck_assert_msg(fmt_report_new(f->trace, &part, across, &r, &err) == 0, "%s", err.what);
	return r;
}

TEST(test_rows)
{
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *r = NULL;

	setup(&f, ITERATIONS);
	r = report_of(&f, FMT_WHOLE, true);
	ck_assert_uint_eq(r->n_gpus, ITERATIONS * RANKS);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct fmt_report_gpu *g = &r->gpus[i];
		const struct fmt_slice_info *info =
			fmt_trace_slice(f.trace, g->rank, (uint32_t)(i / RANKS));

		ck_assert_int_eq(g->iteration.number, (int64_t)(4 + i / RANKS));
		ck_assert_uint_eq(g->rank, i % RANKS);
		ck_assert_int_eq(g->iteration.duration_ns, info->iteration.duration_ns);
		ck_assert_int_eq(g->busy.compute_ns + g->busy.exposed_ns + g->busy.idle_ns,
				 g->busy.device_ns);
		/* the last rank is the slowest, so it never waits */
		if (g->rank == RANKS - 1)
			ck_assert_int_eq(g->waiting_ns, 0);
		else
			ck_assert_int_gt(g->waiting_ns, LAYERS * 50000);
	}
}

/* Divides the span of a row by the operations of its GPU. */
static struct fmt_busy divide_all(struct fixture *f, const struct fmt_report_gpu *row)
{
	struct fmt_busy_span span = {row->busy.start_ns, row->busy.end_ns, 1};
	struct fmt_busy_ops ops = {0};
	struct fmt_busy busy;

	for (uint32_t i = 0; i < fmt_trace_rank(f->trace, row->rank)->n_slices; i++) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		ck_assert_int_eq(fmt_slice_load(f->trace, row->rank, i, FMT_WANT_OPS, &slice, NULL),
				 0);
		ck_assert_int_eq(fmt_busy_collect(&ops, fmt_trace_names(f->trace), slice, NULL), 0);
	}
	ck_assert_int_eq(fmt_busy_divide(&ops, &span, &busy), 0);
	fmt_busy_ops_done(&ops);
	return busy;
}

static void check_same_row(const struct fmt_report_gpu *a, const struct fmt_report_gpu *b)
{
	ck_assert_uint_eq(a->rank, b->rank);
	ck_assert_int_eq(a->iteration.number, b->iteration.number);
	ck_assert_int_eq(memcmp(&a->busy, &b->busy, sizeof(a->busy)), 0);
	ck_assert_int_eq(a->waiting_ns, b->waiting_ns);
}

/* If iterations overlap, each row counts the operations of all iterations within its span. A report
 * of one iteration agrees with that of the whole run. */
TEST(test_iterations_that_overlap)
{
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *whole = NULL;

	setup_ahead(&f);
	whole = report_of(&f, FMT_WHOLE, true);
	for (size_t i = 0; i < whole->n_gpus; i++) {
		const struct fmt_report_gpu *row = &whole->gpus[i];
		struct fmt_busy want = divide_all(&f, row);
		struct fmt_part part = {row->iteration.number, row->rank, NULL, NULL};
		scoped(fmt_report_freep) struct fmt_report *one = report_of(&f, part, true);
		scoped(fmt_report_freep) struct fmt_report *all = NULL;

		ck_assert_int_eq(memcmp(&row->busy, &want, sizeof(want)), 0);
		ck_assert_uint_eq(one->n_gpus, 1);
		check_same_row(&one->gpus[0], row);
		part.rank = FMT_ANY;
		all = report_of(&f, part, true);
		ck_assert_uint_eq(all->n_gpus, RANKS);
		check_same_row(&all->gpus[row->rank], row);
		ck_assert_uint_eq(all->n_runs, 0);
		ck_assert_uint_eq(all->collectives[0].n_ops, LAYERS * RANKS);
	}
	ck_assert_uint_eq(whole->n_runs, RANKS);
	for (size_t i = 0; i < whole->n_runs; i++) {
		struct fmt_busy want = divide_all(&f, &whole->runs[i]);

		ck_assert_int_eq(memcmp(&whole->runs[i].busy, &want, sizeof(want)), 0);
		ck_assert_int_le(whole->runs[i].waiting_ns, want.exposed_ns + want.hidden_ns);
	}
}

/* Waiting in two collectives at once counts once. */
TEST(test_simultaneous_waits_count_once)
{
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *r = NULL;

	setup_run(&f, ITERATIONS, true);
	r = report_of(&f, FMT_WHOLE, true);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct fmt_report_gpu *g = &r->gpus[i];

		ck_assert_int_le(g->waiting_ns, g->busy.exposed_ns + g->busy.hidden_ns);
		ck_assert_int_ge(g->waiting_ns, g->rank == RANKS - 1 ? 0 : 50000);
	}
}

TEST(test_collectives)
{
	static const struct {
		int64_t iteration, rank;
		bool across;
		uint64_t instances, ops, shared;
	} rows[] = {
		{FMT_ANY, FMT_ANY, true, ITERATIONS * LAYERS, ITERATIONS * LAYERS * RANKS,
		 ITERATIONS * LAYERS * RANKS},
		{5, FMT_ANY, true, LAYERS, LAYERS * RANKS, LAYERS * RANKS},
		{5, 1, true, LAYERS, LAYERS, LAYERS},
		{5, 1, false, LAYERS, LAYERS, 0},
	};
	scoped(teardown) struct fixture f;

	setup(&f, ITERATIONS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(fmt_report_freep) struct fmt_report *r = report_of(
			&f, (struct fmt_part){rows[i].iteration, rows[i].rank}, rows[i].across);
		const struct fmt_report_collective *c = r->collectives;

		ck_assert_uint_eq(r->n_collectives, 1);
		ck_assert_uint_eq(c->n_instances, rows[i].instances);
		ck_assert_uint_eq(c->n_ops, rows[i].ops);
		ck_assert_uint_eq(c->n_shared, rows[i].shared);
		ck_assert_int_eq(c->bytes, 16 << 20);
		ck_assert_str_eq(fmt_string(fmt_trace_names(f.trace), c->op, NULL), "all_reduce");
		if (rows[i].across)
			ck_assert_int_eq(c->transfer_ns, (int64_t)rows[i].instances * 90000);
		if (rows[i].shared)
			ck_assert_int_eq(c->waiting_ns, c->total_ns - (int64_t)rows[i].ops * 90000);
	}
}

/* Collectives whose sizes differ between ranks have a row for each size, with its own count. */
TEST(test_sizes_by_rank)
{
	struct fmt_arg args[FMT_COLLECTIVE_ARGS + 1];
	struct fmt_template template;
	struct training t;
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *r = NULL;

	training_init(&t, RANKS, ITERATIONS, LAYERS);
	template = *fmt_template(t.made.names, t.collective);
	memcpy(args, template.args, sizeof(args));
	args[FMT_COLLECTIVE_BYTES].value *= RANKS;
	template.args = args;
	ck_assert_int_eq(fmt_names_template(t.made.names, &template, &t.root), 0);
	open_run(&f, &t);
	r = report_of(&f, FMT_WHOLE, true);
	ck_assert_uint_eq(r->n_collectives, 2);
	for (size_t i = 0; i < r->n_collectives; i++) {
		const struct fmt_report_collective *c = &r->collectives[i];
		bool root = c->bytes == RANKS * (16 << 20);

		ck_assert_uint_eq(c->n_instances, ITERATIONS * LAYERS);
		ck_assert_uint_eq(c->n_ops, ITERATIONS * LAYERS * (root ? 1 : RANKS - 1));
		ck_assert_int_eq(c->transfer_ns, (int64_t)c->n_instances * 90000);
	}
}

TEST(test_operations)
{
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *r = NULL;
	int64_t last = INT64_MAX;
	uint64_t kernels = 0;

	setup(&f, ITERATIONS);
	r = report_of(&f, FMT_WHOLE, true);
	ck_assert_uint_eq(r->n_ops, TRAINING_KERNELS + 1);
	for (size_t i = 0; i < r->n_ops; i++) {
		const struct fmt_report_op *o = &r->ops[i];

		ck_assert_int_le(o->total_ns, last);
		last = o->total_ns;
		ck_assert_int_le(o->min_ns, o->max_ns);
		kernels += o->kind == FMT_KERNEL ? o->n : 0;
		if (o->kind == FMT_MEMCPY)
			ck_assert_uint_eq(o->bytes, UINT64_C(4096) * ITERATIONS * RANKS);
	}
	ck_assert_uint_eq(kernels, r->n_records[FMT_KERNEL]);
	ck_assert_uint_eq(kernels, ITERATIONS * RANKS * LAYERS * TRAINING_KERNELS);
}

/* Checks that there are no control characters except line ends. */
static void check_harmless(const struct text *t)
{
	for (size_t i = 0; i < t->len; i++) {
		unsigned char c = (unsigned char)t->data[i];

		ck_assert(c == '\n' || (c >= ' ' && c != 0x7f));
	}
}

TEST(test_printing)
{
	static const struct fmt_report_style plain, coloured = {.colour = true, .top = 2};
	static const uint32_t iterations[] = {1, ITERATIONS, 100};

	for (size_t i = 0; i < ARRAY_SIZE(iterations); i++) {
		scoped(teardown) struct fixture f;
		scoped(fmt_report_freep) struct fmt_report *r = NULL;
		scoped(text_done) struct text t = {0};

		setup(&f, iterations[i]);
		r = report_of(&f, FMT_WHOLE, true);
		fmt_report_text(r, &plain, &t);
		ck_assert_int_eq(t.error, 0);
		check_harmless(&t);
		ck_assert_ptr_nonnull(memmem(t.data, t.len, "4 x NVIDIA H100 80GB HBM3", 25));
		ck_assert_int_eq(memmem(t.data, t.len, "; the slowest 16 of 100 iterations:", 35) !=
					 NULL,
				 iterations[i] == 100);
		t.len = 0;
		fmt_report_text(r, &coloured, &t);
		ck_assert_ptr_nonnull(memmem(t.data, t.len, "\033[1m", 4));
		ck_assert_ptr_nonnull(memmem(t.data, t.len, "2 more; --top=4 shows all", 25));
		t.len = 0;
		fmt_report_json(r, &plain, &t);
		ck_assert_int_eq(t.error, 0);
		ck_assert(fmt_json_valid(t.data, t.len));
	}
}

TEST(test_damage_is_counted)
{
	static const struct fmt_report_style plain;
	scoped(teardown) struct fixture f;
	scoped(fmt_report_freep) struct fmt_report *r = NULL;
	scoped(text_done) struct text t = {0};
	char path[400];
	int rows = 0;
	FILE *file;

	setup(&f, ITERATIONS);
	snprintf(path, sizeof(path), "%s/rank-00001.chunks", f.path);
	file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	fseek(file, ftell(file) * 3 / 4, SEEK_SET);
	fwrite("damage", 1, 6, file);
	fclose(file);
	r = report_of(&f, FMT_WHOLE, true);
	for (size_t i = 0; i < r->n_gpus; i++) {
		rows += r->gpus[i].n_damaged > 0;
		ck_assert(r->gpus[i].n_damaged == 0 || r->gpus[i].rank == 1);
	}
	ck_assert_int_eq(rows, 1);
	fmt_report_text(r, &plain, &t);
	ck_assert_ptr_nonnull(memmem(t.data, t.len, "\nDamage\n", 8));
}

/* Counts agree in number with their nouns, lines name the processes, and bytes of a trace are
 * escaped. */
TEST(test_lost_events)
{
	static const struct {
		uint32_t rank;
		const char *key, *value;
	} facts[] = {
		{FMT_WHOLE_TRACE, "capture.calls_missing", "2000"},
		{FMT_WHOLE_TRACE, "capture.stopped", "\"\x1b[31mfull\""},
		{FMT_WHOLE_TRACE, "capture.processes_killed", "3"},
		{FMT_WHOLE_TRACE, "capture.unknown_handles", "1"},
		{0, "process_ending", "\"killed by SIGSEGV\""},
		{0, "process_in_call", "\"cuStreamSynchronize\""},
		{0, "process", "4710"},
		{0, "shared_process", "1"},
		{1, "process_ending", "\"killed by SIGSEGV\""},
		{1, "process", "4710"},
		{1, "shared_process", "1"},
		{2, "process_ending", "\"killed\""},
		{2, "process_last_call", "\"cuLaunchKernel\""},
		{2, "process", "4711"},
	};
	static const char *const expected =
		"> 3 processes killed or aborted, so their unfinished calls have no end: "
		"pid 4710 (ranks 0, 1) killed by SIGSEGV in cuStreamSynchronize, "
		"pid 4711 (rank 2) killed after cuLaunchKernel and 1 more\n"
		"> 2,000 calls begun but not recorded: \\x1b[31mfull\n"
		"> 1 handle whose creation was not recorded\n";
	scoped(text_done) struct text text = {0};
	struct training t;
	scoped(teardown) struct fixture f;

	training_init(&t, RANKS, 1, LAYERS);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		ck_assert_int_eq(fmt_names_fact_json(t.made.names, facts[i].rank, facts[i].key,
						     facts[i].value, strlen(facts[i].value)),
				 0);
	open_run(&f, &t);
	fmt_put_losses(f.trace, "> ", &text);
	text_char(&text, '\0');
	ck_assert_str_eq(text.data, expected);
}
