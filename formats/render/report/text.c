/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/page.h"

#include "base/scope.h"
#include "formats/render/losses.h"
#include "formats/render/report/machine.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"
#include "formats/trace/origin.h"

#include <inttypes.h>

void fmt_page_heading(const struct fmt_page *p, const char *title, const char *note)
{
	text_char(p->out, '\n');
	text_str(p->out, p->colour ? "\033[1m" : "");
	text_str(p->out, title);
	text_str(p->out, p->colour ? "\033[0m" : "");
	text_str(p->out, note);
	text_char(p->out, '\n');
}

static uint32_t n_ranks_of(const struct fmt_report *r)
{
	return r->part.rank == FMT_ANY ? fmt_trace_n_ranks(r->trace) : 1;
}

uint32_t fmt_page_gpus(const struct fmt_report *r)
{
	uint32_t n = 0;

	if (r->part.rank != FMT_ANY)
		return 1;
	for (uint32_t i = 0; i < fmt_trace_n_ranks(r->trace); i++)
		n += r->first_on_gpu[i] == i;
	return n;
}

bool fmt_report_is_iteration(const struct fmt_report_gpu *g)
{
	return g->iteration.number != FMT_BEFORE && g->iteration.number != FMT_AFTER;
}

size_t fmt_page_iterations(const struct fmt_page *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->r->n_gpus; i++) {
		const struct fmt_report_gpu *g = &p->r->gpus[i];

		n += fmt_report_is_iteration(g) &&
		     (i == 0 || g[-1].iteration.number != g->iteration.number);
	}
	return n;
}

/* ---- title */

static void put_title(const struct fmt_page *p)
{
	const struct fmt_report *r = p->r;
	uint64_t bytes = fmt_trace_bytes(r->trace);

	text_str(p->out, p->colour ? "\033[1m" : "");
	if (r->part.iteration != FMT_ANY)
		text_printf(p->out, "iteration %" PRId64 ", ", r->part.iteration);
	if (r->part.rank != FMT_ANY)
		text_printf(p->out, "GPU %" PRIu32,
			    fmt_trace_rank(r->trace, (uint32_t)r->part.rank)->number);
	else
		text_str(p->out, fmt_plural(fmt_page_gpus(r), "GPU", "GPUs").s);
	if (n_ranks_of(r) != fmt_page_gpus(r))
		text_printf(p->out, ", %s", fmt_plural(n_ranks_of(r), "rank", "ranks").s);
	if (r->part.iteration == FMT_ANY)
		text_printf(p->out, ", %s",
			    fmt_plural(fmt_page_iterations(p), "iteration", "iterations").s);
	text_printf(p->out, ", %s", fmt_plural(r->n_all_records, "record", "records").s);
	if (r->part.iteration == FMT_ANY && r->part.rank == FMT_ANY) {
		text_printf(p->out, " in %s", fmt_size(bytes).s);
		if (r->n_all_records)
			text_printf(p->out, " (%.2f bytes a record)",
				    (double)bytes / (double)r->n_all_records);
	}
	text_str(p->out, p->colour ? "\033[0m\n" : "\n");
}

static fmt_str device_name(const struct fmt_page *p, uint32_t rank)
{
	const struct fmt_device *d = fmt_report_device(p->r->trace, rank);

	return d ? d->name : 0;
}

/* Prints "8 x NVIDIA H100 80GB HBM3", and further facts. */
static void put_devices(const struct fmt_page *p)
{
	uint32_t from = p->r->part.rank == FMT_ANY ? 0 : (uint32_t)p->r->part.rank;
	uint32_t to = from + n_ranks_of(p->r);
	bool all = p->r->part.rank == FMT_ANY;
	const char *gap = "  GPUs      ";

	for (uint32_t rank = from; rank < to;) {
		fmt_str name = device_name(p, rank);
		uint32_t n = 0;
		size_t len;
		const char *bytes = fmt_string(p->names, name, &len);

		for (; rank < to && device_name(p, rank) == name; rank++)
			n += !all || p->r->first_on_gpu[rank] == rank;
		if (!name || n == 0)
			continue;
		text_printf(p->out, "%s%" PRIu32 " x ", gap, n);
		fmt_text_sanitised(p->out, bytes, len, 80);
		gap = ", ";
	}
	if (*gap != ',')
		return;
	if (fmt_origin_ranks(p->names) > fmt_trace_n_ranks(p->r->trace))
		text_printf(p->out, ", of a run of %" PRIu64, fmt_origin_ranks(p->names));
	text_char(p->out, '\n');
}

