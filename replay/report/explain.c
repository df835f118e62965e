/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/explain.h"

#include "formats/render/grid.h"
#include "formats/trace/json.h"

#include "base/scope.h"
#include "replay/what_if/copies.h"

#include <inttypes.h>
#include <math.h>

/* Rows of names in the report for people. */
#define MOST_ROWS 12

/* The time of a kind on the path, for each iteration. */
static double kind_ns(const struct replay_report *r, uint32_t run, int kind)
{
	return (double)r->path.kinds_ns[run * PATH_KINDS + (uint32_t)kind] /
	       (double)r->path.n_iterations;
}

static double row_ns(const struct replay_report *r, const struct path_row *row, uint32_t run)
{
	return (double)row->ns[run] / (double)r->path.n_iterations;
}

static double total_ns(const struct replay_report *r, uint32_t run)
{
	return (double)r->path.total_ns[run] / (double)r->path.n_iterations;
}

static const char *row_name(const struct replay_report *r, const struct path_row *row, size_t *len)
{
	return fmt_string(r->names, row->name, len);
}

/* ---- how far it may be off ---- */

struct replay_error_bar replay_error_bar(const struct replay_report *r, uint32_t what_if)
{
	double error = 0, emulated = 0, predicted, n = (double)r->n_rows;
	struct replay_error_bar ret = {0};

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];

		if (row->recorded_step_ns > 0)
			error +=
				fabs((double)row->emulated_step_ns / (double)row->recorded_step_ns -
				     1) /
				n;
		emulated += (double)row->emulated_step_ns / n;
	}
	predicted = r->mean_steps_ns[what_if];
	if (emulated <= 0)
		return ret;
	ret.emulation_ns = error * predicted;
	for (int kind = PATH_BLOCKING; r->path.n_iterations > 0 && kind < PATH_START; kind++)
		ret.fixed_ns += fabs(kind_ns(r, what_if + 1, kind) * (predicted / emulated - 1));
	ret.unknown_ns = (double)r->unmatched_ns / n * fabs(predicted / emulated - 1);
	ret.total_ns = ret.emulation_ns + ret.fixed_ns + ret.unknown_ns;
	return ret;
}

/* ---- JSON ---- */

static void json_path(const struct replay_report *r, uint32_t run, const char *key,
		      struct text *out)
{
	text_printf(out, "\"%s\": {\"ns\": %.0f", key, total_ns(r, run));
	for (int kind = 0; kind < PATH_KINDS; kind++)
		text_printf(out, ", \"%s\": %.0f", path_kind_names[kind], kind_ns(r, run, kind));
	text_char(out, '}');
}

void replay_explain_json(const struct replay_report *r, uint32_t what_if, struct text *out)
{
	const struct replay_copies *c = &r->copies_of[what_if];
	struct replay_error_bar bar = replay_error_bar(r, what_if);

	if (r->path.n_iterations > 0) {
		text_printf(out, " \"critical_path\": {\"iterations\": %" PRId64 ", ",
			    r->path.n_iterations);
		json_path(r, 0, "emulated", out);
		text_str(out, ", ");
		json_path(r, what_if + 1, "predicted", out);
		text_str(out, ", \"names\": [");
		for (size_t i = 0, n = 0; i < r->path.n_rows; i++) {
			const struct path_row *row = &r->path.rows[i];
			size_t len;
			const char *name = row_name(r, row, &len);

			if (row->ns[0] == 0 && row->ns[what_if + 1] == 0)
				continue;
			text_printf(out, "%s\n  {\"kind\": \"%s\", \"name\": ", n++ > 0 ? "," : "",
				    path_kind_names[row->kind]);
			fmt_json_string(out, name, len);
			text_printf(out, ", \"emulated_ns\": %.0f, \"predicted_ns\": %.0f}",
				    row_ns(r, row, 0), row_ns(r, row, what_if + 1));
		}
		text_str(out, "]},\n");
	}
	if (c->n > 0)
		text_printf(out,
			    " \"copies\": {\"copies\": %" PRIu32 ", \"ranks_per_copy\": %" PRIu32
			    ", \"gpus_per_node\": %d, \"seed\": %d, \"within_bytes_per_s\": %.0f, "
			    "\"between_bytes_per_s\": %.0f},\n",
			    c->n, c->per_copy, LINKS_NODE, COPIES_SEED, c->within_bytes_per_s,
			    c->between_bytes_per_s);
	text_printf(out,
		    " \"error_bar\": {\"ns\": %.0f, \"emulation\": %.0f, \"not_scaled\": %.0f, "
		    "\"unmatched_collectives\": %.0f},\n",
		    bar.total_ns, bar.emulation_ns, bar.fixed_ns, bar.unknown_ns);
}

