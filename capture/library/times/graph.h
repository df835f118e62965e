/* SPDX-License-Identifier: Apache-2.0 */

/* A graph of the program's as the driver tells it: for the thread that uses the graph. What is in
 * a child graph counts as if it were in the graph itself: it waits for what the child's node waits
 * for, and that for all of it. Nodes of a graph stand one after the other, then for each child
 * among them all that is in it.
 */
#pragma once

#include "capture/library/device/hook.h"

#define CAP_NO_PARENT UINT32_MAX

struct cap_graph_node {
	void *handle;
	int type;	   /* CU_NODE_... */
	uint32_t first, n; /* what it waits for: deps[first ..] */
	uint32_t n_dependents;
	uint32_t parent;	 /* of one in a child graph: that node; else CAP_NO_PARENT */
	uint32_t inner, n_inner; /* of a child graph: its own nodes, nodes[inner ..] */
	uint32_t n_below;	 /* with those in children of it */
};

struct cap_graph {
	struct cap_graph_node *nodes; /* owned */
	uint32_t *deps;		      /* owned: places in `nodes` */
	uint32_t n, n_deps;
	size_t nodes_cap, deps_cap;
};

void cap_graph_done(struct cap_graph *g);

/* 0, or -errno. */
int cap_graph_read(void *graph, struct cap_graph *ret);

/* Its nodes so that each comes behind what it waits for; graphs that were made in the same way have
 * theirs in the same order, as cuGraphExecUpdate() pairs them: from those that none waits for
 * backwards. `ret` has room for all. 0 or -ENOMEM, -EINVAL: there is a circle. */
int cap_graph_order(const struct cap_graph *g, uint32_t *ret);

/* Writes a CAP_NODE for the one that the call has added to a graph by capture. */
void cap_graph_put_captured(const void *node, uint64_t id);

/* Writes a CAP_NODE for each, with ops[], or where that is NULL all with `op`. 0, or -ENOMEM,
 * -ENOSPC. */
int cap_graph_put(const struct cap_graph *g, uint64_t id, const uint32_t *ops, uint32_t op,
		  const uint32_t *order);
