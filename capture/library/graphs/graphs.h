/* SPDX-License-Identifier: Apache-2.0 */

/* The structure of CUDA graphs, recorded when a graph is instantiated: if the program asks for
 * nodes or changes some, its recorded calls may not show all of it, so the driver is asked. Any
 * thread; functions keep errno. */
#pragma once

#include "capture/library/call/hook.h"

/* Records which node a launch within another call became in a capture: NCCL's launches. */
extern const struct cap_hook cap_graphs;

/* The program has asked for nodes, or changes some. */
void cap_graphs_touched(void);

/* Records the structure of the graph that `call` instantiates or updates with, if the driver has to
 * be asked. `call` is NULL if it is not recorded. */
void cap_graphs_record(const struct cap_call *call, void *graph);
