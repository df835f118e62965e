/* SPDX-License-Identifier: Apache-2.0 */

/* A graph of the program as the driver describes it; used by one thread at a time. Nodes of a child
 * graph count as nodes of the graph itself: those without dependencies in the child wait for the
 * dependencies of the child's node, and successors of the child's node wait for all of them. The
 * nodes of a graph come first, then for each child graph all nodes in it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CAP_NO_PARENT UINT32_MAX

struct cap_graph_node {
	void *handle;
	int type;	   /* CU_NODE_... */
	uint32_t first, n; /* dependencies: deps[first ..] */
	uint32_t n_dependents;
	uint32_t parent;	 /* the node of the child graph that contains it; CAP_NO_PARENT */
	uint32_t inner, n_inner; /* child graphs: its own nodes, nodes[inner ..] */
	uint32_t n_below;	 /* number of nodes in its child graphs */
};

struct cap_graph {
	struct cap_graph_node *nodes; /* owned */
	uint32_t *deps;		      /* owned: indices into `nodes` */
	uint32_t n, n_deps;
	size_t nodes_cap, deps_cap;
};

void cap_graph_done(struct cap_graph *g);

/* Reads a graph. Returns 0, or -errno. */
int cap_graph_read(void *graph, struct cap_graph *ret);

/* Sorts the nodes topologically: depth first from the nodes without dependents, as
 * cuGraphExecUpdate() pairs nodes, so that graphs made in the same way have the same order. `ret`
 * must have space for all nodes. Returns 0, -ENOMEM, or -EINVAL: the graph has a cycle. */
int cap_graph_order(const struct cap_graph *g, uint32_t *ret);

/* Writes a CAP_NODE for the node that the call added to a graph by capture. */
void cap_graph_put_captured(const void *node, uint64_t id);

/* Writes a CAP_NODE for each node, with ops[], or, if ops is NULL, with `op`. Returns 0, -ENOMEM or
 * -ENOSPC. */
int cap_graph_put(const struct cap_graph *g, uint64_t id, const uint32_t *ops, uint32_t op,
		  const uint32_t *order);
