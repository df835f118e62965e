/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/page.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/time.h"

#include <inttypes.h>

#define MOST_ROWS 40 /* of single GPUs in single iterations, or of iterations */
#define MOST_GPUS 64
#define CHOSEN 16 /* number of rows shown if there are more */

/* Sum of several rows. */
struct sum {
	uint64_t n_steps;
	int64_t step_ns, longest_ns, shortest_ns;
	uint64_t n_spans, n_damaged;
	int64_t waiting_ns;
	struct fmt_busy busy; /* sums; start and end are not used */
};

/* Adds the step time of a GPU's iteration. */
static void add_step(struct sum *s, const struct fmt_report_gpu *g)
{
	int64_t step_ns = g->iteration.duration_ns;

	if (s->n_steps == 0 || step_ns < s->shortest_ns)
		s->shortest_ns = step_ns;
	if (s->n_steps == 0 || step_ns > s->longest_ns)
		s->longest_ns = step_ns;
	s->n_steps++;
	fmt_sum_ns(&s->step_ns, step_ns);
}

/* Adds the division of a GPU's iteration or run. */
static void add_span(struct sum *s, const struct fmt_report_gpu *g)
{
	s->n_spans++;
	s->n_damaged += g->n_damaged;
	fmt_sum_ns(&s->waiting_ns, g->waiting_ns);
	fmt_sum_ns(&s->busy.device_ns, g->busy.device_ns);
	fmt_sum_ns(&s->busy.compute_ns, g->busy.compute_ns);
	fmt_sum_ns(&s->busy.exposed_ns, g->busy.exposed_ns);
	fmt_sum_ns(&s->busy.hidden_ns, g->busy.hidden_ns);
	fmt_sum_ns(&s->busy.idle_ns, g->busy.idle_ns);
}

/* Adds a bar of text that shows the division of time. */
static void bar_cell(struct fmt_grid *g, const struct fmt_busy *b, bool colour)
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
	fmt_grid_cell(g, "%s", "");
}

/* Returns true if any collective was recorded on more than one GPU. */
static bool waiting_known(const struct fmt_report *r)
{
	for (size_t i = 0; i < r->n_collectives; i++) {
		if (r->collectives[i].n_shared)
			return true;
	}
	return false;
}

#define SHARE_COLUMNS "rrrrrrl"
#define SHARE_HEADS "device|compute|exposed|hidden|waiting|idle|"

static void share_cells(const struct fmt_page *p, struct fmt_grid *g, const struct sum *s)
{
	int64_t n = s->n_spans ? (int64_t)s->n_spans : 1;

	if (s->n_damaged) {
		fmt_grid_cell(g, "damaged");
		for (int i = 0; i < 6; i++)
			fmt_grid_cell(g, "%s", "");
		return;
	}
	fmt_grid_time(g, s->busy.device_ns / n);
	fmt_grid_share(g, s->busy.compute_ns, s->busy.device_ns);
	fmt_grid_share(g, s->busy.exposed_ns, s->busy.device_ns);
	fmt_grid_share(g, s->busy.hidden_ns, s->busy.device_ns);
	fmt_grid_share(g, s->waiting_ns, waiting_known(p->r) ? s->busy.device_ns : 0);
	fmt_grid_share(g, s->busy.idle_ns, s->busy.device_ns);
	bar_cell(g, &s->busy, p->colour);
}

static void iteration_cell(struct fmt_grid *g, int64_t number)
{
	if (number == FMT_ANY)
		fmt_grid_cell(g, "run");
	else if (number == FMT_BEFORE || number == FMT_AFTER)
		fmt_grid_cell(g, number == FMT_BEFORE ? "before" : "after");
	else
		fmt_grid_cell(g, "%" PRId64, number);
}

static void put_row(const struct fmt_page *p, const struct fmt_report_gpu *row, struct fmt_grid *g)
{
	struct sum s = {0};

	add_span(&s, row);
	iteration_cell(g, row->iteration.number);
	fmt_grid_cell(g, "%" PRIu32, fmt_trace_rank(p->r->trace, row->rank)->number);
	if (fmt_report_is_iteration(row) && row->iteration.number != FMT_ANY)
		fmt_grid_time(g, row->iteration.duration_ns);
	else
		fmt_grid_cell(g, "-");
	share_cells(p, g, &s);
}

static void put_each(const struct fmt_page *p)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrr" SHARE_COLUMNS};

	fmt_grid_cell(&g, "iteration");
	fmt_grid_cell(&g, "%s", p->unit);
	fmt_grid_head(&g, "step|" SHARE_HEADS);
	for (size_t i = 0; i < p->r->n_gpus; i++) {
		const struct fmt_report_gpu *row = &p->r->gpus[i];

		if (fmt_report_is_iteration(row) || row->busy.device_ns != 0 || row->n_damaged)
			put_row(p, row, &g);
	}
	for (size_t i = 0; i < p->r->n_runs && p->r->n_gpus > p->r->n_runs; i++)
		put_row(p, &p->r->runs[i], &g);
	fmt_grid_print(&g, p->out, p->colour);
}

/* The sum of the rows of an iteration, or of a GPU. */
struct group {
	int64_t number; /* of the iteration or the GPU; FMT_ANY: all iterations */
	struct sum sum;
};

static int64_t mean_of(const struct group *g)
{
	return g->sum.n_steps ? g->sum.step_ns / (int64_t)g->sum.n_steps : 0;
}

static int by_step(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (mean_of(x) != mean_of(y))
		return mean_of(x) < mean_of(y) ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The other GPUs wait for the one with the least wait time. */
static int by_waiting(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->sum.waiting_ns != y->sum.waiting_ns)
		return x->sum.waiting_ns > y->sum.waiting_ns ? 1 : -1;
	return by_step(a, b);
}

