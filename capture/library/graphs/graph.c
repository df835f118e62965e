/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/graphs/graph.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/put.h"

#define MOST_PARAMS 256 /* bytes of a struct of parameters */

void cap_graph_done(struct cap_graph *g)
{
	free(g->nodes);
	free(g->deps);
	*g = (struct cap_graph){0};
}

/* ---- read */

struct indexed_node {
	void *handle;
	uint32_t index;
};

static int by_handle(const void *a, const void *b)
{
	const struct indexed_node *x = a, *y = b;

	return array_order((uintptr_t)x->handle, (uintptr_t)y->handle);
}

/* Edges as listed by the driver, and nodes sorted by handle. */
struct lists {
	void **from, **to;
	uint64_t *data;
	struct indexed_node *nodes;
	size_t n_edges;
};

static void lists_done(struct lists *l)
{
	free(l->from);
	free(l->to);
	free(l->data);
	free(l->nodes);
}

static int read_nodes(void *graph, struct cap_graph *g)
{
	scoped(free_ptr) void **handles = NULL;
	size_t n = 0;

	if (cap_cu.cuGraphGetNodes(graph, NULL, &n))
		return -EIO;
	if (n >= UINT32_MAX)
		return -E2BIG;
	handles = calloc(n + 1, sizeof(*handles));
	g->nodes = calloc(n + 1, sizeof(*g->nodes));
	if (!handles || !g->nodes)
		return -ENOMEM;
	if (n > 0 && cap_cu.cuGraphGetNodes(graph, handles, &n))
		return -EIO;
	g->n = (uint32_t)n;
	for (uint32_t i = 0; i < g->n; i++) {
		g->nodes[i].handle = handles[i];
		if (cap_cu.cuGraphNodeGetType(handles[i], &g->nodes[i].type))
			return -EIO;
	}
	return 0;
}

