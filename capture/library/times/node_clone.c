/* SPDX-License-Identifier: Apache-2.0 */

/* Clones of graphs, with events in them. */
#include "capture/library/times/nodes_impl.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/library/device/cu.h"

void cap_instance_done(struct cap_instance *i)
{
	if (i->clone)
		cap_cu.cuGraphDestroy(i->clone);
	free(i->pairs);
	free(i->leaves);
	free(i->order);
	cap_graph_done(&i->graph);
	*i = (struct cap_instance){0};
}

int cap_instance_read(struct cap_instance *i, void *graph)
{
	int r = cap_graph_read(graph, &i->graph);

	if (r < 0)
		return r;
	i->order = calloc(i->graph.n + (size_t)1, sizeof(*i->order));
	if (!i->order || cap_graph_order(&i->graph, i->order) < 0)
		free(take(i->order));
	return 0;
}

static bool takes_time(int type)
{
	return type != CU_NODE_EMPTY && type != CU_NODE_EVENT_RECORD && type != CU_NODE_SIGNAL;
}

static bool is_op(int type)
{
	return type <= CU_NODE_MEMSET || type == CU_NODE_GRAPH;
}

int cap_instance_steps(const struct cap_instance *i, struct cap_exec *x)
{
	const struct cap_graph *g = &i->graph;
	scoped(free_ptr) uint32_t *at = calloc(g->n + (size_t)1, sizeof(*at));
	uint32_t n_deps = 0;

	for (uint32_t k = 0; k < g->n; k++)
		n_deps += g->nodes[k].n;
	x->steps = calloc(g->n + (size_t)1, sizeof(*x->steps));
	x->deps = calloc(n_deps + (size_t)1, sizeof(*x->deps));
	if (!at || !x->steps || !x->deps)
		return -ENOMEM;
	x->n_events = 1;
	x->is_chain = true;
	for (uint32_t k = n_deps = 0; k < g->n; k++) {
		const struct cap_graph_node *node = &g->nodes[i->order[k]];

		at[i->order[k]] = k;
		x->steps[k] = (struct cap_step){
			.event = takes_time(node->type) ? x->n_events++ : CAP_NO_STEP,
			.op = is_op(node->type) ? x->n_ops++ : CAP_NO_STEP,
			.first = n_deps,
			.n = node->n,
		};
		for (uint32_t d = 0; d < node->n; d++)
			x->deps[n_deps++] = at[g->deps[node->first + d]];
		x->is_chain &= k == 0 || (node->n == 1 && x->deps[n_deps - 1] == k - 1);
	}
	x->n_steps = g->n;
	return 0;
}

int cap_instance_ops(const struct cap_instance *i, const struct cap_exec *x, uint32_t **ret)
{
	uint32_t n = i->graph.n;
	scoped(free_ptr) uint32_t *ops = calloc(n + (size_t)1, sizeof(*ops));
	int r = !ops ? -ENOMEM : i->order && n == x->n_steps ? 0 : -EINVAL;

	for (uint32_t k = 0; k < n && r == 0; k++) {
		int type = i->graph.nodes[i->order[k]].type;

		ops[i->order[k]] = x->steps[k].op;
		if (is_op(type) != (x->steps[k].op != CAP_NO_STEP) ||
		    takes_time(type) != (x->steps[k].event != CAP_NO_STEP))
			r = -EINVAL;
	}
	if (r == 0)
		*ret = take(ops);
	return r;
}

