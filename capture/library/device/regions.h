/* SPDX-License-Identifier: Apache-2.0 */

/* Memory ranges by address. Not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cap_memory_kind {
	CAP_MEMORY_DEVICE,
	CAP_MEMORY_MANAGED,
	CAP_MEMORY_HOST,   /* pinned host memory */
	CAP_MEMORY_GLOBAL, /* a variable of a module */
	CAP_MEMORY_MAPPED, /* physical memory mapped at an address */
};

struct cap_region {
	uint64_t base, bytes;
	uint64_t id;	/* of the allocating call */
	uint64_t owner; /* GLOBAL: its module; else 0 */
	uint64_t reach; /* bit mask of devices whose kernels can read it */
	void *stream;	/* stream of an asynchronous allocation; else NULL */
	void *context;	/* current when it was allocated */
	int device;	/* of that context */
	uint8_t kind;	/* enum cap_memory_kind */
};

/* Returns true for device memory, false for host memory. */
static inline bool cap_region_is_device(const struct cap_region *r)
{
	return r->kind != CAP_MEMORY_HOST && r->reach;
}

/* Returns true for memory that the host can write between calls. */
static inline bool cap_region_is_host_writable(const struct cap_region *r)
{
	return r->kind == CAP_MEMORY_HOST || r->kind == CAP_MEMORY_MANAGED;
}

struct cap_regions {
	struct cap_region *items; /* owned; sorted by base, without overlap */
	size_t n, cap;
};

void cap_regions_done(struct cap_regions *r);

/* Adds a range. Removes overlapping ranges, whose release was not seen. Does not change a known
 * GLOBAL. Returns 0 or -ENOMEM. */
int cap_regions_add(struct cap_regions *r, const struct cap_region *range);

/* Returns the range that contains the address, or NULL. Valid until the next change. */
struct cap_region *cap_regions_find(const struct cap_regions *r, uint64_t address);

/* Returns the first range that begins in [base, base + bytes), or NULL. */
struct cap_region *cap_regions_find_first(const struct cap_regions *r, uint64_t base,
					  uint64_t bytes);

/* Removes all ranges that begin in [base, base + bytes). */
void cap_regions_remove(struct cap_regions *r, uint64_t base, uint64_t bytes);

/* Removes the ranges for which `gone` returns 1. */
void cap_regions_remove_if(struct cap_regions *r,
			   int (*gone)(const struct cap_region *range, const void *context),
			   const void *context);
