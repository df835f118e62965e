/* SPDX-License-Identifier: Apache-2.0 */

/* The CUDA graphs of a process, rebuilt from the calls that made them: nodes in the order of their
 * creation, their dependencies, and the dependencies of the next node of each stream in capture. */
#pragma once

#include "base/text.h"
#include "formats/run/gpucapture/process/call.h"

/* A node of a graph. */
struct rec_node {
	const char *kind;
	fmt_str name;
	fmt_str grid, block; /* kernels: JSON; else 0 */
	fmt_str symbol;	     /* kernels: mangled name, if it differs from `name`; else 0 */
	int64_t shared_bytes;
	int64_t bytes;	     /* copies and memsets; else -1 */
	bool disabled;	     /* in an executable graph */
	uint32_t collective; /* 1 + index in rec_graphs.collectives; 0: none */
	uint64_t call;	     /* correlation of the call that set the node's parameters; 0: none */
	uint64_t content;    /* hash of the arguments of `call` */
};

/* A node by its indexes. The node may have been removed since. */
struct rec_graph_node_ref {
	uint32_t graph, node;
};

struct rec_graphs;

/* Adds a node for an operation on a stream in capture, after the nodes that the stream waits for.
 * Returns 0 or -ENOMEM. `ret` may be NULL, and is left unchanged if the graph is unknown. */
int rec_graph_add_captured(struct rec_call *c, const struct rec_object *stream,
			   const struct rec_node *node, struct rec_graph_node_ref *ret);

/* Adds the nodes that `from` waits for to those that `to` waits for; both are streams or events. If
 * `to` is an event, replaces its nodes. */
int rec_graph_add_wait(struct rec_call *c, const struct rec_object *from,
		       const struct rec_object *to);

/* Processes a call that creates, changes or instantiates a graph. Also processes failed calls,
 * because they may end a capture. */
int rec_call_update_graphs(struct rec_call *c);

/* Marks the node's kernel as this collective, for every launch. Returns 0 or -ENOMEM. */
int rec_graph_set_collective(struct rec_process *p, const struct rec_graph_node_ref *at,
			     const struct rec_collective *made, const struct fmt_message *messages);
/* Marks the node as a launch of the executable graph with the number `exec`. */
void rec_graph_set_launch(struct rec_process *p, const struct rec_graph_node_ref *at,
			  uint32_t exec);
bool rec_graph_is_kernel(const struct rec_process *p, const struct rec_graph_node_ref *at);

/* Adds the operation of a graph launch. */
int rec_graph_add_launch(struct rec_call *c);

/* The current version of an executable graph. */
struct rec_graph_id {
	uint32_t graph;	  /* number of the graph that was instantiated; 0: unknown */
	uint32_t version; /* version of `graph`; 0: as first instantiated */
};

struct rec_graph_id rec_graph_exec_version(const struct rec_process *p, uint32_t exec);

/* Writes the graphs as a JSON array; writes nothing if there are no graphs. */
void rec_graphs_json(const struct rec_process *p, struct text *out);
