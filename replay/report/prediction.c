/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/report.h"

#include "replay/report/explain.h"

#include "formats/render/grid.h"
#include "formats/trace/json.h"

#include "base/scope.h"

#include <inttypes.h>

double replay_leverage(const struct replay_report *r)
{
	return r->emulated_ns > 0 ? 1 - r->host_only_ns / r->emulated_ns : 0;
}

/* ---- times that are not scaled ---- */

struct unscaled {
	const char *key, *what;
	uint64_t n; /* 0: not counted */
	int64_t ns;
};

#define MOST_UNSCALED 4

static size_t sum_unscaled(const struct replay_report *r, struct unscaled *ret)
{
	size_t n = 0;

	if (r->unmatched > 0)
		ret[n++] = (struct unscaled){
			"unmatched_collectives",
			"collectives whose recorded duration includes wait time for ranks that the "
			"trace does not contain or match",
			r->unmatched, r->unmatched_ns};
	if (r->blocking_ns > 0)
		ret[n++] = (struct unscaled){"blocking_calls",
					     "host time of calls that wait for the device", 0,
					     r->blocking_ns};
	if (r->no_model > 0)
		ret[n++] = (struct unscaled){
			"kernels_of_unknown_work",
			"kernels of which only the number of threads is known; for another GPU "
			"model, they scale with memory bandwidth",
			r->no_model, r->no_model_ns};
	if (r->no_latency > 0)
		ret[n++] = (struct unscaled){
			"latency_of_collectives",
			"the latency of collectives with messages of one size or of unknown size; "
			"their transfer scales with network.bandwidth only",
			r->no_latency, r->no_latency_ns};
	return n;
}

static const char *const constants[] = {"launch latency", "gaps between operations of a stream",
					"start of the recording"};

/* ---- JSON ---- */

static void json_what_if(const struct replay_report *r, uint32_t index, struct text *out);

void replay_prediction_json(const struct replay_report *r, struct text *out)
{
	for (uint32_t i = 0; i < r->n_what_ifs; i++) {
		text_str(out, i > 0 ? ",\n" : r->n_what_ifs > 1 ? "[" : "");
		json_what_if(r, i, out);
	}
	text_str(out, r->n_what_ifs > 1 ? "]\n" : "\n");
}

static void json_unscaled(const struct replay_report *r, struct text *out)
{
	struct unscaled u[MOST_UNSCALED];
	size_t n = sum_unscaled(r, u);

	text_str(out, " \"not_scaled\": [");
	for (size_t i = 0; i < n; i++) {
		text_printf(out, "{\"what\": \"%s\", ", u[i].key);
		if (u[i].n > 0)
			text_printf(out, "\"count\": %" PRIu64 ", ", u[i].n);
		text_printf(out, "\"ns\": %" PRId64 ", \"share\": %.6f}, ", u[i].ns,
			    r->emulated_ns > 0 ? (double)u[i].ns / r->emulated_ns : 0);
	}
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		text_printf(out, "%s{\"what\": \"%s\"}", i > 0 ? ", " : "", constants[i]);
	text_str(out, "],\n");
}

static double mean_over_rows(const struct replay_report *r,
			     int64_t (*of)(const struct replay_row *, uint32_t), uint32_t what_if)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		sum += (double)of(&r->rows[i], what_if);
	return r->n_rows > 0 ? sum / (double)r->n_rows : 0;
}

static int64_t recorded_step(const struct replay_row *row, uint32_t what_if)
{
	return row->recorded_step_ns;
}

static int64_t emulated_step(const struct replay_row *row, uint32_t what_if)
{
	return row->emulated_step_ns;
}

static int64_t predicted_step(const struct replay_row *row, uint32_t what_if)
{
	return row->predicted[what_if].step_ns;
}

double replay_mean_step_ns(const struct replay_report *r, uint32_t what_if)
{
	return mean_over_rows(r, predicted_step, what_if);
}

