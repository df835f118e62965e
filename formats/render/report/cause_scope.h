/* SPDX-License-Identifier: Apache-2.0 */

/* The part of two traces `a` and `b` that is compared. */
#pragma once

#include "formats/render/report/cause_unordered.h"

#include <stdbool.h>

struct fmt_cause_scope {
	int64_t first, last;  /* `b` repeats these iterations of `a`; FMT_BEFORE, FMT_AFTER: all */
	int64_t rank;	      /* `b` has only this rank of `a`, by index; -1: all */
	bool is_part;	      /* waits for operations before these iterations are ignored */
	bool calls;	      /* also compares calls of threads */
	bool no_nccl;	      /* `b` contains no effects of NCCL calls */
	bool no_host;	      /* `b` contains no effects of functions of the host in graphs */
	bool may_end_earlier; /* a track that ends earlier in one trace is not a difference */
	/* `b` is a re-execution of `a`: operations that read the same and wrote other bytes are
	 * added here, by their numbers in `a`, and are not differences. NULL: they are. */
	struct fmt_unordered *learned;
	/* Operations of `b` known to be nondeterministic, or NULL: different bytes that they wrote
	 * are no difference, nor different bytes read after the first of them. */
	const struct fmt_unordered *known;
};

#define FMT_CAUSE_ALL(with_calls)                                                                  \
	((struct fmt_cause_scope){                                                                 \
		.first = FMT_BEFORE, .last = FMT_AFTER, .rank = -1, .calls = (with_calls)})
