/* SPDX-License-Identifier: Apache-2.0 */

/* One pass over the calls of a rank, in the order in which they were made. The rules in wait.c find
 * the dependencies of operations, those in sync.c the dependencies of calls.
 *
 * Functions return 0 or a negative errno. */
#pragma once

#include "formats/run/infer/edge.h"
#include "formats/run/infer/shape.h"
#include "formats/run/infer/view.h"

#include <stdbool.h>

struct infer_walk {
	struct infer_view *view;
	struct infer_shapes *shapes;
	uint32_t *last_compute; /* by thread: the last operation other than a collective, or
				   INFER_NONE */
	uint32_t next_link;	/* the first link not yet processed */
	uint32_t *links;	/* by stream: the link of its next operation, or INFER_NONE */
	uint32_t *waits;	/* by stream: the number of stream waits at its last launch */
	uint32_t n_waits;	/* number of calls so far that make a stream wait */
	uint32_t *last;		/* by stream: last launched operation so far, or INFER_NONE */
	uint32_t *waited; /* by stream: newest operation covered by a device synchronisation */
	uint32_t compute; /* as in computes[], over all threads */
	uint32_t newest;  /* last launched operation so far, or INFER_NONE */
	uint8_t may_skip_sync[256]; /* by INFER_LAX: some calls of that name did not wait */
};

int infer_walk_init(struct infer_walk *w, struct infer_view *v, struct infer_shapes *shapes);
void infer_walk_done(struct infer_walk *w);

/* Runs wait.c and sync.c for one rank. */
int infer_walk_calls(struct infer_walk *w);

/* Adds edges for the operations that `call` launched. */
int infer_add_op_waits(struct infer_walk *w, const struct infer_call *call);

/* Adds edges for a call that waited; `link` is its first link, or INFER_NONE. */
int infer_add_call_waits(struct infer_walk *w, uint32_t call, uint32_t link);

/* Rule "poll": adds edges for the other calls of a loop, the first of which, `call`, has the edges
 * from first_edge on. */
int infer_polls(struct infer_walk *w, uint32_t call, size_t first_edge);

/* Finds names of calls that may wait for the device but did not. */
void infer_find_optional_syncs(struct infer_walk *w);

/* Sets the lags of rules "capacity" and "graph-gap" from other edges of their kind. */
int infer_resolve_lags(struct infer_view *views, uint32_t n_views, struct infer_shapes *shapes);

/* Rule "queue-full": adds edges for launches that waited for space in the queue. */
int infer_add_queue_waits(struct infer_view *v);

/* Rule "hand-over": adds edges between threads that wait for each other. */
int infer_add_hand_overs(struct infer_view *views, uint32_t n_views);

/* Rule "window": adds edges for operations that were launched before the recording began. */
int infer_add_window_waits(struct infer_walk *w);

/* Rule "other-gpu": adds edges for operations that may have waited for another GPU of the
 * process. */
int infer_add_other_gpu_waits(struct infer_view *v);

/* If the run shows a dependency that delayed `op` beyond `base_ns`, adds the edge and advances
 * *base_ns to the time that it explains. */
int infer_explain_delay(struct infer_walk *w, uint32_t op, const struct infer_call *call,
			int64_t *base_ns);