/* A list of groups, with the title used if some are omitted. */
struct list {
	const char *name, *chosen; /* the second for two numbers */
	size_t most;
	int (*choose)(const void *a, const void *b);
};

static const struct list iteration_list = {"iteration", "; the slowest %d of %zu iterations:\n",
					   MOST_ROWS, by_step};
static const struct list gpu_list = {"GPU",
				     "; the %d of %zu GPUs that wait least (likely stragglers):\n",
				     MOST_GPUS, by_waiting};

static void put_chosen(const struct fmt_page *p, const struct list *list, struct group *groups,
		       size_t n)
{
	qsort(groups, n, sizeof(*groups), by_step);
	text_printf(p->out, "  mean step: shortest %s, median %s, 95 %% %s, longest %s",
		    fmt_time(mean_of(&groups[n - 1])).s, fmt_time(mean_of(&groups[n / 2])).s,
		    fmt_time(mean_of(&groups[n / 20])).s, fmt_time(mean_of(&groups[0])).s);
	text_printf(p->out, list->chosen, CHOSEN, n);
	qsort(groups, n, sizeof(*groups), list->choose);
}

static void put_group(const struct fmt_page *p, const struct group *group, struct fmt_grid *g)
{
	iteration_cell(g, group->number);
	fmt_grid_time(g, mean_of(group));
	fmt_grid_time(g, group->sum.shortest_ns);
	fmt_grid_time(g, group->sum.longest_ns);
	share_cells(p, g, &group->sum);
}

/* Prints all groups in order, or, if there are many, the few that `list` selects; then `last`,
 * which may be NULL. */
static void put_groups(const struct fmt_page *p, const struct list *list, struct group *groups,
		       size_t n, const struct group *last)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "rrrr" SHARE_COLUMNS};
	size_t shown = n <= list->most ? n : CHOSEN;

	if (n == 0)
		return;
	if (shown < n)
		put_chosen(p, list, groups, n);
	fmt_grid_cell(&g, "%s", list == &gpu_list ? p->unit : list->name);
	fmt_grid_head(&g, "mean step|shortest|longest|" SHARE_HEADS);
	for (size_t i = 0; i < shown; i++)
		put_group(p, &groups[i], &g);
	if (last)
		put_group(p, last, &g);
	fmt_grid_print(&g, p->out, p->colour);
}

static void put_by_iteration(const struct fmt_page *p)
{
	scoped(free_ptr) struct group *groups = calloc(fmt_page_iterations(p) + 1, sizeof(*groups));
	struct group run = {.number = FMT_ANY};
	size_t n = 0;

	if (!groups) {
		p->out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < p->r->n_gpus; i++) {
		const struct fmt_report_gpu *row = &p->r->gpus[i];

		if (!fmt_report_is_iteration(row))
			continue;
		if (n == 0 || groups[n - 1].number != row->iteration.number)
			groups[n++].number = row->iteration.number;
		add_step(&groups[n - 1].sum, row);
		add_span(&groups[n - 1].sum, row);
		add_step(&run.sum, row);
	}
	for (size_t i = 0; i < p->r->n_runs; i++)
		add_span(&run.sum, &p->r->runs[i]);
	put_groups(p, &iteration_list, groups, n, &run);
}

static void put_by_gpu(const struct fmt_page *p)
{
	uint32_t n_ranks = fmt_trace_n_ranks(p->r->trace);
	scoped(free_ptr) struct group *groups = calloc(n_ranks + 1u, sizeof(*groups));
	size_t n = 0;

	if (!groups) {
		p->out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < p->r->n_gpus; i++) {
		const struct fmt_report_gpu *row = &p->r->gpus[i];

		if (!fmt_report_is_iteration(row))
			continue;
		add_step(&groups[row->rank].sum, row);
		if (p->r->n_runs == 0)
			add_span(&groups[row->rank].sum, row);
	}
	for (size_t i = 0; i < p->r->n_runs; i++)
		add_span(&groups[p->r->runs[i].rank].sum, &p->r->runs[i]);
	for (uint32_t i = 0; i < n_ranks; i++) {
		if (groups[i].sum.n_steps == 0)
			continue;
		groups[n] = groups[i];
		groups[n++].number = fmt_trace_rank(p->r->trace, i)->number;
	}
	put_groups(p, &gpu_list, groups, n, NULL);
}

static const char legend[] =
	"  device: span from the iteration's first operation to its last (run: of all);\n"
	"  operations of other iterations in the span count. compute: a kernel, copy or memset\n"
	"  runs; exposed: only a collective runs; idle: nothing runs. hidden: a collective runs\n"
	"  during compute. waiting: part of exposed and hidden before the last GPU arrived.\n";

void fmt_page_shares(const struct fmt_page *p)
{
	static const char note[] = "  (shares of the GPU's span: compute █ + exposed ▒ + idle · = "
				   "100 %)";
	bool one = p->r->part.iteration != FMT_ANY;

	fmt_page_heading(p, one && p->r->n_gpus > MOST_GPUS ? "GPUs" : "Iterations", note);
	if (p->r->n_gpus <= (one ? MOST_GPUS : MOST_ROWS)) {
		put_each(p);
	} else if (one) {
		put_by_gpu(p);
	} else {
		put_by_iteration(p);
		fmt_page_heading(p, "GPUs", "  (steps of all iterations; shares of the whole run)");
		put_by_gpu(p);
	}
	text_str(p->out, legend);
}
