/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/regions.h"

#include "base/array.h"
#include "replay/device/driver.h"

#include <stdio.h>
#include <sys/mman.h>

#define GRANULE (UINT64_C(2) << 20) /* for device memory: a multiple of all granularities */
#define BLOCK (UINT64_C(32) << 20)
#define PAGE UINT64_C(4096)
#define DRIVER_BYTES (UINT64_C(32) << 30) /* more than the driver maps for itself */

struct rex_regions rex_regions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t round_up(uint64_t at, uint64_t to)
{
	return (at + to - 1) / to * to;
}

static bool is_host(const struct rex_region *r)
{
	return r->kind == REX_LOCKED || r->kind == REX_PROGRAM;
}

static int kind_of(const struct rex_call *c, const struct api_arg *a)
{
	if (c->api->class == API_CLASS_RESERVE)
		return REX_RESERVED;
	if (strncmp(c->api->name, "cuMemHostRegister", 17) == 0)
		return REX_PROGRAM;
	if (strncmp(c->api->name, "cuMemAlloc", 10) != 0 &&
	    strncmp(c->api->name, "cuMemHostAlloc", 14) != 0)
		return -1; /* memory of another process, or of the driver itself */
	return a->meaning == API_MEANING_HOST || strstr(c->api->name, "Managed") ? REX_LOCKED
										 : REX_DEVICE;
}

static bool number_of(const struct rex_call *c, const struct api_arg *a, int64_t *ret)
{
	char key[64];

	snprintf(key, sizeof(key), "%s.id", a->name);
	return rex_args_int(&c->args, key, NULL, ret);
}

static int add_host(const struct rex_call *c, const struct api_arg *a, uint64_t start,
		    uint64_t bytes)
{
	int64_t number;

	if (!number_of(c, a, &number))
		return 0;
	if (array_reserve(&rex_regions.hosts, rex_regions.n_hosts + 1, &rex_regions.hosts_cap) < 0)
		return -ENOMEM;
	rex_regions.hosts[rex_regions.n_hosts++] =
		(struct rex_region_host){(uint64_t)number, start, bytes};
	return 0;
}

/* The parameters of its own function, and of the function for any kind of node. */
bool rex_regions_alloc_node(const struct rex_call *c, uint64_t *address, uint64_t *bytes)
{
	int64_t at = 0, n = 0;

	if (c->api->class != API_CLASS_GRAPH_NODE)
		return false;
	if (!rex_args_int(&c->args, "nodeParams.out.bytesize", NULL, &n) ||
	    !rex_args_int(&c->args, "nodeParams.out.dptr", NULL, &at)) {
		rex_args_int(&c->args, "nodeParams.out.alloc.bytesize", NULL, &n);
		rex_args_int(&c->args, "nodeParams.out.alloc.dptr", NULL, &at);
	}
	*address = (uint64_t)at;
	*bytes = (uint64_t)n;
	return at != 0 && n > 0;
}

static int add_range(const struct rex_call *c, int kind, uint64_t address, uint64_t bytes)
{
	uint64_t unit = kind == REX_DEVICE || kind == REX_RESERVED ? GRANULE : PAGE;

	if (bytes == 0 || address > UINT64_MAX - BLOCK || bytes > UINT64_MAX - BLOCK - address)
		return 0; /* in a damaged trace: the call will fail */
	if (array_reserve(&rex_regions.items, rex_regions.n + 1, &rex_regions.cap) < 0)
		return -ENOMEM;
	rex_regions.items[rex_regions.n++] = (struct rex_region){
		.start = address / unit * unit,
		.end = round_up(address + bytes, unit),
		.rank = c->rank,
		.kind = (uint8_t)kind,
	};
	return 0;
}

