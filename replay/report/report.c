/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/report.h"

#include "formats/render/grid.h"

#include "base/scope.h"

#include <inttypes.h>
#include <math.h>

void replay_report_done(struct replay_report *r)
{
	free(r->rows);
	free(r->runs);
	free(r->predicted);
	free(r->mean_steps_ns);
	free(r->copies_of);
	path_summary_done(&r->path);
	*r = (struct replay_report){0};
}

struct errors {
	double mean, max; /* of the absolute values */
};

/* emulated / recorded - 1; 0 if the recorded time is 0. */
static double error_of(int64_t emulated_ns, int64_t recorded_ns)
{
	return recorded_ns > 0 ? (double)emulated_ns / (double)recorded_ns - 1 : 0;
}

static double step_error(const struct replay_row *row)
{
	return error_of(row->emulated_step_ns, row->recorded_step_ns);
}

static double device_error(const struct replay_row *row)
{
	return error_of(row->emulated.device_ns, row->recorded.device_ns);
}

static struct errors errors(const struct replay_report *r, double (*of)(const struct replay_row *))
{
	struct errors e = {0};

	for (size_t i = 0; i < r->n_rows; i++) {
		double x = fabs(of(&r->rows[i]));

		e.mean += x / (double)r->n_rows;
		e.max = x > e.max ? x : e.max;
	}
	return e;
}

static struct errors step_errors(const struct replay_report *r)
{
	return errors(r, step_error);
}

static struct errors device_errors(const struct replay_report *r)
{
	return errors(r, device_error);
}

/* ---- JSON ---- */

void replay_times_json(struct text *out, const char *key, const int64_t *step_ns,
		       const struct fmt_busy *b)
{
	text_printf(out, "\"%s\": {", key);
	if (step_ns)
		text_printf(out, "\"step_ns\": %" PRId64 ", ", *step_ns);
	text_printf(out,
		    "\"device_ns\": %" PRId64 ", \"compute_ns\": %" PRId64
		    ", \"exposed_ns\": %" PRId64 ", \"hidden_ns\": %" PRId64
		    ", \"idle_ns\": %" PRId64 "}",
		    b->device_ns, b->compute_ns, b->exposed_ns, b->hidden_ns, b->idle_ns);
}

static void json_run(struct text *out, const struct replay_row *row)
{
	text_printf(out, "    {\"gpu\": %" PRIu32 ", ", row->gpu);
	replay_times_json(out, "recorded", NULL, &row->recorded);
	text_str(out, ", ");
	replay_times_json(out, "emulated", NULL, &row->emulated);
	text_str(out, ", ");
	text_printf(out, "\"device_error\": %.9f}", device_error(row));
}

static void json_row(struct text *out, const struct replay_row *row)
{
	text_printf(out, "    {\"gpu\": %" PRIu32 ", ", row->gpu);
	replay_times_json(out, "recorded", &row->recorded_step_ns, &row->recorded);
	text_str(out, ", ");
	replay_times_json(out, "emulated", &row->emulated_step_ns, &row->emulated);
	text_str(out, ", ");
	text_printf(out, "\"error\": %.9f, \"device_error\": %.9f}", step_error(row),
		    device_error(row));
}

static int begins_iteration(const struct replay_report *r, size_t i)
{
	return i == 0 || r->rows[i].iteration != r->rows[i - 1].iteration;
}

void replay_report_json(const struct replay_report *r, struct text *out)
{
	struct errors step = step_errors(r), device = device_errors(r);

	text_str(out, "{\"iterations\": [");
	for (size_t i = 0; i < r->n_rows; i++) {
		if (begins_iteration(r, i))
			text_printf(out, "%s\n  {\"iteration\": %" PRId64 ", \"gpus\": [\n",
				    i ? "]}," : "", r->rows[i].iteration);
		else
			text_str(out, ",\n");
		json_row(out, &r->rows[i]);
	}
	text_str(out, r->n_rows ? "]}],\n \"run\": [" : "],\n \"run\": [");
	for (size_t i = 0; i < r->n_runs; i++) {
		text_str(out, i ? ",\n" : "\n");
		json_run(out, &r->runs[i]);
	}
	text_str(out, "],\n");
	text_printf(out, " \"mean_abs_error\": %.9f, \"max_abs_error\": %.9f,\n", step.mean,
		    step.max);
	text_printf(out, " \"device_mean_abs_error\": %.9f, \"device_max_abs_error\": %.9f,\n",
		    device.mean, device.max);
	text_printf(out,
		    " \"op_start_error_ns\": {\"p50\": %" PRId64 ", \"p95\": %" PRId64
		    ", \"max\": %" PRId64 "},\n",
		    r->start_error_p50_ns, r->start_error_p95_ns, r->start_error_max_ns);
	text_printf(out,
		    " \"unexplained\": %" PRIu64 ", \"broken\": %" PRIu64 ", \"too_far\": %" PRIu64
		    ", \"repeated\": %" PRIu64 ", \"within\": %" PRIu64 ",\n",
		    r->unexplained, r->broken, r->too_far, r->repeated, r->within);
	replay_stability_json(r, out);
	text_printf(out, " \"leverage\": %.6f, \"ops\": %" PRIu64 ", \"seconds\": %.6f}\n",
		    replay_leverage(r), r->ops, r->seconds);
}

