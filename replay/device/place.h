/* SPDX-License-Identifier: Apache-2.0 */

/* Memory at the addresses that it had in the recorded program, so that pointers in parameters, in
 * structs and in memory itself stay valid.
 *
 * The ranges of all allocations of a process are merged into regions, which are reserved in the
 * address space before the driver starts. A call that allocates is made as recorded; the functions
 * of this file stand in for those of the driver, below a capture library: they map a region (by
 * cuMemAddressReserve, cuMemCreate, cuMemMap) when the first allocation in it is made, and keep it
 * to the end. So a program that allocates the same address again finds what it left there. One
 * process has one struct rex_place. */
#pragma once

#include "replay/device/objects.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"

/* Finds the regions. -EEXIST: GPUs have memory in common, so that no region is of one GPU. */
int rex_place_find(const struct rex_process *p);

/* Reserves them. If other memory of this process is at the recorded address of a region, it gets
 * another address if it may (`relocate`) and if a process with another layout cannot be started
 * (`can_retry`); else -EEXIST. Other errnos as mmap(2). *taken is set to the address. */
int rex_place_reserve(bool relocate, bool can_retry, uint64_t *taken);

/* Notes where page-locked memory of the program lies. 0 or -ENOMEM. */
int rex_place_note(struct rex_objects *objects);

/* The address here of host memory that kernels can read, by its number in the recording; NULL if
 * that number is of other memory. */
void *rex_place_host(uint64_t number, uint64_t offset_bytes, uint64_t length_bytes);

/* The recorded address at which the driver refused to put memory; 0: it did not. */
uint64_t rex_place_refused(void);

/* Counts words that are addresses of regions that are elsewhere here. Memory is about to be filled
 * with `data`; such words stay as they are. */
void rex_place_scan(const void *data, size_t bytes);

/* Adds regions, moved_regions and old_addresses. */
void rex_place_count(struct rex_counts *counts);

/* Waits for all work of the current context, without being recorded. A result of the driver. */
int rex_place_synchronize(void);

/* The next call of this thread that allocates, by the function of that name, made memory at
 * `address` when it was recorded, in rows of `pitch_bytes` if it is of rows. 0: it is like any
 * other. Calls of other functions, as a capture library may make before, are like any other. */
void rex_place_next(const char *function, uint64_t address, uint64_t pitch_bytes);

/* The function to be called in place of a function of the driver; `real` if none. `find` finds
 * functions of the driver. Any thread. */
void *rex_place_wrap(const char *name, void *real, void *(*find)(const char *name));
