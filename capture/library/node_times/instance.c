/* SPDX-License-Identifier: Apache-2.0 */

#include "capture/library/node_times/instance.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/library/find/cu.h"

#include <errno.h>
#include <stdlib.h>

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

/* A child graph has no time of its own; its nodes have. */
static bool takes_time(int type)
{
	return type != CU_NODE_EMPTY && type != CU_NODE_EVENT_RECORD && type != CU_NODE_SIGNAL &&
	       type != CU_NODE_GRAPH;
}

static bool is_op(int type)
{
	return type <= CU_NODE_HOST;
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
	x->event_of = calloc(g->n + (size_t)1, sizeof(*x->event_of));
	if (!at || !x->steps || !x->deps || !x->event_of)
		return -ENOMEM;
	x->n_events = 1;
	x->is_chain = true;
	for (uint32_t k = n_deps = 0; k < g->n; k++) {
		const struct cap_graph_node *node = &g->nodes[i->order[k]];

		at[i->order[k]] = k;
		x->steps[k] = (struct cap_node_step){
			.event = takes_time(node->type) ? x->n_events++ : CAP_NO_STEP,
			.op = is_op(node->type) ? x->n_ops++ : CAP_NO_STEP,
			.first = n_deps,
			.n = node->n,
		};
		x->event_of[i->order[k]] = x->steps[k].event;
		if (node->parent != CAP_NO_PARENT && x->steps[k].event != CAP_NO_STEP)
			x->in_child = x->steps[k].event;
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

/* Pairs the nodes of child graph `parent` with those of the clone: by the driver, or by index if
 * the driver finds no clone of a node in a child graph. */
static int pair_inner(struct cap_instance *i, uint32_t parent)
{
	const struct cap_graph_node *p = &i->graph.nodes[parent];
	scoped(free_ptr) void **copies = calloc(p->n_inner + (size_t)1, sizeof(*copies));
	size_t n = 0;
	void *copy;

	if (!copies)
		return -ENOMEM;
	if (cap_cu.cuGraphChildGraphNodeGetGraph(i->pairs[parent], &copy) ||
	    cap_cu.cuGraphGetNodes(copy, NULL, &n) || n != p->n_inner ||
	    (n > 0 && cap_cu.cuGraphGetNodes(copy, copies, &n)))
		return -ENOTSUP;
	for (uint32_t k = 0; k < p->n_inner; k++)
		if (cap_cu.cuGraphNodeFindInClone(&i->pairs[p->inner + k],
						  i->graph.nodes[p->inner + k].handle, copy))
			i->pairs[p->inner + k] = copies[k];
	return 0;
}

/* Fills i->pairs. */
static int pair_all(struct cap_instance *i)
{
	const struct cap_graph *g = &i->graph;
	int type, r = 0;

	i->pairs = calloc(g->n + (size_t)1, sizeof(*i->pairs));
	if (!i->pairs)
		return -ENOMEM;
	for (uint32_t k = 0; k < g->n && r == 0; k++) {
		if (g->nodes[k].parent == CAP_NO_PARENT &&
		    cap_cu.cuGraphNodeFindInClone(&i->pairs[k], g->nodes[k].handle, i->clone))
			return -ENOTSUP;
		if (cap_cu.cuGraphNodeGetType(i->pairs[k], &type) || type != g->nodes[k].type)
			return -ENOTSUP;
		if (type == CU_NODE_GRAPH)
			r = pair_inner(i, k);
	}
	return r;
}

/* Adds the event after the node, in the same graph. */
static int add_leaf(const struct cap_instance *i, uint32_t node, void *event, void **ret)
{
	uint32_t parent = i->graph.nodes[node].parent;
	void *graph = i->clone;

	if (parent != CAP_NO_PARENT &&
	    cap_cu.cuGraphChildGraphNodeGetGraph(i->pairs[parent], &graph))
		return -ENOTSUP;
	return cap_cu.cuGraphAddEventRecordNode(ret, graph, &i->pairs[node], 1, event) ? -ENOTSUP
										       : 0;
}

/* Clones the graph, and adds event event_of[k] after node k. */
static int clone_with_events(struct cap_instance *i, void *graph, const uint32_t *event_of,
			     const struct cap_node_events *e)
{
	int r;

	if (cap_cu.cuGraphClone(&i->clone, graph))
		return -ENOTSUP;
	r = pair_all(i);
	for (uint32_t k = 0; k < i->graph.n && r == 0; k++)
		if (event_of[k] != CAP_NO_STEP)
			r = add_leaf(i, k, e->events[event_of[k]], &i->leaves[event_of[k]]);
	return r;
}

/* Returns events by node of the graph, which has the structure of the one that `x` was made of. */
static int events_of(const struct cap_instance *i, const struct cap_exec *x, uint32_t **ret)
{
	*ret = calloc(i->graph.n + (size_t)1, sizeof(**ret));
	for (uint32_t k = 0; k < i->graph.n && *ret; k++)
		(*ret)[i->order[k]] = x->steps[k].event;
	return *ret ? 0 : -ENOMEM;
}

int cap_instance_clone(struct cap_instance *i, void *graph, const struct cap_exec *x,
		       const struct cap_node_events *e)
{
	scoped(free_ptr) uint32_t *event_of = NULL;
	int r = events_of(i, x, &event_of);

	i->leaves = calloc(x->n_events, sizeof(*i->leaves));
	if (r == 0)
		r = i->leaves ? clone_with_events(i, graph, event_of, e) : -ENOMEM;
	if (r == 0 &&
	    cap_cu.cuGraphAddEventRecordNode(&i->leaves[0], i->clone, NULL, 0, e->events[0]))
		r = -ENOTSUP;
	return r;
}

int cap_instance_clone_child(struct cap_instance *i, void *graph, const struct cap_exec *x,
			     const struct cap_node_pair *in)
{
	int r = cap_graph_read(graph, &i->graph);

	if (r == 0 && i->graph.n != in->n_below)
		r = -EINVAL;
	for (uint32_t k = 0; k < i->graph.n && r == 0; k++)
		if (takes_time(i->graph.nodes[k].type) !=
		    (x->event_of[in->inner + k] != CAP_NO_STEP))
			r = -EINVAL;
	if (r < 0)
		return r;
	i->leaves = calloc(x->n_events, sizeof(*i->leaves));
	return i->leaves ? clone_with_events(i, graph, x->event_of + in->inner, x->now) : -ENOMEM;
}

int cap_instance_pairs(const struct cap_instance *i, struct cap_exec *x)
{
	x->pairs = calloc(i->graph.n + (size_t)1, sizeof(*x->pairs));
	if (!x->pairs)
		return -ENOMEM;
	for (uint32_t k = 0; k < i->graph.n; k++) {
		const struct cap_graph_node *n = &i->graph.nodes[k];

		x->pairs[k] =
			(struct cap_node_pair){n->handle, i->pairs[k], k, n->inner, n->n_below};
	}
	qsort(x->pairs, i->graph.n, sizeof(*x->pairs), cap_node_pair_order);
	return 0;
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
