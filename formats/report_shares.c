/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/report_page.h"

#include "base/array.h"
#include "base/scope.h"

#include <inttypes.h>

#define MOST_ROWS 40 /* of single GPUs in single iterations; sums above */

/* Rows summed up. */
struct sum {
	uint64_t n, n_damaged;
	int64_t step_ns, longest_ns, shortest_ns, waiting_ns;
	struct fmt_busy busy; /* sums; start and end are of no use */
};

static void add_row(struct sum *s, const struct fmt_report_gpu *g)
{
	int64_t step_ns = g->iteration.duration_ns;

	if (s->n == 0 || step_ns < s->shortest_ns)
		s->shortest_ns = step_ns;
	if (s->n == 0 || step_ns > s->longest_ns)
		s->longest_ns = step_ns;
	s->n++;
	s->n_damaged += g->n_damaged;
	s->step_ns += step_ns;
	s->waiting_ns += g->waiting_ns;
	s->busy.device_ns += g->busy.device_ns;
	s->busy.compute_ns += g->busy.compute_ns;
	s->busy.exposed_ns += g->busy.exposed_ns;
	s->busy.hidden_ns += g->busy.hidden_ns;
	s->busy.idle_ns += g->busy.idle_ns;
}

/* One line of text that shows how the time divides. */
static void bar_cell(struct grid *g, const struct fmt_busy *b, bool colour)
{
	enum { WIDTH = 24 };
	static const char *const glyphs[] = {"█", "▒", "·"};
	static const char *const colours[] = {"\033[34m", "\033[33m", "\033[2m"};
	const double parts[] = {(double)b->compute_ns, (double)b->exposed_ns, (double)b->idle_ns};
	double whole = parts[0] + parts[1] + parts[2], upto = 0;
	int at = 0;

	for (int i = 0; i < 3 && whole > 0; i++) {
		int end;

		upto += parts[i];
		end = (int)(upto / whole * WIDTH + 0.5);
		if (colour && at < end)
			text_str(&g->cells, colours[i]);
		for (; at < end; at++)
			text_str(&g->cells, glyphs[i]);
		if (colour)
			text_str(&g->cells, "\033[0m");
	}
	grid_cell(g, "%s", "");
}

#define SHARE_COLUMNS "rrrrrrl"

static void share_head(struct grid *g)
{
	static const char *const heads[] = {"device",  "compute", "exposed", "hidden",
					    "waiting", "idle",	  ""};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		grid_cell(g, "%s", heads[i]);
}

static void share_cells(struct grid *g, const struct sum *s, bool colour)
{
	int64_t n = s->n ? (int64_t)s->n : 1;

	if (s->n_damaged) {
		grid_cell(g, "damaged");
		for (int i = 0; i < 6; i++)
			grid_cell(g, "%s", "");
		return;
	}
	grid_time(g, s->busy.device_ns / n);
	grid_share(g, s->busy.compute_ns, s->busy.device_ns);
	grid_share(g, s->busy.exposed_ns, s->busy.device_ns);
	grid_share(g, s->busy.hidden_ns, s->busy.device_ns);
	grid_share(g, s->waiting_ns, s->busy.device_ns);
	grid_share(g, s->busy.idle_ns, s->busy.device_ns);
	bar_cell(g, &s->busy, colour);
}

static void iteration_cell(struct grid *g, int64_t number)
{
	if (number == FMT_BEFORE || number == FMT_AFTER)
		grid_cell(g, number == FMT_BEFORE ? "before" : "after");
	else
		grid_cell(g, "%" PRId64, number);
}

static void put_each(const struct fmt_page *p)
{
	scoped(grid_done) struct grid g = {.columns = "rrr" SHARE_COLUMNS, .head = true};

	grid_cell(&g, "iteration");
	grid_cell(&g, "GPU");
	grid_cell(&g, "step");
	share_head(&g);
	for (size_t i = 0; i < p->r->n_gpus; i++) {
		const struct fmt_report_gpu *row = &p->r->gpus[i];
		struct sum s = {0};

		if (!fmt_report_inside(row) && row->busy.device_ns == 0 && !row->n_damaged)
			continue;
		add_row(&s, row);
		iteration_cell(&g, row->iteration.number);
		grid_cell(&g, "%" PRIu32, fmt_trace_rank(p->r->trace, row->rank)->number);
		if (fmt_report_inside(row))
			grid_time(&g, row->iteration.duration_ns);
		else
			grid_cell(&g, "-");
		share_cells(&g, &s, p->colour);
	}
	grid_print(&g, p->out, p->colour);
}

