/* SPDX-License-Identifier: Apache-2.0 */

/* Lags that cannot be computed and are measured: the lag of an edge is the median of the other
 * edges of its kind, without the edge itself, whose start is to be predicted. capacity: the share
 * of a kernel's duration after which other kernels can start. graph-gap: the time between two
 * recorded nodes of a CUDA graph on a stream, which is the work of nodes that were not recorded. */
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "base/scope.h"

/* An edge. Edges of one kind have the same numbers: the shape of the kernel and the name of the
 * waiting operation; or the names of two nodes, their position in the launch, and its size. */
struct lag {
	uint64_t kind[2];
	double share; /* of whole_ns */
	int64_t whole_ns;
	struct infer_edge *edge;
};

static int by_kind(const struct lag *x, const struct lag *y)
{
	return array_order(x->kind[0], y->kind[0]) ?: array_order(x->kind[1], y->kind[1]);
}

static int by_share(const void *a, const void *b)
{
	const struct lag *x = a, *y = b;

	return by_kind(x, y) ?: array_order(x->share, y->share);
}

static struct lag describe_edge(const struct infer_view *v, struct infer_shapes *shapes,
				struct infer_edge *e)
{
	const struct infer_op *from = &v->ops[e->from_op], *to = &v->ops[e->to_op];
	struct lag l = {.edge = e, .whole_ns = 1};

	if (e->rule == INFER_GRAPH_GAP) {
		const struct infer_call *c = &v->calls[to->call];

		l.kind[0] =
			1ull << 63 | (uint64_t)infer_op_name(v, from) << 32 | infer_op_name(v, to);
		l.kind[1] = (uint64_t)(e->to_op - v->launched[c->first_op]) << 32 | c->n_ops;
	} else {
		l.kind[0] = from->shape;
		l.kind[1] = infer_op_name(v, to);
		l.whole_ns = infer_uncontended_ns(shapes, from);
	}
	l.share = (double)e->lag_ns / (double)(l.whole_ns > 0 ? l.whole_ns : 1);
	return l;
}

/* Returns the median share of the n edges of one kind except the one at `at`. */
static double median_of_others(const struct lag *l, size_t n, size_t at)
{
	size_t middle = (n - 1) / 2;

	return l[middle < at ? middle : middle + 1].share;
}

int infer_resolve_lags(struct infer_view *views, uint32_t n_views, struct infer_shapes *shapes)
{
	scoped(free_ptr) struct lag *lags = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t i = 0; i < n_views; i++)
		for (size_t k = 0; k < views[i].n_edges; k++) {
			struct infer_edge *e = &views[i].edges[k];

			if (e->rule != INFER_CAPACITY && e->rule != INFER_GRAPH_GAP)
				continue;
			if (array_reserve(&lags, n + 1, &cap) < 0)
				return -ENOMEM;
			lags[n++] = describe_edge(&views[i], shapes, e);
		}
	if (n > 0)
		qsort(lags, n, sizeof(*lags), by_share);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first; end < n && by_kind(&lags[end], &lags[first]) == 0;)
			end++;
		for (size_t i = first; i < end && end - first > 1; i++)
			lags[i].edge->lag_ns =
				(int64_t)(median_of_others(&lags[first], end - first, i - first) *
					  (double)lags[i].whole_ns);
	}
	return 0;
}
