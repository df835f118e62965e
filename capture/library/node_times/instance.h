/* SPDX-License-Identifier: Apache-2.0 */

/* A clone of a graph with an event behind each node that takes time, while a call instantiates it.
 * On the thread of the call. Functions return 0 or -errno. */
#pragma once

#include "capture/library/graphs/graph.h"
#include "capture/library/node_times/exec.h"

/* A call that instantiates a graph, or updates an executable one. */
struct cap_instance {
	const struct cap_call *call; /* NULL: not recorded */
	struct cap_graph graph;
	uint32_t *order;		/* owned: cap_graph_order(); NULL: the graph has a cycle */
	struct cap_exec *exec;		/* with events */
	struct cap_node_events *events; /* those of the executable graph from now on */
	void *clone;
	void **pairs; /* owned: nodes of the clone, by node of the graph */
	void **leaves;
};

void cap_instance_done(struct cap_instance *i);
/* Reads the graph, and the order of its nodes. */
int cap_instance_read(struct cap_instance *i, void *graph);
/* Fills the steps of `x`: what a launch of the graph consists of. */
int cap_instance_steps(const struct cap_instance *i, struct cap_exec *x);
/* The operation of each node, if the graph is like the one that `x` was made of. *ret is the
 * caller's. */
int cap_instance_ops(const struct cap_instance *i, const struct cap_exec *x, uint32_t **ret);
/* Clones the graph, with the events behind those of its nodes that take time. */
int cap_instance_clone(struct cap_instance *i, void *graph, const struct cap_exec *x,
		       const struct cap_node_events *e);
/* Clones a graph that replaces the child graph of node `in`. */
int cap_instance_clone_child(struct cap_instance *i, void *graph, const struct cap_exec *x,
			     const struct cap_node_pair *in);
/* Fills the pairs of `x`: nodes of the program's graph and of the clone. */
int cap_instance_pairs(const struct cap_instance *i, struct cap_exec *x);
/* The program's node for a node of the clone, or for the event behind it. */
void *cap_instance_node(const struct cap_instance *i, void *node);