/* The first and last rows of many are shown, and how many were left out. */
static bool is_shown(size_t i, size_t n)
{
	return n <= 2 * MOST_ROWS / 2 || i < MOST_ROWS / 2 || i >= n - MOST_ROWS / 2;
}

static void put_left_out(const struct fmt_page *p, size_t n, const char *what)
{
	if (n > MOST_ROWS)
		text_printf(p->out, "  (%zu more %s in the middle; --json has them all)\n",
			    n - MOST_ROWS, what);
}

static void put_by_iteration(const struct fmt_page *p)
{
	scoped(grid_done) struct grid g = {.columns = "rrrr" SHARE_COLUMNS, .head = true};
	size_t n = fmt_page_iterations(p), at = 0;

	grid_cell(&g, "iteration");
	grid_cell(&g, "mean step");
	grid_cell(&g, "shortest");
	grid_cell(&g, "longest");
	share_head(&g);
	for (size_t i = 0; i < p->r->n_gpus;) {
		int64_t number = p->r->gpus[i].iteration.number;
		struct sum s = {0};

		for (; i < p->r->n_gpus && p->r->gpus[i].iteration.number == number; i++)
			add_row(&s, &p->r->gpus[i]);
		if (!fmt_report_inside(&p->r->gpus[i - 1]) || !is_shown(at++, n))
			continue;
		iteration_cell(&g, number);
		grid_time(&g, s.step_ns / (int64_t)s.n);
		grid_time(&g, s.shortest_ns);
		grid_time(&g, s.longest_ns);
		share_cells(&g, &s, p->colour);
	}
	grid_print(&g, p->out, p->colour);
	put_left_out(p, n, "iterations");
}

static void put_by_gpu(const struct fmt_page *p)
{
	scoped(free_ptr) struct sum *sums = calloc(fmt_page_gpus(p) + 1u, sizeof(*sums));
	scoped(grid_done) struct grid g = {.columns = "rrrr" SHARE_COLUMNS, .head = true};
	uint32_t n = fmt_page_gpus(p);

	if (!sums) {
		p->out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < p->r->n_gpus; i++) {
		if (fmt_report_inside(&p->r->gpus[i]))
			add_row(&sums[n == 1 ? 0 : p->r->gpus[i].rank], &p->r->gpus[i]);
	}
	grid_cell(&g, "GPU");
	grid_cell(&g, "mean step");
	grid_cell(&g, "shortest");
	grid_cell(&g, "longest");
	share_head(&g);
	for (uint32_t i = 0; i < n; i++) {
		if (!is_shown(i, n) || !sums[i].n)
			continue;
		grid_cell(&g, "%" PRIu32,
			  fmt_trace_rank(p->r->trace, n == 1 && p->r->part.rank != FMT_ANY
							      ? (uint32_t)p->r->part.rank
							      : i)
				  ->number);
		grid_time(&g, sums[i].step_ns / (int64_t)sums[i].n);
		grid_time(&g, sums[i].shortest_ns);
		grid_time(&g, sums[i].longest_ns);
		share_cells(&g, &sums[i], p->colour);
	}
	grid_print(&g, p->out, p->colour);
	put_left_out(p, n, "GPUs");
}

void fmt_page_shares(const struct fmt_page *p)
{
	static const char note[] = "  (shares of the device's span, first operation to last)";

	if (p->r->n_gpus <= MOST_ROWS || p->r->part.iteration != FMT_ANY) {
		fmt_page_heading(p, "Iterations", note);
		put_each(p);
	} else {
		fmt_page_heading(p, "Iterations", note);
		put_by_iteration(p);
		fmt_page_heading(p, "GPUs", "  (means over their iterations)");
		put_by_gpu(p);
	}
	text_str(p->out, "  █ compute   ▒ communication that nothing hides   · idle;"
			 "  waiting: in collectives, for the last GPU\n");
}
