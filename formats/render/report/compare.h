/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the first difference between two traces: a rank, iteration, track and event at which they
 * did not do the same, in the same order, with the same sizes. If an iteration has no such
 * difference, the first operation that read or wrote other bytes, provided that both traces hold
 * digests. Times, numbers that a recorder gives out (correlations, thread ids) and calls that poll
 * are not compared.
 *
 * Ranks are matched by number, iterations by their order, streams by number, threads by number or
 * else by the number of their events. Not thread-safe.
 */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

struct fmt_difference {
	int64_t rank;		   /* its number, or -1: it is about the whole traces */
	int64_t iteration;	   /* its number in the first trace, if `track` is not empty */
	char track[64];		   /* "stream 7", or "" */
	uint64_t event;		   /* of that track in that iteration, from 0 */
	struct text first, second; /* what each has: "kernel foo, 4096 bytes", "nothing" */
};

void fmt_difference_done(struct fmt_difference *d);

/* 1 and *ret filled at the first difference; 0 if there is none; or a negative errno as
 * fmt_slice_load(), with *err. The caller ends *ret in any case. Without `calls`, compares
 * operations and NCCL calls only: the order in which threads make other calls is nondeterministic.
 */
int fmt_compare(struct fmt_trace *a, struct fmt_trace *b, bool calls, struct fmt_difference *ret,
		struct fmt_error *err);
