/* SPDX-License-Identifier: Apache-2.0 */

/* Compares two traces: the operations of each stream over the whole run, their parameters, their
 * waits, and, if both traces have digests, the bytes that they read and wrote; and the calls of
 * threads. Reports the difference that is first in causal order.
 *
 * That is the earliest operation over all ranks that differs, or that wrote other bytes although it
 * read the same. A collective is a cause only if the inputs of every rank are the same. An
 * operation that only read other bytes is reported if there is no other difference, with the copy
 * that wrote them; a differing call comes last.
 *
 * Times are not compared, nor numbers assigned by recorders, nor anything nondeterministic: ranks
 * are matched by number, tracks by their operations, allocations by kind, length and order,
 * iterations not at all. Queries and calls that load code are ignored. Not thread-safe. */
#pragma once

#include "formats/render/report/cause.h"
#include "formats/render/report/cause_scope.h"
#include "formats/trace/store/trace.h"

/* Returns 0 or a negative errno as fmt_slice_load(), with *err. Call fmt_cause_done() in either
 * case. */
int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, const struct fmt_cause_scope *scope,
		   struct fmt_cause *ret, struct fmt_error *err);
