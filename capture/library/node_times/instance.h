/* SPDX-License-Identifier: Apache-2.0 */

/* A clone of a graph with an event after each node that takes time, during the call that
 * instantiates it. Used on the thread of the call. Functions return 0 or -errno. */
#pragma once

#include "capture/library/graphs/graph.h"
#include "capture/library/node_times/exec.h"

/* A call that instantiates a graph, or updates an executable one. */
struct cap_instance {
	const struct cap_call *call; /* NULL: not recorded */
	struct cap_graph graph;
	uint32_t *order;		/* owned: cap_graph_order(); NULL: the graph has a cycle */
	struct cap_exec *exec;		/* with events */
	struct cap_node_events *events; /* future events of the executable graph */
	void *clone;
	void **pairs; /* owned: nodes of the clone, by node of the graph */
	void **leaves;
};

void cap_instance_done(struct cap_instance *i);
/* Reads the graph, and sorts its nodes. */
int cap_instance_read(struct cap_instance *i, void *graph);
/* Fills the steps of `x`: the operations of a launch of the graph. */
int cap_instance_steps(const struct cap_instance *i, struct cap_exec *x);
/* Returns the operation of each node, if the graph has the structure of the one that `x` was made
 * of. The caller frees *ret. */
int cap_instance_ops(const struct cap_instance *i, const struct cap_exec *x, uint32_t **ret);
/* Clones the graph, adding the events after nodes that take time. */
int cap_instance_clone(struct cap_instance *i, void *graph, const struct cap_exec *x,
		       const struct cap_node_events *e);
/* Clones a graph that replaces the child graph of node `in`. */
int cap_instance_clone_child(struct cap_instance *i, void *graph, const struct cap_exec *x,
			     const struct cap_node_pair *in);
/* Fills the pairs of `x`: nodes of the program's graph and of the clone. */
int cap_instance_pairs(const struct cap_instance *i, struct cap_exec *x);
/* Returns the program's node for a node of the clone, or for the event after it. */
void *cap_instance_node(const struct cap_instance *i, void *node);
