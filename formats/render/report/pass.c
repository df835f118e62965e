/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/pass.h"

#include "base/array.h"
#include "formats/render/report/gpus.h"
#include "formats/render/time.h"
#include "formats/trace/store/loader.h"
#include "formats/trace/value.h"

static void pass_done(struct fmt_report_pass *p)
{
	free(p->stats);
	fmt_instances_done(&p->instances);
	free(p->shares);
	free(p->group_of);
	fmt_busy_ops_done(&p->busy);
	fmt_neighbours_done(&p->neighbours);
	fmt_busy_run_done(&p->run);
}

void fmt_report_free(struct fmt_report *r)
{
	if (!r)
		return;
	free(r->first_on_gpu);
	free(r->gpus);
	free(r->runs);
	free(r->ops);
	free(r->collectives);
	free(r);
}

static bool is_whole(const struct fmt_report_pass *p)
{
	return p->r->part.iteration == FMT_ANY;
}

/* ---- the operations of a slice */

static int add_share(struct fmt_report_pass *p, const struct fmt_slice *slice,
		     const struct fmt_template *template, const struct fmt_event *e, bool outside)
{
	struct fmt_share s = {.comm = -1,
			      .start_ns = e->start_ns,
			      .duration_ns = e->duration_ns,
			      .rank = slice->rank,
			      .template = e->template,
			      .outside = outside};
	struct fmt_instance *instance;

	if (fmt_collective_ids(slice, template, e, &s.comm, &s.seq) &&
	    fmt_instances_add(&p->instances, p->names, e->template, s.comm, s.seq, e->duration_ns,
			      &instance) < 0)
		return -ENOMEM;
	if (array_reserve(&p->shares, p->n_shares + 1, &p->shares_cap) < 0)
		return -ENOMEM;
	p->shares[p->n_shares++] = s;
	return 0;
}

static void add_stat(struct fmt_report_pass *p, const struct fmt_slice *slice,
		     const struct fmt_template *template, const struct fmt_event *e)
{
	struct fmt_report_op *s = &p->stats[e->template];
	int64_t bytes = 0;

	if (s->n == 0 || e->duration_ns < s->min_ns)
		s->min_ns = e->duration_ns;
	if (s->n == 0 || e->duration_ns > s->max_ns)
		s->max_ns = e->duration_ns;
	s->n++;
	fmt_sum_ns(&s->total_ns, e->duration_ns);
	if (template->kind != FMT_KERNEL &&
	    fmt_value_int(p->names, e, template, fmt_event_values(slice, e), "bytes", &bytes) &&
	    bytes > 0)
		s->bytes += (uint64_t)bytes;
}

/* Adds the operations of a slice to the report; for those outside the part, only their wait
 * time. */
static int add_ops(struct fmt_report_pass *p, const struct fmt_slice *slice, bool outside)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(p->names, e->template);

		if (!template || !FMT_IS_OP(template->kind) ||
		    (uint64_t)e->first_value + template->n_values > slice->n_values)
			continue;
		if (template->kind == FMT_COLLECTIVE) {
			if (add_share(p, slice, template, e, outside) < 0)
				return -ENOMEM;
		} else if (!outside) {
			add_stat(p, slice, template, e);
		}
	}
	return 0;
}

/* ---- rows */

/* Adds a slice around the iteration of the report. */
static int add_neighbour(void *context, const struct fmt_slice *slice)
{
	struct fmt_report_pass *p = context;
	int r = fmt_busy_collect(&p->busy, p->names, slice, &p->span);

	return r < 0 ? r : add_ops(p, slice, true);
}

/* Divides the row, which is one iteration, using the slices around it. */
static int end_row(struct fmt_report_pass *p)
{
	struct fmt_report_gpu *row = p->r->n_gpus ? &p->r->gpus[p->r->n_gpus - 1] : NULL;
	int r;

	if (is_whole(p) || !row)
		return 0;
	p->span = fmt_busy_span(&p->busy, 0);
	r = fmt_neighbours_visit(&p->neighbours, row->rank, p->first_slice, p->last_slice + 1,
				 &p->span, add_neighbour, p, p->err);
	if (r == 0)
		r = fmt_busy_divide(&p->busy, &p->span, &row->busy);
	p->busy.n = p->busy.sorted = 0;
	return r;
}

/* Completes the rows of a rank, and adds that of the whole run. */
static int end_rank(struct fmt_report_pass *p)
{
	struct fmt_report *r = p->r;
	struct fmt_report_gpu run = {.iteration.number = FMT_ANY};

	if (!is_whole(p) || p->first_row == r->n_gpus)
		return 0;
	if (fmt_busy_run_end(&p->run) < 0 ||
	    array_reserve(&r->runs, r->n_runs + 1, &p->runs_cap) < 0)
		return -ENOMEM;
	run.rank = r->gpus[p->first_row].rank;
	run.busy = p->run.whole;
	for (size_t i = 0; i < p->run.n_rows; i++) {
		struct fmt_report_gpu *row = &r->gpus[p->first_row + i];

		row->busy = p->run.rows[i];
		run.n_records += row->n_records;
		run.n_damaged += row->n_damaged;
	}
	r->runs[r->n_runs++] = run;
	p->first_row = r->n_gpus;
	fmt_busy_run_done(&p->run);
	return 0;
}

