/* SPDX-License-Identifier: Apache-2.0 */

/* Device memory: host memory in an address range of each device. Only touched pages use host
 * memory. The range is backed by an unnamed file, so that other processes can map parts of it, and
 * that all memory is freed when the processes have ended. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct emu_device;
struct emu_memory;

/* Notes which addresses are in use. Called once, by cuInit(). */
void emu_vmm_init(void);

/* `physical`: number of the device on this machine. */
int emu_memory_new(unsigned physical, size_t bytes, struct emu_memory **ret);

/* Returns 0, or -ENOMEM if the emulated device is full. */
int emu_memory_alloc(struct emu_memory *m, size_t bytes, uintptr_t *ret);
int emu_memory_free(struct emu_memory *m, uintptr_t at,
		    size_t *bytes); /* -EINVAL: not an allocation */
void emu_memory_info(struct emu_memory *m, size_t *free_bytes, size_t *total_bytes);

/* Counts bytes allocated (negative: freed) by other means. -ENOMEM: not enough free memory. */
int emu_memory_charge(struct emu_memory *m, int64_t bytes);

/* Finds the allocation that contains `at`. Returns 0 or -EINVAL. */
int emu_memory_find(struct emu_memory *m, uintptr_t at, uintptr_t *base, size_t *bytes,
		    uint64_t *id);

/* Returns the device's file, and the offset of an address in it, for another process to map. */
int emu_memory_file(const struct emu_memory *m, uintptr_t at, uint64_t *offset);

/* ---- all kinds of memory, by address ---- */

/* Used bytes of a CUipcMemHandle. */
#define EMU_IPC_BYTES 48
/* Unmaps memory of another process. Returns 0 or -EINVAL. */
int emu_ipc_close(uintptr_t at);

enum emu_region_kind {
	EMU_UNKNOWN, /* pageable host memory */
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
	struct emu_device *device; /* NULL: host memory */
	unsigned flags;
	uint64_t id;
	void *owner;	 /* depends on the kind */
	int fd;		 /* of EMU_MAPPED: its file, 0 if not known */
	uint64_t offset; /* of `base` in the file */
	uint64_t reach;	 /* of EMU_MAPPED: bit mask of the devices that may use it */
};

/* Adds a region; -EEXIST if it overlaps another. */
int emu_region_add(const struct emu_region *r);
/* Removes the region of this kind that starts at `base`; -EINVAL if not found. */
int emu_region_remove(uintptr_t base, enum emu_region_kind kind, struct emu_region *ret);
/* Grants and revokes access (bit masks of devices) to the EMU_MAPPED regions that begin in [at, at
 * + bytes). */
void emu_region_access(uintptr_t at, size_t bytes, uint64_t given, uint64_t taken);
/* Returns the region that contains `at`; kind EMU_UNKNOWN if not found. */
struct emu_region emu_region_find(uintptr_t at);

/* Returns 1 if `at` is in the device's range. */
int emu_memory_holds(const struct emu_memory *m, uintptr_t at);
