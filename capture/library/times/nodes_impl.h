/* SPDX-License-Identifier: Apache-2.0 */

/* What nodes.c, node_clone.c and node_events.c share. */
#pragma once

#include "capture/library/times/nodes.h"

#define CAP_NO_STEP UINT32_MAX

/* A node, in the order of cap_graph_order(). */
struct cap_step {
	uint32_t event;	   /* among those of a launch; CAP_NO_STEP: it takes no time */
	uint32_t op;	   /* among the operations of a launch; CAP_NO_STEP */
	uint32_t first, n; /* what it waits for: deps[first ..], steps */
};

struct cap_node_pair {
	void *of, *is; /* a node of the program's; that of the clone */
	uint32_t at;   /* in the graph as it was read */
	uint32_t inner, n_below;
};

struct cap_exec {
	struct cap_exec *next; /* in its bucket */
	void *handle, *clone;
	struct cap_device_clock *clock;
	void *context; /* of the clock */
	struct cap_step *steps;
	uint32_t *deps;
	uint32_t *event_of;	     /* by node of the graph as it was read; CAP_NO_STEP */
	struct cap_node_pair *pairs; /* by `of` */
	void **leaves;		     /* by event; the first is the beginning */
	uint32_t n_steps, n_events, n_ops;
	uint32_t in_child; /* an event of a node in a child graph; 0: there is none */
	struct cap_node_events *now, *idle; /* in the executable graph; those that may be next */
	uint32_t refs; /* the program's, and one for each launch whose times are awaited */
	bool is_chain; /* each step waits for the one before it, and for nothing else */
	bool broken;   /* some of its events are of one launch, some of another */
};

struct cap_node_events {
	struct cap_exec *exec;
	struct cap_node_events *next; /* of the idle ones */
	bool awaited;
	bool spoiled; /* a later launch has written over them; atomic, read without the lock */
	void *events[];
};

/* ---- node_events.c */

/* With what it holds; not while a launch is awaited. NULL is none. */
void cap_exec_free(struct cap_exec *x);
/* From now on it is found by its handle. */
void cap_exec_add(struct cap_exec *x);
/* NULL: that executable graph has no events. */
struct cap_exec *cap_exec_find(uint64_t exec);
/* NULL: it is no node of what the program instantiated. */
const struct cap_node_pair *cap_exec_pair(const struct cap_exec *x, uint64_t node);

/* New events; NULL when there are none to be had. */
struct cap_node_events *cap_node_events_new(struct cap_exec *x);
/* Those that nobody waits for, or new ones; NULL: there are too many that somebody does. */
struct cap_node_events *cap_node_events_take(struct cap_exec *x);
/* The executable graph has them from now on; or where it has not, they are given back. */
void cap_node_events_set(struct cap_exec *x, struct cap_node_events *e, bool set);

/* ---- node_clone.c */

void cap_instance_done(struct cap_instance *i);
/* Reads the graph, and how its nodes follow one another. 0, or -errno. */
int cap_instance_read(struct cap_instance *i, void *graph);
/* What the graph's launches consist of. 0, or -errno. */
int cap_instance_steps(const struct cap_instance *i, struct cap_exec *x);
/* The operation of each node of the graph, if it is like the one that `x` was made of: 0, and
 * *ret is the caller's; or -errno. */
int cap_instance_ops(const struct cap_instance *i, const struct cap_exec *x, uint32_t **ret);
/* The clone of the graph with events behind those of its nodes that take time. 0, or -errno. */
int cap_instance_clone(struct cap_instance *i, void *graph, const struct cap_exec *x,
		       const struct cap_node_events *e);
/* The same of a graph in place of the child graph that node `in` is. */
int cap_instance_clone_child(struct cap_instance *i, void *graph, const struct cap_exec *x,
			     const struct cap_node_pair *in);
/* Which node of the clone is for which of the program's. 0, or -errno. */
int cap_instance_pairs(const struct cap_instance *i, struct cap_exec *x);
int cap_node_pair_order(const void *a, const void *b);
/* The program's node that one of the clone stands for, or stands behind. */
void *cap_instance_node(const struct cap_instance *i, void *node);
