/* SPDX-License-Identifier: Apache-2.0 */

/* Allocations of a process, identified by their properties instead of their numbers, because
 * concurrent threads allocate in an order that differs from run to run. One thread. */
#pragma once

#include "formats/trace/store/trace.h"

#include <stdbool.h>

#define FMT_CAUSE_NO_THREAD UINT32_MAX

/* An allocation: the index-th of its kind and length on its GPU, in order of allocation. */
struct fmt_cause_buffer {
	uint64_t number;      /* in this recording */
	uint64_t made;	      /* correlation of the call that allocated it */
	uint64_t bytes, kind; /* a hash of the kind's name */
	uint32_t device;      /* of the process's, from 1 in order of number; 0: host memory */
	uint32_t index;
	uint32_t thread;       /* track of the thread that allocated it, or FMT_CAUSE_NO_THREAD */
	uint32_t thread_index; /* of that thread's allocations of the same kind and length */
};

struct fmt_cause_memory {
	struct fmt_cause_buffer *items; /* by number */
	size_t n, cap;
};

/* Reads the allocations of the rank's process. Returns 0 or -ENOMEM. */
int fmt_cause_memory_read(const struct fmt_trace *t, uint32_t rank, struct fmt_cause_memory *ret);
void fmt_cause_memory_done(struct fmt_cause_memory *m);

/* Returns true if the allocation is listed and is host memory. */
bool fmt_cause_memory_is_host(const struct fmt_cause_memory *m, uint64_t number);

/* Call after setting `thread` of all items. */
void fmt_cause_memory_index_threads(struct fmt_cause_memory *m);

/* Returns true if allocation `x` of `a` corresponds to `y` of `b`: by its index, or by that of its
 * thread. `threads`: for each track of `a` the track of `b` that launches the same operations, or
 * -1. Unlisted allocations are compared by number. */
bool fmt_cause_memory_same(const struct fmt_cause_memory *a, uint64_t x,
			   const struct fmt_cause_memory *b, uint64_t y, const int64_t *threads);
