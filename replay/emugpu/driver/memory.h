/* SPDX-License-Identifier: Apache-2.0 */

/* Device memory: host memory at addresses of its own, of which only what is touched exists. Each
 * device has one range, backed by a file without a name, so that other processes can map parts of
 * it and nothing is left when all are gone. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct emu_device;
struct emu_memory;

int emu_memory_new(size_t bytes, struct emu_memory **ret);

/* 0, or -ENOMEM when the emulated device is full. */
int emu_memory_alloc(struct emu_memory *m, size_t bytes, uintptr_t *ret);
int emu_memory_free(struct emu_memory *m, uintptr_t at,
		    size_t *bytes); /* -EINVAL: not an allocation */
void emu_memory_info(struct emu_memory *m, size_t *free_bytes, size_t *total_bytes);

/* Counts bytes that other means took (or gave back, negative); -ENOMEM when there are not as many.
 */
int emu_memory_charge(struct emu_memory *m, int64_t bytes);

/* The allocation around `at`; 0, or -EINVAL. */
int emu_memory_find(struct emu_memory *m, uintptr_t at, uintptr_t *base, size_t *bytes,
		    uint64_t *id);

/* The device's file and where in it an address lies, for a process that maps it. */
int emu_memory_file(const struct emu_memory *m, uintptr_t at, uint64_t *offset);

/* ---- all kinds of memory, by address ---- */

enum emu_region_kind {
	EMU_UNKNOWN, /* memory of the host, pageable */
	EMU_DEVICE,
	EMU_PINNED,
	EMU_REGISTERED,
	EMU_MANAGED,
	EMU_MAPPED,   /* cuMemMap, IPC */
	EMU_RESERVED, /* cuMemAddressReserve */
};

struct emu_region {
	uintptr_t base;
	size_t bytes;
	enum emu_region_kind kind;
	struct emu_device *device; /* NULL: the host's */
	unsigned flags;
	uint64_t id;
	void *owner;	/* of the kind */
	uint64_t reach; /* of MAPPED: bit of each device that may use it */
};

/* Adds; -EEXIST when it overlaps another. */
int emu_region_add(const struct emu_region *r);
/* Takes the region that starts at `base` away; -EINVAL: there is none of this kind. */
int emu_region_remove(uintptr_t base, enum emu_region_kind kind, struct emu_region *ret);
/* Gives devices access to the MAPPED regions that begin in [at, at + bytes), or takes it. */
void emu_region_access(uintptr_t at, size_t bytes, uint64_t given, uint64_t taken);
/* The region around `at`; its kind is EMU_UNKNOWN where there is none. */
struct emu_region emu_region_find(uintptr_t at);

/* Whether `at` lies in the device's range. */
int emu_memory_holds(const struct emu_memory *m, uintptr_t at);
