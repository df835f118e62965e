/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/regions.h"

#include "base/array.h"

#include <stdio.h>
#include <sys/mman.h>

#define GRANULE (UINT64_C(2) << 20) /* for device memory: a multiple of all granularities */
#define PAGE UINT64_C(4096)

struct rex_regions rex_regions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t round_up(uint64_t at, uint64_t to)
{
	return (at + to - 1) / to * to;
}

static int kind_of(const struct rex_call *c, const struct api_arg *a)
{
	if (c->api->class == API_CLASS_RESERVE)
		return REX_RESERVED;
	if (strncmp(c->api->name, "cuMemHostRegister", 17) == 0)
		return REX_PROGRAM;
	if (strncmp(c->api->name, "cuMemAlloc", 10) != 0 &&
	    strncmp(c->api->name, "cuMemHostAlloc", 14) != 0)
		return -1; /* of another process, or the driver's own */
	return a->meaning == API_MEANING_HOST || strstr(c->api->name, "Managed") ? REX_LOCKED
										 : REX_DEVICE;
}

static int add_host(const struct rex_call *c, const struct api_arg *a, uint64_t start,
		    uint64_t bytes)
{
	char key[64];
	int64_t number;

	snprintf(key, sizeof(key), "%s.id", a->name);
	if (!rex_args_int(&c->args, key, NULL, &number))
		return 0;
	if (array_reserve(&rex_regions.hosts, rex_regions.n_hosts + 1, &rex_regions.hosts_cap) < 0)
		return -ENOMEM;
	rex_regions.hosts[rex_regions.n_hosts++] =
		(struct rex_region_host){(uint64_t)number, start, bytes};
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
	if (array_reserve(&rex_regions.items, rex_regions.n + 1, &rex_regions.cap) < 0)
		return -ENOMEM;
	if (kind == REX_DEVICE || kind == REX_RESERVED)
		unit = GRANULE;
	if (kind == REX_LOCKED || kind == REX_PROGRAM) {
		int r = add_host(c, a, (uint64_t)address, (uint64_t)bytes);

		if (r < 0)
			return r;
	}
	rex_regions.items[rex_regions.n++] = (struct rex_region){
		.start = (uint64_t)address / unit * unit,
		.end = round_up((uint64_t)address + (uint64_t)bytes, unit),
		.rank = c->rank,
		.kind = (uint8_t)kind,
	};
	return 0;
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

int rex_regions_find(const struct rex_process *p)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < p->n_calls && r == 0; i++) {
		const struct rex_call *c = &p->calls[i];

		if (c->skipped || c->result != 0)
			continue;
		if (strcmp(c->api->name, "cuLibraryGetManaged") == 0)
			r = add_managed_variable(c);
		if ((c->api->class != API_CLASS_ALLOC && c->api->class != API_CLASS_RESERVE) ||
		    r < 0)
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

		if (can_merge(last, now))
			last->end = last->end > now->end ? last->end : now->end;
		else if (now->start < last->end && now->kind != REX_RESERVED)
			return -EEXIST;
		else if (now->start != last->start || now->end != last->end)
			rex_regions.items[++kept] = *now;
	}
	rex_regions.n = kept + 1;
	return 0;
}

#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Keeps other memory of this process from a region. The caller has reserved all before `from`.
 * Returns a positive errno. */
static int guard(const struct rex_region *r, uint64_t from)
{
	int access = r->kind == REX_LOCKED || r->kind == REX_PROGRAM ? PROT_READ | PROT_WRITE
								     : PROT_NONE;
	void *at = MAP_FAILED;

	if (from < r->start)
		from = r->start;
	if (from >= r->end)
		return 0;
	at = mmap((void *)from, r->end - from, access, FLAGS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == (void *)from)
		return 0;
	if (at == MAP_FAILED)
		return errno;
	munmap(at, r->end - from);
	return EEXIST;
}

int rex_regions_reserve(bool relocate, bool can_retry, uint64_t *taken)
{
	uint64_t guarded_to = 0; /* overlapping regions of the same reservations */

	rex_regions.relocates = relocate;
	for (size_t i = 0; i < rex_regions.n; i++) {
		struct rex_region *r = &rex_regions.items[i];
		bool is_host = r->kind == REX_LOCKED || r->kind == REX_PROGRAM;
		int e = guard(r, guarded_to);
		void *at;

		r->here = r->start;
		r->guarded = e == 0;
		if (r->guarded && r->kind == REX_RESERVED && r->end > guarded_to)
			guarded_to = r->end;
		if (r->guarded)
			continue;
		*taken = r->start;
		if (!relocate || (can_retry && e == EEXIST)) /* a new process has another layout */
			return -e;
		if (!is_host)
			continue;
		at = mmap(NULL, r->end - r->start, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
		if (at == MAP_FAILED)
			return -errno;
		r->here = (uint64_t)at;
		rex_regions.moved = true;
	}
	return 0;
}

int rex_regions_note(struct rex_objects *objects)
{
	int r = 0;

	for (size_t i = 0; i < rex_regions.n && r == 0; i++)
		if (rex_regions.items[i].kind == REX_PROGRAM)
			r = rex_memory_set(objects, rex_regions.items[i].start,
					   rex_regions.items[i].end - rex_regions.items[i].start,
					   rex_regions.items[i].here);
	return r;
}

/* ---- reservations of the program */

/* Returns another reservation of the program, from `at` on, that overlaps `r`; NULL: none. */
static struct rex_region *overlapping(const struct rex_region *r, struct rex_region *at)
{
	for (; at < rex_regions.items + rex_regions.n && at->start < r->end; at++)
		if (at != r && at->kind == REX_RESERVED && at->end > r->start)
			return at;
	return NULL;
}

void rex_region_unguard(struct rex_region *r)
{
	for (struct rex_region *o = overlapping(r, rex_regions.items); o; o = overlapping(r, o + 1))
		if (o->in_use)
			return;
	if (r->guarded)
		munmap((void *)r->start, r->end - r->start);
}

void rex_region_guard_again(struct rex_region *r)
{
	r->in_use = false;
	if (!r->guarded || guard(r, r->start) == 0)
		return;
	r->guarded = false;
	for (struct rex_region *o = overlapping(r, rex_regions.items); o; o = overlapping(r, o + 1))
		o->guarded = false;
}
