/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs with an event after each node (see nodes.h), the events of each launch, and the
 * times read from them. Any thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/times/device_clock.h"
#include "capture/library/times/op_queue.h"

#define CAP_NO_STEP UINT32_MAX

/* A node, in the order of cap_graph_order(). */
struct cap_node_step {
	uint32_t event;	   /* index in the events of a launch; CAP_NO_STEP: takes no time */
	uint32_t op;	   /* index in the operations of a launch; CAP_NO_STEP */
	uint32_t first, n; /* dependencies: deps[first ..], numbers of steps */
};

struct cap_node_pair {
	void *of, *is; /* node of the program's graph; node of the clone */
	uint32_t at;   /* index in the graph when it was read */
	uint32_t inner, n_below;
};

struct cap_exec {
	struct cap_exec *next; /* in its bucket */
	void *handle, *clone;
	struct cap_device_clock *clock;
	void *context; /* of the clock */
	struct cap_node_step *steps;
	uint32_t *deps;
	uint32_t *event_of;	     /* by node of the graph when it was read; CAP_NO_STEP */
	struct cap_node_pair *pairs; /* by `of` */
	void **leaves;		     /* by event; the first is the start */
	uint32_t n_steps, n_events, n_ops;
	uint32_t in_child;		    /* the event of a node in a child graph; 0: none */
	struct cap_node_events *now, *idle; /* in the executable graph; free for the next launch */
	uint32_t refs; /* one for the program, and one for each launch with outstanding times */
	bool is_chain; /* each step waits for exactly the one before it */
	bool broken;   /* its events belong to different launches */
};

/* The events of one launch. */
struct cap_node_events {
	struct cap_timed_parts parts; /* first: interface to the queue of the stream */
	struct cap_exec *exec;
	struct cap_node_events *next; /* list of idle ones */
	bool awaited;
	bool spoiled; /* a later launch has overwritten them; atomic, read without the lock */
	void *events[];
};

/* Frees `x` and its events; no launch may be outstanding. NULL is allowed. */
void cap_exec_free(struct cap_exec *x);
/* Registers `x` for cap_exec_find(), by its handle. */
void cap_exec_add(struct cap_exec *x);
/* Returns NULL if the executable graph has no events. */
struct cap_exec *cap_exec_find(uint64_t exec);
/* Returns NULL if `node` is not in the graph that the program instantiated. */
const struct cap_node_pair *cap_exec_pair(const struct cap_exec *x, uint64_t node);
int cap_node_pair_order(const void *a, const void *b);

/* Creates events. Returns NULL if the driver fails. */
struct cap_node_events *cap_node_events_new(struct cap_exec *x);
/* Returns events that no launch waits for, or new ones; NULL: too many are outstanding. */
struct cap_node_events *cap_node_events_take(struct cap_exec *x);
/* Assigns these events to the executable graph; `set` false: returns them to the idle list. */
void cap_node_events_set(struct cap_exec *x, struct cap_node_events *e, bool set);

/* ---- for the generated hooks; keep errno */

/* Returns the node of the clone for the program's `node`; `node` itself if `exec` has no events. */
uint64_t cap_node_in_clone(uint64_t exec, uint64_t node);

/* Called before `exec` is launched; `call` is NULL if it is not recorded. */
void cap_node_launch(struct cap_call *call, uint64_t exec);

/* Called before and after the destruction of an executable graph. */
struct cap_exec *cap_before_exec_destroy(uint64_t exec);
void cap_after_exec_destroy(struct cap_exec *x, int result);
