/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/pending.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void rec_pending_done(struct rec_pending_table *w)
{
	free(w->slots);
	*w = (struct rec_pending_table){0};
}

/* Successive ids have adjacent slots, which share a cache line. They descend: the earliest id,
 * which is usually removed first, has no later slot that would have to move. */
#define BLOCK 8

static size_t home_slot(const struct rec_pending_table *w, uint64_t id)
{
	return ((id / BLOCK * 0x9e3779b97f4a7c15u >> 32) * BLOCK + BLOCK - 1 - id % BLOCK) &
	       (w->size - 1);
}

/* Returns the slot that contains `id`, or an empty one for it. */
static struct rec_pending_entry *find_slot(const struct rec_pending_table *w, uint64_t id)
{
	size_t at = home_slot(w, id);

	while (w->slots[at].id && w->slots[at].id != id)
		at = (at + 1) & (w->size - 1);
	return &w->slots[at];
}

static int grow_table(struct rec_pending_table *w)
{
	struct rec_pending_table grown = {.size = w->size ? w->size * 2 : 1024, .n = w->n};

	if (w->n * 2 < w->size)
		return 0;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < w->size; i++)
		if (w->slots[i].id)
			*find_slot(&grown, w->slots[i].id) = w->slots[i];
	free(w->slots);
	*w = grown;
	return 0;
}

struct rec_pending_entry *rec_pending_get(struct rec_pending_table *w, uint64_t id)
{
	return grow_table(w) < 0 ? NULL : find_slot(w, id);
}

void rec_pending_set(struct rec_pending_table *w, struct rec_pending_entry *slot,
		     const struct rec_pending_entry *made)
{
	w->n += !slot->id;
	*slot = *made;
}

void rec_pending_fetch(const struct rec_pending_table *w, uint64_t id)
{
	if (w->size > 0)
		__builtin_prefetch(&w->slots[home_slot(w, id)]);
}

/* Moves entries whose home is not after the free slot into it (linear probing). */
void rec_pending_remove(struct rec_pending_table *w, struct rec_pending_entry *slot)
{
	size_t mask = w->size - 1, hole = (size_t)(slot - w->slots);

	for (size_t i = (hole + 1) & mask; w->slots[i].id; i = (i + 1) & mask) {
		if (((i - home_slot(w, w->slots[i].id)) & mask) < ((i - hole) & mask))
			continue;
		w->slots[hole] = w->slots[i];
		hole = i;
	}
	w->slots[hole].id = 0;
	w->n--;
}

struct rec_pending_entry *rec_pending_find(const struct rec_pending_table *w, uint64_t id)
{
	struct rec_pending_entry *slot = w->size > 0 ? find_slot(w, id) : NULL;

	return slot && slot->id ? slot : NULL;
}

static bool is_gone(const struct rec_pending_entry *slot, const uint32_t *to)
{
	return slot->id && slot->event < REC_DROPPED && to[slot->event] == REC_NONE;
}

void rec_pending_renumber(struct rec_pending_table *w, const uint32_t *to)
{
	for (size_t i = 0; i < w->size; i++)
		while (is_gone(&w->slots[i], to)) /* another entry may move there */
			rec_pending_remove(w, &w->slots[i]);
	for (size_t i = 0; i < w->size; i++)
		if (w->slots[i].id && w->slots[i].event < REC_DROPPED)
			w->slots[i].event = to[w->slots[i].event];
}
