/* SPDX-License-Identifier: Apache-2.0 */

/* graph-gap: of a CUDA graph a recorder may see some nodes and not others. The time between two
 * that it saw, one after the other on a stream, is then work of the device; the median over the
 * launches of the graph stands for each. */
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "base/scope.h"

/* A node of a graph: its names, its position in the launch, and the size of the launch. */
struct gap {
	fmt_str before, name;
	uint32_t position, n_ops;
	int64_t gap_ns;
	size_t edge;
};

static int compare(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return array_order(x->before, y->before) ?: array_order(x->name, y->name)
	       ?: array_order(x->position, y->position) ?: array_order(x->n_ops, y->n_ops)
	       ?: array_order(x->gap_ns, y->gap_ns) ?: array_order(x->edge, y->edge);
}

static fmt_str name_of(const struct infer_view *v, uint32_t event)
{
	return fmt_template(v->names, v->rank->events[event].template)->name;
}

static struct gap gap_of(const struct infer_view *v, const struct infer_edge *e, size_t edge)
{
	const struct infer_call *c = &v->calls[v->ops[e->to_op].call];

	return (struct gap){.before = name_of(v, e->from),
			    .name = name_of(v, e->to),
			    .position = e->to_op - v->launched[c->first_op],
			    .n_ops = c->n_ops,
			    .gap_ns = e->lag_ns,
			    .edge = edge};
}

static int same_node(const struct gap *a, const struct gap *b)
{
	return a->before == b->before && a->name == b->name && a->position == b->position &&
	       a->n_ops == b->n_ops;
}

int infer_graph_settle(struct infer_view *v)
{
	scoped(free_ptr) struct gap *gaps = malloc((v->n_edges + 1) * sizeof(*gaps));
	size_t n = 0, first = 0, end;

	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < v->n_edges; i++) {
		const struct infer_edge *e = &v->edges[i];

		if (e->rule == INFER_GRAPH_GAP)
			gaps[n++] = gap_of(v, e, i);
	}
	if (n > 0)
		qsort(gaps, n, sizeof(*gaps), compare);
	for (; first < n; first = end) {
		for (end = first; end < n && same_node(&gaps[end], &gaps[first]);)
			end++;
		for (size_t i = first; i < end; i++)
			v->edges[gaps[i].edge].lag_ns = gaps[first + (end - first) / 2].gap_ns;
	}
	return 0;
}
