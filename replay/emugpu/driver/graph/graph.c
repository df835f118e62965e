/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/graph/graph.h"
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/handle.h"

#define GRAPH_MAGIC 0x47726170u
#define NODE_MAGIC 0x4e6f6465u

struct emu_graph *emu_graph_of(CUgraph handle)
{
	struct emu_graph *g = (struct emu_graph *)handle;

	return g && emu_is_alive(g->magic, GRAPH_MAGIC, "graph") ? g : NULL;
}

struct emu_node *emu_node_of(CUgraphNode handle)
{
	struct emu_node *n = (struct emu_node *)handle;

	return n && n->magic == NODE_MAGIC ? n : NULL;
}

int emu_graph_new(struct emu_context *c, struct emu_graph **ret)
{
	struct emu_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->magic = GRAPH_MAGIC;
	g->context = c;
	*ret = g;
	return 0;
}

static void node_free(struct emu_node *n)
{
	n->magic = 0;
	emu_op_done(&n->op);
	if (n->child)
		emu_graph_free(n->child);
	free(n->deps);
	free(n);
}

void emu_graph_free(struct emu_graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		node_free(g->nodes[i]);
	free(g->nodes);
	g->magic = 0;
	emu_graph_drop_objects(g);
	free(g);
}

static int add_dep(struct emu_node *n, struct emu_node *dep)
{
	for (size_t i = 0; i < n->n_deps; i++)
		if (n->deps[i] == dep)
			return 0;
	if (array_reserve(&n->deps, n->n_deps + 1, &n->deps_cap) < 0)
		return -ENOMEM;
	n->deps[n->n_deps++] = dep;
	return 0;
}

CUresult emu_graph_add(struct emu_graph *g, struct emu_op *op, struct emu_node *const *deps,
		       size_t n_deps, struct emu_node **ret)
{
	struct emu_node *n = calloc(1, sizeof(*n));
	int r = n ? array_reserve(&g->nodes, g->n_nodes + 1, &g->nodes_cap) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n_deps; i++)
		r = add_dep(n, deps[i]);
	if (r < 0) {
		emu_op_done(op);
		if (n)
			free(n->deps);
		free(n);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->magic = NODE_MAGIC;
	n->id = emu_new_id();
	n->graph = g;
	n->op = *op;
	g->nodes[g->n_nodes++] = n;
	if (ret)
		*ret = n;
	return CUDA_SUCCESS;
}

int emu_op_copy(const struct emu_op *from, struct emu_op *to)
{
	int r = 1;

	*to = *from;
	if (from->type == &emu_kernel_type) {
		to->kernel.args_copy = NULL;
		r = from->type->own(to);
	}
	if (to->type->retain)
		to->type->retain(to);
	return r == 1 ? 0 : r == 0 ? -EINVAL : r;
}

static int is_unique(const struct emu_node *n)
{
	return n->op.type == &emu_graph_alloc_type || n->op.type == &emu_graph_free_type ||
	       n->op.type == &emu_conditional_type;
}

CUresult emu_graph_clone(const struct emu_graph *g, struct emu_graph **ret)
{
	struct emu_graph *copy;
	struct emu_op op;
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < g->n_nodes; i++)
		if (is_unique(g->nodes[i]))
			return CUDA_ERROR_NOT_SUPPORTED;
	if (emu_graph_new(g->context, &copy) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < g->n_nodes; i++)
		g->nodes[i]->mark = (int)i;
	for (size_t i = 0; !r && i < g->n_nodes; i++) {
		struct emu_node *n;

		if (emu_op_copy(&g->nodes[i]->op, &op) < 0)
			r = CUDA_ERROR_INVALID_VALUE;
		else
			r = emu_graph_add(copy, &op, NULL, 0, &n);
		if (!r)
			n->origin = g->nodes[i]->id;
		if (!r && g->nodes[i]->child)
			r = emu_graph_clone(g->nodes[i]->child, &n->child);
	}
	for (size_t i = 0; !r && i < g->n_nodes; i++)
		for (size_t k = 0; !r && k < g->nodes[i]->n_deps; k++)
			if (add_dep(copy->nodes[i], copy->nodes[g->nodes[i]->deps[k]->mark]) < 0)
				r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r)
		emu_graph_free(copy);
	else
		*ret = copy;
	return r;
}

/* Depth first. Marks: 0 not visited, 1 in progress, 2 in the list. */
static int visit_node(struct emu_node *n, struct emu_node **list, size_t *at)
{
	int r = 0;

	if (n->mark)
		return n->mark == 2 ? 0 : -EINVAL;
	n->mark = 1;
	for (size_t i = 0; r == 0 && i < n->n_deps; i++)
		r = visit_node(n->deps[i], list, at);
	n->mark = 2;
	list[(*at)++] = n;
	return r;
}

int emu_graph_order(struct emu_graph *g, struct emu_node ***ret)
{
	scoped(free_ptr) struct emu_node **list = calloc(g->n_nodes + 1, sizeof(struct emu_node *));
	size_t at = 0;
	int r = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_nodes; i++)
		g->nodes[i]->mark = 0;
	for (size_t i = 0; r == 0 && i < g->n_nodes; i++)
		r = visit_node(g->nodes[i], list, &at);
	if (r == 0)
		*ret = take(list);
	return r;
}

