/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/objects.h"

#include "base/array.h"

#include <pthread.h>

struct handle {
	uint64_t recorded, here;
	uint8_t meaning;
};

struct range {
	uint64_t start, bytes, here;
};

struct ranges {
	struct range *items; /* by start; they do not overlap */
	size_t n, cap;
};

/* Host memory in place of recorded host memory. If a larger one is needed for the address, the old
 * one remains, because copies may still use it. */
struct host {
	uint64_t start, bytes;
	void *here;
};

struct rex_objects {
	pthread_mutex_t lock;
	struct handle *handles; /* a hash table with open addressing; handles are never removed */
	size_t n_handles, slots;
	struct ranges memory, reserved, graphs;
	struct host *hosts; /* by start */
	size_t n_hosts, hosts_cap;
};

int rex_objects_new(struct rex_objects **ret)
{
	struct rex_objects *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->slots = 1024;
	o->handles = calloc(o->slots, sizeof(*o->handles));
	if (!o->handles) {
		free(o);
		return -ENOMEM;
	}
	pthread_mutex_init(&o->lock, NULL);
	*ret = o;
	return 0;
}

void rex_objects_free(struct rex_objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_hosts; i++)
		free(o->hosts[i].here);
	free(o->handles);
	free(o->memory.items);
	free(o->reserved.items);
	free(o->graphs.items);
	free(o->hosts);
	free(o);
}

/* ---- handles */

/* Returns the slot of the handle, or a free slot for it, with `recorded` = 0. */
static struct handle *slot_of(struct handle *slots, size_t n, enum api_meaning meaning,
			      uint64_t recorded)
{
	size_t i = (size_t)((recorded + meaning) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n - 1);

	while (slots[i].recorded &&
	       (slots[i].recorded != recorded || slots[i].meaning != (uint8_t)meaning))
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow(struct rex_objects *o)
{
	size_t slots = 2 * o->slots;
	struct handle *grown = calloc(slots, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < o->slots; i++)
		if (o->handles[i].recorded)
			*slot_of(grown, slots, (enum api_meaning)o->handles[i].meaning,
				 o->handles[i].recorded) = o->handles[i];
	free(o->handles);
	o->handles = grown;
	o->slots = slots;
	return 0;
}

int rex_handle_set(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		   uint64_t here)
{
	struct handle *h;
	int r = 0;

	if (recorded == 0)
		return 0;
	pthread_mutex_lock(&o->lock);
	if (4 * o->n_handles >= 3 * o->slots)
		r = grow(o);
	if (r == 0) {
		h = slot_of(o->handles, o->slots, meaning, recorded);
		o->n_handles += h->recorded == 0;
		*h = (struct handle){recorded, here, (uint8_t)meaning};
	}
	pthread_mutex_unlock(&o->lock);
	return r;
}

bool rex_handle_get(struct rex_objects *o, enum api_meaning meaning, uint64_t recorded,
		    uint64_t *ret)
{
	const struct handle *h;
	bool found;

	pthread_mutex_lock(&o->lock);
	h = slot_of(o->handles, o->slots, meaning, recorded);
	found = h->recorded != 0;
	if (found)
		*ret = h->here;
	pthread_mutex_unlock(&o->lock);
	return found;
}

/* ---- addresses */

/* Returns the index of the first range that ends after `address`. */
static size_t range_at(const struct ranges *all, uint64_t address)
{
	return array_bound(i, 0, all->n, all->items[i].start + all->items[i].bytes <= address);
}

/* Removes ranges that overlap the given one. Returns the index at which to insert it. */
static size_t remove_overlapping(struct ranges *all, uint64_t start, uint64_t bytes)
{
	size_t first = range_at(all, start), end = first;

	while (end < all->n && all->items[end].start < start + bytes)
		end++;
	if (end > first)
		memmove(&all->items[first], &all->items[end],
			(all->n - end) * sizeof(all->items[0]));
	all->n -= end - first;
	return first;
}

static int set_range(struct ranges *all, uint64_t start, uint64_t bytes, uint64_t here)
{
	size_t at;

	if (array_reserve(&all->items, all->n + 1, &all->cap) < 0)
		return -ENOMEM;
	at = remove_overlapping(all, start, bytes);
	memmove(&all->items[at + 1], &all->items[at], (all->n - at) * sizeof(all->items[0]));
	all->items[at] = (struct range){start, bytes, here};
	all->n++;
	return 0;
}

static bool find_address(const struct ranges *all, uint64_t recorded, uint64_t *ret)
{
	size_t i = range_at(all, recorded);
	bool found = i < all->n && all->items[i].start <= recorded;

	if (found)
		*ret = all->items[i].here + (recorded - all->items[i].start);
	return found;
}

int rex_memory_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here)
{
	int r;

	pthread_mutex_lock(&o->lock);
	r = set_range(&o->memory, recorded, bytes, here);
	pthread_mutex_unlock(&o->lock);
	return r;
}

