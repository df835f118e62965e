/* SPDX-License-Identifier: Apache-2.0 */

/* Internals that graphs.c and graph_*.c share. */
#pragma once

#include "formats/run/gpucapture/graphs/graphs.h"

struct rec_graph_node {
	struct rec_node is;
	uint64_t handle; /* 0: of a capture, never asked for */
	uint32_t op;	 /* of a launch; CAP_NODE_WHOLE, CAP_NODE_UNTIMED */
	uint32_t place;	 /* in an order in which each comes behind what it waits for */
	uint32_t child;	 /* 1 + the graph, among all, that it is a child node of, which does not
			    change any more; 0: none, or its nodes stand behind the others */
};

struct rec_graph_edge {
	uint32_t from, to; /* nodes of the graph */
};

static inline bool rec_graph_has_times(const struct rec_graph_node *n)
{
	return n->op < CAP_NODE_UNTIMED;
}

/* A graph, which changes; and versions of it, which do not: what it was each time that it was
 * instantiated, and what executable ones were made of it by changes. */
struct rec_graph {
	uint32_t number;  /* of the thing; 0: not known yet, or its capture failed */
	uint32_t version; /* where it is one */
	bool is_version;
	bool instantiated;	     /* there are versions of it */
	bool captured;		     /* made by a capture */
	struct rec_graph_plan *plan; /* owned; of a version, once it was launched */
	uint64_t held; /* 1 + the collectives in it, once they were counted; of what does not change
			*/
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
	struct rec_graph_id made; /* as what it was instantiated: calls name its nodes */
	bool timed;		  /* each node */
};

struct rec_graphs {
	struct rec_graph *graphs;
	size_t n, cap;
	struct rec_graph_waiting *waiting;
	size_t n_waiting, waiting_cap;
	struct rec_graph_exec *execs;
	size_t n_execs, execs_cap;
	struct rec_collective *collectives; /* what nodes are, each once; of no event */
	size_t n_collectives, collectives_cap;
	struct fmt_message *messages; /* of these */
	size_t n_messages, messages_cap;
};

/* A new one without nodes; NULL without memory. */
struct rec_graph *rec_graph_new(struct rec_graphs *all, uint32_t number);
/* Adds the nodes and edges of `from`, with their handles or without. 0 or -ENOMEM. */
int rec_graph_copy(const struct rec_graph *from, struct rec_graph *to, bool handles);
/* Puts its edges in order, by the node that waits. */
void rec_graph_sort_edges(struct rec_graph *g);
/* Without nodes and edges again. */
void rec_graph_clear(struct rec_graph *g);

/* Finds the version that equals the graph's present state, or adds one; *ret_version is its index.
 * 0 or -ENOMEM; -E2BIG: too many versions. */
int rec_graph_find_version(struct rec_graphs *all, size_t graph, uint32_t *ret_version);
/* NULL if not found. */
struct rec_graph *rec_graph_version(const struct rec_graphs *all, const struct rec_graph_id *id);

/* The graph is as the driver reported the library when this call instantiated it, if it was asked:
 * 1, or 0, and whether launches have times of their nodes; or -ENOMEM. */
int rec_graph_reported(struct rec_call *c, struct rec_graph *g, bool *ret_timed);

/* Copies from the calls which nodes are collectives to the nodes that the driver reported. Counts
 * collectives without such a node. 0 or -ENOMEM. */
int rec_graph_keep_collectives(struct rec_call *c, const struct rec_graph *before,
			       struct rec_graph *reported);
/* The operation of a launch is the collective that its node is. 0 or -ENOMEM. */
int rec_graph_joins(struct rec_call *c, const struct rec_node *node, struct rec_launched *launched);
/* The number of collectives in one launch of a version that no longer changes. */
uint64_t rec_graph_n_collectives(const struct rec_graphs *all, struct rec_graph *g);
/* The node is the child graph of that handle, as it is now. 0 or -ENOMEM. */
int rec_graph_put_child(struct rec_call *c, const struct rec_graph_at *at, uint64_t child);

/* NULL: it was not seen made. */
struct rec_graph_exec *rec_graph_exec_of(const struct rec_process *p, uint32_t number);

/* Assigns the operations of a launch to tracks: of operations that run at once, the first is on the
 * stream itself, the others are on branches of it. */
struct rec_graph_plan_node {
	uint32_t node, branch;
	fmt_str after; /* what it waits for beside what stands before it on its branch, as JSON; 0:
			  nothing. `[]`: it begins with the first operation of the launch */
};

struct rec_graph_plan {
	struct rec_graph_plan_node *nodes; /* owned: by operation, of those that are enabled */
	size_t n;
	uint32_t n_ops; /* with those that are not */
	bool has_end;	/* one more has times: the end of all */
	fmt_str after;	/* of that; 0: not an operation */
};

void rec_graph_plan_free(struct rec_graph_plan *p);
/* 0 or -ENOMEM. */
int rec_graph_plan_new(struct fmt_names *names, const struct rec_graph *g,
		       struct rec_graph_plan **ret);

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

/* The call's arguments are the node's parameters from now on. */
void rec_graph_said(const struct rec_call *c, struct rec_node *node);

/* Sets the node from the parameters of the call. Calls for any node also give its kind. */
void rec_graph_describe(struct rec_call *c, struct rec_node *node);
/* The same by the struct for its kind. */
void rec_graph_describe_as(struct rec_call *c, const struct api_view *v, struct rec_node *node);

/* cuGraphExec...SetParams(), cuGraphNodeSetEnabled(): a version of the graph, from the next launch
 * of the executable graph on. What cannot be reported is counted. 0 or -ENOMEM. */
int rec_graph_change_exec(struct rec_call *c);

/* cuGraph...NodeSetParams(): what the node does from now on, in whichever of the graphs it is. */
void rec_graph_change_node(struct rec_call *c, struct rec_graph *graphs, size_t n);

/* Adds or removes the edges of a call that has lists of their ends. */
int rec_graph_change_edges(struct rec_call *c, int add);
