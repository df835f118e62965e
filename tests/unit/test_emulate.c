/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/emulate.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include "formats/run/infer/constants.h"

#include "replay/engine/timemap.h"

#include <sys/stat.h>

#define RANKS 3
#define SLICES 4
#define LAUNCHES 200

/* Creates a trace at dir/in; the caller closes it. */
static struct fmt_trace *write_and_open(struct made *m, const char *dir)
{
	struct fmt_constants c = {.launch_ns = 4000, .copy_ns = 15000};

	made_init(m, RANKS);
	for (uint32_t i = 0; i < RANKS; i++) {
		c.anchor_ns = 1700000000000000000;
		ck_assert_int_eq(fmt_constants_put(m->names, i, &c), 0);
	}
	made_write(m, made_path(dir, "in"), RANKS, SLICES, LAUNCHES, 0);
	return made_open(made_path(dir, "in"));
}

static struct replay_report emulate(struct fmt_trace *t, const char *out)
{
	struct replay_report report;
	struct fmt_error err = {.what = ""};

	ck_assert_msg(replay_emulate(t, NULL, out, &report, &err) == 0, "%s", err.what);
	return report;
}

/* Checks that both traces have the same events, and the same times if `times` is set. */
static void check_same(struct fmt_trace *a, struct fmt_trace *b, int times)
{
	struct fmt_error err;

	ck_assert_uint_eq(fmt_trace_n_ranks(a), fmt_trace_n_ranks(b));
	for (uint32_t r = 0; r < fmt_trace_n_ranks(a); r++) {
		ck_assert_uint_eq(fmt_trace_rank(a, r)->n_slices, fmt_trace_rank(b, r)->n_slices);
		for (uint32_t k = 0; k < fmt_trace_rank(a, r)->n_slices; k++) {
			scoped(fmt_slice_freep) struct fmt_slice *x = NULL;
			scoped(fmt_slice_freep) struct fmt_slice *y = NULL;

			ck_assert_int_eq(fmt_slice_load(a, r, k, FMT_WANT_ALL, &x, &err), 0);
			ck_assert_int_eq(fmt_slice_load(b, r, k, FMT_WANT_ALL, &y, &err), 0);
			ck_assert_uint_eq(x->n_events, y->n_events);
			ck_assert_uint_eq(x->n_ranges, y->n_ranges);
			ck_assert_uint_eq(x->n_edges, y->n_edges);
			ck_assert_int_eq(x->iteration.number, y->iteration.number);
			if (times)
				ck_assert(same_slice(x, y, fmt_trace_names(a)));
		}
	}
}

TEST(test_an_emulated_run_is_a_trace)
{
	scoped(made_removep) char *dir = made_directory();
	scoped(made_done) struct made m;
	scoped(fmt_trace_closep) struct fmt_trace *t = write_and_open(&m, dir);
	scoped(fmt_trace_closep) struct fmt_trace *once = NULL;
	scoped(fmt_trace_closep) struct fmt_trace *twice = NULL;
	scoped(replay_report_done) struct replay_report report = emulate(t, made_path(dir, "once"));
	scoped(replay_report_done) struct replay_report again;
	char id[80];

	ck_assert_uint_eq(report.ops, RANKS * SLICES * LAUNCHES);
	ck_assert_uint_eq(report.n_rows, RANKS * SLICES);
	ck_assert_uint_eq(report.n_gpus, RANKS);
	ck_assert_uint_eq(report.broken, 0);
	once = made_open(made_path(dir, "once"));
	check_same(t, once, 0);
	ck_assert_str_eq(
		fmt_fact_value(fmt_trace_names(once), FMT_WHOLE_TRACE, "gputrace.emulated"),
		"true");
	snprintf(id, sizeof(id), "\"%s\"", fmt_trace_id(t));
	ck_assert_str_eq(
		fmt_fact_value(fmt_trace_names(once), FMT_WHOLE_TRACE, "gputrace.emulated_from"),
		id);
	again = emulate(once, made_path(dir, "twice"));
	ck_assert_int_eq(again.start_error_max_ns, 0);
	twice = made_open(made_path(dir, "twice"));
	check_same(once, twice, 1);
	for (size_t i = 0; i < report.n_rows; i++) {
		ck_assert_int_eq(again.rows[i].recorded_step_ns, report.rows[i].emulated_step_ns);
		ck_assert_int_eq(again.rows[i].recorded.idle_ns, report.rows[i].emulated.idle_ns);
	}
}

TEST(test_an_invalid_output_path)
{
	scoped(free_ptr) char *dir = made_directory();
	struct made m;
	struct fmt_trace *t = write_and_open(&m, dir);
	struct replay_report report;
	struct fmt_error err;

	ck_assert_int_eq(mkdir(made_path(dir, "there"), 0777), 0);
	ck_assert_int_eq(replay_emulate(t, NULL, made_path(dir, "there"), &report, &err), -EEXIST);
	ck_assert_int_eq(rmdir(made_path(dir, "there")), 0);
	ck_assert_int_eq(replay_emulate(t, NULL, made_path(dir, "no/such"), &report, &err),
			 -ENOENT);
	fmt_trace_close(t);
	made_done(&m);
	/* The directory contains only the trace, so it must be removable. */
	made_remove(strdup(made_path(dir, "in")));
	ck_assert_int_eq(rmdir(dir), 0);
}

/* Calls at 100..110 and 200..250 of a thread, moved by 1000 and 1500; the second call is delayed by
 * a dependency of 30. */
static const struct {
	int stream;
	int64_t recorded, emulated;
} moments[] = {
	{0, 90, 1090},	{0, 100, 1100}, {0, 105, 1105}, {0, 110, 1110}, {0, 140, 1140},
	{0, 180, 1680}, {0, 200, 1700}, {0, 249, 1749}, {0, 260, 1760}, {1, 140, 1140},
	{1, 150, 1150}, {1, 190, 1690}, {1, 200, 1700}, {1, 260, 1760},
};

TEST(test_annotations_move_with_their_calls)
{
	struct fmt_event events[] = {{.start_ns = 100, .duration_ns = 10},
				     {.start_ns = 200, .duration_ns = 50}};
	struct fmt_edge edge = {.from = 99, .to = 1, .lag_ns = 30};
	const int64_t times[] = {1100, 1110, 1700, 1750};
	struct fmt_slice slice = {.events = events, .n_events = 2, .edges = &edge, .n_edges = 1};
	struct timemap_carry none = {.known = 0}, carry = none;

	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		scoped(timemap_done) struct timemap p = {.stream = moments[i].stream};

		slice.n_edges = !moments[i].stream;
		ck_assert_int_eq(timemap_add_track(&p, &none, &slice, 0, 2, times), 0);
		ck_assert_msg(timemap_emulated_ns(&p, moments[i].recorded) == moments[i].emulated,
			      "%ld went to %ld", (long)moments[i].recorded,
			      (long)timemap_emulated_ns(&p, moments[i].recorded));
		timemap_save(&p, &carry);
		ck_assert_int_eq(timemap_add_track(&p, &carry, &slice, 0, 0, times), 0);
		ck_assert_int_eq(timemap_emulated_ns(&p, 300), 1800);
	}
}