int rex_reserved_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here)
{
	int r;

	pthread_mutex_lock(&o->lock);
	remove_overlapping(&o->memory, recorded, bytes); /* the previous mapping */
	r = set_range(&o->reserved, recorded, bytes, here);
	pthread_mutex_unlock(&o->lock);
	return r;
}

int rex_graph_memory_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here)
{
	int r;

	pthread_mutex_lock(&o->lock);
	r = set_range(&o->memory, recorded, bytes, here)
		    ?: set_range(&o->graphs, recorded, bytes, here);
	pthread_mutex_unlock(&o->lock);
	return r;
}

bool rex_graph_memory_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret)
{
	bool found;

	pthread_mutex_lock(&o->lock);
	found = find_address(&o->graphs, recorded, ret);
	pthread_mutex_unlock(&o->lock);
	return found;
}

bool rex_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret)
{
	bool found;

	pthread_mutex_lock(&o->lock);
	found = find_address(&o->memory, recorded, ret) ||
		find_address(&o->reserved, recorded, ret);
	pthread_mutex_unlock(&o->lock);
	return found;
}

bool rex_memory_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret)
{
	bool found;

	pthread_mutex_lock(&o->lock);
	found = find_address(&o->memory, recorded, ret);
	pthread_mutex_unlock(&o->lock);
	return found;
}

uint64_t rex_count_moved_addresses(struct rex_objects *o, const void *data, size_t bytes)
{
	uint64_t n = 0;

	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t word, here;

		memcpy(&word, (const char *)data + i, 8);
		n += word && find_address(&o->memory, word, &here) && here != word;
	}
	pthread_mutex_unlock(&o->lock);
	return n;
}

bool rex_address_is_mapped(struct rex_objects *o, uint64_t recorded, uint64_t bytes)
{
	const struct ranges *all = &o->memory;
	bool holds;

	pthread_mutex_lock(&o->lock);
	for (size_t i = range_at(all, recorded); bytes > 0 && i < all->n; i++) {
		const struct range *r = &all->items[i], *next = r + 1;
		uint64_t left = r->start <= recorded ? r->bytes - (recorded - r->start) : 0;
		bool goes_on = i + 1 < all->n && next->start == r->start + r->bytes &&
			       next->here == r->here + r->bytes;

		if (left >= bytes)
			bytes = 0;
		else if (left == 0 || !goes_on)
			break;
		bytes -= bytes > 0 ? left : 0;
		recorded += left;
	}
	holds = bytes == 0;
	pthread_mutex_unlock(&o->lock);
	return holds;
}

void *rex_host_memory(struct rex_objects *o, uint64_t recorded, uint64_t bytes)
{
	void *here = NULL;
	size_t i;

	pthread_mutex_lock(&o->lock);
	i = array_bound(k, 0, o->n_hosts,
			o->hosts[k].start < recorded ||
				(o->hosts[k].start == recorded && o->hosts[k].bytes < bytes));
	if (i < o->n_hosts && o->hosts[i].start == recorded) {
		here = o->hosts[i].here;
	} else if (array_reserve(&o->hosts, o->n_hosts + 1, &o->hosts_cap) == 0 &&
		   (here = calloc(1, bytes + 1))) {
		memmove(&o->hosts[i + 1], &o->hosts[i], (o->n_hosts - i) * sizeof(o->hosts[0]));
		o->hosts[i] = (struct host){recorded, bytes, here};
		o->n_hosts++;
	}
	pthread_mutex_unlock(&o->lock);
	return here;
}
