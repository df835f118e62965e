/* SPDX-License-Identifier: Apache-2.0 */

/* Internal: shared by extract_launch.c and extract_graph.c. */
#pragma once

#include "replay/device/recorded.h"
#include "tools/gputrace/extract_launch.h"

/* The launch to extract, and the process that made it. */
struct extract_search {
	struct fmt_trace *trace;
	struct rex_process process;
	const struct rex_call *call; /* has the kernel and its parameters */
	uint64_t correlation;	     /* of the operation: the call, or the launch of a graph */
	uint32_t rank;
	struct extract_launch *ret;
};

/* Sets ret->why, and returns `r`. */
__attribute__((format(printf, 3, 4))) int extract_fail(struct extract_search *s, int r,
						       const char *format, ...);

/* Reads the kernel, its code and its parameters from s->call. 0 or a negative errno. */
int extract_kernel(struct extract_search *s);

/* Returns the correlation of the call that has the parameters of the graph node `op`; 0: not known.
 * Sets ret->in_graph. */
uint64_t extract_graph_call(struct extract_search *s, const struct rex_args *op);

/* Reads the other nodes of the graph, if all can be extracted. 0 or -ENOMEM. */
int extract_graph_nodes(struct extract_search *s, const struct rex_args *op);