int cap_instance_clone(struct cap_instance *i, void *graph, const struct cap_exec *x,
		       const struct cap_node_events *e)
{
	const struct cap_graph *g = &i->graph;
	int r;

	i->pairs = calloc(g->n + (size_t)1, sizeof(*i->pairs));
	i->leaves = calloc(x->n_events, sizeof(*i->leaves));
	if (!i->pairs || !i->leaves)
		return -ENOMEM;
	if (cap_cu.cuGraphClone(&i->clone, graph))
		return -ENOTSUP;
	for (uint32_t k = 0; k < g->n; k++)
		if (cap_cu.cuGraphNodeFindInClone(&i->pairs[k], g->nodes[k].handle, i->clone))
			return -ENOTSUP;
	r = cap_cu.cuGraphAddEventRecordNode(&i->leaves[0], i->clone, NULL, 0, e->events[0]);
	for (uint32_t k = 0; k < g->n && r == 0; k++) {
		uint32_t event = x->steps[k].event;

		if (event != CAP_NO_STEP)
			r = cap_cu.cuGraphAddEventRecordNode(&i->leaves[event], i->clone,
							     &i->pairs[i->order[k]], 1,
							     e->events[event]);
	}
	return r ? -ENOTSUP : 0;
}

static int add_pair(struct cap_exec *x, void *of, void *is)
{
	size_t cap = x->pairs_cap;

	if (array_reserve(&x->pairs, x->n_pairs + (size_t)1, &cap) < 0)
		return -ENOMEM;
	x->pairs_cap = (uint32_t)cap;
	x->pairs[x->n_pairs++] = (struct cap_node_pair){of, is};
	return 0;
}

static int add_nested(struct cap_exec *x, void *of, void *is);

/* A node and its like in the clone; of a child graph the nodes in it, too. */
static int add_pairs(struct cap_exec *x, void *of, void *is)
{
	int type, like;

	if (cap_cu.cuGraphNodeGetType(of, &type) || cap_cu.cuGraphNodeGetType(is, &like) ||
	    type != like)
		return -ENOTSUP;
	if (add_pair(x, of, is) < 0)
		return -ENOMEM;
	return type == CU_NODE_GRAPH ? add_nested(x, of, is) : 0;
}

/* Where the driver finds no clones of nodes in children, they are those in the same places. */
static int add_nested(struct cap_exec *x, void *of, void *is)
{
	void *graph, *copy, *found;
	size_t n = 0, n_copies = 0;
	scoped(free_ptr) void **nodes = NULL;
	scoped(free_ptr) void **copies = NULL;
	int r = 0;

	if (cap_cu.cuGraphChildGraphNodeGetGraph(of, &graph) ||
	    cap_cu.cuGraphChildGraphNodeGetGraph(is, &copy) ||
	    cap_cu.cuGraphGetNodes(graph, NULL, &n) ||
	    cap_cu.cuGraphGetNodes(copy, NULL, &n_copies) || n != n_copies)
		return -ENOTSUP;
	nodes = calloc(n + 1, sizeof(*nodes));
	copies = calloc(n + 1, sizeof(*copies));
	if (!nodes || !copies)
		return -ENOMEM;
	if (n > 0 &&
	    (cap_cu.cuGraphGetNodes(graph, nodes, &n) || cap_cu.cuGraphGetNodes(copy, copies, &n)))
		return -ENOTSUP;
	for (size_t k = 0; k < n && r == 0; k++) {
		if (cap_cu.cuGraphNodeFindInClone(&found, nodes[k], copy))
			found = copies[k];
		r = add_pairs(x, nodes[k], found);
	}
	return r;
}

int cap_node_pair_order(const void *a, const void *b)
{
	const struct cap_node_pair *x = a, *y = b;

	return array_order((uintptr_t)x->of, (uintptr_t)y->of);
}

int cap_instance_pairs(const struct cap_instance *i, struct cap_exec *x)
{
	int r = 0;

	for (uint32_t k = 0; k < i->graph.n && r == 0; k++)
		r = add_pairs(x, i->graph.nodes[k].handle, i->pairs[k]);
	if (r == 0 && x->n_pairs > 0)
		qsort(x->pairs, x->n_pairs, sizeof(*x->pairs), cap_node_pair_order);
	return r;
}

void *cap_instance_node(const struct cap_instance *i, void *node)
{
	for (uint32_t k = 0; k < i->graph.n; k++) {
		uint32_t at = i->order[k], event = i->exec->steps[k].event;

		if (i->pairs[at] == node || (event != CAP_NO_STEP && i->leaves[event] == node))
			return i->graph.nodes[at].handle;
	}
	return NULL;
}
