/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/placement.h"

#include "base/array.h"
#include "replay/device/driver.h"
#include "replay/device/regions.h"

/* The announced allocation. */
static __thread struct {
	const char *function;
	uint64_t address, pitch_bytes;
} next;

/* ---- the driver */

static struct rex_region *region_of(uint64_t address)
{
	size_t i = array_bound(k, 0, rex_regions.n, rex_regions.items[k].end <= address);

	while (i < rex_regions.n && rex_regions.items[i].start <= address &&
	       rex_regions.items[i].kind == REX_RESERVED)
		i++;
	return i < rex_regions.n && rex_regions.items[i].start <= address ? &rex_regions.items[i]
									  : NULL;
}

/* Gives access to the device and to all devices that can access its memory. */
static int give_access(const struct rex_region *r, int device)
{
	struct rex_driver_access all[64];
	int n = 0, devices = 0, can;

	rex_driver.count(&devices);
	for (int i = 0; i < devices && n < (int)ARRAY_SIZE(all); i++) {
		if (i != device && (rex_driver.can_access(&can, i, device) != 0 || !can))
			continue;
		all[n++] = (struct rex_driver_access){{REX_ON_DEVICE, i}, REX_READ_WRITE};
	}
	return rex_driver.set_access(r->here, r->end - r->start, all, (size_t)n);
}

static int map_device(struct rex_region *r, int device)
{
	struct rex_driver_prop prop = {.type = REX_PINNED, .location = {REX_ON_DEVICE, device}};
	uint64_t handle, bytes = r->end - r->start;
	int rc = device < 0 ? rex_driver.device(&prop.location.id) : 0;

	if (rc == 0)
		rc = rex_region_reserve(r);
	if (rc == 0)
		rc = rex_driver.create(&handle, bytes, &prop, 0);
	if (rc != 0)
		return rc;
	rc = rex_driver.map(r->here, bytes, 0, handle, 0);
	rex_driver.release(handle); /* the mapping keeps it */
	return rc ? rc : give_access(r, prop.location.id);
}

/* Translates a recorded address; maps its region first, on the device if that is not negative, or
 * the current one. A result of the driver. */
static int place_on(int device, uint64_t address, uint64_t *ret)
{
	struct rex_region *r;
	int rc = 0;

	pthread_mutex_lock(&rex_regions.lock);
	r = region_of(address);
	if (!r)
		rc = REX_INVALID_VALUE;
	else if (!r->is_mapped)
		rc = r->kind == REX_DEVICE
			     ? map_device(r, device)
			     : rex_driver.lock_pages((void *)r->here, r->end - r->start,
						     REX_PORTABLE | REX_DEVICE_MAP);
	if (rc == 0) {
		r->is_mapped = true;
		*ret = r->here + (address - r->start);
	}
	pthread_mutex_unlock(&rex_regions.lock);
	return rc;
}

static int place_memory(uint64_t address, uint64_t *ret)
{
	return place_on(-1, address, ret);
}

void *rex_placement_host(struct rex_objects *objects, uint64_t number, uint64_t offset_bytes,
			 uint64_t length_bytes)
{
	size_t i = array_bound(k, 0, rex_regions.n_hosts, rex_regions.hosts[k].number < number);

	for (; i < rex_regions.n_hosts && rex_regions.hosts[i].number == number; i++) {
		const struct rex_region_host *h = &rex_regions.hosts[i];
		const struct rex_region *r = region_of(h->start);
		uint64_t here;

		if (offset_bytes > h->bytes || length_bytes > h->bytes - offset_bytes)
			continue;
		if (r && (r->is_mapped || r->kind == REX_PROGRAM))
			return (char *)r->here + (h->start - r->start) + offset_bytes;
		if (!r && rex_address_is_mapped(objects, h->start + offset_bytes, length_bytes) &&
		    rex_memory_address(objects, h->start + offset_bytes, &here))
			return (char *)here;
	}
	return NULL;
}

uint64_t rex_placement_refused(void)
{
	return rex_regions.refused;
}

