/* SPDX-License-Identifier: Apache-2.0 */

/* The regions of placement.h: regions.c finds them in a recording and reserves them in the address
 * space, placement.c maps them. One set per process. */
#pragma once

#include "replay/device/objects.h"
#include "replay/device/recorded.h"

#include <pthread.h>

enum rex_region_kind {
	REX_DEVICE,   /* allocated by the driver */
	REX_LOCKED,   /* pinned host memory allocated by the driver, or managed memory */
	REX_PROGRAM,  /* memory of the program that was pinned */
	REX_RESERVED, /* addresses reserved by the program */
};

struct rex_region {
	uint64_t start, end;
	uint64_t here;	/* its address in this process */
	uint32_t rank;	/* of a device */
	uint8_t kind;	/* enum rex_region_kind */
	bool is_mapped; /* usable by the driver, or reserved with it */
};

/* Addresses that are reserved with the driver together: it follows a hint only if the address is
 * a multiple of 32 MiB (driver 580). Contains regions of devices and reservations of
 * the program; stays reserved until the end. */
struct rex_block {
	uint64_t start, end;
	uint64_t here;
	bool is_guarded;  /* kept free of other memory of this process, until cuInit() */
	bool is_reserved; /* with the driver */
};

extern struct rex_regions {
	pthread_mutex_t lock;
	struct rex_region *items; /* by start */
	size_t n, cap;
	struct rex_block *blocks; /* by start */
	size_t n_blocks, blocks_cap;
	/* Allocations of the host, by number after rex_regions_find(). */
	struct rex_region_host {
		uint64_t number, start, bytes;
	} * hosts;
	size_t n_hosts, hosts_cap;
	/* Allocations that other processes open, by number: the driver places them, since it has
	 * no IPC handles for memory at chosen addresses. */
	uint64_t *shared;
	size_t n_shared, shared_cap;
	bool relocates;		/* regions may be moved */
	bool is_released;	/* rex_regions_unguard() was called */
	uint64_t refused;	/* the driver did not put memory there; 0 */
	uint64_t old_addresses; /* number found in memory; see rex_placement_count_stale() */
	bool moved;		/* a region was moved */
} rex_regions;

/* Returns true if the call adds a node to a graph that allocates memory. */
bool rex_regions_alloc_node(const struct rex_call *c, uint64_t *address, uint64_t *bytes);

/* Returns true if another process opens the memory that the call allocates. */
bool rex_regions_is_shared(const struct rex_call *c);

/* Finds the regions. -EEXIST: memory of several GPUs overlaps, so that regions cannot be assigned
 * to GPUs. */
int rex_regions_find(const struct rex_process *p);

/* Reserves them in the address space. If other memory of this process is at the recorded address of
 * a region, or the driver's own memory may be placed there, the region gets another address if it
 * may (`relocate`) and if a process with another layout cannot be started (`can_retry`); else
 * -EEXIST. Other errnos as mmap(2). *taken is set to the address. */
int rex_regions_reserve(bool relocate, bool can_retry, uint64_t *taken);

/* Records the location of the program's pinned memory. Returns 0 or -ENOMEM. */
int rex_regions_note(struct rex_objects *objects);

/* Before the driver is initialised: it never follows a hint to addresses that are in use then, nor
 * to those of 32 MiB around them. After that: reserves the blocks with the driver if it follows the
 * hint, and host memory as before. With the lock held. Returns a result of the driver. */
void rex_regions_unguard(void);
int rex_regions_reserve_again(void);

/* Reserves the block of a region with the driver, and sets region->here. With the lock held.
 * Returns a result of the driver. */
int rex_region_reserve(struct rex_region *r);
/* Returns true if the address is in a block that was reserved. With the lock held. */
bool rex_regions_has_reserved(uint64_t here);