static int add_region(const struct rex_call *c, const struct api_arg *a)
{
	static const char *const keys[] = {"bytesize", "size", "bytes"};
	int kind = kind_of(c, a);
	int64_t address = 0, bytes = 0;
	char out[64];
	int r = 0;

	snprintf(out, sizeof(out), "%s%s", a->name,
		 a->direction == API_DIRECTION_OUT ? ".out" : "");
	if (kind < 0 || !rex_args_int(&c->args, out, NULL, &address) || address == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys) && bytes == 0; i++)
		rex_args_int(&c->args, keys[i], NULL, &bytes);
	if (bytes <= 0)
		return 0;
	if (kind == REX_LOCKED || kind == REX_PROGRAM)
		r = add_host(c, a, (uint64_t)address, (uint64_t)bytes);
	return r < 0 ? r : add_range(c, kind, (uint64_t)address, (uint64_t)bytes);
}

static int by_value(const void *a, const void *b)
{
	return array_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int find_shared(const struct rex_process *p)
{
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct rex_call *c = &p->calls[i];
		int64_t number;

		if (strcmp(c->api->name, "cuIpcGetMemHandle") != 0 ||
		    !number_of(c, &c->api->args[1], &number))
			continue;
		if (array_reserve(&rex_regions.shared, rex_regions.n_shared + 1,
				  &rex_regions.shared_cap) < 0)
			return -ENOMEM;
		rex_regions.shared[rex_regions.n_shared++] = (uint64_t)number;
	}
	rex_regions.moved = rex_regions.n_shared > 0;
	if (rex_regions.n_shared > 0)
		qsort(rex_regions.shared, rex_regions.n_shared, sizeof(rex_regions.shared[0]),
		      by_value);
	return 0;
}

bool rex_regions_is_shared(const struct rex_call *c)
{
	int64_t number;

	if (rex_regions.n_shared == 0 || !number_of(c, &c->api->args[0], &number))
		return false;
	return bsearch(&(uint64_t){(uint64_t)number}, rex_regions.shared, rex_regions.n_shared,
		       sizeof(rex_regions.shared[0]), by_value) != NULL;
}

/* cuLibraryGetManaged(dptr, ...). The driver places the variable, so it has no region. */
static int add_managed_variable(const struct rex_call *c)
{
	int64_t address = 0, bytes = 0;

	return rex_args_int(&c->args, "dptr.out", NULL, &address) &&
			       rex_args_int(&c->args, "bytes.out", NULL, &bytes)
		       ? add_host(c, &c->api->args[0], (uint64_t)address, (uint64_t)bytes)
		       : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct rex_region_host *x = a, *y = b;

	return array_order(x->number, y->number);
}

static int by_start(const void *a, const void *b)
{
	const struct rex_region *x = a, *y = b;

	return array_order(x->start, y->start) ?: array_order(x->kind, y->kind);
}

/* Returns true if `b`, which does not begin before `a`, can be merged with it. */
static bool can_merge(const struct rex_region *a, const struct rex_region *b)
{
	return a->kind == b->kind && a->kind != REX_RESERVED &&
	       (a->kind != REX_DEVICE || a->rank == b->rank) && b->start <= a->end;
}

static struct rex_block *last_block(void)
{
	return rex_regions.n_blocks > 0 ? &rex_regions.blocks[rex_regions.n_blocks - 1] : NULL;
}

/* Adds a block to the list; `start` to `end` may overlap the last one, which then grows. */
static int add_block(uint64_t start, uint64_t end)
{
	struct rex_block *last = last_block();

	if (start >= end)
		return -EEXIST;
	if (last && start < last->end) {
		last->end = last->end > end ? last->end : end;
		return 0;
	}
	if (array_reserve(&rex_regions.blocks, rex_regions.n_blocks + 1, &rex_regions.blocks_cap) <
	    0)
		return -ENOMEM;
	rex_regions.blocks[rex_regions.n_blocks++] = (struct rex_block){.start = start, .end = end};
	return 0;
}

/* Finds the blocks of the sorted regions. Host memory beside them does not belong to a block. */
static int find_blocks(void)
{
	uint64_t host_end = 0;
	int r = 0;

	for (size_t i = 0; i < rex_regions.n && r == 0; i++) {
		const struct rex_region *region = &rex_regions.items[i];
		uint64_t start = region->start / BLOCK * BLOCK;
		struct rex_block *last = last_block();

		if (!is_host(region)) {
			if (start < host_end)
				start = round_up(host_end, GRANULE);
			r = add_block(start, round_up(region->end, BLOCK));
			continue;
		}
		host_end = region->end > host_end ? region->end : host_end;
		if (last && last->end > region->start)
			last->end = region->start / GRANULE * GRANULE;
	}
	return r;
}

