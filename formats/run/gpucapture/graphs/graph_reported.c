/* SPDX-License-Identifier: Apache-2.0 */

/* A graph as the driver reported it when it was instantiated. */
#include "formats/run/gpucapture/graphs/graphs_impl.h"

#include "base/array.h"
#include "base/scope.h"

/* By CUgraphNodeType. */
static const char *const kinds[] = {
	"kernel",	"memcpy", "memset", "host",	 "graph",    "empty",	     "event_wait",
	"event_record", "other",  "other",  "mem_alloc", "mem_free", "batch_mem_op",
};

/* The function with a struct of that kind as its second argument. */
static const char *const params_of[] = {"cuGraphKernelNodeGetParams_v2",
					"cuGraphMemcpyNodeGetParams", "cuGraphMemsetNodeGetParams"};

static bool find_layout(unsigned kind, const struct cap_node_record *r, struct api_view *ret)
{
	const struct api_call *call;

	if (kind >= ARRAY_SIZE(params_of) || r->params_len == 0)
		return false;
	call = api_call((unsigned)api_find(params_of[kind]));
	*ret = (struct api_view){call->args[1].layout, r->deps + r->n_deps, r->params_len};
	return ret->layout != NULL;
}

/* Fields that were not reported remain as previously known. */
static void describe_node(struct rec_call *c, const struct cap_node_record *r,
			  const struct rec_graph_node *before, struct rec_node *ret)
{
	unsigned kind = r->head.flags;
	struct api_view v;

	*ret = (struct rec_node){.kind = kind < ARRAY_SIZE(kinds) ? kinds[kind] : "other",
				 .bytes = -1};
	if (find_layout(kind, r, &v))
		rec_graph_read_struct(c, &v, ret);
	else if (before && strcmp(before->node.kind, ret->kind) == 0)
		*ret = before->node;
	if (before && strcmp(before->node.kind, ret->kind) == 0) {
		ret->call = before->node.call;
		ret->content = before->node.content;
		/* The driver reports a function that it made itself from the kernel. */
		if (!rec_graph_node_has_name(c, ret)) {
			ret->name = before->node.name;
			ret->symbol = before->node.symbol;
		}
	}
	ret->collective = 0;
}

static int add_node(struct rec_call *c, const struct cap_node_record *r,
		    const struct rec_graph *before, struct rec_graph *reported)
{
	struct rec_node node;
	int e;

	describe_node(c, r, r->node < before->n_nodes ? &before->nodes[r->node] : NULL, &node);
	e = rec_graph_add_node(reported, &node, r->handle);
	if (e < 0)
		return e;
	for (uint32_t i = 0; i < r->n_deps && e == 0; i++)
		if (r->deps[i] < r->n_nodes)
			e = rec_graph_add_edge(reported, r->deps[i], r->node);
	return e;
}

/* Reads the nodes in order. If a node was reported twice, because an instantiation failed, the last
 * report counts. Returns 1 if the report is complete. */
static int read_nodes(struct rec_call *c, const struct rec_graph *before,
		      struct rec_graph *reported)
{
	uint64_t n = UINT64_MAX;
	int e = 0;

	for (size_t part = 0; part < ARRAY_SIZE(c->records); part++)
		for (size_t at = 0; at < c->records[part].bytes && e == 0;) {
			const struct cap_node_record *r = (const void *)(c->records[part].at + at);

			at += r->head.bytes;
			if (r->head.kind != CAP_NODE || r->id != c->record->id)
				continue;
			if (r->node == 0)
				rec_graph_clear(reported);
			n = r->n_nodes;
			if (r->node == reported->n_nodes)
				e = add_node(c, r, before, reported);
		}
	return e < 0 ? e : reported->n_nodes == n;
}

int rec_graph_read_report(struct rec_call *c, struct rec_graph *g)
{
	struct rec_graph reported = {0};
	int r = read_nodes(c, g, &reported);
	int e = r == 1 ? rec_graph_copy_collectives(c, g, &reported) : 0;

	r = e < 0 ? e : r;
	if (r == 1) {
		rec_graph_clear(g);
		g->nodes = take(reported.nodes);
		g->edges = take(reported.edges);
		g->n_nodes = reported.n_nodes;
		g->nodes_cap = reported.nodes_cap;
		g->n_edges = reported.n_edges;
		g->edges_cap = reported.edges_cap;
	}
	rec_graph_clear(&reported);
	return r;
}
