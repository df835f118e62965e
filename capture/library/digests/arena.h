/* SPDX-License-Identifier: Apache-2.0 */

/* Pinned host memory for results of devices: page sums, or contents in units of their size. Handed
 * out in order; a chunk is reused after all of its pieces were given back. A piece above 1 MiB has
 * a chunk of its own, whose size is a power of two. One arena per context; one thread at a time. */
#pragma once

#include "capture/digest/gd128.h"

#include <stddef.h>

struct cap_arena_chunk {
	struct cap_arena_chunk *next;
	struct gd128 *sums; /* the device uses the same addresses */
	size_t n, used;
	unsigned out; /* pieces not given back */
};

struct cap_arena {
	struct cap_arena_chunk *chunks;
};

/* Allocates the first chunk. The arena's context must be current. */
void cap_arena_prepare(struct cap_arena *a);

/* Returns space for `n` sums; *ret_chunk must be given back. NULL if out of memory. The arena's
 * context must be current. */
struct gd128 *cap_arena_alloc(struct cap_arena *a, size_t n, struct cap_arena_chunk **ret_chunk);
void cap_arena_release(struct cap_arena_chunk *chunk);
