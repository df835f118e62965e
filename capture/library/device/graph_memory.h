/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that nodes use, by graph: digests of a graph launch cover the host's memory and other
 * devices' memory of that graph only, since other threads and streams may write other memory at the
 * same time. Any thread. */
#pragma once

#include "capture/library/call/hook.h"

#include <stdint.h>

struct cap_region;

/* Notes the memory of nodes that calls add or change; copies the notes of a graph that is
 * instantiated, cloned, inserted as a child graph or used for an update; drops those of destroyed
 * graphs. */
extern const struct cap_hook cap_graph_memory;

/* Returns the graph to which a stream in capture adds nodes; 0: the driver cannot tell. */
uint64_t cap_graph_of_capture(void *stream);

/* Notes that an operation of the graph, a uint64_t, uses the memory at this address. Graph 0: which
 * graph is unknown; if the host can write the memory, it counts as memory of all graphs. */
void cap_graph_memory_note(uint64_t address, void *graph);

/* Calls `act` for each noted allocation of the graph or executable graph; `act` must not call these
 * functions. */
void cap_graph_memory_for_each(uint64_t graph, void (*act)(void *data, const struct cap_region *r),
			       void *data);