int rex_regions_find(const struct rex_process *p)
{
	uint64_t memory_end = 0; /* of all memory so far */
	uint64_t address, bytes;
	size_t kept = 0;
	int r = find_shared(p);

	for (size_t i = 0; i < p->n_calls && r == 0; i++) {
		const struct rex_call *c = &p->calls[i];

		if (c->skipped || c->result != 0)
			continue;
		if (strcmp(c->api->name, "cuLibraryGetManaged") == 0)
			r = add_managed_variable(c);
		if (rex_regions_alloc_node(c, &address, &bytes))
			r = add_range(c, REX_DEVICE, address, bytes);
		if ((c->api->class != API_CLASS_ALLOC && c->api->class != API_CLASS_RESERVE) ||
		    rex_regions_is_shared(c) || r < 0)
			continue;
		for (unsigned k = 0; k < c->api->n_args; k++) {
			const struct api_arg *a = &c->api->args[k];

			if (a->meaning != API_MEANING_DEVPTR && a->meaning != API_MEANING_HOST)
				continue;
			r = add_region(c, a);
			break;
		}
	}
	if (rex_regions.n_hosts > 0)
		qsort(rex_regions.hosts, rex_regions.n_hosts, sizeof(rex_regions.hosts[0]),
		      by_number);
	if (r < 0 || rex_regions.n == 0)
		return r;
	qsort(rex_regions.items, rex_regions.n, sizeof(rex_regions.items[0]), by_start);
	for (size_t i = 1; i < rex_regions.n; i++) {
		struct rex_region *last = &rex_regions.items[kept], *now = &rex_regions.items[i];

		if (last->end > memory_end && last->kind != REX_RESERVED)
			memory_end = last->end;
		if (can_merge(last, now))
			last->end = last->end > now->end ? last->end : now->end;
		else if (now->start < memory_end && now->kind != REX_RESERVED)
			return -EEXIST;
		else if (now->start != last->start || now->end != last->end)
			rex_regions.items[++kept] = *now;
	}
	rex_regions.n = kept + 1;
	return find_blocks();
}

#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Keeps other memory of this process from addresses. Returns a positive errno. */
static int guard(uint64_t start, uint64_t end, int access)
{
	void *at = mmap((void *)start, end - start, access, FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == (void *)start)
		return 0;
	if (at == MAP_FAILED)
		return errno;
	munmap(at, end - start);
	return EEXIST;
}