/* Finds the row of the slice: the last one, if the slice continues its iteration. */
static int begin_row(struct fmt_report_pass *p, const struct fmt_walk *w)
{
	struct fmt_report *r = p->r;
	const struct fmt_report_gpu *last = r->n_gpus ? &r->gpus[r->n_gpus - 1] : NULL;
	bool same_rank = last && last->rank == w->rank;
	int e;

	if (same_rank && last->iteration.number == w->info->iteration.number &&
	    w->slice == p->last_slice + 1) {
		p->last_slice = w->slice;
		return 0;
	}
	e = end_row(p);
	if (e == 0 && !same_rank)
		e = end_rank(p);
	if (e == 0 && is_whole(p))
		e = fmt_busy_run_begin(&p->run, w->info->iteration.start_ns);
	if (e < 0)
		return e;
	if (array_reserve(&r->gpus, r->n_gpus + 1, &p->gpus_cap) < 0)
		return -ENOMEM;
	r->gpus[r->n_gpus++] =
		(struct fmt_report_gpu){.iteration = w->info->iteration, .rank = w->rank};
	p->first_slice = p->last_slice = w->slice;
	return 0;
}

static void count_records(struct fmt_report_pass *p, const struct fmt_slice_info *info)
{
	struct fmt_report *r = p->r;

	for (int kind = 0; kind < FMT_KINDS; kind++) {
		r->n_records[kind] += info->n_records[kind];
		r->n_all_records += info->n_records[kind];
		r->gpus[r->n_gpus - 1].n_records += info->n_records[kind];
	}
	r->n_edges += info->n_edges;
	r->n_digests += info->n_digests;
}

/* ---- slices */

/* Adds a slice of the part, or counts it as damaged; `loaded` is the result of fmt_slice_load(). */
static int add_slice(struct fmt_report_pass *p, const struct fmt_walk *w,
		     const struct fmt_slice *slice, int loaded)
{
	int r = begin_row(p, w);

	if (r < 0)
		return r;
	count_records(p, w->info);
	if (loaded == -EBADMSG) {
		p->r->gpus[p->r->n_gpus - 1].n_damaged++;
		fmt_part_left_out(&p->r->part);
		return 0;
	}
	if (loaded < 0)
		return loaded;
	r = fmt_busy_collect(is_whole(p) ? &p->run.ops : &p->busy, p->names, slice, NULL);
	return r < 0 ? r : add_ops(p, slice, false);
}

static int read_part(struct fmt_report_pass *p)
{
	scoped(fmt_loader_freep) struct fmt_loader *loader = NULL;
	int r = fmt_loader_new(p->r->trace, &p->r->part, FMT_WANT_OPS, &loader), loaded;
	struct fmt_walk w;

	while (r == 0) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		if (!fmt_loader_next(loader, &w, &slice, &loaded, p->err))
			break;
		r = add_slice(p, &w, slice, loaded);
	}
	if (r == 0)
		r = end_row(p);
	return r < 0 ? r : end_rank(p);
}

static int add_instances(void *context, const struct fmt_slice *slice)
{
	struct fmt_report_pass *p = context;

	return fmt_instances_collect(&p->instances, p->names, slice);
}

int fmt_report_new(struct fmt_trace *t, const struct fmt_part *part, bool across,
		   struct fmt_report **ret, struct fmt_error *err)
{
	scoped(fmt_report_freep) struct fmt_report *report = calloc(1, sizeof(*report));
	scoped(pass_done) struct fmt_report_pass p = {
		.r = report, .names = fmt_trace_names(t), .err = err};
	int r;

	if (!report)
		return -ENOMEM;
	report->trace = t;
	report->part = *part;
	p.stats = calloc(fmt_n_templates(p.names) + 1u, sizeof(*p.stats));
	p.group_of = calloc(fmt_n_templates(p.names) + 1u, sizeof(*p.group_of));
	if (!p.stats || !p.group_of || fmt_neighbours_init(&p.neighbours, t, part) < 0)
		return -ENOMEM;
	r = fmt_report_gpus(t, &report->first_on_gpu);
	if (r == 0)
		r = read_part(&p);
	if (r == 0 && across)
		r = fmt_neighbours_visit_others(&p.neighbours, add_instances, &p, err);
	if (r == 0)
		r = fmt_report_pass_sum(&p);
	if (r < 0)
		return r;
	*ret = take(report);
	return 0;
}