static void put_kept(const struct fmt_page *p)
{
	struct fmt_report_contents kept = fmt_report_contents(p->r->trace);

	if (kept.bytes == 0 && kept.images == 0)
		return;
	text_printf(p->out, "  contents  %" PRIu64 " of %s, %s", kept.images_kept,
		    fmt_plural(kept.images, "code image", "code images").s,
		    fmt_plural(kept.buffers, "buffer", "buffers").s);
	if (kept.bytes > 0)
		text_printf(p->out, ", in %s", fmt_size(kept.bytes).s);
	text_char(p->out, '\n');
}

/* Prints "digests   comm, 1,234": the digested buffers and their number. */
static void put_digests(const struct fmt_page *p)
{
	const char *level =
		fmt_fact_value(fmt_trace_names(p->r->trace), FMT_WHOLE_TRACE, FMT_DIGEST_LEVEL_KEY);

	if (!level || strlen(level) <= 2)
		return;
	text_str(p->out, "  digests   ");
	fmt_text_sanitised(p->out, level + 1, strlen(level) - 2, 20);
	text_printf(p->out, ", %s\n", fmt_commas(p->r->n_digests).s);
}

/* "  unordered 8 of kernel scale, 1 of kernel add (3 executions)". */
static void put_unordered(const struct fmt_page *p)
{
	const char *fact =
		fmt_fact_value(fmt_trace_names(p->r->trace), FMT_WHOLE_TRACE, FMT_UNORDERED_KEY);
	size_t len = fact ? strlen(fact) : 0, n, item_len, kind_len, name_len;
	const char *at, *end, *item, *kind, *name, *before = "";

	if (!fact || !fmt_json_valid(fact, len) ||
	    !fmt_json_member(fact, len, "unordered", &at, &n))
		return;
	text_str(p->out, "  unordered ");
	for (end = at + n; fmt_json_element(&at, end, &item, &item_len); before = ", ") {
		kind_len = fmt_json_member_text(item, item_len, "kind", &kind);
		name_len = fmt_json_member_text(item, item_len, "name", &name);
		text_printf(p->out, "%s%" PRId64 " of ", before,
			    fmt_json_member_i64(item, item_len, "operations", 0));
		fmt_text_sanitised(p->out, kind, kind_len, 20);
		text_char(p->out, ' ');
		fmt_text_sanitised(p->out, name, name_len, 80);
	}
	text_printf(p->out, "%s (%" PRId64 " executions)\n", *before ? "" : "no operation",
		    fmt_json_member_i64(fact, len, "executions", 0));
}

