/* SPDX-License-Identifier: Apache-2.0 */

/* Edges under construction, and the rules that make them. */
#pragma once

#include "formats/run/infer/view.h"

/* An operation of any rank. */
struct infer_ref {
	const struct infer_view *view;
	uint32_t op;
};

/* An edge whose lag is not yet known. */
struct infer_edge {
	uint32_t from, to;		    /* indexes of events */
	uint32_t from_op, to_op;	    /* operations that determine the lag, or INFER_NONE */
	const struct infer_view *from_view; /* view of `from`; NULL: that of `to` */
	int64_t lag_ns;
	uint8_t kind;
	uint8_t rule; /* enum infer_rule */
};

enum infer_rule {
	INFER_COMM_WAIT_COMPUTE,
	INFER_COMPUTE_WAIT_COMM,
	INFER_EVENT_WAIT,
	INFER_CAPACITY,
	INFER_QUEUE_ORDER,
	INFER_GRAPH_GAP,
	INFER_COPY,
	INFER_SYNC_STREAM,
	INFER_SYNC_EVENT,
	INFER_SYNC_DEVICE,
	INFER_QUEUE_FULL,
	INFER_HAND_OVER,
	INFER_WINDOW,
	INFER_TRANSFER,
	INFER_EVENT_WAIT_RECORDED,
	INFER_SYNC_RECORDED,
	INFER_OTHER_GPU,
	INFER_THREAD_ORDER,
	INFER_LATE_END,
	INFER_POLL,
	INFER_RULES,
};

/* Returns the operation at which the edge starts. */
static inline const struct infer_op *infer_edge_source(const struct infer_view *v,
						       const struct infer_edge *e)
{
	return &(e->from_view ? e->from_view : v)->ops[e->from_op];
}

/* Returns 0 or -ENOMEM. */
int infer_add_edge(struct infer_view *v, const struct infer_edge *e);

/* Adds an edge between two operations. */
int infer_add_op_edge(struct infer_view *v, uint32_t from_op, uint32_t to_op,
		      enum fmt_edge_kind kind, enum infer_rule rule, int64_t lag_ns);
