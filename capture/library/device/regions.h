/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that lives, by address. For one thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cap_memory {
	CAP_MEMORY_DEVICE,
	CAP_MEMORY_MANAGED,
	CAP_MEMORY_HOST,   /* page-locked memory of the host, which kernels reach */
	CAP_MEMORY_GLOBAL, /* a variable of a module */
	CAP_MEMORY_MAPPED, /* physical memory that was mapped at an address */
};

struct cap_region {
	uint64_t base, bytes;
	uint64_t id;	/* counts from 1 in the order in which they began, in this process */
	uint64_t owner; /* the module of a GLOBAL; else 0 */
	uint64_t reach; /* bit of each device whose kernels may read it */
	void *stream;	/* is there in that stream's order only; NULL: at once */
	void *context;	/* current when it began */
	int device;	/* that context's */
	uint8_t kind;	/* enum cap_memory */
};

struct cap_regions {
	struct cap_region *items; /* by base; they do not overlap. Owned */
	size_t n, cap;
	uint64_t last_id;
};

void cap_regions_done(struct cap_regions *r);

/* Adds a range and gives it an id. What overlaps it is gone: its end was not seen. A GLOBAL that is
 * there stays as it is. 0 or -ENOMEM. */
int cap_regions_add(struct cap_regions *r, const struct cap_region *range);

/* The range that holds the address; NULL. Valid until the next change. */
struct cap_region *cap_regions_find(const struct cap_regions *r, uint64_t address);

/* Of the ranges that begin in [base, base + bytes): the first; NULL. */
struct cap_region *cap_regions_from(const struct cap_regions *r, uint64_t base, uint64_t bytes);

/* Removes all that begin in [base, base + bytes). */
void cap_regions_remove(struct cap_regions *r, uint64_t base, uint64_t bytes);

/* Removes those for which `gone` says so. */
void cap_regions_sweep(struct cap_regions *r,
		       int (*gone)(const struct cap_region *range, const void *context),
		       const void *context);