void rex_placement_count_stale(struct rex_objects *objects, const void *data, size_t bytes)
{
	pthread_mutex_lock(&rex_regions.lock);
	if (rex_regions.moved)
		rex_regions.old_addresses += rex_count_moved_addresses(objects, data, bytes);
	pthread_mutex_unlock(&rex_regions.lock);
}

void rex_placement_count(struct rex_counts *counts)
{
	pthread_mutex_lock(&rex_regions.lock);
	for (size_t i = 0; i < rex_regions.n; i++) {
		const struct rex_region *r = &rex_regions.items[i];

		counts->regions += r->is_mapped;
		counts->moved_regions += r->is_mapped && r->here != r->start;
	}
	counts->old_addresses += rex_regions.old_addresses;
	pthread_mutex_unlock(&rex_regions.lock);
}

int rex_placement_synchronize(void)
{
	return rex_driver.synchronize ? rex_driver.synchronize() : 0;
}

/* ---- replacements of driver functions */

static int (*real_init)(unsigned flags);
static int init(unsigned flags)
{
	static bool is_done;
	int rc;

	pthread_mutex_lock(&rex_regions.lock);
	rex_regions_unguard();
	rc = real_init(flags);
	if (rc == 0 && !is_done) {
		rc = rex_regions_reserve_again();
		is_done = true;
	}
	pthread_mutex_unlock(&rex_regions.lock);
	return rc;
}

void rex_placement_set_next(const char *function, uint64_t address, uint64_t pitch_bytes)
{
	next.function = function;
	next.address = address;
	next.pitch_bytes = pitch_bytes;
}

/* Returns the address announced for a call of that function, or 0. */
static uint64_t take_next(const char *function)
{
	if (!next.address || strcmp(next.function, function) != 0)
		return 0;
	return take(next.address);
}

static bool is_placed(uint64_t here)
{
	for (size_t i = 0; i < rex_regions.n; i++)
		if (rex_regions.items[i].is_mapped && rex_regions.items[i].kind != REX_RESERVED &&
		    here - rex_regions.items[i].here <
			    rex_regions.items[i].end - rex_regions.items[i].start)
			return true;
	return false;
}

/* Allocates as recorded if an address was announced; else like the driver. */
#define ALLOCATES(function, name, real, parameters, arguments)                                     \
	static int(*real) parameters;                                                              \
	static int function parameters                                                             \
	{                                                                                          \
		uint64_t address = take_next(name);                                                \
                                                                                                   \
		return address ? place_memory(address, ret) : real arguments;                      \
	}

ALLOCATES(alloc, "cuMemAlloc_v2", real_alloc, (uint64_t * ret, size_t n), (ret, n))
ALLOCATES(alloc_async, "cuMemAllocAsync", real_alloc_async,
	  (uint64_t * ret, size_t n, void *stream), (ret, n, stream))
ALLOCATES(alloc_async_ptsz, "cuMemAllocAsync_ptsz", real_alloc_async_ptsz,
	  (uint64_t * ret, size_t n, void *stream), (ret, n, stream))
ALLOCATES(alloc_pool, "cuMemAllocFromPoolAsync", real_alloc_pool,
	  (uint64_t * ret, size_t n, void *pool, void *stream), (ret, n, pool, stream))
ALLOCATES(alloc_pool_ptsz, "cuMemAllocFromPoolAsync_ptsz", real_alloc_pool_ptsz,
	  (uint64_t * ret, size_t n, void *pool, void *stream), (ret, n, pool, stream))
ALLOCATES(alloc_managed, "cuMemAllocManaged", real_alloc_managed,
	  (uint64_t * ret, size_t n, unsigned flags), (ret, n, flags))
ALLOCATES(alloc_host, "cuMemAllocHost_v2", real_alloc_host, (uint64_t * ret, size_t n), (ret, n))
ALLOCATES(host_alloc, "cuMemHostAlloc", real_host_alloc, (uint64_t * ret, size_t n, unsigned flags),
	  (ret, n, flags))

static int (*real_alloc_pitch)(uint64_t *, size_t *, size_t, size_t, unsigned);
static int alloc_pitch(uint64_t *ret, size_t *pitch, size_t width, size_t height, unsigned element)
{
	uint64_t address = take_next("cuMemAllocPitch_v2");

	if (!address)
		return real_alloc_pitch(ret, pitch, width, height, element);
	*pitch = next.pitch_bytes;
	return place_memory(address, ret);
}