/* ---- text ---- */

static void table_path(const struct replay_report *r, int colour, struct text *out)
{
	scoped(text_done) struct text columns = {0};
	scoped(fmt_grid_done) struct fmt_grid g = {0};
	uint32_t n_runs = r->path.n_runs;

	text_str(&columns, "ll");
	for (uint32_t run = 0; run < n_runs; run++)
		text_char(&columns, 'r');
	text_char(&columns, 0);
	if (columns.error) {
		out->error = columns.error;
		return;
	}
	g.columns = columns.data;
	fmt_grid_head(&g, "critical path, ms|name|emulated");
	for (uint32_t k = 0; k + 1 < n_runs; k++)
		fmt_grid_bytes(&g, r->what_ifs[k]->spec, strlen(r->what_ifs[k]->spec), 40);
	for (int kind = 0; kind <= PATH_KINDS; kind++) {
		fmt_grid_cell(&g, "%s", kind < PATH_KINDS ? path_kind_names[kind] : "all");
		fmt_grid_cell(&g, "all");
		for (uint32_t run = 0; run < n_runs; run++)
			fmt_grid_ms(&g,
				    kind < PATH_KINDS ? kind_ns(r, run, kind) : total_ns(r, run));
	}
	for (size_t i = 0; i < r->path.n_rows && i < MOST_ROWS; i++) {
		const struct path_row *row = &r->path.rows[i];
		size_t len;
		const char *name = row_name(r, row, &len);

		fmt_grid_cell(&g, "%s", path_kind_names[row->kind]);
		fmt_grid_bytes(&g, name, len, 48);
		for (uint32_t run = 0; run < n_runs; run++)
			fmt_grid_ms(&g, row_ns(r, row, run));
	}
	fmt_grid_print(&g, out, colour);
	text_printf(out,
		    "the chain of operations that determines the end of the last iteration; mean "
		    "of %" PRId64 " iterations\n\n",
		    r->path.n_iterations);
}

static void text_bar(const struct replay_report *r, uint32_t what_if, struct text *out)
{
	struct replay_error_bar bar = replay_error_bar(r, what_if);

	text_str(out, "estimated error of ");
	fmt_text_sanitised(out, r->what_ifs[what_if]->spec, strlen(r->what_ifs[what_if]->spec), 40);
	text_printf(out,
		    ": %s per step: %s from the emulation of the recorded steps, %s if unscaled "
		    "times changed by the same factor as the step",
		    fmt_time((int64_t)bar.total_ns).s, fmt_time((int64_t)bar.emulation_ns).s,
		    fmt_time((int64_t)bar.fixed_ns).s);
	if (bar.unknown_ns > 0)
		text_printf(out, ", %s if unmatched collectives did, too",
			    fmt_time((int64_t)bar.unknown_ns).s);
	text_char(out, '\n');
}

static void text_copies(const struct replay_report *r, uint32_t what_if, struct text *out)
{
	const struct replay_copies *c = &r->copies_of[what_if];
	const struct fmt_comm *data = fmt_comm(r->names, c->data);

	if (c->n == 0)
		return;
	fmt_text_sanitised(out, r->what_ifs[what_if]->spec, strlen(r->what_ifs[what_if]->spec), 40);
	text_printf(out,
		    ": %" PRIu32 " data-parallel copies of %" PRIu32 " rank%s each (communicator '",
		    c->n, c->per_copy, c->per_copy == 1 ? "" : "s");
	fmt_text_sanitised(out, fmt_string(r->names, data->name, NULL),
			   strlen(fmt_string(r->names, data->name, NULL)), 40);
	text_printf(
		out,
		"'); %d GPUs per node; bandwidth fitted to recorded collectives, else %.0f GB/s "
		"within and %.0f GB/s between nodes\n",
		LINKS_NODE, c->within_bytes_per_s / 1e9, c->between_bytes_per_s / 1e9);
}

void replay_explain_text(const struct replay_report *r, int colour, struct text *out)
{
	if (r->path.n_iterations > 0)
		table_path(r, colour, out);
	for (uint32_t i = 0; i < r->n_what_ifs; i++) {
		text_copies(r, i, out);
		text_bar(r, i, out);
	}
}
