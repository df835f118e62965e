/* SPDX-License-Identifier: Apache-2.0 */

/* The graphs of a process, as the calls that made them say: nodes in the order in which they were
 * added, and which of them wait for which; and what streams in capture would wait for next. */
#pragma once

#include "base/text.h"
#include "formats/run/gpucapture/process/call.h"

/* A node of a graph. */
struct rec_node {
	const char *kind;
	fmt_str name;
	fmt_str grid, block; /* of a kernel, as JSON; or 0 */
	fmt_str symbol;	     /* of a kernel, where its name is another; or 0 */
	int64_t shared_bytes;
	int64_t bytes;	     /* of a copy or a fill; -1 */
	bool disabled;	     /* in an executable graph */
	uint32_t collective; /* 1 + that of the process's graphs (graph_collectives.c); 0: none */
	uint64_t call;	     /* correlation of the call whose arguments say what it does; 0 */
	uint64_t content;    /* hash of these arguments */
};

/* A node, by its place; it may be gone by now. */
struct rec_graph_at {
	uint32_t graph, node;
};

struct rec_graphs;

void rec_graphs_free(struct rec_graphs *g);

/* An operation on a stream in capture: a node behind what the stream waits for. 0 or -ENOMEM.
 * `ret`, which may be NULL, is left alone where the graph is not known. */
int rec_graph_captured(struct rec_call *c, const struct rec_object *stream,
		       const struct rec_node *node, struct rec_graph_at *ret);

/* `to`, a stream or an event, waits for what `from` stands for, too; an event stands for nothing
 * else. */
int rec_graph_waits(struct rec_call *c, const struct rec_object *from, const struct rec_object *to);

/* Follows a call that makes a graph, adds to one, or makes it one that runs; also one that failed:
 * it may have ended a capture. */
int rec_call_graphs(struct rec_call *c);

/* The kernel at that node is this collective, at each launch. 0 or -ENOMEM. */
int rec_graph_meets(struct rec_process *p, const struct rec_graph_at *at,
		    const struct rec_collective *made, const struct fmt_message *messages);
/* The node is a launch of that executable graph, by its number. */
void rec_graph_put_launch(struct rec_process *p, const struct rec_graph_at *at, uint32_t exec);
bool rec_graph_is_kernel(const struct rec_process *p, const struct rec_graph_at *at);

/* The operations of a launch: one, or one for each node that has times. */
int rec_graph_launch(struct rec_call *c);

/* The current version of an executable graph, by its number. */
struct rec_graph_id {
	uint32_t graph;	  /* the number of the graph that it was made of; 0 unknown */
	uint32_t version; /* of that: 0 as it was instantiated first */
};

struct rec_graph_id rec_graph_of_exec(const struct rec_process *p, uint32_t exec);

/* The graphs as a JSON array; nothing when there are none. */
void rec_graphs_json(const struct rec_process *p, struct text *out);
