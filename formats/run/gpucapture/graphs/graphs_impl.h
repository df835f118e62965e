/* SPDX-License-Identifier: Apache-2.0 */

/* Internals that graphs.c and graph_*.c share. */
#pragma once

#include "formats/run/gpucapture/graphs/graphs.h"

struct rec_graph_node {
	struct rec_node node;
	uint64_t handle; /* 0: captured, and its handle is unknown */
	uint32_t child; /* 1 + index in rec_graphs.graphs of the child graph, which is immutable; 0:
			   no child graph, or its nodes are appended to this graph */
};

struct rec_graph_edge {
	uint32_t from, to; /* nodes of the graph */
};

/* A graph, which can change, or an immutable version of a graph. A graph gets a version each time
 * it is instantiated with other contents, and when an executable graph is changed. */
struct rec_graph {
	uint32_t number;  /* of the object; 0: not known yet, or the capture failed */
	uint32_t version; /* if is_version */
	bool is_version;
	bool instantiated; /* the graph has versions */
	bool captured;	   /* made by a capture */
	uint64_t held;	   /* immutable graphs: 1 + number of collectives; 0: not counted */
	struct rec_graph_node *nodes;
	size_t n_nodes, nodes_cap;
	struct rec_graph_edge *edges;
	size_t n_edges, edges_cap;
};

/* A node that a stream or event in capture waits for. */
struct rec_graph_capture_dep {
	uint64_t handle;
	uint32_t kind; /* of the object: stream or event */
	uint32_t node;
};

struct rec_graph_exec {
	uint32_t number;
	struct rec_graph_id current;
	struct rec_graph_id made; /* as instantiated: calls use handles of its nodes */
};

struct rec_graphs {
	struct rec_graph *graphs;
	size_t n, cap;
	struct rec_graph_capture_dep *waiting;
	size_t n_waiting, waiting_cap;
	struct rec_graph_exec *execs;
	size_t n_execs, execs_cap;
	struct rec_collective *collectives; /* of nodes, without duplicates or events */
	size_t n_collectives, collectives_cap;
	struct fmt_message *messages; /* of `collectives` */
	size_t n_messages, messages_cap;
};

/* Adds a graph without nodes. Returns NULL if out of memory. */
struct rec_graph *rec_graph_new(struct rec_graphs *all, uint32_t number);
/* Appends the nodes and edges of `from`; `handles`: also copies handles. Returns 0 or -ENOMEM. */
int rec_graph_copy(const struct rec_graph *from, struct rec_graph *to, bool handles);
/* Sorts the edges by the waiting node. */
void rec_graph_sort_edges(struct rec_graph *g);
/* Removes all nodes and edges. */
void rec_graph_clear(struct rec_graph *g);

/* Finds the version that equals the graph's present state, or adds one; *ret_version is its number.
 * Returns 0, -ENOMEM, or -E2BIG for too many versions. */
int rec_graph_add_version(struct rec_graphs *all, size_t graph, uint32_t *ret_version);
/* Returns NULL if not found. */
struct rec_graph *rec_graph_version(const struct rec_graphs *all, const struct rec_graph_id *id);

/* Replaces the contents of `g` by the nodes that the capture library queried from the driver when
 * this call instantiated the graph. Returns 1 if there was such a report, 0 if not, or -ENOMEM. */
int rec_graph_read_report(struct rec_call *c, struct rec_graph *g);

/* Returns false for a kernel that is known by its handle only. */
bool rec_graph_node_has_name(const struct rec_call *c, const struct rec_node *n);
/* Copies the collectives of nodes of `before` to the nodes that the driver reported. Counts
 * collectives without a matching node. Returns 0 or -ENOMEM. */
int rec_graph_copy_collectives(struct rec_call *c, const struct rec_graph *before,
			       struct rec_graph *reported);
/* Returns the number of collectives in one launch of an immutable graph. */
uint64_t rec_graph_n_collectives(const struct rec_graphs *all, struct rec_graph *g);
/* Sets the node's child graph to a copy of the graph with that handle. Returns 0 or -ENOMEM. */
int rec_graph_set_child(struct rec_call *c, const struct rec_graph_node_ref *at, uint64_t child);

/* Returns NULL if its instantiation was not recorded. */
struct rec_graph_exec *rec_graph_find_exec(const struct rec_process *p, uint32_t number);

/* Finds the graph of a handle, or adds it. Returns NULL if out of memory. */
struct rec_graph *rec_graph_get(struct rec_call *c, uint64_t handle);

/* Append an edge or a node. Return 0 or -ENOMEM. */
int rec_graph_add_edge(struct rec_graph *g, uint32_t from, uint32_t to);
int rec_graph_add_node(struct rec_graph *g, const struct rec_node *node, uint64_t handle);

/* cuGraphAdd...Node(): adds the node and its dependencies. */
int rec_graph_add_api_node(struct rec_call *c);

/* Finds element `i` of an array of node handles: 1, or 0 at its end. *known is 0 for an unknown
 * handle, as captured nodes have. */
int rec_graph_node_at(const struct rec_call *c, const struct rec_graph *g, const char *arg,
		      size_t i, uint32_t *ret, int *known);

/* Finds a node by its handle: 1, or 0. */
int rec_graph_find_node(const struct rec_graph *g, uint64_t handle, uint32_t *ret);

/* Records the call as the source of the node's parameters. */
void rec_graph_set_source(const struct rec_call *c, struct rec_node *node);

/* Sets the node's fields from the parameters of the call. For functions that accept nodes of any
 * kind, also sets the kind. */
void rec_graph_read_params(struct rec_call *c, struct rec_node *node);
/* Sets the node's fields from the parameter struct of its kind. */
void rec_graph_read_struct(struct rec_call *c, const struct api_view *v, struct rec_node *node);

/* cuGraphExec...SetParams(), cuGraphNodeSetEnabled(): gives the executable graph a new version,
 * used by its next launch. Counts changes that cannot be represented. Returns 0 or -ENOMEM. */
int rec_graph_change_exec(struct rec_call *c);

/* cuGraph...NodeSetParams(): changes the node's parameters in the graph that contains it. */
void rec_graph_change_node(struct rec_call *c, struct rec_graph *graphs, size_t n);

/* Adds or removes the edges that the call lists by their ends. */
int rec_graph_change_edges(struct rec_call *c, int add);