static void json_what_if(const struct replay_report *r, uint32_t index, struct text *out)
{
	const char *spec = r->what_ifs[index]->spec;

	text_str(out, "{\"what_if\": ");
	fmt_json_string(out, spec, strlen(spec));
	text_str(out, ", \"iterations\": [");
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];

		if (i == 0 || row->iteration != row[-1].iteration)
			text_printf(out, "%s\n  {\"iteration\": %" PRId64 ", \"gpus\": [\n",
				    i ? "]}," : "", row->iteration);
		else
			text_str(out, ",\n");
		text_printf(out, "    {\"gpu\": %" PRIu32 ", ", row->gpu);
		replay_times_json(out, "recorded", &row->recorded_step_ns, &row->recorded);
		text_str(out, ", ");
		replay_times_json(out, "emulated", &row->emulated_step_ns, &row->emulated);
		text_str(out, ", ");
		if (row->predicted[index].step_ns != 0)
			replay_times_json(out, "predicted", &row->predicted[index].step_ns,
					  &row->predicted[index].busy);
		else
			text_str(out, "\"predicted\": null");
		text_char(out, '}');
	}
	text_str(out, r->n_rows ? "]}],\n" : "],\n");
	text_printf(out,
		    " \"mean_step_ns\": {\"recorded\": %.0f, \"emulated\": %.0f, \"predicted\": "
		    "%.0f},\n",
		    mean_over_rows(r, recorded_step, index),
		    mean_over_rows(r, emulated_step, index), r->mean_steps_ns[index]);
	replay_explain_json(r, index, out);
	json_unscaled(r, out);
	text_printf(out, " \"leverage\": %.6f}", replay_leverage(r));
}

/* ---- text ---- */

static void cell_change(struct fmt_grid *g, double ns, double from_ns)
{
	fmt_grid_cell(g, "%+.2f%%", from_ns > 0 ? 100 * (ns / from_ns - 1) : 0.0);
}

static void table_steps(const struct replay_report *r, int colour, struct text *out)
{
	scoped(text_done) struct text columns = {0};
	scoped(fmt_grid_done) struct fmt_grid g = {0};

	text_str(&columns, "rrrr");
	for (uint32_t k = 0; k < r->n_what_ifs; k++)
		text_str(&columns, "rr");
	text_char(&columns, 0);
	if (columns.error) {
		out->error = columns.error;
		return;
	}
	g.columns = columns.data;
	fmt_grid_head(&g, "iteration|GPU|step ms|emulated");
	for (uint32_t k = 0; k < r->n_what_ifs; k++) {
		fmt_grid_bytes(&g, r->what_ifs[k]->spec, strlen(r->what_ifs[k]->spec), 40);
		fmt_grid_cell(&g, "change");
	}
	for (size_t i = 0; i <= r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];

		if (i < r->n_rows) {
			fmt_grid_cell(&g, "%" PRId64, row->iteration);
			fmt_grid_cell(&g, "%" PRIu32, row->gpu);
		} else {
			fmt_grid_cell(&g, "mean");
			fmt_grid_cell(&g, "all");
		}
		fmt_grid_ms(&g, i < r->n_rows ? (double)row->recorded_step_ns
					      : mean_over_rows(r, recorded_step, 0));
		fmt_grid_ms(&g, i < r->n_rows ? (double)row->emulated_step_ns
					      : mean_over_rows(r, emulated_step, 0));
		for (uint32_t k = 0; k < r->n_what_ifs; k++) {
			double from = i < r->n_rows ? (double)row->emulated_step_ns
						    : mean_over_rows(r, emulated_step, k);
			double to = i < r->n_rows ? (double)row->predicted[k].step_ns
						  : r->mean_steps_ns[k];

			if (to == 0) {
				fmt_grid_cell(&g, "-");
				fmt_grid_cell(&g, "-");
				continue;
			}
			fmt_grid_ms(&g, to);
			cell_change(&g, to, from);
		}
	}
	fmt_grid_print(&g, out, colour);
}

