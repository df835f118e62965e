/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/place.h"

#include "base/array.h"
#include "replay/device/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#define GRANULE (UINT64_C(2) << 20) /* for device memory: a multiple of all granularities */
#define PAGE UINT64_C(4096)

enum kind {
	DEVICE,	  /* allocated by the driver */
	LOCKED,	  /* pinned host memory allocated by the driver, or managed memory */
	PROGRAM,  /* memory of the program that was pinned */
	RESERVED, /* addresses reserved by the program */
};

struct region {
	uint64_t start, end;
	uint64_t here;	/* its address in this process */
	uint32_t rank;	/* of a device */
	uint8_t kind;	/* enum kind */
	bool guarded;	/* reserved in the address space */
	bool is_mapped; /* usable by the driver, or reserved with it */
};

static struct {
	pthread_mutex_t lock;
	struct region *items; /* by start */
	size_t n, cap;
	/* Allocations of the host, by number after rex_place_find(). */
	struct host {
		uint64_t number, start, bytes;
	} * hosts;
	size_t n_hosts, hosts_cap;
	bool relocates;		/* regions may be moved */
	uint64_t refused;	/* the driver did not put memory there; 0 */
	uint64_t old_addresses; /* number found in memory; see rex_place_scan() */
	bool moved;		/* a region was moved */
} regions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The announced allocation. */
static __thread struct {
	const char *function;
	uint64_t address, pitch_bytes;
} next;

/* ---- recorded memory */

static uint64_t round_up(uint64_t at, uint64_t to)
{
	return (at + to - 1) / to * to;
}

static int kind_of(const struct rex_call *c, const struct api_arg *a)
{
	if (c->api->class == API_CLASS_RESERVE)
		return RESERVED;
	if (strncmp(c->api->name, "cuMemHostRegister", 17) == 0)
		return PROGRAM;
	if (strncmp(c->api->name, "cuMemAlloc", 10) != 0 &&
	    strncmp(c->api->name, "cuMemHostAlloc", 14) != 0)
		return -1; /* of another process, or the driver's own */
	return a->meaning == API_MEANING_HOST || strstr(c->api->name, "Managed") ? LOCKED : DEVICE;
}

static int add_host(const struct rex_call *c, const struct api_arg *a, uint64_t start,
		    uint64_t bytes)
{
	char key[64];
	int64_t number;

	snprintf(key, sizeof(key), "%s.id", a->name);
	if (!rex_args_int(&c->args, key, NULL, &number))
		return 0;
	if (array_reserve(&regions.hosts, regions.n_hosts + 1, &regions.hosts_cap) < 0)
		return -ENOMEM;
	regions.hosts[regions.n_hosts++] = (struct host){(uint64_t)number, start, bytes};
	return 0;
}

static int add_region(const struct rex_call *c, const struct api_arg *a)
{
	static const char *const keys[] = {"bytesize", "size", "bytes"};
	uint64_t unit = PAGE;
	int kind = kind_of(c, a);
	int64_t address = 0, bytes = 0;
	char out[64];

	snprintf(out, sizeof(out), "%s%s", a->name,
		 a->direction == API_DIRECTION_OUT ? ".out" : "");
	if (kind < 0 || !rex_args_int(&c->args, out, NULL, &address) || address == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys) && bytes == 0; i++)
		rex_args_int(&c->args, keys[i], NULL, &bytes);
	if (bytes <= 0 || (uint64_t)address > UINT64_MAX - GRANULE ||
	    (uint64_t)bytes > UINT64_MAX - GRANULE - (uint64_t)address)
		return 0; /* in a damaged trace: the call will fail */
	if (array_reserve(&regions.items, regions.n + 1, &regions.cap) < 0)
		return -ENOMEM;
	if (kind == DEVICE || kind == RESERVED)
		unit = GRANULE;
	if (kind == LOCKED || kind == PROGRAM) {
		int r = add_host(c, a, (uint64_t)address, (uint64_t)bytes);

		if (r < 0)
			return r;
	}
	regions.items[regions.n++] = (struct region){
		.start = (uint64_t)address / unit * unit,
		.end = round_up((uint64_t)address + (uint64_t)bytes, unit),
		.rank = c->rank,
		.kind = (uint8_t)kind,
	};
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	return array_order(x->number, y->number);
}

static int by_start(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return array_order(x->start, y->start) ?: array_order(x->kind, y->kind);
}

