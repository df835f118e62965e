/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/gap.h"
#include "formats/run/infer/edge.h"

#include "base/scope.h"

#define US INFER_US
#define LONG_QUEUED_NS (20 * US) /* an operation was launched so long before its turn, */
#define QUEUED_NS (2 * US)	 /* or this, if few were launched that early */
#define LEAST_GAPS 10
#define MOST_GAP_NS (20 * US)
#define MOST_COLLECTIVE_GAP_NS (25 * US)
#define MOST_REST_NS (5 * US) /* a larger difference has another cause than the kernel's shape */
#define DOUBT 2

struct gap {
	int32_t gap_ns; /* MOST_COLLECTIVE_GAP_NS at most */
	uint32_t op;
	uint8_t before, after; /* enum fmt_gap_class */
};

static uint8_t class_of(const struct infer_op *op)
{
	return (uint8_t)fmt_gap_class((enum fmt_kind)op->kind, op->end_ns - op->start_ns);
}

/* Marks operations that waited for more than the previous operation of their stream. */
static void mark_held(const struct infer_view *v, uint8_t *held)
{
	for (size_t i = 0; i < v->n_edges; i++) {
		const struct infer_edge *e = &v->edges[i];
		uint32_t before;

		if (e->from_op == INFER_NONE || e->to_op == INFER_NONE ||
		    infer_edge_source(v, e) == &v->ops[e->to_op])
			continue;
		before = infer_prev_op(v, &v->ops[e->to_op]);
		held[e->to_op] |=
			before == INFER_NONE || e->kind != FMT_EDGE_START ||
			infer_edge_source(v, e)->end_ns > v->ops[before].end_ns - QUEUED_NS;
	}
}

/* Between operations of which the second had been launched queued_ns before the first ended. */
static size_t list_gaps(const struct infer_view *v, int64_t queued_ns, const uint8_t *held,
			struct gap *ret)
{
	size_t n = 0;

	for (uint32_t i = 0; i < v->n_ops; i++) {
		const struct infer_op *op = &v->ops[i], *before;
		int64_t gap, most;

		if (infer_prev_op(v, op) == INFER_NONE || op->call == INFER_NONE || held[i])
			continue;
		before = &v->ops[infer_prev_op(v, op)];
		gap = op->start_ns - before->end_ns;
		most = op->kind == FMT_COLLECTIVE ? MOST_COLLECTIVE_GAP_NS : MOST_GAP_NS;
		if (before->end_ns > infer_launch_start_ns(v, &v->calls[op->call]) + queued_ns &&
		    gap < most && gap >= -most)
			ret[n++] = (struct gap){(int32_t)gap, i, class_of(before), class_of(op)};
	}
	return n;
}

/* Returns 1 if one time stamp is the end of an operation and the start of the next. Then an
 * operation that starts later waited for something else. */
static int has_no_gaps(const struct gap *gaps, size_t n)
{
	size_t n_none = 0;

	for (size_t i = 0; i < n; i++)
		n_none += gaps[i].gap_ns == 0;
	return 2 * n_none > n;
}

/* Returns 1; 0 if operations leave no gaps; -ENOMEM. The caller frees *ret. */
static int collect_gaps(const struct infer_view *v, struct gap **ret, size_t *n)
{
	scoped(free_ptr) uint8_t *held = calloc(v->n_ops + (size_t)1, 1);
	struct gap *gaps = malloc((v->n_ops + (size_t)1) * sizeof(*gaps));

	*ret = gaps;
	if (!gaps || !held)
		return -ENOMEM;
	mark_held(v, held);
	*n = list_gaps(v, LONG_QUEUED_NS, held, gaps);
	if (*n < LEAST_GAPS)
		*n = list_gaps(v, QUEUED_NS, held, gaps);
	return !has_no_gaps(gaps, *n);
}

/* The gaps between operations of two classes, or of several. */
struct mean {
	int64_t sum_ns, n;
};

static void add_gap(struct mean *m, int64_t gap_ns)
{
	m->sum_ns += gap_ns;
	m->n++;
}

/* Returns the sort of a pair of classes: behind a collective, before one, or between other
 * operations. A pair with too few gaps uses the mean gap of its sort. */
static int sort_of(int before, int after)
{
	const int collective = fmt_gap_class(FMT_COLLECTIVE, 0);

	return before == collective ? 2 : after == collective;
}

int infer_gaps_by_class(struct infer_view *v)
{
	struct mean classes[FMT_GAP_CLASSES][FMT_GAP_CLASSES] = {0}, all = {0}, sorts[3] = {0};
	scoped(free_ptr) struct gap *gaps = NULL;
	size_t n = 0;
	int r = collect_gaps(v, &gaps, &n);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		add_gap(&classes[gaps[i].before][gaps[i].after], gaps[i].gap_ns);
		add_gap(&sorts[sort_of(gaps[i].before, gaps[i].after)], gaps[i].gap_ns);
		add_gap(&all, gaps[i].gap_ns);
	}
	if (n == 0)
		add_gap(&all, 3 * US / 2);
	for (int a = 0; a < FMT_GAP_CLASSES; a++)
		for (int b = 0; b < FMT_GAP_CLASSES; b++) {
			const struct mean *m = &classes[a][b];

			if (m->n < 5)
				m = &sorts[sort_of(a, b)];
			if (m->n < 5)
				m = sorts[0].n >= 5 ? &sorts[0] : &all;
			v->constants.gap_ns[a][b] = m->sum_ns / m->n;
		}
	return 0;
}

struct rest {
	int64_t sum_ns, n;
};

/* Adds the gaps of a rank, by shape. */
static int add_rests(const struct infer_view *v, struct rest *rests)
{
	scoped(free_ptr) struct gap *gaps = NULL;
	size_t n;
	int r = collect_gaps(v, &gaps, &n);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		const struct infer_op *op = &v->ops[gaps[i].op];
		uint32_t shape = v->ops[infer_prev_op(v, op)].shape;
		int64_t rest = gaps[i].gap_ns - v->constants.gap_ns[gaps[i].before][gaps[i].after];

		if (shape == INFER_NONE || op->kind == FMT_COLLECTIVE || rest > MOST_REST_NS ||
		    rest < -MOST_REST_NS)
			continue;
		rests[shape].sum_ns += rest;
		rests[shape].n++;
	}
	return 0;
}

/* Stored by template, because readers of the trace have templates. */
static void assign_to_templates(const struct infer_view *v, const struct rest *rests,
				struct fmt_template_gaps *ret)
{
	for (uint32_t i = 0; i < v->n_ops; i++) {
		const struct infer_op *op = &v->ops[i];
		const struct rest *rest = op->shape != INFER_NONE ? &rests[op->shape] : NULL;

		if (rest && rest->n > 0)
			ret->ns[v->rank->events[op->event].template] =
				rest->sum_ns / (rest->n + DOUBT);
	}
}

int infer_gaps_by_template(struct infer_view *views, uint32_t n_views, uint32_t n_shapes,
			   struct fmt_template_gaps *ret)
{
	scoped(free_ptr) struct rest *rests = calloc(n_shapes + (size_t)1, sizeof(*rests));
	int r = rests ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = add_rests(&views[i], rests);
	for (uint32_t i = 0; i < n_views && r == 0; i++) {
		assign_to_templates(&views[i], rests, ret);
		views[i].template_gaps = ret;
	}
	return r;
}