static int (*real_free)(uint64_t at);
static int free_device(uint64_t at)
{
	return is_placed(at) ? rex_driver.synchronize() : real_free(at);
}

static int (*real_free_async)(uint64_t at, void *stream);
static int free_async(uint64_t at, void *stream)
{
	return is_placed(at) ? 0 : real_free_async(at, stream);
}

static int (*real_free_async_ptsz)(uint64_t at, void *stream);
static int free_async_ptsz(uint64_t at, void *stream)
{
	return is_placed(at) ? 0 : real_free_async_ptsz(at, stream);
}

static int (*real_free_host)(uint64_t at);
static int free_host(uint64_t at)
{
	return is_placed(at) ? rex_driver.synchronize() : real_free_host(at);
}

/* ---- memory of graphs: it stays mapped, too, so the nodes of allocations become empty */

static int (*real_add_alloc)(void **, void *, void *const *, size_t,
			     struct rex_driver_alloc_node *);
static int add_alloc(void **ret, void *graph, void *const *deps, size_t n,
		     struct rex_driver_alloc_node *p)
{
	uint64_t address = take_next("cuGraphAddMemAllocNode");
	int rc;

	if (!address)
		return real_add_alloc(ret, graph, deps, n, p);
	rc = place_on(p->location.id, address, &p->at);
	return rc ? rc : rex_driver.add_empty_node(ret, graph, deps, n);
}

static int (*real_add_free)(void **, void *, void *const *, size_t, uint64_t);
static int add_free(void **ret, void *graph, void *const *deps, size_t n, uint64_t at)
{
	return is_placed(at) ? rex_driver.add_empty_node(ret, graph, deps, n)
			     : real_add_free(ret, graph, deps, n, at);
}

