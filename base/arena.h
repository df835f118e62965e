/* SPDX-License-Identifier: Apache-2.0 */

/* Memory for many small things that all end together. All zeroes is an empty arena.
 *
 *     struct thing *t = arena_take(&a, sizeof(*t), alignof(struct thing));
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARENA_BLOCK 65536

struct arena {
	struct arena_block {
		struct arena_block *next;
		char data[];
	} * blocks;
	char *at;
	size_t left;
};

/* Bytes that nobody set, owned by the arena; NULL when there is no memory. `align` is a power of
 * two. */
static inline void *arena_take(struct arena *a, size_t size, size_t align)
{
	size_t skip = -(uintptr_t)a->at & (align - 1), bytes = size + align;
	struct arena_block *b;

	if (a->at && skip <= a->left && size <= a->left - skip) {
		char *ret = a->at + skip;

		a->at = ret + size;
		a->left -= skip + size;
		return ret;
	}
	if (bytes < size || bytes > SIZE_MAX - sizeof(*b))
		return NULL;
	if (bytes <= ARENA_BLOCK / 4)
		bytes = ARENA_BLOCK;
	b = malloc(sizeof(*b) + bytes);
	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	if (bytes != ARENA_BLOCK)
		return b->data + (-(uintptr_t)b->data & (align - 1));
	a->at = b->data;
	a->left = bytes;
	return arena_take(a, size, align);
}

static inline void arena_done(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){0};
}
