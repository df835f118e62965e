/* SPDX-License-Identifier: Apache-2.0 */

/* Divides the time of a GPU: computing, communicating, idle.
 *
 *     |<------------------- device_ns ------------------->|
 *      ######  ###########        #####     ####            kernels, copies, memsets
 *                  ===========        ========              collectives
 *
 * Times are unions: operations that run at the same moment on several streams count once. So
 * compute_ns + exposed_ns + idle_ns == device_ns, and hidden_ns is a part of compute_ns.
 *
 * The span of an iteration reaches from its first operation to its last. Iterations overlap where
 * launches are asynchronous or input is pipelined, so each operation on the GPU counts within the
 * span, whichever iteration launched it:
 *
 *     struct fmt_busy_ops ops = {0};
 *     r = fmt_busy_collect(&ops, names, slice, NULL);        each slice of the iteration
 *     span = fmt_busy_span(&ops, 0);
 *     r = fmt_busy_collect(&ops, names, neighbour, &span);   each slice around it (neighbours.h)
 *     r = fmt_busy_divide(&ops, &span, &busy);
 *
 * A struct fmt_busy_run does so for all iterations of a GPU in one pass over its slices.
 *
 * Not thread-safe. Functions return 0 or -ENOMEM.
 */
#pragma once

#include "formats/trace/names.h"

#include "base/array.h"

struct fmt_busy {
	int64_t start_ns, end_ns; /* of the span; 0 and 0 without operations */
	int64_t device_ns;	  /* end_ns - start_ns */
	int64_t compute_ns;	  /* an operation other than a collective runs */
	int64_t exposed_ns;	  /* only collectives run */
	int64_t hidden_ns;	  /* both run */
	int64_t idle_ns;	  /* nothing runs */
};

struct fmt_busy_span {
	int64_t start_ns, end_ns;
	uint8_t any; /* 0: no operations */
};

struct fmt_busy_op {
	int64_t start_ns;
	int64_t end_ns : 63;
	uint64_t collective : 1;
};

struct fmt_busy_ops {
	struct fmt_busy_op *op; /* owned; in any order, but fastest as a few ascending runs */
	size_t n, cap;
	size_t sorted; /* internal: op[0 .. sorted] ascend */
};

/* Limit for times, so that differences of two times cannot overflow. */
#define FMT_BUSY_FARTHEST_NS (INT64_MAX / 4)

static inline int64_t fmt_busy_within(int64_t ns)
{
	return ns > FMT_BUSY_FARTHEST_NS    ? FMT_BUSY_FARTHEST_NS
	       : ns < -FMT_BUSY_FARTHEST_NS ? -FMT_BUSY_FARTHEST_NS
					    : ns;
}

/* Adds one operation. An end before the start counts as duration 0. */
static inline int fmt_busy_add(struct fmt_busy_ops *ops, int64_t start_ns, int64_t end_ns,
			       int collective)
{
	if (array_reserve(&ops->op, ops->n + 1, &ops->cap) < 0)
		return -ENOMEM;
	start_ns = fmt_busy_within(start_ns);
	end_ns = fmt_busy_within(end_ns);
	ops->op[ops->n++] = (struct fmt_busy_op){
		.start_ns = start_ns,
		.end_ns = end_ns < start_ns ? start_ns : end_ns,
		.collective = collective != 0,
	};
	return 0;
}

/* Adds the operations among the events of `slice`: those that overlap `within`, or all if NULL. */
int fmt_busy_collect(struct fmt_busy_ops *ops, const struct fmt_names *names,
		     const struct fmt_slice *slice, const struct fmt_busy_span *within);

/* Returns the span from the first start to the last end of the operations from index `first`. */
struct fmt_busy_span fmt_busy_span(const struct fmt_busy_ops *ops, size_t first);

/* Sorts by start and divides the span, counting only the parts of operations within it. */
int fmt_busy_divide(struct fmt_busy_ops *ops, const struct fmt_busy_span *span,
		    struct fmt_busy *ret);

void fmt_busy_ops_done(struct fmt_busy_ops *ops);

/* ---- all iterations of a GPU, in order */

/* Internal: a union of intervals that are added in order of start; its length and end so far. */
struct fmt_busy_cover {
	int64_t length_ns, end_ns;
};

/* Internal: the lengths of the unions up to some moment. */
struct fmt_busy_unions {
	int64_t compute_ns, collective_ns, any_ns;
};

/* Internal: a row that is not final. */
struct fmt_busy_pending {
	size_t row;
	int begun;
	struct fmt_busy_unions before; /* at its start, if begun */
};

/* Initialise with zeros. Keeps an operation only until all rows that it may start in are known. */
struct fmt_busy_run {
	struct fmt_busy *rows; /* one per fmt_busy_run_begin(); final after fmt_busy_run_end() */
	size_t n_rows, rows_cap;
	struct fmt_busy whole; /* of all rows; final after fmt_busy_run_end() */

	/* Internal. */
	struct fmt_busy_ops ops; /* operations after the sweep */
	size_t own;		 /* index of the last row's first operation */
	int64_t from_ns;	 /* of the last row */
	int64_t swept_ns;	 /* time of the sweep */
	struct fmt_busy_cover covers[3];
	struct fmt_busy_unions now, before; /* at swept_ns; at the start of `whole`, if begun */
	struct fmt_busy_pending *pending;
	size_t n_pending, pending_cap;
	uint8_t any, begun; /* `whole` has operations; the sweep has reached its start */
};

/* Begins the next row. Operations of later rows must not start before `from_ns`, or rows and
 * `whole` may be too small. */
int fmt_busy_run_begin(struct fmt_busy_run *run, int64_t from_ns);

/* Operations of the row are added to run->ops. */

int fmt_busy_run_end(struct fmt_busy_run *run);
void fmt_busy_run_done(struct fmt_busy_run *run);
