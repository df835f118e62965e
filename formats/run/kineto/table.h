/* SPDX-License-Identifier: Apache-2.0 */

/* An open-addressing index from hashes to the numbers of things that lie in an array elsewhere.
 *
 *     for (size_t at = kineto_probe(&t, hash); t.slots[at].number; at = kineto_next(&t, at))
 *             if (t.slots[at].hash == hash && same(things[t.slots[at].number - 1])) ...
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct kineto_slot {
	uint32_t hash;
	uint32_t number; /* of the thing, plus 1; 0: free */
};

struct kineto_table {
	struct kineto_slot *slots; /* owned */
	size_t cap;		   /* a power of two, or 0 */
	size_t used;
};

static inline size_t kineto_probe(const struct kineto_table *t, uint32_t hash)
{
	return hash & (t->cap - 1);
}

static inline size_t kineto_next(const struct kineto_table *t, size_t at)
{
	return (at + 1) & (t->cap - 1);
}

/* Makes room for one more; call it before probing. 0 or -ENOMEM. */
static inline int kineto_table_room(struct kineto_table *t)
{
	struct kineto_table grown = {.cap = t->cap ? t->cap * 2 : 256, .used = t->used};

	if (t->cap && t->used < t->cap / 2)
		return 0;
	grown.slots = calloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->cap; i++) {
		size_t at = kineto_probe(&grown, t->slots[i].hash);

		if (!t->slots[i].number)
			continue;
		while (grown.slots[at].number)
			at = kineto_next(&grown, at);
		grown.slots[at] = t->slots[i];
	}
	free(t->slots);
	*t = grown;
	return 0;
}

/* Puts `number` into the free slot at `at`, which probing for `hash` ended in. */
static inline void kineto_table_put(struct kineto_table *t, size_t at, uint32_t hash,
				    uint32_t number)
{
	t->slots[at].hash = hash;
	t->slots[at].number = number + 1;
	t->used++;
}
