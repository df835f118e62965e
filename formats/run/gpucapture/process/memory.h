/* SPDX-License-Identifier: Apache-2.0 */

/* The allocations of a process, of all kinds: by address while they live, and as the fact
 * `allocations` of a trace (doc/design/recorded-contents.md). One numbering, from 1 in the order of
 * making. One thread. Functions return 0 or -ENOMEM. */
#pragma once

#include "base/text.h"
#include "formats/trace/names.h"

#include <stdbool.h>

enum rec_memory_kind {
	REC_MEMORY_DEVICE,
	REC_MEMORY_MANAGED,
	REC_MEMORY_HOST,       /* page-locked, by the driver */
	REC_MEMORY_REGISTERED, /* page-locked, of the program */
	REC_MEMORY_VARIABLE,   /* of a module */
	REC_MEMORY_RESERVATION,
	REC_MEMORY_MAPPING,
	REC_MEMORY_IMPORTED, /* another process's */
};

struct rec_allocation {
	uint64_t address, bytes; /* bytes 0: not known */
	uint64_t made, ended;	 /* correlations of calls; ended 0: it lives */
	uint64_t offset;	 /* of a MAPPING, in its physical memory */
	uint64_t context;	 /* current when it was made */
	uint32_t number;
	uint32_t handle; /* number of a MAPPING's physical memory, of a VARIABLE's module */
	uint32_t stream; /* number; 0: allocated at once */
	fmt_str name;	 /* of a VARIABLE */
	int16_t device;	 /* -1: none */
	uint8_t kind;	 /* enum rec_memory_kind */
};

struct rec_memory_span {
	uint64_t start, end;
	uint32_t row;
};

/* Ranges that do not overlap, by address. */
struct rec_memory_spans {
	struct rec_memory_span *spans; /* owned */
	size_t n, cap;
};

/* Zero to begin with. */
struct rec_memory {
	struct rec_memory_spans memory, reserved; /* that live */
	struct rec_allocation *rows;		  /* owned; number 0: unused */
	size_t n, cap;
	uint32_t *unused; /* owned: rows */
	size_t n_unused, unused_cap;
	struct rec_memory_id {
		uint64_t id; /* of the call that made it */
		uint32_t number;
		int device; /* rec_memory_device() */
	} * ids;	    /* owned */
	size_t n_ids, ids_cap;
	bool ids_sorted;
	uint32_t last_number;
	uint64_t n_ended, left_out; /* rows of what has ended; allocations without a row */
};

void rec_memory_done(struct rec_memory *m);

/* Adds an allocation, whose number it sets. A VARIABLE that is known stays. What it overlaps was
 * freed unseen, and ends. */
int rec_memory_add(struct rec_memory *m, const struct rec_allocation *made);

/* The allocation around the address: in a reservation the mapping, if there is one. NULL; valid
 * until the next one is added. */
const struct rec_allocation *rec_memory_find(const struct rec_memory *m, uint64_t address);

/* Ends the one that starts there; all mappings that start in the range; the reservation that starts
 * there; those for which `gone` returns true. `by` is the correlation of the call. */
int rec_memory_end(struct rec_memory *m, uint64_t address, uint64_t by);
int rec_memory_end_range(struct rec_memory *m, uint64_t address, uint64_t bytes, uint64_t by);
int rec_memory_end_reserved(struct rec_memory *m, uint64_t address, uint64_t by);
int rec_memory_end_if(struct rec_memory *m,
		      bool (*gone)(const struct rec_allocation *a, uint64_t value), uint64_t value,
		      uint64_t by);

/* The number of the allocation that the call made, and its device; 0 and -1. */
uint32_t rec_memory_number(struct rec_memory *m, uint64_t call, int *ret_device);

/* Its device; -1: it is the host's. */
int rec_memory_device(const struct rec_allocation *a);

/* A JSON array of those for which `shown` returns true; empty without any. */
void rec_memory_json(struct rec_memory *m, const struct fmt_names *names,
		     bool (*shown)(const struct rec_allocation *a, const void *context),
		     const void *context, struct text *ret);
