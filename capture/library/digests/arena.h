/* SPDX-License-Identifier: Apache-2.0 */

/* Page-locked memory of the host, for page sums: handed out in order, and used again once all that
 * was handed out of a chunk has come back. For one thread at a time; a context's own. */
#pragma once

#include "capture/digest/gd128.h"

#include <stddef.h>

struct cap_arena_chunk {
	struct cap_arena_chunk *next;
	struct gd128 *sums; /* as the device reaches them, too */
	size_t n, used;
	unsigned out; /* pieces that have not come back */
};

struct cap_arena {
	struct cap_arena_chunk *chunks;
};

/* Makes the first memory now. The arena's context is current. */
void cap_arena_prepare(struct cap_arena *a);

/* Room for `n` sums, each word CAP_AWAITED; *ret_chunk is to be given back. NULL without memory.
 * The arena's context is current. */
struct gd128 *cap_arena_take(struct cap_arena *a, size_t n, struct cap_arena_chunk **ret_chunk);
void cap_arena_give(struct cap_arena_chunk *chunk);
