/* SPDX-License-Identifier: Apache-2.0 */

/* The allocations of a recorded process, by number: contents of a trace refer to them. One thread
 * reads them; then they are constant. */
#pragma once

#include "replay/device/recorded.h"

struct rex_allocation {
	uint64_t id, address, bytes;
	int64_t device; /* -1: host memory */
};

struct rex_allocations {
	struct rex_allocation *items; /* owned: by id */
	size_t n, cap;
};

/* Reads the allocations of all ranks of the process. Returns 0 or -ENOMEM. Call
 * rex_allocations_done() in either case. */
int rex_allocations_read(const struct rex_process *p, struct rex_allocations *ret);
void rex_allocations_done(struct rex_allocations *a);

/* Finds the recorded address of a content. Returns false if its allocation is not listed. */
bool rex_allocations_find(const struct rex_allocations *a, const struct rex_content *c,
			  uint64_t *ret);
