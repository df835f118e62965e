/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/handles.h"

#include "base/array.h"
#include "base/scope.h"

#define KINDS 256

struct rec_handles {
	struct rec_object *slots; /* open addressing; kind + 1 in `kind`, 0: free */
	size_t size, used;
	uint32_t numbers[KINDS];
	uint64_t unknown;
};

int rec_handles_new(struct rec_handles **ret)
{
	scoped(free_ptr) struct rec_handles *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->size = 256;
	h->slots = calloc(h->size, sizeof(*h->slots));
	if (!h->slots)
		return -ENOMEM;
	*ret = take(h);
	return 0;
}

void rec_handles_free(struct rec_handles *h)
{
	if (h)
		free(h->slots);
	free(h);
}

static size_t find_slot(const struct rec_object *slots, size_t size, uint32_t kind, uint64_t handle)
{
	uint64_t hash = (handle ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;
	size_t at = (hash >> 32) & (size - 1);

	while (slots[at].kind && (slots[at].kind != kind + 1 || slots[at].handle != handle))
		at = (at + 1) & (size - 1);
	return at;
}

static int grow(struct rec_handles *h)
{
	size_t size = h->size * 2;
	struct rec_object *slots;

	if (h->used * 3 < h->size * 2)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < h->size; i++)
		if (h->slots[i].kind)
			slots[find_slot(slots, size, h->slots[i].kind - 1, h->slots[i].handle)] =
				h->slots[i];
	free(h->slots);
	h->slots = slots;
	h->size = size;
	return 0;
}

struct rec_object *rec_handles_find(const struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	struct rec_object *t = &h->slots[find_slot(h->slots, h->size, kind, handle)];

	return t->kind && !t->gone ? t : NULL;
}

struct rec_object *rec_handles_make(struct rec_handles *h, uint32_t kind, uint64_t handle)
{
	struct rec_object *t;

	if (kind >= KINDS || grow(h) < 0)
		return NULL;
	t = &h->slots[find_slot(h->slots, h->size, kind, handle)];
	h->used += !t->kind;
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
	t = rec_handles_make(h, kind, handle);
	if (t) {
		t->known = 0;
		h->unknown++;
	}
	return t;
}

void rec_handles_each(struct rec_handles *h, void (*each)(struct rec_object *t, void *context),
		      void *context)
{
	for (size_t i = 0; i < h->size; i++)
		if (h->slots[i].kind && !h->slots[i].gone)
			each(&h->slots[i], context);
}

uint64_t rec_handles_unknown(const struct rec_handles *h)
{
	return h->unknown;
}
