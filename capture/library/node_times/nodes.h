/* SPDX-License-Identifier: Apache-2.0 */

/* Experimental: times of each node of a CUDA graph (--device-times=nodes; doc/design/capture.md).
 * Tested with emulated drivers only.
 *
 * The program gets an executable graph of a clone of its graph, in which an event follows each node
 * that takes time. The program's graph is not changed; nodes that the program passes to calls on
 * the executable graph are replaced by those of the clone. A graph that cannot be cloned in this
 * way is instantiated unchanged.
 *
 * Each launch has its own events: those of a launch whose times were read, or new ones, which are
 * set in the executable graph before the launch.
 *
 * The generated hooks call these functions on the thread of the call, recorded or not. Functions
 * keep errno. */
#pragma once

#include "capture/library/node_times/instance.h"

/* Returns the graph to instantiate instead of `graph`. `call` is NULL if the call is not
 * recorded. */
uint64_t cap_before_instantiate(struct cap_instance *i, const struct cap_call *call, uint64_t graph,
				uint64_t flags);
/* Called with the result. Returns true if the graph must be instantiated again, unchanged. */
bool cap_after_instantiate(struct cap_instance *i, int result, uint64_t ret_exec);

/* The same for the graph that updates an executable one. */
uint64_t cap_before_update(struct cap_instance *i, const struct cap_call *call, uint64_t exec,
			   uint64_t graph);
/* nodes[]: addresses of results that are nodes of the graph; 0: none. */
void cap_after_update(struct cap_instance *i, int result, const uint64_t nodes[2]);

/* Returns the graph to pass instead of child graph `graph`. */
uint64_t cap_child_graph(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t graph);
/* The same for the parameters of any node, which are copied into `copy`. */
#define CAP_PARAMS_WORDS 32
uint64_t cap_node_params(struct cap_instance *i, uint64_t exec, uint64_t node, uint64_t params,
			 uint64_t copy[CAP_PARAMS_WORDS]);
void cap_child_graph_done(struct cap_instance *i);

/* Starts timing of nodes; no effect if the driver is older than CUDA 12.3. */
void cap_nodes_start(void);
