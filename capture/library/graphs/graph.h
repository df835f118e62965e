/* SPDX-License-Identifier: Apache-2.0 */

/* A graph of the program as the driver describes it; used by one thread at a time. Nodes of a child
 * graph count as nodes of the graph itself: those without dependencies in the child wait for the
 * dependencies of the child's node, and successors of the child's node wait for all of them. The
 * nodes of a graph come first, then for each child graph all nodes in it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cap_graph_node {
	void *handle;
	int type;	   /* CU_NODE_... */
	uint32_t first, n; /* dependencies: deps[first ..] */
	uint32_t n_dependents;
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

/* Writes a CAP_NODE for the node that the call added to a graph by capture. */
void cap_graph_put_captured(const void *node, uint64_t id);

/* Writes a CAP_NODE for each node. Returns 0 or -ENOSPC. */
int cap_graph_put(const struct cap_graph *g, uint64_t id);
