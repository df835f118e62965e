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

/* Host memory that was replaced by a larger one for its address remains: copies may still use
 * it. */
struct host {
	uint64_t start, bytes;
	void *here;
};

struct rex_objects {
	pthread_mutex_t lock;
	struct handle *handles; /* a hash table with open addressing; handles are never removed */
	size_t n_handles, slots;
	struct range *ranges; /* by start */
	size_t n_ranges, ranges_cap;
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
	free(o->ranges);
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
static size_t range_at(const struct rex_objects *o, uint64_t address)
{
	return array_bound(i, 0, o->n_ranges, o->ranges[i].start + o->ranges[i].bytes <= address);
}

static void remove_ranges(struct rex_objects *o, size_t first, size_t end)
{
	memmove(&o->ranges[first], &o->ranges[end], (o->n_ranges - end) * sizeof(o->ranges[0]));
	o->n_ranges -= end - first;
}

int rex_range_set(struct rex_objects *o, uint64_t recorded, uint64_t bytes, uint64_t here)
{
	size_t first, end;
	int r = -ENOMEM;

	pthread_mutex_lock(&o->lock);
	if (array_reserve(&o->ranges, o->n_ranges + 1, &o->ranges_cap) == 0) {
		first = end = range_at(o, recorded);
		while (end < o->n_ranges && o->ranges[end].start < recorded + bytes)
			end++;
		remove_ranges(o, first, end);
		memmove(&o->ranges[first + 1], &o->ranges[first],
			(o->n_ranges - first) * sizeof(o->ranges[0]));
		o->ranges[first] = (struct range){recorded, bytes, here};
		o->n_ranges++;
		r = 0;
	}
	pthread_mutex_unlock(&o->lock);
	return r;
}

bool rex_address(struct rex_objects *o, uint64_t recorded, uint64_t *ret)
{
	size_t i;
	bool found;

	pthread_mutex_lock(&o->lock);
	i = range_at(o, recorded);
	found = i < o->n_ranges && o->ranges[i].start <= recorded;
	if (found)
		*ret = o->ranges[i].here + (recorded - o->ranges[i].start);
	pthread_mutex_unlock(&o->lock);
	return found;
}

bool rex_address_holds(struct rex_objects *o, uint64_t recorded, uint64_t bytes)
{
	bool holds;

	pthread_mutex_lock(&o->lock);
	for (size_t i = range_at(o, recorded); bytes > 0 && i < o->n_ranges; i++) {
		const struct range *r = &o->ranges[i], *next = r + 1;
		uint64_t left = r->start <= recorded ? r->bytes - (recorded - r->start) : 0;
		bool goes_on = i + 1 < o->n_ranges && next->start == r->start + r->bytes &&
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