/* Both, added by the function for any kind of node. */
#define ADDS(function, name, parameters, arguments)                                                \
	static int(*real_##function) parameters;                                                   \
	static int function parameters                                                             \
	{                                                                                          \
		uint64_t address = take_next(name);                                                \
		int rc = address ? place_on(p->alloc.location.id, address, &p->alloc.at) : 0;      \
                                                                                                   \
		if (!address && (p->type != REX_NODE_FREE || !is_placed(p->freed)))                \
			return real_##function arguments;                                          \
		return rc ? rc : rex_driver.add_empty_node(ret, graph, deps, n);                   \
	}

ADDS(add_node, "cuGraphAddNode",
     (void **ret, void *graph, void *const *deps, size_t n, struct rex_driver_node *p),
     (ret, graph, deps, n, p))
ADDS(add_node_v2, "cuGraphAddNode_v2",
     (void **ret, void *graph, void *const *deps, const void *edges, size_t n,
      struct rex_driver_node *p),
     (ret, graph, deps, edges, n, p))

/* ---- reservations of the program, which stay until the end */

static int (*real_reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
static int reserve(uint64_t *ret, size_t bytes, size_t align, uint64_t at, unsigned long long flags)
{
	uint64_t address = take_next("cuMemAddressReserve");
	struct rex_region *r = rex_regions.items, *end = r + rex_regions.n;
	int rc;

	while (address && r < end &&
	       (r->kind != REX_RESERVED || r->start != address || r->end - address != bytes))
		r++;
	if (!address || r == end)
		return real_reserve(ret, bytes, align, at, flags);
	pthread_mutex_lock(&rex_regions.lock);
	rc = rex_region_reserve(r);
	r->is_mapped = rc == 0;
	*ret = r->here;
	pthread_mutex_unlock(&rex_regions.lock);
	return rc;
}

static int unreserve(uint64_t at, size_t bytes)
{
	bool is_kept;

	pthread_mutex_lock(&rex_regions.lock);
	is_kept = rex_regions_has_reserved(at);
	pthread_mutex_unlock(&rex_regions.lock);
	return is_kept ? 0 : rex_driver.unreserve(at, bytes);
}

/* ---- hints */

/* Managed memory is page-locked memory here, for which the driver takes no hints. */
#define HINTS(function, address, parameters, arguments)                                            \
	static int(*real_##function) parameters;                                                   \
	static int function parameters                                                             \
	{                                                                                          \
		return is_placed(address) ? 0 : real_##function arguments;                         \
	}

HINTS(advise, at, (uint64_t at, size_t n, int advice, int device), (at, n, advice, device))
HINTS(advise_v2, at, (uint64_t at, size_t n, int advice, struct rex_driver_location to),
      (at, n, advice, to))
HINTS(prefetch, at, (uint64_t at, size_t n, int device, void *stream), (at, n, device, stream))
HINTS(prefetch_ptsz, at, (uint64_t at, size_t n, int device, void *stream), (at, n, device, stream))
HINTS(prefetch_v2, at,
      (uint64_t at, size_t n, struct rex_driver_location to, unsigned flags, void *stream),
      (at, n, to, flags, stream))
HINTS(prefetch_v2_ptsz, at,
      (uint64_t at, size_t n, struct rex_driver_location to, unsigned flags, void *stream),
      (at, n, to, flags, stream))
HINTS(attach, at, (void *stream, uint64_t at, size_t n, unsigned flags), (stream, at, n, flags))
HINTS(attach_ptsz, at, (void *stream, uint64_t at, size_t n, unsigned flags),
      (stream, at, n, flags))

void *rex_placement_wrap(const char *name, void *real, void *(*find)(const char *name))
{
	static const struct {
		const char *name;
		void *here, *real;
	} all[] = {
		{"cuInit", init, &real_init},
		{"cuMemAlloc_v2", alloc, &real_alloc},
		{"cuMemAllocAsync", alloc_async, &real_alloc_async},
		{"cuMemAllocAsync_ptsz", alloc_async_ptsz, &real_alloc_async_ptsz},
		{"cuMemAllocFromPoolAsync", alloc_pool, &real_alloc_pool},
		{"cuMemAllocFromPoolAsync_ptsz", alloc_pool_ptsz, &real_alloc_pool_ptsz},
		{"cuMemAllocManaged", alloc_managed, &real_alloc_managed},
		{"cuMemAllocPitch_v2", alloc_pitch, &real_alloc_pitch},
		{"cuMemAllocHost_v2", alloc_host, &real_alloc_host},
		{"cuMemHostAlloc", host_alloc, &real_host_alloc},
		{"cuMemFree_v2", free_device, &real_free},
		{"cuMemFreeAsync", free_async, &real_free_async},
		{"cuMemFreeAsync_ptsz", free_async_ptsz, &real_free_async_ptsz},
		{"cuMemFreeHost", free_host, &real_free_host},
		{"cuGraphAddMemAllocNode", add_alloc, &real_add_alloc},
		{"cuGraphAddMemFreeNode", add_free, &real_add_free},
		{"cuGraphAddNode", add_node, &real_add_node},
		{"cuGraphAddNode_v2", add_node_v2, &real_add_node_v2},
		{"cuMemAddressReserve", reserve, &real_reserve},
		{"cuMemAddressFree", unreserve, &rex_driver.unreserve},
		{"cuMemAdvise", advise, &real_advise},
		{"cuMemAdvise_v2", advise_v2, &real_advise_v2},
		{"cuMemPrefetchAsync", prefetch, &real_prefetch},
		{"cuMemPrefetchAsync_ptsz", prefetch_ptsz, &real_prefetch_ptsz},
		{"cuMemPrefetchAsync_v2", prefetch_v2, &real_prefetch_v2},
		{"cuMemPrefetchAsync_v2_ptsz", prefetch_v2_ptsz, &real_prefetch_v2_ptsz},
		{"cuStreamAttachMemAsync", attach, &real_attach},
		{"cuStreamAttachMemAsync_ptsz", attach_ptsz, &real_attach_ptsz},
	};

	if (!rex_driver.reserve && real)
		rex_driver_find(find);
	if (!real || rex_regions.n == 0)
		return real;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		memcpy(all[i].real, &real, sizeof(real));
		return all[i].here;
	}
	return real;
}