/* ---- text ---- */

static void cell_error(struct fmt_grid *g, double error)
{
	fmt_grid_cell(g, "%+.2f%%", 100 * error);
}

static void table_steps(const struct replay_report *r, int colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrrrrrrr"};

	fmt_grid_head(&g, "iteration|GPU|step ms|emulated|error|device ms|emulated|error");
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];

		fmt_grid_cell(&g, "%" PRId64, row->iteration);
		fmt_grid_cell(&g, "%" PRIu32, row->gpu);
		fmt_grid_ms(&g, (double)row->recorded_step_ns);
		fmt_grid_ms(&g, (double)row->emulated_step_ns);
		cell_error(&g, step_error(row));
		fmt_grid_ms(&g, (double)row->recorded.device_ns);
		fmt_grid_ms(&g, (double)row->emulated.device_ns);
		cell_error(&g, device_error(row));
	}
	for (size_t i = 0; i < r->n_runs; i++) {
		const struct replay_row *row = &r->runs[i];

		fmt_grid_cell(&g, "run");
		fmt_grid_cell(&g, "%" PRIu32, row->gpu);
		for (int blank = 0; blank < 3; blank++)
			fmt_grid_cell(&g, "-");
		fmt_grid_ms(&g, (double)row->recorded.device_ns);
		fmt_grid_ms(&g, (double)row->emulated.device_ns);
		cell_error(&g, device_error(row));
	}
	fmt_grid_print(&g, out, colour);
}

static void put_shares(struct fmt_grid *g, const struct replay_row *row)
{
	const struct fmt_busy *was = &row->recorded, *is = &row->emulated;

	fmt_grid_cell(g, "%" PRIu32, row->gpu);
	fmt_grid_ms(g, (double)was->compute_ns);
	fmt_grid_ms(g, (double)is->compute_ns);
	fmt_grid_ms(g, (double)was->exposed_ns);
	fmt_grid_ms(g, (double)is->exposed_ns);
	fmt_grid_ms(g, (double)was->hidden_ns);
	fmt_grid_ms(g, (double)is->hidden_ns);
	fmt_grid_ms(g, (double)was->idle_ns);
	fmt_grid_ms(g, (double)is->idle_ns);
}

static void table_shares(const struct replay_report *r, int colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrrrrrrrrr"};

	fmt_grid_head(
		&g,
		"iteration|GPU|compute ms|emulated|exposed|emulated|hidden|emulated|idle|emulated");
	for (size_t i = 0; i < r->n_rows; i++) {
		fmt_grid_cell(&g, "%" PRId64, r->rows[i].iteration);
		put_shares(&g, &r->rows[i]);
	}
	for (size_t i = 0; i < r->n_runs; i++) {
		fmt_grid_cell(&g, "run");
		put_shares(&g, &r->runs[i]);
	}
	fmt_grid_print(&g, out, colour);
	text_str(out, "compute + exposed + idle = device span; operations of other iterations in "
		      "the span count\n");
}

static void put_total(struct text *out, const char *what, struct errors e)
{
	text_printf(out, "%-13s error: mean %.2f%%, maximum %.2f%%\n", what, 100 * e.mean,
		    100 * e.max);
}

static void put_count(struct text *out, uint64_t n, const char *one, const char *many)
{
	if (n > 0)
		text_printf(out, "%s\n", fmt_plural(n, one, many).s);
}

void replay_report_text(const struct replay_report *r, int colour, struct text *out)
{
	if (r->n_rows > 0) {
		table_steps(r, colour, out);
		text_char(out, '\n');
		table_shares(r, colour, out);
		text_char(out, '\n');
		put_total(out, "step time", step_errors(r));
		put_total(out, "device span", device_errors(r));
		text_printf(out,
			    "start error of operations: median %s, 95th percentile %s, maximum "
			    "%s\n",
			    fmt_time(r->start_error_p50_ns).s, fmt_time(r->start_error_p95_ns).s,
			    fmt_time(r->start_error_max_ns).s);
		replay_leverage_text(r, out);
		replay_stability_text(r, colour, out);
	} else {
		text_str(out, "the trace has no iterations to compare\n");
	}
	put_count(out, r->unexplained, "operation has an unexplained start time",
		  "operations have an unexplained start time");
	put_count(
		out, r->repeated,
		"collective has the sequence number of an earlier one; its recorded duration is "
		"kept",
		"collectives have the sequence number of an earlier one; their recorded durations "
		"are kept");
	put_count(out, r->within,
		  "collective is within a CUDA graph launch, which keeps its recorded duration and "
		  "does not wait for other ranks",
		  "collectives are within CUDA graph launches, which keep their recorded durations "
		  "and do not wait for other ranks");
	put_count(out, r->too_far, "dependency reaches too far back and was ignored",
		  "dependencies reach too far back and were ignored");
	put_count(out, r->broken, "wait can never end and was ignored",
		  "waits can never end and were ignored");
	text_printf(out, "%s of %s emulated in %.3f s\n",
		    fmt_plural(r->ops, "operation", "operations").s,
		    fmt_plural(r->n_gpus, "rank", "ranks").s, r->seconds);
}
