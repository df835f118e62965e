/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs that tell when each of their nodes ran (doc/capture.md, Nodes of graphs).
 *
 * With --device-times=nodes a program gets an executable graph of a clone of its graph, in which an
 * event stands behind each node that takes time. Its own graph stays as it is, and the nodes that
 * it names in calls on the executable one are put in place of those of the clone. A graph that
 * cannot be had like this is instantiated as it is.
 *
 * Each launch has events of its own: those of one whose times are read by now, or new ones, which
 * are put into the executable graph before the launch.
 *
 * The generated hooks call the first part, on the thread of the call, whether it is recorded or
 * not; capture/library/times/times.c the rest. errno is kept.
 */
#pragma once

#include "capture/library/times/device_clock.h"
#include "capture/library/times/graph.h"

#include <stdbool.h>

struct cap_exec;
struct cap_node_events;

/* A call that instantiates a graph, or updates an executable one. */
struct cap_instance {
	const struct cap_call *call; /* NULL: nothing is told of it */
	struct cap_graph graph;
	uint32_t *order;		/* owned: cap_graph_order(); NULL: it has none */
	struct cap_exec *exec;		/* with events */
	struct cap_node_events *events; /* that the executable graph has from now on */
	void *clone;
	void **pairs; /* owned: of the clone, by the node of the graph */
	void **leaves;
};

/* The graph that is to be instantiated in place of `graph`. `call` is NULL where the call is not
 * recorded. */
uint64_t cap_instantiate(struct cap_instance *i, const struct cap_call *call, uint64_t graph,
			 uint64_t flags);
/* What became of it; true: it is to be instantiated as it is. */
bool cap_instantiated(struct cap_instance *i, int result, uint64_t ret_exec);

/* The same for the graph that an executable one is updated with. */
uint64_t cap_update(struct cap_instance *i, const struct cap_call *call, uint64_t exec,
		    uint64_t graph);
/* nodes[] lead to results that name nodes of the graph; some may be 0. */
void cap_updated(struct cap_instance *i, int result, const uint64_t nodes[2]);

/* The node that stands for the program's `node` in what `exec` was instantiated from. */
uint64_t cap_node_in(uint64_t exec, uint64_t node);

/* The graph to put in place of that child graph, instead of `graph`. */
uint64_t cap_child(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t graph);
/* The same for parameters of any node, of which a copy goes into `room`. */
#define CAP_PARAMS_WORDS 32
uint64_t cap_node_params(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t params,
			 uint64_t room[CAP_PARAMS_WORDS]);
void cap_child_done(struct cap_instance *i);

/* Before `exec` is launched. */
void cap_node_launch(struct cap_call *call, uint64_t exec);

/* Around the end of an executable graph. */
struct cap_exec *cap_exec_take(uint64_t exec);
void cap_exec_gone(struct cap_exec *x, int result);

/* Of a call on a stream in capture: where it is a launch within another one, as NCCL's are, tells
 * which node that became. */
void cap_node_captured(const struct cap_call *call, void *stream);

/* The program has asked for nodes, or changes some: what its calls say of its graphs may not be
 * all, so that the driver is asked. */
void cap_nodes_touched(void);

/* ---- for times.c */

/* What stands in room[4] of a launch whose nodes have times, but not this once. */
#define CAP_NODES_LOST ((struct cap_node_events *)1)

/* Nodes have times from now on, unless the driver is too old for that: then launches are recorded
 * as a whole. */
void cap_nodes_start(void);

/* The launch is over: records when its nodes ran, with their clock entered. On the library's
 * thread. How many of them are not known. */
unsigned cap_node_events_put(const struct cap_node_events *e, uint64_t id);
/* Nobody waits for them any more. NULL is none. */
void cap_node_events_release(struct cap_node_events *e);