/* Adds a row with the shares of a GPU's time, averaged over its steps: of what-if `index`, or of
 * the emulated run for index n_what_ifs. */
static void row_shares(const struct replay_report *r, uint32_t gpu, uint32_t index,
		       struct fmt_grid *g)
{
	double step = 0, compute = 0, exposed = 0, idle = 0, n = 0;

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];
		const struct replay_prediction *p = &row->predicted[index];
		const struct fmt_busy *b = index < r->n_what_ifs ? &p->busy : &row->emulated;

		if (row->gpu != gpu || (index < r->n_what_ifs && p->step_ns == 0))
			continue;
		step += (double)(index < r->n_what_ifs ? p->step_ns : row->emulated_step_ns);
		compute += (double)b->compute_ns;
		exposed += (double)b->exposed_ns;
		idle += (double)b->idle_ns;
		n++;
	}
	if (n == 0)
		return;
	fmt_grid_cell(g, "%" PRIu32, gpu);
	if (index < r->n_what_ifs)
		fmt_grid_bytes(g, r->what_ifs[index]->spec, strlen(r->what_ifs[index]->spec), 40);
	else
		fmt_grid_cell(g, "emulated");
	fmt_grid_ms(g, step / n);
	fmt_grid_ms(g, compute / n);
	fmt_grid_ms(g, exposed / n);
	fmt_grid_ms(g, idle / n);
}

static void table_shares(const struct replay_report *r, int colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rlrrrr"};

	fmt_grid_head(&g, "GPU|run|step ms|compute ms|exposed ms|idle ms");
	for (size_t i = 0; i < r->n_rows && r->rows[i].iteration == r->rows[0].iteration; i++)
		for (uint32_t k = 0; k <= r->n_what_ifs; k++)
			row_shares(r, r->rows[i].gpu, k > 0 ? k - 1 : r->n_what_ifs, &g);
	fmt_grid_print(&g, out, colour);
}

void replay_leverage_text(const struct replay_report *r, struct text *out)
{
	double leverage = replay_leverage(r);

	if (r->n_rows == 0)
		return;
	text_printf(out,
		    "leverage: steps would be %.1f%% shorter if device operations took no time\n",
		    100 * leverage);
	if (leverage < 0.01)
		text_str(out,
			 "the host alone determines the step time: the step error says nothing "
			 "about the device\n");
}

static void text_unscaled(const struct replay_report *r, struct text *out)
{
	struct unscaled u[MOST_UNSCALED];
	size_t n = sum_unscaled(r, u);

	for (size_t i = 0; i < n; i++) {
		text_str(out, "not scaled: ");
		if (u[i].n > 0)
			text_printf(out, "%" PRIu64 " ", u[i].n);
		text_printf(out, "%s, %s (%.2f%% of the steps)\n", u[i].what, fmt_time(u[i].ns).s,
			    r->emulated_ns > 0 ? 100 * (double)u[i].ns / r->emulated_ns : 0);
	}
	text_str(out, "not scaled:");
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		text_printf(out, "%s %s", i > 0 ? "," : "", constants[i]);
	text_char(out, '\n');
}

void replay_prediction_text(const struct replay_report *r, int colour, struct text *out)
{
	if (r->n_rows == 0) {
		text_str(out, "the trace has no iterations to predict\n");
		return;
	}
	table_steps(r, colour, out);
	text_char(out, '\n');
	table_shares(r, colour, out);
	text_char(out, '\n');
	replay_explain_text(r, colour, out);
	replay_leverage_text(r, out);
	text_unscaled(r, out);
	text_printf(out, "%s of %s emulated in %.3f s\n",
		    fmt_plural(r->ops, "operation", "operations").s,
		    fmt_plural(r->n_gpus, "rank", "ranks").s, r->seconds);
}
