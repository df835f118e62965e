/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/info_sizes.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"

static uint64_t n_records(const struct fmt_trace *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		for (int kind = 0; kind < FMT_KINDS; kind++)
			n += fmt_trace_rank(t, i)->n_records[kind];
	}
	return n;
}

static double per_record(const struct fmt_trace *t, uint64_t bytes)
{
	uint64_t n = n_records(t);

	return n ? (double)bytes / (double)n : 0;
}

static void put_row(struct fmt_grid *g, const struct fmt_trace *t, const char *chunk,
		    const char *column, uint64_t bytes)
{
	fmt_grid_cell(g, "%s", chunk);
	fmt_grid_cell(g, "%s", column);
	fmt_grid_count(g, bytes);
	fmt_grid_share(g, (int64_t)bytes, (int64_t)fmt_trace_bytes(t));
	fmt_grid_cell(g, "%.4f", per_record(t, bytes));
}

void info_sizes_text(const struct info_sizes *s, bool colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "llrrrr"};

	fmt_grid_head(&g, "chunk|column|bytes|share|a record|items");
	for (uint32_t i = 0; i < s->n_rows; i++) {
		put_row(&g, s->trace, s->rows[i].chunk, s->rows[i].column, s->rows[i].bytes);
		fmt_grid_count(&g, s->rows[i].items);
	}
	put_row(&g, s->trace, "all", "", fmt_trace_bytes(s->trace));
	fmt_grid_count(&g, n_records(s->trace));
	fmt_grid_print(&g, out, colour);
}

void info_sizes_json(const struct info_sizes *s, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 2};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "id", fmt_trace_id(s->trace));
	fmt_json_u64(&j, "records_total", n_records(s->trace));
	fmt_json_u64(&j, "bytes", fmt_trace_bytes(s->trace));
	fmt_json_double(&j, "bytes_per_record", per_record(s->trace, fmt_trace_bytes(s->trace)), 4);
	fmt_json_open(&j, "sizes", '[');
	for (uint32_t i = 0; i < s->n_rows; i++) {
		fmt_json_open(&j, NULL, '{');
		fmt_json_str(&j, "chunk", s->rows[i].chunk);
		fmt_json_str(&j, "column", s->rows[i].column);
		fmt_json_u64(&j, "bytes", s->rows[i].bytes);
		fmt_json_u64(&j, "items", s->rows[i].items);
		fmt_json_double(&j, "bytes_per_record", per_record(s->trace, s->rows[i].bytes), 4);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
}
