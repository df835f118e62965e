/* SPDX-License-Identifier: Apache-2.0 */

/* A hash table: an index from hashes to the numbers of items in an array elsewhere. Open
 * addressing; items are never removed. Initialise with zeros. One thread, or several that only look
 * up items.
 *
 *     if (fmt_hash_reserve(&t) < 0)
 *             return -ENOMEM;
 *     slot = fmt_hash_find(&t, hash, i, items[i].key == key);
 *     if (!slot->number) {
 *             items[n] = ...;
 *             fmt_hash_set(&t, slot, hash, n++);
 *     }
 *     return slot->number - 1;
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct fmt_hash_slot {
	uint32_t hash;
	uint32_t number; /* 1 + number of the item; 0: free */
};

struct fmt_hash_table {
	struct fmt_hash_slot *slots; /* owned */
	size_t cap;		     /* a power of two, or 0 */
	size_t used;
};

static inline void fmt_hash_done(struct fmt_hash_table *t)
{
	free(t->slots);
	*t = (struct fmt_hash_table){0};
}

/* Reserves space for one more item. Returns 0 or -ENOMEM. */
static inline int fmt_hash_reserve(struct fmt_hash_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 16;
	struct fmt_hash_slot *slots;

	if (t->used + 1 <= t->cap / 2)
		return 0;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->cap; i++) {
		size_t at = t->slots[i].hash & (cap - 1);

		if (!t->slots[i].number)
			continue;
		while (slots[at].number)
			at = (at + 1) & (cap - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return 0;
}

/* Returns the slot of the item with that hash for which `same`, an expression in its number `i`, is
 * true; else the free slot for it. In a table without any space: a free slot that cannot be set. */
#define fmt_hash_find(table, hash_of_key, i, same)                                                 \
	__extension__({                                                                            \
		static struct fmt_hash_slot none_;                                                 \
		const struct fmt_hash_table *t_ = (table);                                         \
		uint32_t hash_ = (hash_of_key);                                                    \
		struct fmt_hash_slot *slot_ = &none_;                                              \
		for (size_t at_ = hash_; t_->cap > 0; at_++) {                                     \
			slot_ = &t_->slots[at_ & (t_->cap - 1)];                                   \
			uint32_t i = slot_->number - 1;                                            \
			if (!slot_->number || (slot_->hash == hash_ && (same)))                    \
				break;                                                             \
		}                                                                                  \
		slot_;                                                                             \
	})

/* Enters item `number` into the free slot that fmt_hash_find() returned. */
static inline void fmt_hash_set(struct fmt_hash_table *t, struct fmt_hash_slot *slot, uint32_t hash,
				uint32_t number)
{
	slot->hash = hash;
	slot->number = number + 1;
	t->used++;
}

/* Hashes of one and of two numbers. */
static inline uint32_t fmt_hash_number(uint64_t a)
{
	return (uint32_t)((a ^ a >> 32) * 0x9e3779b97f4a7c15u >> 32);
}

static inline uint32_t fmt_hash_numbers(uint64_t a, uint64_t b)
{
	return fmt_hash_number((a * 0x9e3779b97f4a7c15u ^ b) * 0xd6e8feb86659fd93u);
}
