/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/handles.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/hash.h"

#define KINDS 256

struct rec_handles {
	struct rec_object *objects; /* owned: the latest of each handle */
	size_t n, cap;
	struct fmt_hash_table table; /* of objects, by kind and handle */
	uint32_t numbers[KINDS];
	uint32_t recent[KINDS]; /* 1 + index of the object that was found last */
	uint64_t unknown;
};

int rec_handles_new(struct rec_handles **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void rec_handles_free(struct rec_handles *h)
{
	if (!h)
		return;
	free(h->objects);
	fmt_hash_done(&h->table);
	free(h);
}

static uint32_t hash_of(uint32_t kind, uint64_t handle)
{
	return fmt_hash_number(handle ^ (uint64_t)kind << 56);
}

/* Returns the slot of the handle, or a free slot for it. */
static struct fmt_hash_slot *slot_of(const struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	return fmt_hash_find(&h->table, hash_of(kind, handle), i,
			     h->objects[i].handle == handle && h->objects[i].kind == kind + 1);
}

struct rec_object *rec_handles_find(struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	uint32_t number;

	if (kind >= KINDS || h->numbers[kind] == 0)
		return NULL;
	number = h->recent[kind];
	if (number == 0 || h->objects[number - 1].handle != handle)
		h->recent[kind] = number = slot_of(h, kind, handle)->number;
	return number && !h->objects[number - 1].gone ? &h->objects[number - 1] : NULL;
}

struct rec_object *rec_handles_add(struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	struct fmt_hash_slot *slot;
	struct rec_object *t;

	if (kind >= KINDS || fmt_hash_reserve(&h->table) < 0 ||
	    array_reserve(&h->objects, h->n + 1, &h->cap) < 0)
		return NULL;
	slot = slot_of(h, kind, handle);
	if (!slot->number)
		fmt_hash_set(&h->table, slot, hash_of(kind, handle), (uint32_t)h->n++);
	t = &h->objects[slot->number - 1];
	*t = (struct rec_object){.handle = handle,
				 .kind = kind + 1,
				 .number = ++h->numbers[kind],
				 .known = 1,
				 .device = -1};
	return t;
}

struct rec_object *rec_handles_get(struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	struct rec_object *t = rec_handles_find(h, kind, handle);

	if (t)
		return t;
	t = rec_handles_add(h, kind, handle);
	if (t) {
		t->known = 0;
		h->unknown++;
	}
	return t;
}

void rec_handles_for_each(struct rec_handles *h, void (*each)(struct rec_object *t, void *context),
			  void *context)
{
	for (size_t i = 0; i < h->n; i++)
		if (!h->objects[i].gone)
			each(&h->objects[i], context);
}

uint64_t rec_handles_unknown(const struct rec_handles *h)
{
	return h->unknown;
}
