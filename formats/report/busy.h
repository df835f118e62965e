/* SPDX-License-Identifier: Apache-2.0 */

/* How the time of a device divides: computing, communicating, idle.
 *
 *     |<------------------- device_ns ------------------->|
 *      ######  ###########        #####     ####            kernels, copies, memsets
 *                  ===========        ========              collectives
 *
 * Times are unions: what runs at the same moment on several streams counts once. So
 * compute_ns + exposed_ns + idle_ns == device_ns, and hidden_ns is a part of compute_ns.
 *
 * Collect the operations of an iteration, from one slice or from the several that a long iteration
 * is cut into, and divide:
 *
 *     struct fmt_busy_ops ops = {0};
 *     r = fmt_busy_collect(&ops, names, slice);     for each slice of the iteration
 *     r = fmt_busy_divide(&ops, &busy);
 *     fmt_busy_ops_done(&ops);                      or ops.n = 0 to use it again
 *
 * Not thread-safe. Functions return 0 or -ENOMEM.
 */
#pragma once

#include "formats/names.h"

struct fmt_busy {
	int64_t start_ns, end_ns; /* of the first operation, of the last; 0 and 0 without any */
	int64_t device_ns;	  /* end_ns - start_ns */
	int64_t compute_ns;	  /* some operation other than a collective runs */
	int64_t exposed_ns;	  /* a collective runs, and nothing else */
	int64_t hidden_ns;	  /* a collective runs, and something else too */
	int64_t idle_ns;	  /* nothing runs */
};

struct fmt_busy_op {
	int64_t start_ns, end_ns;
	uint8_t collective;
};

struct fmt_busy_ops {
	struct fmt_busy_op *op; /* owned; in any order, but fastest as a few ascending runs */
	size_t n, cap;
	struct fmt_busy_op *spare; /* for sorting */
	size_t spare_cap;
};

/* Adds one operation. An end before the start counts as no duration. */
int fmt_busy_add(struct fmt_busy_ops *ops, int64_t start_ns, int64_t end_ns, int collective);

/* Adds the operations among the events of `slice`. */
int fmt_busy_collect(struct fmt_busy_ops *ops, const struct fmt_names *names,
		     const struct fmt_slice *slice);

/* Sorts by start, and divides. */
int fmt_busy_divide(struct fmt_busy_ops *ops, struct fmt_busy *ret);

void fmt_busy_ops_done(struct fmt_busy_ops *ops);
