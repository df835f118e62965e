/* SPDX-License-Identifier: Apache-2.0 */

/* One pass over the calls of a rank, in the order in which they were made. The rules in wait.c
 * find what each operation waited for, those in sync.c what each call waited for.
 *
 * Functions return 0 or a negative errno.
 */
#pragma once

#include "formats/run/infer/edge.h"
#include "formats/run/infer/shape.h"
#include "formats/run/infer/view.h"

#include <stdbool.h>

struct infer_node {
	int64_t number;
	uint32_t op;
};

struct infer_walk {
	struct infer_view *view;
	struct infer_node *nodes; /* of the call that is looked at, by number */
	size_t n_nodes, nodes_cap;
	uint32_t first_node; /* the operation that begins with the launch, or INFER_NONE */
	struct infer_shapes *shapes;
	uint32_t *
		computes; /* by thread: the last operation other than a collective, or INFER_NONE */
	uint32_t next_link; /* the first that is not done with */
	uint32_t *links;    /* by stream: what its next operation waits for, or INFER_NONE */
	uint32_t *waits;    /* by stream: the number of stream waits when it was last launched to */
	uint32_t n_waits;   /* calls that make a stream wait, so far */
	uint32_t *last;	    /* by stream: the operation launched last so far, or INFER_NONE */
	uint32_t *waited;   /* by stream: the newest operation that a device synchronisation saw */
	uint32_t compute;   /* as in computes[], over all threads */
	uint32_t newest;    /* the operation launched last so far, or INFER_NONE */
	uint8_t lax[256];   /* by INFER_LAX: calls of that name were seen not to wait */
};

int infer_walk_init(struct infer_walk *w, struct infer_view *v, struct infer_shapes *shapes);
void infer_walk_done(struct infer_walk *w);

/* All of wait.c and sync.c, for one rank. */
int infer_walk_calls(struct infer_walk *w);

/* Rule "graph": the dependencies of the graph nodes that `call` launched. */
int infer_node_waits(struct infer_walk *w, const struct infer_call *call, uint32_t op,
		     int64_t *base_ns);
/* Before it is asked for those of a call. 0 or -ENOMEM. */
int infer_nodes_of(struct infer_walk *w, const struct infer_call *call);

/* Edges of the operations that `call` launched. */
int infer_waits(struct infer_walk *w, const struct infer_call *call);

/* Edges of a call that waited; `link` is its first link, if it has any. */
int infer_syncs(struct infer_walk *w, uint32_t call, uint32_t link);

/* Finds calls that may wait for the device and are seen not to. */
void infer_sync_learn(struct infer_walk *w);

/* Lags of the rules "capacity" and "graph-gap", from other edges of their kind. */
int infer_lags_settle(struct infer_view *views, uint32_t n_views, struct infer_shapes *shapes);

/* Rule "queue-full": launches that waited for space in the queue. */
int infer_queue(struct infer_view *v);

/* Threads that take turns. */
int infer_hand_over(struct infer_view *v);

/* Operations that were launched before the recording began. */
int infer_window(struct infer_walk *w);

/* Operations that may have waited for another GPU of the process. */
int infer_other_gpu(struct infer_view *v);

/* Whether the run shows what `op` waited for beyond `base_ns`: adds that edge, and returns the time
 * from which its start is explained in *base_ns. */
int infer_evidence(struct infer_walk *w, uint32_t op, const struct infer_call *call,
		   int64_t *base_ns);