/* ---- ops of graphs alone ---- */

static int64_t empty_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	return ready_ns;
}

const struct emu_op_type emu_empty_type = {
	.name = "empty",
	.node = CU_GRAPH_NODE_TYPE_EMPTY,
	.light = 1,
	.run = empty_run,
};

const struct emu_op_type emu_child_type = {
	.name = "child graph",
	.node = CU_GRAPH_NODE_TYPE_GRAPH,
	.light = 1,
	.run = empty_run,
};

static int64_t event_record_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	emu_event_set(op->event, ready_ns);
	return ready_ns;
}

const struct emu_op_type emu_event_record_type = {
	.name = "event record",
	.node = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	.light = 1,
	.run = event_record_run,
};

static int op_waits(const struct emu_op *op)
{
	return 1;
}

static int64_t event_wait_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_dep d = emu_event_dep(op->event);

	return moment_wait(ready_ns, emu_dep_wait(&d), 0);
}

const struct emu_op_type emu_event_wait_type = {
	.name = "event wait",
	.node = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	.light = 1,
	.blocks = op_waits,
	.run = event_wait_run,
};

/* ---- the public functions ---- */

EMU_API CUresult cuGraphCreate(CUgraph *ret, unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_context *c = NULL;

	emu_current(self, &c);
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_graph_new(c, (struct emu_graph **)ret) < 0 ? CUDA_ERROR_OUT_OF_MEMORY
							      : CUDA_SUCCESS;
}

/* Only nodes of the graph itself; nodes of a child graph are in the clone's child. */
EMU_API CUresult cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode original, CUgraph clone)
{
	struct emu_graph *g = emu_graph_of(clone);
	struct emu_node *of = emu_node_of(original);

	for (size_t i = 0; ret && g && of && i < g->n_nodes; i++)
		if (g->nodes[i]->origin == of->id) {
			*ret = (CUgraphNode)g->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *ret, size_t *n)
{
	struct emu_graph *g = emu_graph_of(graph);

	if (!g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; ret && i < *n; i++)
		ret[i] = i < g->n_nodes ? (CUgraphNode)g->nodes[i] : NULL;
	if (!ret || *n > g->n_nodes)
		*n = g->n_nodes;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *ret, size_t *n)
{
	struct emu_graph *g = emu_graph_of(graph);
	size_t roots = 0;

	if (!g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < g->n_nodes; i++) {
		if (g->nodes[i]->n_deps)
			continue;
		if (ret && roots < *n)
			ret[roots] = (CUgraphNode)g->nodes[i];
		roots++;
	}
	*n = roots;
	return CUDA_SUCCESS;
}

CUresult emu_graph_edges(struct emu_graph *g, const struct emu_node *first,
			 const struct emu_node *second, CUgraphNode *from, CUgraphNode *to,
			 CUgraphEdgeData *data, size_t *n)
{
	size_t edges = 0;

	if (!g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < g->n_nodes; i++) {
		if (second && g->nodes[i] != second)
			continue;
		for (size_t k = 0; k < g->nodes[i]->n_deps; k++) {
			if (first && g->nodes[i]->deps[k] != first)
				continue;
			if ((from || to) && edges < *n) {
				if (from)
					from[edges] = (CUgraphNode)g->nodes[i]->deps[k];
				if (to)
					to[edges] = (CUgraphNode)g->nodes[i];
				if (data)
					data[edges] = (CUgraphEdgeData){0};
			}
			edges++;
		}
	}
	*n = edges;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
					   const CUgraphNode *to, const CUgraphEdgeData *data,
					   size_t n)
{
	CUresult r = emu_graph_of(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !r && i < n; i++) {
		if (!emu_node_of(from[i]) || !emu_node_of(to[i]))
			r = CUDA_ERROR_INVALID_VALUE;
		else if (add_dep(emu_node_of(to[i]), emu_node_of(from[i])) < 0)
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return r;
}

static void remove_dep(struct emu_node *n, const struct emu_node *dep)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n_deps; i++)
		if (n->deps[i] != dep)
			n->deps[kept++] = n->deps[i];
	n->n_deps = kept;
}

EMU_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
					      const CUgraphNode *to, const CUgraphEdgeData *data,
					      size_t n)
{
	if (!emu_graph_of(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (!emu_node_of(from[i]) || !emu_node_of(to[i]))
			return CUDA_ERROR_INVALID_VALUE;
		remove_dep(emu_node_of(to[i]), emu_node_of(from[i]));
	}
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphDestroyNode(CUgraphNode node)
{
	struct emu_node *n = emu_node_of(node);
	size_t kept = 0;

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	struct emu_graph *g = n->graph;

	for (size_t i = 0; i < g->n_nodes; i++) {
		remove_dep(g->nodes[i], n);
		if (g->nodes[i] != n)
			g->nodes[kept++] = g->nodes[i];
	}
	g->n_nodes = kept;
	node_free(n);
	return CUDA_SUCCESS;
}
