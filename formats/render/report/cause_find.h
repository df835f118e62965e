/* SPDX-License-Identifier: Apache-2.0 */

/* Compares two traces: what the GPUs did, stream by stream over the whole run, with which
 * parameters, after which waits, and which bytes it read and wrote if both hold digests; and what
 * threads called. Reports the difference that comes first by cause: the operation with the earliest
 * start, over all ranks, that did something else, or wrote other bytes although all that it read is
 * the same. A collective is a cause only if what every rank put in is the same. An operation that
 * only read other bytes counts if there is nothing else, with the copy that brought them. A call
 * counts last.
 *
 * Times are not compared, nor is what a recorder numbers or what depends on chance: ranks are
 * matched by number, tracks by what they did, allocations by kind, length and order, iterations not
 * at all. Calls that only ask and calls that load code are left out. Not thread-safe.
 */
#pragma once

#include "formats/render/report/cause.h"
#include "formats/render/report/cause_scope.h"
#include "formats/trace/store/trace.h"

/* 0 or a negative errno as fmt_slice_load(), with *err. The caller ends *ret in any case. */
int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, const struct fmt_cause_scope *scope,
		   struct fmt_cause *ret, struct fmt_error *err);
