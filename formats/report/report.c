/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/report/report.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/report/instances.h"
#include "formats/report/page.h"
#include "formats/value.h"

/* One collective of one rank. */
struct share {
	int64_t comm, seq, start_ns, duration_ns;
	int64_t waiting_ns; /* of these, from the start on */
	size_t gpu;	    /* index of the row */
	uint32_t site;
};

struct pass {
	struct fmt_report *r;
	const struct fmt_names *names;
	struct fmt_report_op *stats; /* by site */
	struct fmt_busy_ops busy;    /* of the last row */
	struct fmt_instances instances;
	struct share *shares;
	size_t n_shares, shares_cap;
	uint32_t *group_of; /* by site: 1 + index of the collective that it was last counted in */
	size_t gpus_cap, ops_cap, collectives_cap;
};

static void pass_done(struct pass *p)
{
	free(p->stats);
	fmt_busy_ops_done(&p->busy);
	fmt_instances_done(&p->instances);
	free(p->shares);
	free(p->group_of);
}

void fmt_report_free(struct fmt_report *r)
{
	if (!r)
		return;
	free(r->gpus);
	free(r->ops);
	free(r->collectives);
	free(r);
}

/* ---- reading */

static int end_row(struct pass *p)
{
	int r = 0;

	if (p->r->n_gpus > 0)
		r = fmt_busy_divide(&p->busy, &p->r->gpus[p->r->n_gpus - 1].busy);
	p->busy.n = 0;
	return r;
}

/* The row of the slice: the last one, if it is another part of the same iteration. */
static int row_of(struct pass *p, const struct fmt_walk *w)
{
	struct fmt_report *r = p->r;
	struct fmt_report_gpu *last = r->n_gpus ? &r->gpus[r->n_gpus - 1] : NULL;

	if (last && last->rank == w->rank && last->iteration.number == w->info->iteration.number)
		return 0;
	if (end_row(p) < 0 || array_reserve(&r->gpus, r->n_gpus + 1, &p->gpus_cap) < 0)
		return -ENOMEM;
	r->gpus[r->n_gpus++] =
		(struct fmt_report_gpu){.iteration = w->info->iteration, .rank = w->rank};
	return 0;
}

static int add_share(struct pass *p, const struct fmt_slice *slice, const struct fmt_site *site,
		     const struct fmt_event *e)
{
	struct share s = {.comm = -1,
			  .start_ns = e->start_ns,
			  .duration_ns = e->duration_ns,
			  .gpu = p->r->n_gpus - 1,
			  .site = e->site};
	struct fmt_instance *instance;

	if (fmt_collective_ids(slice, site, e, &s.comm, &s.seq) &&
	    fmt_instances_add(&p->instances, s.comm, s.seq, e->duration_ns, &instance) < 0)
		return -ENOMEM;
	if (array_reserve(&p->shares, p->n_shares + 1, &p->shares_cap) < 0)
		return -ENOMEM;
	p->shares[p->n_shares++] = s;
	return 0;
}

static void add_stat(struct pass *p, const struct fmt_slice *slice, const struct fmt_site *site,
		     const struct fmt_event *e)
{
	struct fmt_report_op *s = &p->stats[e->site];
	int64_t bytes = 0;

	if (s->n == 0 || e->duration_ns < s->min_ns)
		s->min_ns = e->duration_ns;
	if (s->n == 0 || e->duration_ns > s->max_ns)
		s->max_ns = e->duration_ns;
	s->n++;
	fmt_sum_ns(&s->total_ns, e->duration_ns);
	if (site->kind != FMT_KERNEL &&
	    fmt_value_int(p->names, e, site, fmt_event_values(slice, e), "bytes", &bytes) &&
	    bytes > 0)
		s->bytes += (uint64_t)bytes;
}

static int add_slice(struct pass *p, const struct fmt_slice *slice)
{
	int r = fmt_busy_collect(&p->busy, p->names, slice);

	for (size_t i = 0; r == 0 && i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_site *site = fmt_site(p->names, e->site);

		if (!site || !FMT_IS_OP(site->kind) ||
		    (uint64_t)e->first_value + site->n_values > slice->n_values)
			continue;
		if (site->kind == FMT_COLLECTIVE)
			r = add_share(p, slice, site, e);
		else
			add_stat(p, slice, site, e);
	}
	return r;
}

static void count(struct pass *p, const struct fmt_slice_info *info)
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

