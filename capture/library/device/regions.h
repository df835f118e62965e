/* SPDX-License-Identifier: Apache-2.0 */

/* Memory ranges by address. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cap_memory {
	CAP_MEMORY_DEVICE,
	CAP_MEMORY_MANAGED,
	CAP_MEMORY_HOST,   /* page-locked memory of the host, which kernels can use */
	CAP_MEMORY_GLOBAL, /* a variable of a module */
	CAP_MEMORY_MAPPED, /* physical memory that was mapped at an address */
};

struct cap_region {
	uint64_t base, bytes;
	uint64_t id;	/* of the call that made it */
	uint64_t owner; /* the module of a GLOBAL; else 0 */
	uint64_t reach; /* bit of each device whose kernels can read it */
	void *stream;	/* allocated in the order of that stream; NULL: at once */
	void *context;	/* current when it was allocated */
	int device;	/* of that context */
	uint8_t kind;	/* enum cap_memory */
	bool in_graph;	/* a captured operation uses it */
};

struct cap_regions {
	struct cap_region *items; /* owned; sorted by base, without overlap */
	size_t n, cap;
};

void cap_regions_done(struct cap_regions *r);

/* Adds a range. Removes ranges that overlap it, whose end was not seen. A GLOBAL
 * that is already known stays unchanged. 0 or -ENOMEM. */
int cap_regions_add(struct cap_regions *r, const struct cap_region *range);

/* The range that contains the address; NULL. Valid until the next change. */
struct cap_region *cap_regions_find(const struct cap_regions *r, uint64_t address);

/* The first range that begins in [base, base + bytes); NULL. */
struct cap_region *cap_regions_from(const struct cap_regions *r, uint64_t base, uint64_t bytes);

/* Removes all ranges that begin in [base, base + bytes). */
void cap_regions_remove(struct cap_regions *r, uint64_t base, uint64_t bytes);

/* Removes the ranges for which `gone` returns 1. */
void cap_regions_sweep(struct cap_regions *r,
		       int (*gone)(const struct cap_region *range, const void *context),
		       const void *context);
