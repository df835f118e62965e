/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/arena.h"

#include "capture/library/find/cu.h"

#include <stdlib.h>

#define CHUNK_SUMS (64u << 10) /* 1 MiB: of 4 GiB of buffers */

static struct cap_arena_chunk *add_chunk(struct cap_arena *a, size_t n)
{
	struct cap_arena_chunk *c = calloc(1, sizeof(*c));
	void *memory;
	int mode, r;

	if (!c)
		return NULL;
	c->n = n > CHUNK_SUMS ? n : CHUNK_SUMS;
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

struct gd128 *cap_arena_alloc(struct cap_arena *a, size_t n, struct cap_arena_chunk **ret_chunk)
{
	struct cap_arena_chunk *c;
	struct gd128 *sums;

	for (c = a->chunks; c; c = c->next) {
		if (c->out == 0)
			c->used = 0;
		if (c->n - c->used >= n)
			break;
	}
	if (!c && !(c = add_chunk(a, n)))
		return NULL;
	sums = c->sums + c->used;
	for (size_t i = 0; i < n; i++)
		sums[i] = (struct gd128){CAP_SUM_PENDING, CAP_SUM_PENDING};
	c->used += n;
	c->out++;
	*ret_chunk = c;
	return sums;
}

void cap_arena_release(struct cap_arena_chunk *chunk)
{
	chunk->out--;
}
