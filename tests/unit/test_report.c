/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/report/report.h"

#include "formats/json.h"
#include "formats/losses.h"
#include "tests/unit/test.h"
#include "tests/unit/training.h"

enum { RANKS = 4, ITERATIONS = 3, LAYERS = 8 };

struct fixture {
	char *folder, path[300];
	struct fmt_trace *trace;
};

static void setup_run(struct fixture *f, uint32_t iterations, bool overlaps)
{
	struct fmt_error err = {.what = ""};
	struct training t;

	f->folder = made_directory();
	snprintf(f->path, sizeof(f->path), "%s/t", f->folder);
	training_init(&t, RANKS, iterations, LAYERS);
	t.overlaps = overlaps;
	if (overlaps)
		t.late_ns *= 10;
	training_write(&t, f->path);
	training_done(&t);
	ck_assert_msg(fmt_trace_open(f->path, &f->trace, &err) == 0, "%s", err.what);
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

START_TEST(test_rows)
{
	struct fixture f;
	struct fmt_report *r;

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
		/* the last rank is the slowest: it waits for nobody */
		if (g->rank == RANKS - 1)
			ck_assert_int_eq(g->waiting_ns, 0);
		else
			ck_assert_int_gt(g->waiting_ns, LAYERS * 50000);
	}
	fmt_report_free(r);
	teardown(&f);
}
END_TEST

/* Waiting in several collectives at once is waiting once. */
START_TEST(test_waiting_at_once)
{
	struct fixture f;
	struct fmt_report *r;

	setup_run(&f, ITERATIONS, true);
	r = report_of(&f, FMT_WHOLE, true);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct fmt_report_gpu *g = &r->gpus[i];

		ck_assert_int_le(g->waiting_ns, g->busy.exposed_ns + g->busy.hidden_ns);
		ck_assert_int_ge(g->waiting_ns, g->rank == RANKS - 1 ? 0 : 50000);
	}
	fmt_report_free(r);
	teardown(&f);
}
END_TEST

START_TEST(test_collectives)
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
	struct fixture f;

	setup(&f, ITERATIONS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fmt_report *r = report_of(
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
		fmt_report_free(r);
	}
	teardown(&f);
}
END_TEST

START_TEST(test_operations)
{
	struct fixture f;
	struct fmt_report *r;
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
	fmt_report_free(r);
	teardown(&f);
}
END_TEST

/* Printable, but for line ends. */
static void check_harmless(const struct text *t)
{
	for (size_t i = 0; i < t->len; i++) {
		unsigned char c = (unsigned char)t->data[i];

		ck_assert(c == '\n' || (c >= ' ' && c != 0x7f));
	}
}

START_TEST(test_printing)
{
	static const struct fmt_report_style plain, coloured = {.colour = true, .top = 2};
	static const uint32_t iterations[] = {1, ITERATIONS, 100};

	for (size_t i = 0; i < ARRAY_SIZE(iterations); i++) {
		struct fmt_report *r;
		struct text t = {0};
		struct fixture f;

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
		ck_assert_ptr_nonnull(memmem(t.data, t.len, "2 more; --top=4 shows them", 26));
		t.len = 0;
		fmt_report_json(r, &plain, &t);
		ck_assert_int_eq(t.error, 0);
		ck_assert(fmt_json_valid(t.data, t.len));
		text_done(&t);
		fmt_report_free(r);
		teardown(&f);
	}
}
END_TEST

START_TEST(test_damage_is_counted)
{
	static const struct fmt_report_style plain;
	struct fmt_report *r;
	struct text t = {0};
	struct fixture f;
	char path[400];
	int rows = 0;
	FILE *file;

	setup(&f, ITERATIONS);
	snprintf(path, sizeof(path), "%s/rank-00001.chunks", f.path);
	file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	fseek(file, ftell(file) * 3 / 4, SEEK_SET); /* behind the slice that has parity */
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
	text_done(&t);
	fmt_report_free(r);
	teardown(&f);
}
END_TEST

/* A terminal prints what a stranger wrote. */
START_TEST(test_losses_are_harmless)
{
	static const char *const facts[][2] = {{"capture.calls_missing", "2"},
					       {"capture.stopped", "\"\x1b[31mfull\""}};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(text_done) struct text t = {0};

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		ck_assert_int_eq(fmt_names_fact_json(names, FMT_WHOLE_TRACE, facts[i][0],
						     facts[i][1], strlen(facts[i][1])),
				 0);
	fmt_losses(names, "> ", &t);
	text_char(&t, '\0');
	ck_assert_str_eq(t.data, "> 2 calls that were begun and not recorded: \\x1b[31mfull\n");
}
END_TEST

TESTS("report", test_losses_are_harmless, test_rows, test_waiting_at_once, test_collectives,
      test_operations, test_printing, test_damage_is_counted)