/* Returns true if `b`, which does not begin before `a`, can be merged with it. */
static bool are_one(const struct region *a, const struct region *b)
{
	return a->kind == b->kind && a->kind != RESERVED &&
	       (a->kind != DEVICE || a->rank == b->rank) && b->start <= a->end;
}

int rex_place_find(const struct rex_process *p)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < p->n_calls && r == 0; i++) {
		const struct rex_call *c = &p->calls[i];

		if (c->skipped || c->result != 0 ||
		    (c->api->class != API_CLASS_ALLOC && c->api->class != API_CLASS_RESERVE))
			continue;
		for (unsigned k = 0; k < c->api->n_args; k++) {
			const struct api_arg *a = &c->api->args[k];

			if (a->meaning != API_MEANING_DEVPTR && a->meaning != API_MEANING_HOST)
				continue;
			r = add_region(c, a);
			break;
		}
	}
	if (r < 0 || regions.n == 0)
		return r;
	qsort(regions.items, regions.n, sizeof(regions.items[0]), by_start);
	if (regions.n_hosts > 0)
		qsort(regions.hosts, regions.n_hosts, sizeof(regions.hosts[0]), by_number);
	for (size_t i = 1; i < regions.n; i++) {
		struct region *last = &regions.items[kept], *now = &regions.items[i];

		if (are_one(last, now))
			last->end = last->end > now->end ? last->end : now->end;
		else if (now->start < last->end && now->kind != RESERVED)
			return -EEXIST;
		else if (now->start != last->start || now->end != last->end)
			regions.items[++kept] = *now;
	}
	regions.n = kept + 1;
	return 0;
}

