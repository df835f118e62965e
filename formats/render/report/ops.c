/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/page.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/report/brief.h"
#include "formats/render/time.h"

#include <inttypes.h>

#define NAME_WIDTH 96

static void put_more(const struct fmt_page *p, size_t n)
{
	if (n > p->top)
		text_printf(p->out, "  (%zu more; --top=%zu shows all)\n", n - p->top, n);
}

/* "#0", "tp (8 ranks)", "stream20 (1 rank recorded)". */
static void comm_cell(const struct fmt_page *p, const struct fmt_report_collective *c,
		      struct fmt_grid *g)
{
	const struct fmt_comm *comm =
		c->comm < 0 ? NULL : fmt_comm(p->names, (uint32_t)(c->comm & UINT32_MAX));
	uint32_t n_ranks = c->n_ranks ?: comm ? comm->n_ranks : 0;
	size_t len = 0;
	const char *name = fmt_string(p->names, comm ? comm->name : 0, &len);

	if (c->comm < 0)
		text_char(&g->cells, '-');
	else if (len > 0)
		fmt_text_sanitised(&g->cells, name, len, 24);
	else
		text_printf(&g->cells, "#%" PRId64, c->comm);
	if (n_ranks)
		text_printf(&g->cells, " (%s%s)", fmt_plural(n_ranks, "rank", "ranks").s,
			    c->n_ranks ? "" : " recorded");
	fmt_grid_cell(g, "%s", "");
}

/* If wait time is unknown, the bandwidth is a lower bound. */
static void bandwidth_cell(double bytes_per_second, bool is_exact, struct fmt_grid *g)
{
	if (bytes_per_second < 0 || bytes_per_second >= 1e18) {
		fmt_grid_cell(g, "-");
		return;
	}
	fmt_grid_cell(g, "%s%s/s", is_exact ? "" : "≥ ", fmt_size((uint64_t)bytes_per_second).s);
}

static void name_cell(const struct fmt_page *p, fmt_str s, const char *missing, struct fmt_grid *g)
{
	size_t len;
	const char *name = fmt_string(p->names, s, &len);

	if (len > 0)
		fmt_grid_bytes(g, name, len, 20);
	else
		fmt_grid_cell(g, "%s", missing);
}

static void collective_row(const struct fmt_page *p, const struct fmt_report_collective *c,
			   struct fmt_grid *g)
{
	struct fmt_bandwidth bandwidth = fmt_report_bandwidth(p->names, c);

	name_cell(p, c->op, "?", g);
	name_cell(p, c->dtype, "-", g);
	if (c->bytes < 0)
		fmt_grid_cell(g, "-");
	else
		fmt_grid_size(g, (uint64_t)c->bytes);
	fmt_grid_count(g, c->n_instances);
	if (c->n_instances)
		fmt_grid_time(g, c->transfer_ns / (int64_t)c->n_instances);
	else
		fmt_grid_cell(g, "-");
	if (c->n_shared)
		fmt_grid_time(g, c->waiting_ns / (int64_t)c->n_shared);
	else
		fmt_grid_cell(g, "-");
	bandwidth_cell(bandwidth.algorithm, c->n_shared > 0, g);
	bandwidth_cell(bandwidth.bus, c->n_shared > 0, g);
	comm_cell(p, c, g);
}

static void put_collectives(const struct fmt_page *p)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "llrrrrrrl"};
	size_t n = p->r->n_collectives;

	if (n == 0)
		return;
	fmt_page_heading(p, "Collectives",
			 "  (transfer, waiting: mean per collective and GPU; algbw, busbw: as in "
			 "nccl-tests)");
	fmt_grid_head(&g, "kind|type|size|count|transfer|waiting|algbw|busbw|communicator");
	for (size_t i = 0; i < n && i < p->top; i++)
		collective_row(p, &p->r->collectives[i], &g);
	fmt_grid_print(&g, p->out, p->colour);
	put_more(p, n);
}

static void op_row(const struct fmt_report_op *o, int64_t total_ns, const struct fmt_brief *brief,
		   struct fmt_grid *g)
{
	scoped(text_done) struct text name = {0};

	fmt_grid_time(g, o->total_ns);
	fmt_grid_share(g, o->total_ns, total_ns);
	fmt_grid_count(g, o->n);
	fmt_grid_time(g, o->total_ns / (int64_t)o->n);
	fmt_grid_time(g, o->max_ns);
	if (o->kind != FMT_KERNEL)
		fmt_grid_size(g, o->bytes);
	fmt_brief_put(brief, o->name, NAME_WIDTH, &name);
	fmt_grid_bytes(g, name.data ? name.data : "", name.len, SIZE_MAX);
}

/* The short names of a table. */
static int brief_names(const struct fmt_page *p, bool kernels, struct fmt_brief *brief)
{
	for (size_t i = 0; i < p->r->n_ops; i++) {
		const struct fmt_report_op *o = &p->r->ops[i];
		size_t len;
		const char *name = fmt_string(p->names, o->name, &len);

		if ((o->kind == FMT_KERNEL) == kernels &&
		    fmt_brief_add(brief, o->name, name, len) < 0)
			return -ENOMEM;
	}
	return fmt_brief_shorten(brief, NAME_WIDTH);
}

static void put_ops(const struct fmt_page *p, bool kernels)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = kernels ? "rrrrrl" : "rrrrrrl"};
	scoped(fmt_brief_done) struct fmt_brief brief = {0};
	int64_t total_ns = 0;
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < p->r->n_ops; i++) {
		if ((p->r->ops[i].kind == FMT_KERNEL) == kernels) {
			fmt_sum_ns(&total_ns, p->r->ops[i].total_ns);
			n++;
		}
	}
	if (n == 0)
		return;
	if (brief_names(p, kernels, &brief) < 0) {
		p->out->error = -ENOMEM;
		return;
	}
	fmt_page_heading(p, kernels ? "Kernels" : "Copies",
			 kernels ? "  (share of the time of all kernels)"
				 : "  (share of the time of all copies)");
	fmt_grid_head(&g, kernels ? "total|share|count|mean|longest|name"
				  : "total|share|count|mean|longest|bytes|name");
	for (size_t i = 0; i < p->r->n_ops && shown < p->top; i++) {
		if ((p->r->ops[i].kind == FMT_KERNEL) != kernels)
			continue;
		op_row(&p->r->ops[i], total_ns, &brief, &g);
		shown++;
	}
	fmt_grid_print(&g, p->out, p->colour);
	put_more(p, n);
}

void fmt_page_ops(const struct fmt_page *p)
{
	put_collectives(p);
	put_ops(p, true);
	put_ops(p, false);
}
