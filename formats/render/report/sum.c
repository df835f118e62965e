/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/pass.h"

#include "base/array.h"
#include "formats/render/time.h"

static bool same_group(const struct fmt_report_collective *a, const struct fmt_report_collective *b)
{
	return a->comm == b->comm && a->op == b->op && a->dtype == b->dtype && a->bytes == b->bytes;
}

/* Finds or adds the group of a share; `number` is the template that describes the collective. */
static int group_of(struct fmt_report_pass *p, const struct fmt_share *s, uint32_t number,
		    uint32_t *ret)
{
	const struct fmt_template *template = fmt_template(p->names, number);
	struct fmt_report_collective g = {.comm = s->comm, .bytes = -1};
	struct fmt_report *r = p->r;
	uint32_t at = p->group_of[number];

	if (template->n_args >= FMT_COLLECTIVE_ARGS) {
		g.op = (fmt_str) template->args[FMT_COLLECTIVE_OP].value;
		g.dtype = (fmt_str) template->args[FMT_COLLECTIVE_DTYPE].value;
		g.bytes = template->args[FMT_COLLECTIVE_BYTES].value;
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
		g.n_ranks = fmt_comm_size(r->trace, g.comm, template);
		r->collectives[r->n_collectives++] = g;
	}
	p->group_of[number] = at;
	*ret = at;
	return 0;
}

struct fmt_bandwidth fmt_report_bandwidth(const struct fmt_names *names,
					  const struct fmt_report_collective *c)
{
	int64_t mean_ns = c->n_instances ? c->transfer_ns / (int64_t)c->n_instances : 0;

	return fmt_bandwidth(fmt_string(names, c->op, NULL), c->n_ranks, c->bytes, mean_ns);
}

/* Returns the instance of a collective; NULL if communicator or number are unknown. */
static const struct fmt_instance *instance_of(const struct fmt_report_pass *p,
					      const struct fmt_share *s)
{
	return s->comm < 0 ? NULL : fmt_instances_find(&p->instances, s->comm, s->seq);
}

/* Returns the wait time of a rank: its time beyond that of the fastest rank. */
static int64_t waiting_of(const struct fmt_report_pass *p, const struct fmt_share *s)
{
	const struct fmt_instance *i = instance_of(p, s);

	return i && i->n > 1 ? s->duration_ns - i->shortest_ns : 0;
}

/* A group, from 1, with a share in an instance. */
struct counted {
	uint32_t group;
	const struct fmt_instance *instance;
};

static void count_instance(struct fmt_report_collective *g, int64_t transfer_ns)
{
	g->n_instances++;
	fmt_sum_ns(&g->transfer_ns, transfer_ns);
}

static int sum_share(struct fmt_report_pass *p, const struct fmt_share *s, struct counted *counted,
		     size_t *n)
{
	const struct fmt_instance *i = instance_of(p, s);
	struct fmt_report_collective *g;
	uint32_t at = 0, template = s->template;

	/* Another rank may have recorded more details of the same collective. */
	if (i && fmt_collective_detail(p->names, i->template) >
			 fmt_collective_detail(p->names, template))
		template = i->template;
	if (group_of(p, s, template, &at) < 0)
		return -ENOMEM;
	g = &p->r->collectives[at - 1];
	g->n_ops++;
	fmt_sum_ns(&g->total_ns, s->duration_ns);
	if (!i) {
		count_instance(g, s->duration_ns);
		return 0;
	}
	counted[(*n)++] = (struct counted){at, i};
	if (i->n >= 2) {
		g->n_shared++;
		fmt_sum_ns(&g->waiting_ns, waiting_of(p, s));
	}
	return 0;
}

static int by_group_and_instance(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return array_order(x->group, y->group) ?: array_order(x->instance, y->instance);
}

/* Adds the shares to groups, and counts the instances of each group. */
static int sum_shares(struct fmt_report_pass *p)
{
	scoped(free_ptr) struct counted *counted = calloc(p->n_shares + 1, sizeof(*counted));
	size_t n = 0;

	if (!counted)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_shares; i++)
		if (!p->shares[i].outside && sum_share(p, &p->shares[i], counted, &n) < 0)
			return -ENOMEM;
	if (n > 0)
		qsort(counted, n, sizeof(*counted), by_group_and_instance);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || by_group_and_instance(&counted[i - 1], &counted[i]) != 0)
			count_instance(&p->r->collectives[counted[i].group - 1],
				       counted[i].instance->shortest_ns);
	return 0;
}

/* Merges templates of one name and kind. */
static int sum_ops(struct fmt_report_pass *p)
{
	scoped(free_ptr) uint32_t *by_name = calloc(fmt_n_strings(p->names) + 1u, sizeof(*by_name));
	struct fmt_report *r = p->r;

	if (!by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < fmt_n_templates(p->names); i++) {
		const struct fmt_template *template = fmt_template(p->names, i);
		const struct fmt_report_op *from = &p->stats[i];
		struct fmt_report_op *to;

		if (!from->n || template->name > fmt_n_strings(p->names))
			continue;
		if (!by_name[template->name]) {
			if (array_reserve(&r->ops, r->n_ops + 1, &p->ops_cap) < 0)
				return -ENOMEM;
			r->ops[r->n_ops] = *from;
			r->ops[r->n_ops].name = template->name;
			r->ops[r->n_ops++].kind = template->kind;
			by_name[template->name] = (uint32_t)r->n_ops;
			continue;
		}
		to = &r->ops[by_name[template->name] - 1];
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
	int order = array_order(y->total_ns, x->total_ns) ?: array_order(x->comm, y->comm);

	if (order == 0)
		order = array_order(x->op, y->op) ?: array_order(x->dtype, y->dtype);
	return order ?: array_order(x->bytes, y->bytes);
}

static int by_iteration(const void *a, const void *b)
{
	const struct fmt_report_gpu *x = a, *y = b;
	int order = fmt_iteration_order(x->iteration.number, y->iteration.number);

	if (order == 0)
		order = array_order(x->rank, y->rank);
	return order ?: array_order(x->iteration.start_ns, y->iteration.start_ns);
}

/* Fills the waiting time of the rows. */
static void fill_waiting(const struct fmt_waits *waits, struct fmt_report_gpu *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i].waiting_ns = fmt_waits_within(waits, rows[i].rank, rows[i].busy.start_ns,
						      rows[i].busy.end_ns);
}

int fmt_report_pass_sum(struct fmt_report_pass *p)
{
	scoped(fmt_waits_done) struct fmt_waits waits = {0};
	struct fmt_report *r = p->r;

	for (size_t i = 0; i < p->n_shares; i++) {
		const struct fmt_share *s = &p->shares[i];

		if (fmt_waits_add(&waits, s->rank, s->start_ns, waiting_of(p, s)) < 0)
			return -ENOMEM;
	}
	fmt_waits_merge(&waits);
	fill_waiting(&waits, r->gpus, r->n_gpus);
	fill_waiting(&waits, r->runs, r->n_runs);
	if (sum_shares(p) < 0 || sum_ops(p) < 0)
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
