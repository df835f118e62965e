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

/* Finds the regions. -EEXIST: GPUs have memory in common, so that no region is of one GPU. */
int rex_place_find(const struct rex_process *p);

/* Reserves them. -EEXIST: something else lies there in this process; other errnos as mmap(2);
 * *taken says where. With `relocate` such a region goes to another address. */
int rex_place_reserve(bool relocate, uint64_t *taken);

/* Notes where page-locked memory of the program lies. 0 or -ENOMEM. */
int rex_place_note(struct rex_objects *objects);

/* The address here of host memory that kernels can read, by its number in the recording; NULL if
 * that number is of other memory. */
void *rex_place_host(uint64_t number, uint64_t offset_bytes, uint64_t length_bytes);

/* The recorded address at which the driver refused to put memory; 0: it did not. */
uint64_t rex_place_refused(void);

/* Adds the regions that were mapped, and those of them that lie at another address. */
void rex_place_count(uint64_t *mapped, uint64_t *elsewhere);

/* Waits for all work of the current context, without being recorded. A result of the driver. */
int rex_place_synchronize(void);

/* The next call of this thread that allocates, by the function of that name, made memory at
 * `address` when it was recorded, in rows of `pitch_bytes` if it is of rows. 0: it is like any
 * other. Calls of other functions, as a capture library may make before, are like any other. */
void rex_place_next(const char *function, uint64_t address, uint64_t pitch_bytes);

/* The function to be called in place of a function of the driver; `real` if none. `find` finds
 * functions of the driver. Any thread. */
void *rex_place_wrap(const char *name, void *real, void *(*find)(const char *name));
