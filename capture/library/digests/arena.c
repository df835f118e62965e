/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/arena.h"

#include "capture/library/find/cu.h"

#include <stdbool.h>
#include <stdlib.h>

#define CHUNK_SUMS (64u << 10) /* 1 MiB: of 4 GiB of buffers */

static struct cap_arena_chunk *add_chunk(struct cap_arena *a, size_t n)
{
	struct cap_arena_chunk *c = calloc(1, sizeof(*c));
	void *memory;
	int mode, r;

	if (!c)
		return NULL;
	for (c->n = CHUNK_SUMS; c->n < n;)
		c->n *= 2;
	mode = cap_cu_relax_begin();
	r = cap_cu.cuMemHostAlloc(&memory, c->n * sizeof(struct gd128),
				  CU_HOST_PORTABLE | CU_HOST_DEVICEMAP);
	cap_cu_relax_end(mode);
	if (r) {
		free(c);
		return NULL;
	}
	c->sums = memory;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void cap_arena_prepare(struct cap_arena *a)
{
	if (!a->chunks)
		add_chunk(a, CHUNK_SUMS);
}

/* Returns the smallest chunk with space, or NULL. A piece that is larger than the smallest chunks
 * gets a chunk of its own, and the larger chunks are left to such pieces. */
static struct cap_arena_chunk *find_chunk(struct cap_arena *a, size_t n)
{
	bool is_large = n > CHUNK_SUMS;
	struct cap_arena_chunk *best = NULL;

	for (struct cap_arena_chunk *c = a->chunks; c; c = c->next) {
		if (c->out == 0)
			c->used = 0;
		if (is_large == (c->n > CHUNK_SUMS) && !(is_large && c->out > 0) &&
		    c->n - c->used >= n && (!best || c->n < best->n))
			best = c;
	}
	return best;
}

struct gd128 *cap_arena_alloc(struct cap_arena *a, size_t n, struct cap_arena_chunk **ret_chunk)
{
	struct cap_arena_chunk *c = find_chunk(a, n);
	struct gd128 *sums;

	if (!c && !(c = add_chunk(a, n)))
		return NULL;
	sums = c->sums + c->used;
	c->used += n;
	c->out++;
	*ret_chunk = c;
	return sums;
}

void cap_arena_release(struct cap_arena_chunk *chunk)
{
	chunk->out--;
}
