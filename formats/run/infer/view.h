/* SPDX-License-Identifier: Apache-2.0 */

/* The events of one rank as the rules use them: calls by thread, and over all threads in the order
 * in which they were made; operations by stream, each with its neighbours.
 *
 * Everything is an index into the arrays here. A view is made from a rank of the run, belongs to
 * one thread, and is valid while the rank's events are. */
#pragma once

#include "formats/run/clocks.h"
#include "formats/run/infer/api.h"
#include "formats/run/infer/constants.h"
#include "formats/run/run.h"
#include "formats/trace/hash.h"

#define INFER_NONE UINT32_MAX
#define INFER_US 1000
/* Tolerance when comparing starts and ends: clocks of host and device drift, and some recorders
 * keep whole microseconds only. */
#define INFER_TOLERANCE_NS (10 * INFER_US)
/* An operation that starts later than predicted by more than this is unexplained. */
#define INFER_UNEXPLAINED_NS (50 * INFER_US)

enum infer_copy { INFER_COPY_NONE, INFER_COPY_TO_DEVICE, INFER_COPY_TO_HOST, INFER_COPY_WITHIN };

struct infer_op {
	int64_t start_ns, end_ns;
	int64_t base_ns; /* predicted start, from its edges and the constants */
	uint32_t event;	 /* index in the rank's events */
	uint32_t call;	 /* that launched it, or INFER_NONE */
	uint32_t stream; /* index of view->streams */
	uint32_t shape;	 /* kernels: see shape.h; else INFER_NONE */
	uint8_t kind;	 /* enum fmt_kind */
	uint8_t copy;	 /* enum infer_copy */
	uint8_t pageable : 1;
	uint8_t explained : 1; /* a rule explains its start */
	uint8_t waits : 1;     /* has an edge from another operation */
	uint8_t ends_late : 1; /* see INFER_LATE_END: it may have ended earlier than recorded */
};

struct infer_call {
	int64_t start_ns, end_ns;
	uint32_t event;
	uint32_t thread;
	uint32_t prev;	   /* previous call of its thread that is not nested, or INFER_NONE */
	uint32_t first_op; /* its operations are view->launched[first_op .. + n_ops) */
	uint32_t n_ops;
	uint32_t n_polls; /* this and the next ones are a loop that polls, see polls.c; 0: not a
			     loop */
	uint8_t api;	  /* enum infer_api_class */
	uint8_t nested;
	uint8_t waits;	    /* has an edge of kind FMT_EDGE_RETURN */
	uint8_t after_wait; /* a call that makes a stream wait, but no launch, precedes it */
};

struct infer_span {
	uint32_t track, first, end;
};

struct infer_edge;

struct infer_view {
	const struct fmt_names *names;
	const struct fmt_run_rank *rank;
	uint32_t index; /* of the rank in the run */

	struct infer_call *calls; /* by thread, then in call order */
	struct infer_op *ops;	  /* by stream, then start */
	struct infer_span *threads, *streams;
	uint32_t *order;    /* calls of all threads in call order */
	uint32_t *launched; /* operations by call */
	uint32_t *syncs;    /* events: recorded synchronisations */
	struct fmt_hash_table calls_by_correlation;
	uint32_t n_calls, n_ops, n_threads, n_streams, n_syncs;
	uint8_t saw_events;	      /* the recording contains which events streams wait for */
	uint8_t has_waits;	      /* the recording contains calls that make streams wait */
	struct infer_add_link *links; /* in call order */
	size_t n_links, links_cap;

	struct fmt_constants constants;
	struct fmt_clock clock; /* of the device, relative to that of the first rank */
	const struct fmt_template_gaps *template_gaps; /* not owned; or NULL */
	struct infer_edge *edges;
	size_t n_edges, edges_cap;
};

int infer_view_init(struct infer_view *v, const struct fmt_names *names,
		    const struct fmt_run_rank *rank, uint32_t index);
void infer_view_done(struct infer_view *v);

/* Returns the preceding operation of its stream, or INFER_NONE. */
static inline uint32_t infer_prev_op(const struct infer_view *v, const struct infer_op *op)
{
	uint32_t i = (uint32_t)(op - v->ops);

	return i > v->streams[op->stream].first ? i - 1 : INFER_NONE;
}

static inline fmt_str infer_op_name(const struct infer_view *v, const struct infer_op *op)
{
	return fmt_template(v->names, v->rank->events[op->event].template)->name;
}

/* Reads an argument of an event, constant or not. Returns 1 if it exists, else 0. */
int infer_event_arg(const struct infer_view *v, uint32_t event, const char *key, int64_t *ret);

/* Returns the earliest start of the operations that `call` launched, according to the launch
 * latency. */
int64_t infer_launch_start_ns(const struct infer_view *v, const struct infer_call *call);

/* Returns the gap between `op` and the preceding operation of its stream, which must exist. */
int64_t infer_gap_ns(const struct infer_view *v, const struct infer_op *op);

/* Returns the start of `op` if only its launch and its stream delayed it. *by_stream, if not NULL,
 * is set to 1 if the stream was later. */
int64_t infer_base_start_ns(const struct infer_view *v, const struct infer_op *op, int *by_stream);

/* Returns the last operation of a stream that ended at or before `end_ns`, or INFER_NONE. */
uint32_t infer_last_ended(const struct infer_view *v, uint32_t stream, int64_t end_ns);

/* Returns the last operation of a stream that started before `start_ns`, or INFER_NONE. */
uint32_t infer_last_started(const struct infer_view *v, uint32_t stream, int64_t start_ns);

/* Merges the calls of each loop that polls, calls[first .. end) of a thread, into the first one. */
void infer_merge_polls(struct infer_view *v, uint32_t first, uint32_t end);

/* Returns the call with a correlation, or INFER_NONE. */
uint32_t infer_find_call(const struct infer_view *v, uint64_t correlation);

/* Returns 1 if `op` was launched by `call` or earlier, or has no launch. */
int infer_is_launched_by(const struct infer_view *v, const struct infer_op *op,
			 const struct infer_call *call);

/* Returns the outermost stored event among those that start with the call. */
uint32_t infer_outermost_event(const struct infer_view *v, uint32_t event);
