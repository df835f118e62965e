/* SPDX-License-Identifier: Apache-2.0 */

/* The structure of CUDA graphs, recorded when a graph is instantiated. If the program queried or
 * changed nodes, the recorded calls may be incomplete, so the driver is queried. Any thread;
 * functions keep errno. */
#pragma once

#include "capture/library/call/hook.h"

/* Records the graph node of a launch within another call during a capture: NCCL's launches. */
extern const struct cap_hook cap_graphs;

/* Reports that the program queried or changed nodes. */
void cap_graphs_touched(void);

/* Records the structure of the graph that `call` instantiates or updates with, if the driver must
 * be queried. `call` is NULL if it is not recorded. */
void cap_graphs_record(const struct cap_call *call, void *graph);