int rex_place_reserve(bool relocate, bool can_retry, uint64_t *taken)
{
	regions.relocates = relocate;
	for (size_t i = 0; i < regions.n; i++) {
		struct region *r = &regions.items[i];
		bool is_host = r->kind == LOCKED || r->kind == PROGRAM;
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
		void *at = mmap((void *)r->start, r->end - r->start,
				is_host ? PROT_READ | PROT_WRITE : PROT_NONE,
				flags | MAP_FIXED_NOREPLACE, -1, 0);

		int e = at == MAP_FAILED ? errno : EEXIST;

		r->here = r->start;
		if ((r->guarded = at == (void *)r->start))
			continue;
		*taken = r->start;
		if (!relocate || (can_retry && e == EEXIST)) /* a new process has another layout */
			return -e;
		if (at != MAP_FAILED)
			munmap(at, r->end - r->start);
		if (!is_host)
			continue;
		at = mmap(NULL, r->end - r->start, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (at == MAP_FAILED)
			return -errno;
		r->here = (uint64_t)at;
		regions.moved = true;
	}
	return 0;
}

int rex_place_note(struct rex_objects *objects)
{
	int r = 0;

	for (size_t i = 0; i < regions.n && r == 0; i++)
		if (regions.items[i].kind == PROGRAM)
			r = rex_range_set(objects, regions.items[i].start,
					  regions.items[i].end - regions.items[i].start,
					  regions.items[i].here);
	return r;
}

/* ---- the driver */

static struct region *region_of(uint64_t address)
{
	size_t i = array_bound(k, 0, regions.n, regions.items[k].end <= address);

	while (i < regions.n && regions.items[i].start <= address &&
	       regions.items[i].kind == RESERVED)
		i++;
	return i < regions.n && regions.items[i].start <= address ? &regions.items[i] : NULL;
}

/* Gives access to the device and to all devices that can access its memory. */
static int give_access(const struct region *r, int device)
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

/* Reserves the addresses of the region with the driver. */
static int reserve_region(struct region *r, uint64_t bytes)
{
	int rc = rex_driver_reserve(&r->here, bytes, r->start);

	regions.moved |= rc == 0 && r->here != r->start;
	if (rc != 0 || r->here == r->start || regions.relocates)
		return rc;
	rex_driver_unreserve(r->here, bytes);
	regions.refused = r->start;
	return REX_INVALID_VALUE;
}

static int map_device(struct region *r)
{
	struct rex_driver_prop prop = {.type = REX_PINNED, .location = {REX_ON_DEVICE, 0}};
	uint64_t handle, bytes = r->end - r->start;
	int rc = rex_driver.device(&prop.location.id);

	if (rc == 0 && r->guarded)
		munmap((void *)r->start, bytes);
	if (rc == 0)
		rc = reserve_region(r, bytes);
	if (rc == 0)
		rc = rex_driver.create(&handle, bytes, &prop, 0);
	if (rc != 0)
		return rc;
	rc = rex_driver.map(r->here, bytes, 0, handle, 0);
	rex_driver.release(handle); /* the mapping keeps it */
	return rc ? rc : give_access(r, prop.location.id);
}

/* Translates a recorded address; maps its region first. A result of the driver. */
static int place(uint64_t address, uint64_t *ret)
{
	struct region *r;
	int rc = 0;

	pthread_mutex_lock(&regions.lock);
	r = region_of(address);
	if (!r)
		rc = REX_INVALID_VALUE;
	else if (!r->is_mapped)
		rc = r->kind == DEVICE ? map_device(r)
				       : rex_driver.lock_pages((void *)r->here, r->end - r->start,
							       REX_PORTABLE | REX_DEVICE_MAP);
	if (rc == 0) {
		r->is_mapped = true;
		*ret = r->here + (address - r->start);
	}
	pthread_mutex_unlock(&regions.lock);
	return rc;
}

void *rex_place_host(uint64_t number, uint64_t offset_bytes, uint64_t length_bytes)
{
	size_t i = array_bound(k, 0, regions.n_hosts, regions.hosts[k].number < number);

	for (; i < regions.n_hosts && regions.hosts[i].number == number; i++) {
		const struct host *h = &regions.hosts[i];
		const struct region *r = region_of(h->start);

		if (r && r->is_mapped && offset_bytes <= h->bytes &&
		    length_bytes <= h->bytes - offset_bytes)
			return (char *)r->here + (h->start - r->start) + offset_bytes;
	}
	return NULL;
}

uint64_t rex_place_refused(void)
{
	return regions.refused;
}

void rex_place_scan(struct rex_objects *objects, const void *data, size_t bytes)
{
	pthread_mutex_lock(&regions.lock);
	if (regions.moved)
		regions.old_addresses += rex_moved_addresses(objects, data, bytes);
	pthread_mutex_unlock(&regions.lock);
}

void rex_place_count(struct rex_counts *counts)
{
	pthread_mutex_lock(&regions.lock);
	for (size_t i = 0; i < regions.n; i++) {
		const struct region *r = &regions.items[i];

		counts->regions += r->is_mapped;
		counts->moved_regions += r->is_mapped && r->here != r->start;
	}
	counts->old_addresses += regions.old_addresses;
	pthread_mutex_unlock(&regions.lock);
}

int rex_place_synchronize(void)
{
	return rex_driver.synchronize ? rex_driver.synchronize() : 0;
}

/* ---- replacements of driver functions */

void rex_place_next(const char *function, uint64_t address, uint64_t pitch_bytes)
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
	for (size_t i = 0; i < regions.n; i++)
		if (regions.items[i].is_mapped && regions.items[i].kind != RESERVED &&
		    here - regions.items[i].here < regions.items[i].end - regions.items[i].start)
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
		return address ? place(address, ret) : real arguments;                             \
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
	return place(address, ret);
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

/* Reserves the recorded addresses for the program itself. */
static int (*real_reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
static int reserve(uint64_t *ret, size_t bytes, size_t align, uint64_t at, unsigned long long flags)
{
	uint64_t address = take_next("cuMemAddressReserve");
	struct region *r = regions.items, *end = r + regions.n, *reserved = NULL;
	int rc;

	for (; address && r < end; r++) {
		if (r->start == address && take(r->guarded))
			munmap((void *)address, bytes);
		if (r->start == address && r->kind == RESERVED)
			reserved = r;
	}
	if (!reserved)
		return real_reserve(ret, bytes, align, at, flags);
	pthread_mutex_lock(&regions.lock);
	rc = reserve_region(reserved, bytes);
	reserved->is_mapped = rc == 0;
	*ret = reserved->here;
	pthread_mutex_unlock(&regions.lock);
	return rc;
}

void *rex_place_wrap(const char *name, void *real, void *(*find)(const char *name))
{
	static const struct {
		const char *name;
		void *here, *real;
	} all[] = {
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
		{"cuMemAddressReserve", reserve, &real_reserve},
		{"cuMemAddressFree", rex_driver_unreserve, &rex_driver.unreserve},
	};

	if (!rex_driver.reserve && real)
		rex_driver_find(find);
	if (!real || regions.n == 0)
		return real;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		memcpy(all[i].real, &real, sizeof(real));
		return all[i].here;
	}
	return real;
}
