/* SPDX-License-Identifier: Apache-2.0 */

/* Memory for many small objects that are freed together. An arena of zeroes is empty.
 *
 *     struct node *n = arena_take(&a, sizeof(*n), alignof(struct node));
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK 65536

struct arena {
	struct arena_block {
		struct arena_block *next;
		char data[];
	} * blocks;
	char *at;
	size_t left;
};

/* Returns uninitialised bytes, owned by the arena; NULL if out of memory. `align` is a power of
 * two. */
static inline void *arena_take(struct arena *a, size_t size, size_t align)
{
	size_t skip = -(uintptr_t)a->at & (align - 1),
	       bytes = sizeof(struct arena_block) + align + size;
	struct arena_block *b;

	if (a->at && skip <= a->left && size <= a->left - skip) {
		char *ret = a->at + skip;

		a->at = ret + size;
		a->left -= skip + size;
		return ret;
	}
	if (bytes < size || bytes > SIZE_MAX / 2)
		return NULL;
	b = malloc(bytes <= ARENA_BLOCK / 4 ? ARENA_BLOCK : bytes);
	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	if (bytes > ARENA_BLOCK / 4)
		return b->data + (-(uintptr_t)b->data & (align - 1));
	a->at = b->data;
	a->left = ARENA_BLOCK - sizeof(*b);
	return arena_take(a, size, align);
}

/* Reserves space for `want` items of `size` bytes in the array *(void **)items, and copies its *cap
 * items. Returns 0 or -ENOMEM. The smaller array remains in the arena. */
static inline int arena_reserve_bytes(struct arena *a, void *items, size_t want, uint32_t *cap,
				      size_t size, size_t align)
{
	size_t next = 2ul * *cap > want ? 2ul * *cap : want;
	void *old, *grown;

	if (want <= *cap)
		return 0;
	if (next > UINT32_MAX || next > SIZE_MAX / size)
		return -ENOMEM;
	grown = arena_take(a, next * size, align);
	if (!grown)
		return -ENOMEM;
	memcpy(&old, items, sizeof(old));
	if (*cap > 0)
		memcpy(grown, old, *cap * size);
	memcpy(items, &grown, sizeof(grown));
	*cap = (uint32_t)next;
	return 0;
}

#define arena_reserve(a, items, want, cap)                                                         \
	arena_reserve_bytes((a), (items), (want), (cap), sizeof(**(items)), __alignof__(**(items)))

static inline void arena_done(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){0};
}
