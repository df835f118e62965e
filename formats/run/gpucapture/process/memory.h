/* SPDX-License-Identifier: Apache-2.0 */

/* The allocations of a process, of all kinds: indexed by address while they exist, and written as
 * the fact `allocations` of a trace (doc/design/recorded-contents.md). Numbered from 1 in the order
 * of allocation. One thread. Functions return 0 or -ENOMEM. */
#pragma once

#include "base/text.h"
#include "formats/api/words.h"
#include "formats/trace/names.h"

#include <stdbool.h>

/* Returns true if an argument with that meaning is an address of such memory. */
static inline bool rec_is_address(uint8_t meaning)
{
	return meaning == API_MEANING_DEVPTR || meaning == API_MEANING_HOST;
}

enum rec_memory_kind {
	REC_MEMORY_DEVICE,
	REC_MEMORY_MANAGED,
	REC_MEMORY_HOST,       /* pinned, allocated by the driver */
	REC_MEMORY_REGISTERED, /* pinned, allocated by the program */
	REC_MEMORY_VARIABLE,   /* of a module */
	REC_MEMORY_RESERVATION,
	REC_MEMORY_MAPPING,
	REC_MEMORY_IMPORTED, /* from another process */
};

struct rec_allocation {
	uint64_t address, bytes; /* bytes 0: unknown */
	uint64_t made, ended;	 /* correlations of calls; ended 0: still allocated */
	uint64_t offset;	 /* MAPPING: within its physical memory */
	uint64_t context;	 /* current at the time of allocation */
	uint32_t number;
	uint32_t handle; /* MAPPING: number of physical memory; VARIABLE: of its module */
	uint32_t stream; /* number of the stream of an asynchronous allocation; else 0 */
	fmt_str name;	 /* VARIABLE */
	int16_t device;	 /* -1: none */
	uint8_t kind;	 /* enum rec_memory_kind */
};

struct rec_memory_span {
	uint64_t start, end;
	uint32_t row;
};

/* Ranges that do not overlap, sorted by address. */
struct rec_memory_spans {
	struct rec_memory_span *spans; /* owned */
	size_t n, cap;
};

/* Initialise with zeros. */
struct rec_memory {
	struct rec_memory_spans memory, reserved; /* live ranges */
	struct rec_allocation *rows;		  /* owned; number 0: unused */
	size_t n, cap;
	uint32_t *unused; /* owned: rows */
	size_t n_unused, unused_cap;
	struct rec_memory_id {
		uint64_t id; /* of the allocating call */
		uint32_t number;
		int device; /* rec_memory_device() */
	} * ids;	    /* owned */
	size_t n_ids, ids_cap;
	bool ids_sorted;
	uint32_t last_number;
	uint64_t n_ended, left_out; /* rows of freed allocations; allocations without a row */
};

void rec_memory_done(struct rec_memory *m);

/* Adds an allocation and sets its number. Keeps a VARIABLE that is already known. Ends overlapping
 * allocations, whose release was not recorded. */
int rec_memory_add(struct rec_memory *m, const struct rec_allocation *made);

/* Returns the allocation that contains the address; within a reservation its mapping, if any. NULL
 * if none. Valid until the next allocation is added. */
const struct rec_allocation *rec_memory_find(const struct rec_memory *m, uint64_t address);

/* End allocations: the one that starts at `address`; all mappings that start in the range; the
 * reservation that starts at `address`; those for which `gone` returns true. `by` is the
 * correlation of the releasing call. */
int rec_memory_remove(struct rec_memory *m, uint64_t address, uint64_t by);
int rec_memory_remove_range(struct rec_memory *m, uint64_t address, uint64_t bytes, uint64_t by);
int rec_memory_remove_reserved(struct rec_memory *m, uint64_t address, uint64_t by);
int rec_memory_remove_if(struct rec_memory *m,
			 bool (*gone)(const struct rec_allocation *a, uint64_t value),
			 uint64_t value, uint64_t by);

/* Returns the number of the allocation that the call made, and sets its device; 0 and -1 if
 * none. */
uint32_t rec_memory_number(struct rec_memory *m, uint64_t call, int *ret_device);

/* Returns the device of the allocation, or -1 for host memory. */
int rec_memory_device(const struct rec_allocation *a);

/* Writes a JSON array of the allocations for which `shown` returns true; writes nothing if there
 * are none. */
void rec_memory_json(struct rec_memory *m, const struct fmt_names *names,
		     bool (*shown)(const struct rec_allocation *a, const void *context),
		     const void *context, struct text *ret);
