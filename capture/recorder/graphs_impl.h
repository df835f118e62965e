/* SPDX-License-Identifier: Apache-2.0 */

/* What graphs.c, graph_nodes.c and graph_execs.c share. */
#pragma once

#include "capture/recorder/graphs.h"

struct rec_graph_node {
	struct rec_node is;
	uint64_t handle; /* 0: of a capture, never asked for */
};

struct rec_graph_edge {
	uint32_t from, to; /* nodes of the graph */
};

struct rec_graph {
	uint32_t number;  /* of the thing; 0: not known yet, or its capture failed */
	uint32_t version; /* of the same number; 0: the graph itself */
	bool captured;	  /* made by a capture */
	struct rec_graph_node *nodes;
	size_t n_nodes, nodes_cap;
	struct rec_graph_edge *edges;
	size_t n_edges, edges_cap;
};

/* A node that a stream or an event in capture stands for. */
struct rec_graph_waiting {
	uint64_t handle;
	uint32_t kind; /* of the thing: stream or event */
	uint32_t node;
};

struct rec_graph_exec {
	uint32_t number;
	struct rec_graph_id is;
};

struct rec_graphs {
	struct rec_graph *graphs;
	size_t n, cap;
	struct rec_graph_waiting *waiting;
	size_t n_waiting, waiting_cap;
	struct rec_graph_exec *execs;
	size_t n_execs, execs_cap;
};

/* A new one without nodes; NULL without memory. */
struct rec_graph *rec_graph_new(struct rec_graphs *all, uint32_t number);
/* Adds the nodes and edges of `from`, with their handles or without. 0 or -ENOMEM. */
int rec_graph_copy(const struct rec_graph *from, struct rec_graph *to, bool handles);

/* The graph that the handle stands for; NULL without memory. */
struct rec_graph *rec_graph_of(struct rec_call *c, uint64_t handle);

/* Each appends one: 0 or -ENOMEM. */
int rec_graph_add_edge(struct rec_graph *g, uint32_t from, uint32_t to);
int rec_graph_add_node(struct rec_graph *g, const struct rec_node *node, uint64_t handle);

/* cuGraphAdd...Node(): the node, behind those that it depends on. */
int rec_graph_by_hand(struct rec_call *c);

/* The nodes of an array argument, one after the other: 1, or 0 at the end. Those of a capture are
 * not known by their handles. */
int rec_graph_node_at(const struct rec_call *c, const struct rec_graph *g, const char *arg,
		      size_t i, uint32_t *ret, int *known);

/* The node of that handle: 1, or 0. */
int rec_graph_find_node(const struct rec_graph *g, uint64_t handle, uint32_t *ret);

/* What the call says of the node by its parameters; those of any node say of which kind it is. */
void rec_graph_describe(struct rec_call *c, struct rec_node *node);

/* cuGraphExec...SetParams(), cuGraphNodeSetEnabled(): a version of the graph, from the next launch
 * of the executable graph on. What cannot be told is counted. 0 or -ENOMEM. */
int rec_graph_change_exec(struct rec_call *c);

/* cuGraph...NodeSetParams(): what the node does from now on, in whichever of the graphs it is. */
void rec_graph_change_node(struct rec_call *c, struct rec_graph *graphs, size_t n);

/* Adds or removes the edges of a call that has lists of their ends. */
int rec_graph_change_edges(struct rec_call *c, int add);