static uint64_t number_fact(const struct fmt_names *names, const char *key)
{
	const char *value = fmt_fact_value(names, FMT_WHOLE_TRACE, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* Prints the recorder's counts of calls begun and recorded. */
static void put_check(const struct fmt_page *p)
{
	const struct fmt_names *names = fmt_trace_names(p->r->trace);

	if (!fmt_fact_value(names, FMT_WHOLE_TRACE, "capture.calls_begun"))
		return;
	text_printf(p->out, "  calls     %s begun, %s recorded, %s here\n",
		    fmt_commas(number_fact(names, "capture.calls_begun")).s,
		    fmt_commas(number_fact(names, "capture.calls")).s,
		    fmt_commas(p->r->n_records[FMT_CALL]).s);
}

static void put_untimed(const struct fmt_page *p)
{
	if (fmt_fact_value(fmt_trace_names(p->r->trace), FMT_WHOLE_TRACE, FMT_DEVICE_TIMES_KEY))
		text_str(p->out, "  times     not recorded (--device-times=off): calls only\n");
}

static int64_t clocks_number(const char *fact, const char *key)
{
	return fmt_json_member_i64(fact, strlen(fact), key, 0);
}

/* Prints the accuracy of the alignment of several hosts' clocks. */
static void put_clocks(const struct fmt_page *p)
{
	const char *fact = fmt_fact_value(p->names, FMT_WHOLE_TRACE, FMT_CLOCKS_KEY);
	int64_t n;

	if (!fact || !fmt_json_valid(fact, strlen(fact)))
		return;
	n = clocks_number(fact, "clocks");
	if (n < 2)
		return;
	text_printf(p->out,
		    "  clocks    %" PRId64 " of %" PRId64 " aligned by %s, which end within %s "
		    "(median), %s (95 %%), %s (maximum)\n",
		    clocks_number(fact, "aligned") + 1, n,
		    fmt_plural((uint64_t)clocks_number(fact, "collectives"), "collective",
			       "collectives")
			    .s,
		    fmt_time(clocks_number(fact, "p50_ns")).s,
		    fmt_time(clocks_number(fact, "p95_ns")).s,
		    fmt_time(clocks_number(fact, "max_ns")).s);
}

static void put_origin(const struct fmt_page *p)
{
	struct fmt_trace *t = p->r->trace;
	int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
	scoped(text_done) struct text versions = {0};

	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		const struct fmt_rank *rank = fmt_trace_rank(t, i);

		start_ns = rank->start_ns < start_ns ? rank->start_ns : start_ns;
		end_ns = rank->end_ns > end_ns ? rank->end_ns : end_ns;
	}
	put_devices(p);
	if (end_ns > start_ns) {
		text_str(p->out, "  recorded  ");
		fmt_report_date(start_ns, p->out);
		text_printf(p->out, "%s\n",
			    fmt_time((int64_t)((uint64_t)end_ns - (uint64_t)start_ns)).s);
	}
	if (fmt_trace_n_ranks(t) > 0)
		fmt_report_versions(t, 0, &versions);
	if (versions.len > 0) {
		text_str(p->out, "  versions  ");
		text_bytes(p->out, versions.data, versions.len);
		text_char(p->out, '\n');
	}
	put_kept(p);
	put_digests(p);
	put_unordered(p);
	put_check(p);
	put_untimed(p);
	put_clocks(p);
	fmt_put_losses(t, "  missing   ", p->out);
	text_printf(p->out, "  id        %s\n", fmt_trace_id(t));
}

static void put_records(const struct fmt_page *p)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrrrrrrrr", .head = true};

	fmt_page_heading(p, "Records", "");
	for (int kind = 0; kind < FMT_KINDS; kind++)
		fmt_grid_cell(&g, "%s", fmt_kind_name((enum fmt_kind)kind));
	fmt_grid_cell(&g, "edge");
	for (int kind = 0; kind < FMT_KINDS; kind++)
		fmt_grid_count(&g, p->r->n_records[kind]);
	fmt_grid_count(&g, p->r->n_edges);
	fmt_grid_print(&g, p->out, p->colour);
}

/* ---- damage */

static int put_error(void *context, const struct fmt_error *e)
{
	const struct fmt_page *p = context;

	text_str(p->out, "  ");
	fmt_text_sanitised(p->out, e->file, strlen(e->file), 200);
	text_str(p->out, ": ");
	fmt_text_sanitised(p->out, e->what, strlen(e->what), 200);
	if (e->offset != FMT_NO_OFFSET)
		text_printf(p->out, " at byte %" PRIu64, e->offset);
	text_char(p->out, '\n');
	return 0;
}

static int count_error(void *context, const struct fmt_error *e)
{
	++*(size_t *)context;
	return 0;
}

static void put_damage(struct fmt_page *p)
{
	size_t n = 0;

	fmt_trace_damage(p->r->trace, count_error, &n);
	if (n == 0)
		return;
	fmt_page_heading(p, "Damage", "");
	fmt_trace_damage(p->r->trace, put_error, p);
}

void fmt_report_text(const struct fmt_report *r, const struct fmt_report_style *style,
		     struct text *out)
{
	struct fmt_page p = {.r = r,
			     .names = fmt_trace_names(r->trace),
			     .unit = n_ranks_of(r) == fmt_page_gpus(r) ? "GPU" : "rank",
			     .out = out,
			     .colour = style->colour,
			     .top = style->top ? style->top : 12};

	put_title(&p);
	if (r->part.iteration == FMT_ANY)
		put_origin(&p);
	put_records(&p);
	fmt_page_shares(&p);
	fmt_page_ops(&p);
	put_damage(&p);
}
