/* SPDX-License-Identifier: Apache-2.0 */

/* Places memory at its recorded addresses, so that pointers in parameters, structs and memory
 * remain valid.
 *
 * The ranges of all allocations of a process are merged into regions, which are reserved in the
 * address space before the driver starts. Allocating calls are executed as recorded, but functions
 * of this file replace those of the driver, below a capture library. They map a region
 * (cuMemAddressReserve, cuMemCreate, cuMemMap) at its first allocation and keep it mapped until the
 * end. So a program that allocates the same address again finds its old contents. There is one
 * set of regions per process. */
#pragma once

#include "replay/device/objects.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"

/* Returns the address in this process of host memory that kernels can read, by the recorded
 * allocation number; NULL for other memory. */
void *rex_placement_host(struct rex_objects *objects, uint64_t number, uint64_t offset_bytes,
			 uint64_t length_bytes);

/* Returns the recorded address at which the driver did not place memory; 0: none. */
uint64_t rex_placement_refused(void);

/* Counts words of `data` that are recorded addresses of moved memory. Memory is about to be filled
 * with `data`; such words are not rewritten. */
void rex_placement_count_stale(struct rex_objects *objects, const void *data, size_t bytes);

/* Adds regions, moved_regions and old_addresses. */
void rex_placement_count(struct rex_counts *counts);

/* Waits for all work of the current context, without being recorded. Returns a result of the
 * driver. */
int rex_placement_synchronize(void);

/* Announces the recorded `address` of the next allocation that this thread makes through
 * `function`, and `pitch_bytes` if it allocates rows. Address 0: not special. Calls of other
 * functions, such as those of a capture library, are not affected. */
void rex_placement_set_next(const char *function, uint64_t address, uint64_t pitch_bytes);

/* Returns the function that replaces a function of the driver; `real` if none does. `find` looks up
 * functions of the driver. Any thread. */
void *rex_placement_wrap(const char *name, void *real, void *(*find)(const char *name));