static int read_part(struct pass *p, struct fmt_error *err)
{
	struct fmt_walk w = fmt_walk(p->r->trace, &p->r->part);
	int r = 0;

	while (r == 0 && fmt_walk_next(&w)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		r = row_of(p, &w);
		if (r < 0)
			return r;
		count(p, w.info);
		r = fmt_slice_load(p->r->trace, w.rank, w.slice, FMT_WANT_OPS, &slice, err);
		if (r == -EBADMSG) {
			p->r->gpus[p->r->n_gpus - 1].n_damaged++;
			r = 0;
		} else if (r == 0) {
			r = add_slice(p, slice);
		}
	}
	return r < 0 ? r : end_row(p);
}

/* What the other ranks did meanwhile. */
static int read_others(struct pass *p, struct fmt_error *err)
{
	struct fmt_part part = {p->r->part.iteration, FMT_ANY, p->r->part.progress,
				p->r->part.context};
	struct fmt_walk w = fmt_walk(p->r->trace, &part);

	while (fmt_walk_next(&w)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		int r;

		if (w.rank == p->r->part.rank)
			continue;
		r = fmt_slice_load(p->r->trace, w.rank, w.slice, FMT_WANT_OPS, &slice, err);
		if (r == 0)
			r = fmt_instances_collect(&p->instances, p->names, slice);
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	return 0;
}

/* ---- summing up */

static bool same_group(const struct fmt_report_collective *a, const struct fmt_report_collective *b)
{
	return a->comm == b->comm && a->op == b->op && a->dtype == b->dtype && a->bytes == b->bytes;
}

static int group_of(struct pass *p, const struct share *s, uint32_t *ret)
{
	const struct fmt_site *site = fmt_site(p->names, s->site);
	struct fmt_report_collective g = {.comm = s->comm, .bytes = -1};
	struct fmt_report *r = p->r;
	uint32_t at = p->group_of[s->site];

	if (site->n_args >= FMT_COLLECTIVE_ARGS) {
		g.op = (fmt_str)site->args[FMT_COLLECTIVE_OP].value;
		g.dtype = (fmt_str)site->args[FMT_COLLECTIVE_DTYPE].value;
		g.bytes = site->args[FMT_COLLECTIVE_BYTES].value;
	}
	if (!at || !same_group(&r->collectives[at - 1], &g)) {
		for (at = 1; at <= r->n_collectives; at++) {
			if (same_group(&r->collectives[at - 1], &g))
				break;
		}
	}
	if (at > r->n_collectives) {
		if (array_reserve(&r->collectives, r->n_collectives + 1, &p->collectives_cap) < 0)
			return -ENOMEM;
		r->collectives[r->n_collectives++] = g;
	}
	p->group_of[s->site] = at;
	*ret = at;
	return 0;
}

static int sum_share(struct pass *p, struct share *s)
{
	struct fmt_instance *i = NULL;
	struct fmt_report_collective *g;
	uint32_t at = 0;

	if (group_of(p, s, &at) < 0)
		return -ENOMEM;
	g = &p->r->collectives[at - 1];
	g->n_ops++;
	fmt_sum_ns(&g->total_ns, s->duration_ns);
	if (s->comm >= 0)
		i = (struct fmt_instance *)fmt_instances_find(&p->instances, s->comm, s->seq);
	if (!i || !i->group) {
		g->n_instances++;
		fmt_sum_ns(&g->transfer_ns, i ? i->shortest_ns : s->duration_ns);
	}
	if (!i)
		return 0;
	i->group = at;
	if (i->n < 2)
		return 0;
	g->n_shared++;
	s->waiting_ns = s->duration_ns - i->shortest_ns;
	fmt_sum_ns(&g->waiting_ns, s->waiting_ns);
	return 0;
}

/* Sites of one name and kind become one. */
static int sum_ops(struct pass *p)
{
	scoped(free_ptr) uint32_t *by_name = calloc(fmt_n_strings(p->names) + 1u, sizeof(*by_name));
	struct fmt_report *r = p->r;

	if (!by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < fmt_n_sites(p->names); i++) {
		const struct fmt_site *site = fmt_site(p->names, i);
		const struct fmt_report_op *from = &p->stats[i];
		struct fmt_report_op *to;

		if (!from->n || site->name > fmt_n_strings(p->names))
			continue;
		if (!by_name[site->name]) {
			if (array_reserve(&r->ops, r->n_ops + 1, &p->ops_cap) < 0)
				return -ENOMEM;
			r->ops[r->n_ops] = *from;
			r->ops[r->n_ops].name = site->name;
			r->ops[r->n_ops++].kind = site->kind;
			by_name[site->name] = (uint32_t)r->n_ops;
			continue;
		}
		to = &r->ops[by_name[site->name] - 1];
		to->n += from->n;
		to->bytes += from->bytes;
		fmt_sum_ns(&to->total_ns, from->total_ns);
		to->min_ns = from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
		to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct fmt_report_op *x = a, *y = b;

	return array_order(y->total_ns, x->total_ns) ?: array_order(x->name, y->name);
}

static int by_collective_time(const void *a, const void *b)
{
	const struct fmt_report_collective *x = a, *y = b;

	return array_order(y->total_ns, x->total_ns) ?: array_order(x->comm, y->comm) ?: array_order(x->op, y->op) ?: array_order(x->dtype, y->dtype) ?: array_order(x->bytes, y->bytes);
}

/* FMT_BEFORE first, FMT_AFTER last. */
static int64_t place_of(int64_t number)
{
	return number == FMT_BEFORE ? INT64_MIN : number == FMT_AFTER ? INT64_MAX : number;
}

static int by_iteration(const void *a, const void *b)
{
	const struct fmt_report_gpu *x = a, *y = b;

	return array_order(place_of(x->iteration.number), place_of(y->iteration.number)) ?: array_order(x->rank, y->rank) ?: array_order(x->iteration.start_ns, y->iteration.start_ns);
}

static int by_gpu_and_start(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return array_order(x->gpu, y->gpu) ?: array_order(x->start_ns, y->start_ns);
}

/* While a GPU waits in several collectives at once it waits once. */
static void sum_waiting(struct pass *p)
{
	int64_t until_ns = INT64_MIN;

	qsort(p->shares, p->n_shares, sizeof(*p->shares), by_gpu_and_start);
	for (size_t i = 0; i < p->n_shares; i++) {
		const struct share *s = &p->shares[i];
		int64_t from_ns = s->start_ns, end_ns = from_ns;

		if (i > 0 && s[-1].gpu != s->gpu)
			until_ns = INT64_MIN;
		fmt_sum_ns(&end_ns, s->waiting_ns);
		from_ns = from_ns > until_ns ? from_ns : until_ns;
		if (end_ns <= from_ns)
			continue;
		fmt_sum_ns(&p->r->gpus[s->gpu].waiting_ns, end_ns - from_ns);
		until_ns = end_ns;
	}
}

static int sum_up(struct pass *p)
{
	struct fmt_report *r = p->r;

	for (size_t i = 0; i < p->n_shares; i++) {
		if (sum_share(p, &p->shares[i]) < 0)
			return -ENOMEM;
	}
	if (p->n_shares > 0)
		sum_waiting(p);
	if (sum_ops(p) < 0)
		return -ENOMEM;
	if (r->n_gpus)
		qsort(r->gpus, r->n_gpus, sizeof(*r->gpus), by_iteration);
	if (r->n_ops)
		qsort(r->ops, r->n_ops, sizeof(*r->ops), by_time);
	if (r->n_collectives)
		qsort(r->collectives, r->n_collectives, sizeof(*r->collectives),
		      by_collective_time);
	return 0;
}

int fmt_report_new(struct fmt_trace *t, const struct fmt_part *part, bool across,
		   struct fmt_report **ret, struct fmt_error *err)
{
	scoped(fmt_report_freep) struct fmt_report *report = calloc(1, sizeof(*report));
	scoped(pass_done) struct pass p = {.r = report, .names = fmt_trace_names(t)};
	int r;

	if (!report)
		return -ENOMEM;
	report->trace = t;
	report->part = *part;
	p.stats = calloc(fmt_n_sites(p.names) + 1u, sizeof(*p.stats));
	p.group_of = calloc(fmt_n_sites(p.names) + 1u, sizeof(*p.group_of));
	if (!p.stats || !p.group_of)
		return -ENOMEM;
	r = read_part(&p, err);
	if (r == 0 && across && part->rank != FMT_ANY)
		r = read_others(&p, err);
	if (r == 0)
		r = sum_up(&p);
	if (r < 0)
		return r;
	*ret = take(report);
	return 0;
}