static int read_edges(void *graph, const struct cap_graph *g, struct lists *l)
{
	if (cap_cu.cuGraphGetEdges_v2(graph, NULL, NULL, NULL, &l->n_edges))
		return -EIO;
	l->from = calloc(l->n_edges + 1, sizeof(*l->from));
	l->to = calloc(l->n_edges + 1, sizeof(*l->to));
	l->data = calloc(l->n_edges + 1, sizeof(*l->data));
	l->nodes = calloc(g->n + (size_t)1, sizeof(*l->nodes));
	if (!l->from || !l->to || !l->data || !l->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		l->nodes[i] = (struct indexed_node){g->nodes[i].handle, i};
	qsort(l->nodes, g->n, sizeof(*l->nodes), by_handle);
	return l->n_edges > 0 && cap_cu.cuGraphGetEdges_v2(graph, l->from, l->to, l->data,
							   &l->n_edges)
		       ? -EIO
		       : 0;
}

static uint32_t index_of(const struct cap_graph *g, const struct lists *l, void *handle)
{
	const struct indexed_node of = {.handle = handle};
	const struct indexed_node *found = bsearch(&of, l->nodes, g->n, sizeof(of), by_handle);

	return found ? found->index : UINT32_MAX;
}

/* Groups edges by the waiting node; within a group the driver's order is kept. */
static int sort_edges(struct cap_graph *g, const struct lists *l)
{
	uint32_t first = 0;

	g->deps = calloc(l->n_edges + 1, sizeof(*g->deps));
	if (!g->deps || l->n_edges >= UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_edges; i++) {
		uint32_t from = index_of(g, l, l->from[i]), to = index_of(g, l, l->to[i]);

		if (from == UINT32_MAX || to == UINT32_MAX)
			return -EIO;
		g->nodes[from].n_dependents++;
		g->nodes[to].n++;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		g->nodes[i].first = first;
		first += g->nodes[i].n;
		g->nodes[i].n = 0;
	}
	for (size_t i = 0; i < l->n_edges; i++) {
		struct cap_graph_node *to = &g->nodes[index_of(g, l, l->to[i])];

		g->deps[to->first + to->n++] = index_of(g, l, l->from[i]);
	}
	return 0;
}

static int read_level(void *graph, struct cap_graph *ret)
{
	scoped(lists_done) struct lists l = {0};
	int r;

	*ret = (struct cap_graph){0};
	r = read_nodes(graph, ret);
	if (r == 0)
		r = read_edges(graph, ret, &l);
	if (r == 0)
		r = sort_edges(ret, &l);
	ret->n_deps = (uint32_t)l.n_edges;
	if (r < 0)
		cap_graph_done(ret);
	return r;
}

/* ---- child graphs */

#define MOST_DEEP 32
#define NO_PARENT UINT32_MAX

/* Nodes of the child graph without dependencies get those of the parent node, which itself waits
 * for the nodes of the child graph without dependents. */
static void link_child(struct cap_graph *g, uint32_t parent, uint32_t base, uint32_t n)
{
	struct cap_graph_node *p = &g->nodes[parent];
	uint32_t first = g->n_deps;

	for (uint32_t i = base; i < base + n; i++) {
		struct cap_graph_node *node = &g->nodes[i];

		if (node->n == 0) {
			node->first = p->first;
			node->n = p->n;
		}
		if (node->n_dependents == 0) {
			node->n_dependents = 1;
			g->deps[g->n_deps++] = i;
		}
	}
	if (n == 0)
		return;
	p->first = first;
	p->n = g->n_deps - first;
}

/* Appends the nodes of one graph. */
static int append_level(struct cap_graph *g, const struct cap_graph *level, uint32_t parent)
{
	uint32_t base = g->n, base_deps = g->n_deps;
	uint64_t n = (uint64_t)g->n + level->n;
	uint64_t n_deps = (uint64_t)g->n_deps + level->n_deps + level->n;

	if (n >= UINT32_MAX || n_deps >= UINT32_MAX)
		return -E2BIG;
	if (array_reserve(&g->nodes, n + 1, &g->nodes_cap) < 0 ||
	    array_reserve(&g->deps, n_deps + 1, &g->deps_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < level->n; i++) {
		struct cap_graph_node *node = &g->nodes[g->n++];

		*node = level->nodes[i];
		node->first += base_deps;
	}
	for (uint32_t i = 0; i < level->n_deps; i++)
		g->deps[g->n_deps++] = base + level->deps[i];
	if (parent != NO_PARENT)
		link_child(g, parent, base, level->n);
	return 0;
}

static int read_recursively(void *graph, struct cap_graph *g, uint32_t parent, unsigned depth)
{
	scoped(cap_graph_done) struct cap_graph level;
	uint32_t base = g->n;
	void *child;
	int r = read_level(graph, &level);

	if (r == 0)
		r = append_level(g, &level, parent);
	for (uint32_t i = base; i < base + level.n && r == 0; i++) {
		if (g->nodes[i].type != CU_NODE_GRAPH)
			continue;
		if (depth == MOST_DEEP)
			return -E2BIG;
		r = cap_cu.cuGraphChildGraphNodeGetGraph(g->nodes[i].handle, &child) ? -EIO : 0;
		if (r == 0)
			r = read_recursively(child, g, i, depth + 1);
	}
	return r;
}

int cap_graph_read(void *graph, struct cap_graph *ret)
{
	int r;

	*ret = (struct cap_graph){0};
	r = read_recursively(graph, ret, NO_PARENT, 0);
	if (r < 0)
		cap_graph_done(ret);
	return r;
}

/* ---- records */

/* Reads the node's parameters; returns their length in bytes. */
static uint32_t params_of(const struct cap_graph_node *node, void *params)
{
	int (*const get[])(void *, void *) = {
		[CU_NODE_KERNEL] = cap_cu.cuGraphKernelNodeGetParams_v2,
		[CU_NODE_MEMCPY] = cap_cu.cuGraphMemcpyNodeGetParams,
		[CU_NODE_MEMSET] = cap_cu.cuGraphMemsetNodeGetParams,
	};
	static const uint32_t bytes[] = {
		[CU_NODE_KERNEL] = 72, [CU_NODE_MEMCPY] = 200, [CU_NODE_MEMSET] = 40};

	if (node->type < 0 || node->type >= (int)ARRAY_SIZE(get) ||
	    get[node->type](node->handle, params))
		return 0;
	return bytes[node->type];
}

static int put_node(const struct cap_graph *g, uint32_t at, uint64_t id)
{
	const struct cap_graph_node *node = &g->nodes[at];
	uint64_t params[MOST_PARAMS / 8] = {0};
	uint32_t len = params_of(node, params);
	uint64_t bytes = sizeof(struct cap_node_record) + 4 * (uint64_t)node->n + len;
	struct cap_node_record *r =
		bytes < UINT32_MAX - 7 ? cap_reserve((uint32_t)(bytes + 7) & ~7u, CAP_NODE) : NULL;

	if (!r)
		return -ENOSPC;
	r->head.flags = (uint8_t)node->type;
	r->node = at;
	r->n_nodes = g->n;
	r->n_deps = node->n;
	r->id = id;
	r->handle = (uintptr_t)node->handle;
	r->params_len = len;
	memcpy(r->deps, g->deps + node->first, 4 * (size_t)node->n);
	memcpy(r->deps + node->n, params, len);
	cap_publish();
	return 0;
}

void cap_graph_put_captured(const void *node, uint64_t id)
{
	struct cap_node_record *r = cap_reserve(sizeof(*r), CAP_NODE);

	if (!r)
		return;
	r->head.flags = CU_NODE_KERNEL;
	r->node = r->n_nodes = r->n_deps = r->params_len = 0;
	r->id = id;
	r->handle = (uintptr_t)node;
	cap_publish();
}

int cap_graph_put(const struct cap_graph *g, uint64_t id)
{
	int r = 0;

	for (uint32_t i = 0; i < g->n && r == 0; i++)
		r = put_node(g, i, id);
	return r;
}
