/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/regions.h"

#include "base/array.h"

void cap_regions_done(struct cap_regions *r)
{
	free(r->items);
	memset(r, 0, sizeof(*r));
}

/* Returns the number of ranges that begin before `address`. */
static size_t lower_bound(const struct cap_regions *r, uint64_t address)
{
	return array_bound(i, 0, r->n, r->items[i].base < address);
}

static void remove_items(struct cap_regions *r, size_t from, size_t to)
{
	memmove(r->items + from, r->items + to, (r->n - to) * sizeof(*r->items));
	r->n -= to - from;
}

int cap_regions_add(struct cap_regions *r, const struct cap_region *range)
{
	size_t at = lower_bound(r, range->base), end = at;
	struct cap_region *there = at < r->n ? &r->items[at] : NULL;

	if (there && range->kind == CAP_MEMORY_GLOBAL && there->kind == CAP_MEMORY_GLOBAL &&
	    there->base == range->base && there->bytes == range->bytes)
		return 0;
	if (at > 0 && r->items[at - 1].base + r->items[at - 1].bytes > range->base)
		at--;
	while (end < r->n && r->items[end].base - range->base < range->bytes)
		end++;
	if (end > at)
		remove_items(r, at, end);
	if (array_reserve(&r->items, r->n + 1, &r->cap) < 0)
		return -ENOMEM;
	memmove(r->items + at + 1, r->items + at, (r->n - at) * sizeof(*r->items));
	r->items[at] = *range;
	r->n++;
	return 0;
}

struct cap_region *cap_regions_find(const struct cap_regions *r, uint64_t address)
{
	size_t at = lower_bound(r, address);

	if (at < r->n && r->items[at].base == address)
		return &r->items[at];
	if (at > 0 && address - r->items[at - 1].base < r->items[at - 1].bytes)
		return &r->items[at - 1];
	return NULL;
}

struct cap_region *cap_regions_find_first(const struct cap_regions *r, uint64_t base,
					  uint64_t bytes)
{
	size_t at = lower_bound(r, base);

	return at < r->n && r->items[at].base - base < bytes ? &r->items[at] : NULL;
}

void cap_regions_remove(struct cap_regions *r, uint64_t base, uint64_t bytes)
{
	size_t at = lower_bound(r, base), end = at;

	while (end < r->n && r->items[end].base - base < bytes)
		end++;
	remove_items(r, at, end);
}

void cap_regions_remove_if(struct cap_regions *r,
			   int (*gone)(const struct cap_region *range, const void *context),
			   const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!gone(&r->items[i], context))
			r->items[kept++] = r->items[i];
	r->n = kept;
}
