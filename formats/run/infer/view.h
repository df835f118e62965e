/* SPDX-License-Identifier: Apache-2.0 */

/* The events of one rank as the rules read them: calls by thread, and over all threads in the
 * order in which they were made; operations by stream, each with its neighbours.
 *
 * Everything is an index into the arrays here. A view is made from a rank of the run, belongs to
 * one thread, and is valid as long as the rank's events are.
 */
#pragma once

#include "formats/run/infer/api.h"
#include "formats/run/infer/constants.h"
#include "formats/run/run.h"
#include "formats/trace/hash.h"

#define INFER_NONE UINT32_MAX
#define INFER_US 1000
/* Starts and ends agree within so much: clocks of host and device drift, and some recorders keep
 * whole microseconds. */
#define INFER_TOLERANCE_NS (10 * INFER_US)
/* An operation that starts later than its rules say, by more than this, is unexplained. */
#define INFER_UNEXPLAINED_NS (50 * INFER_US)

/* Arguments of graph nodes: the number of the node, and the nodes that it waits for in addition to
 * the one before it on its stream. */
#define INFER_KEY_NODE "graph.node"
#define INFER_KEY_AFTER "graph.after"

enum infer_copy { INFER_COPY_NONE, INFER_COPY_TO_DEVICE, INFER_COPY_TO_HOST, INFER_COPY_WITHIN };

struct infer_op {
	int64_t start_ns, end_ns;
	int64_t base_ns; /* when it should have started, by its edges and the constants */
	uint32_t event;	 /* position in the rank's events */
	uint32_t call;	 /* that launched it, or INFER_NONE */
	uint32_t stream; /* index of view->streams */
	uint32_t shape;	 /* kernels: see shape.h; else INFER_NONE */
	uint8_t kind;	 /* enum fmt_kind */
	uint8_t copy;	 /* enum infer_copy */
	uint8_t pageable : 1;
	uint8_t explained : 1; /* its start follows from a rule */
	uint8_t waits : 1;     /* has an edge from another operation */
	uint8_t is_placed : 1; /* a graph node with recorded dependencies */
	uint8_t ends_late : 1; /* see INFER_LATE_END: it may have ended earlier than recorded */
};

struct infer_call {
	int64_t start_ns, end_ns;
	uint32_t event;
	uint32_t thread;
	uint32_t prev;	   /* of its thread, not counting nested ones; or INFER_NONE */
	uint32_t first_op; /* its operations are view->launched[first_op .. + n_ops) */
	uint32_t n_ops;
	uint8_t api; /* enum infer_api */
	uint8_t nested;
	uint8_t waits; /* has an edge of kind FMT_EDGE_RETURN */
};

struct infer_span {
	uint32_t track, first, end;
};

struct infer_edge;

struct infer_view {
	const struct fmt_names *names;
	const struct fmt_run_rank *rank;
	uint32_t index; /* of the rank in the run */

	struct infer_call *calls; /* by thread, then in the order in which they were made */
	struct infer_op *ops;	  /* by stream, then start */
	struct infer_span *threads, *streams;
	uint32_t *order;    /* calls, over all threads in the order in which they were made */
	uint32_t *launched; /* operations by call */
	uint32_t *syncs;    /* events: synchronisations that the recorder saw */
	struct fmt_hash_table calls_by_correlation;
	uint32_t n_calls, n_ops, n_threads, n_streams, n_syncs;
	uint8_t has_nodes;	  /* operations that are placed */
	uint8_t saw_events;	  /* the recorder saw which streams wait for which events */
	uint8_t has_waits;	  /* the recorder saw calls that make streams wait */
	struct infer_link *links; /* in the order in which the calls were made */
	size_t n_links, links_cap;

	struct fmt_constants constants;
	const struct fmt_template_gaps *template_gaps; /* not owned; or NULL */
	struct infer_edge *edges;
	size_t n_edges, edges_cap;
};

int infer_view_init(struct infer_view *v, const struct fmt_names *names,
		    const struct fmt_run_rank *rank, uint32_t index);
void infer_view_done(struct infer_view *v);

/* The operation before it on its stream, or INFER_NONE. */
static inline uint32_t infer_prev(const struct infer_view *v, const struct infer_op *op)
{
	uint32_t i = (uint32_t)(op - v->ops);

	return i > v->streams[op->stream].first ? i - 1 : INFER_NONE;
}

static inline fmt_str infer_name(const struct infer_view *v, const struct infer_op *op)
{
	return fmt_template(v->names, v->rank->events[op->event].template)->name;
}

/* An argument of an event, constant or not; 1 when it is there, else 0. */
int infer_argument(const struct infer_view *v, uint32_t event, const char *key, int64_t *ret);

/* Expected start of the operations that `call` launched, as far as their launch decides it. */
int64_t infer_launched(const struct infer_view *v, const struct infer_call *call);

/* The gap that stream order leaves before `op`, which has one before it. */
int64_t infer_gap(const struct infer_view *v, const struct infer_op *op);

/* When `op` would start if only its launch and its stream held it back. *by_stream, if not NULL,
 * says whether the stream does. */
int64_t infer_base(const struct infer_view *v, const struct infer_op *op, int *by_stream);

/* The last operation of a stream that ended at or before `end_ns`; or INFER_NONE. */
uint32_t infer_ended(const struct infer_view *v, uint32_t stream, int64_t end_ns);

/* The last operation of a stream that started before `start_ns`; or INFER_NONE. */
uint32_t infer_started(const struct infer_view *v, uint32_t stream, int64_t start_ns);

/* The call of a correlation; or INFER_NONE. */
uint32_t infer_call_of(const struct infer_view *v, uint64_t correlation);

/* Whether `op` was launched by `call` or before it; always so without a launch. */
int infer_before(const struct infer_view *v, const struct infer_op *op,
		 const struct infer_call *call);

/* The first stored event of those that start with a call encloses the others. */
uint32_t infer_outermost(const struct infer_view *v, uint32_t event);