/* Reserves a region of host memory. */
static int reserve_host(struct rex_region *r, bool relocate, bool can_retry)
{
	int e = guard(r->start, r->end, PROT_READ | PROT_WRITE);
	void *at;

	r->here = r->start;
	if (e == 0)
		return 0;
	if (!relocate || (can_retry && e == EEXIST)) /* a new process has another layout */
		return -e;
	at = mmap(NULL, r->end - r->start, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->here = (uint64_t)at;
	rex_regions.moved = true;
	return 0;
}

/* Returns a recorded address where the kernel would place the driver's own memory now; 0: none. */
static uint64_t driver_address(void)
{
	uint8_t *at = mmap(NULL, DRIVER_BYTES, PROT_NONE, FLAGS, -1, 0);
	uint64_t start = (uint64_t)at, ret = 0;

	if (at == MAP_FAILED)
		return 0;
	munmap(at, DRIVER_BYTES);
	for (size_t i = 0; i < rex_regions.n; i++)
		if (rex_regions.items[i].start < start + DRIVER_BYTES &&
		    start < rex_regions.items[i].end)
			ret = rex_regions.items[i].start;
	return ret;
}

int rex_regions_reserve(bool relocate, bool can_retry, uint64_t *taken)
{
	uint64_t address;
	int r = 0;

	rex_regions.relocates = relocate;
	for (size_t i = 0; i < rex_regions.n && r == 0; i++) {
		*taken = rex_regions.items[i].start;
		if (is_host(&rex_regions.items[i]))
			r = reserve_host(&rex_regions.items[i], relocate, can_retry);
	}
	for (size_t i = 0; i < rex_regions.n_blocks && r == 0; i++) {
		struct rex_block *b = &rex_regions.blocks[i];

		*taken = b->start;
		r = -guard(b->start, b->end, PROT_NONE);
		b->is_guarded = r == 0;
		if (relocate && !(can_retry && r == -EEXIST))
			r = 0;
	}
	address = r == 0 && can_retry ? driver_address() : 0;
	if (address == 0)
		return r;
	*taken = address;
	return -EEXIST;
}

static struct rex_objects *noted; /* of the process */

int rex_regions_note(struct rex_objects *objects)
{
	int r = 0;

	noted = objects;
	for (size_t i = 0; i < rex_regions.n && r == 0; i++)
		if (rex_regions.items[i].kind == REX_PROGRAM)
			r = rex_memory_set(objects, rex_regions.items[i].start,
					   rex_regions.items[i].end - rex_regions.items[i].start,
					   rex_regions.items[i].here);
	return r;
}

/* ---- blocks */

/* Returns NULL if host memory of a damaged trace overlaps the region. */
static struct rex_block *block_of(const struct rex_region *r)
{
	size_t i = array_bound(k, 0, rex_regions.n_blocks, rex_regions.blocks[k].end <= r->start);
	struct rex_block *b = &rex_regions.blocks[i];

	return i < rex_regions.n_blocks && b->start <= r->start && r->end <= b->end ? b : NULL;
}

/* Reserves a block with the driver, at another address only with `relocate`. */
static int reserve_block(struct rex_block *b, bool relocate)
{
	int rc = rex_driver_reserve(&b->here, b->end - b->start, b->start, relocate);

	b->is_reserved = rc == 0;
	rex_regions.moved |= rc == 0 && b->here != b->start;
	return rc;
}

void rex_regions_unguard(void)
{
	if (rex_regions.is_released)
		return;
	rex_regions.is_released = true;
	for (size_t i = 0; i < rex_regions.n; i++)
		if (is_host(&rex_regions.items[i]))
			munmap((void *)rex_regions.items[i].here,
			       rex_regions.items[i].end - rex_regions.items[i].start);
	for (size_t i = 0; i < rex_regions.n_blocks; i++) {
		struct rex_block *b = &rex_regions.blocks[i];

		if (take(b->is_guarded))
			munmap((void *)b->start, b->end - b->start);
	}
}

int rex_regions_reserve_again(void)
{
	int r = 0;

	for (size_t i = 0; i < rex_regions.n_blocks; i++)
		if (!rex_regions.blocks[i].is_reserved)
			reserve_block(&rex_regions.blocks[i], false);
	for (size_t i = 0; i < rex_regions.n && r == 0; i++) {
		struct rex_region *region = &rex_regions.items[i];

		if (is_host(region))
			r = reserve_host(region, rex_regions.relocates, false);
		if (r < 0)
			rex_regions.refused = region->start;
	}
	r = r == 0 && noted ? rex_regions_note(noted) : r; /* some blocks may have moved */
	return r == 0 ? 0 : REX_INVALID_VALUE;
}

int rex_region_reserve(struct rex_region *r)
{
	struct rex_block *b = block_of(r);
	int rc = b ? 0 : REX_INVALID_VALUE;

	if (b && !b->is_reserved)
		rc = reserve_block(b, rex_regions.relocates);
	if (rc == 0)
		r->here = b->here + (r->start - b->start);
	else if (rc == REX_INVALID_VALUE && !rex_regions.relocates)
		rex_regions.refused = r->start;
	return rc;
}

bool rex_regions_has_reserved(uint64_t here)
{
	for (size_t i = 0; i < rex_regions.n_blocks; i++) {
		const struct rex_block *b = &rex_regions.blocks[i];

		if (b->is_reserved && here - b->here < b->end - b->start)
			return true;
	}
	return false;
}
