/* SPDX-License-Identifier: Apache-2.0 */

/* The calls of one recorded process, in the order in which they returned, with the contents that
 * their operations read and wrote. One thread reads them; then they are constant. */
#pragma once

#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "replay/device/args.h"
#include "replay/device/window.h"

struct rex_call {
	const struct api_call *api;
	struct rex_args args;
	int64_t start_ns, end_ns;
	uint64_t correlation;
	uint32_t rank;	 /* index in the trace */
	uint32_t thread; /* within the process */
	uint32_t after;	 /* it began after this number of the process's calls had returned, or later
			  */
	uint32_t next;	 /* call of the thread, or the number of calls if it is the last */
	int64_t order;	 /* recorded argument `order`; -1: none */
	uint32_t group;	 /* of the call that ends a group of NCCL calls: the call that began it */
	int64_t began, returned; /* order among the calls of all processes */
	int64_t result;
	bool nested;  /* within another call */
	bool inside;  /* within a call of cuBLAS */
	bool skipped; /* not executed */
	bool before;  /* before the window */
};

/* Contents that the operations of a rank read and wrote, by correlation of their calls. */
struct rex_content {
	uint64_t correlation;
	uint64_t offset_bytes, length_bytes, allocation;
	uint64_t name[2]; /* of the content */
	uint32_t rank;	  /* index */
	uint8_t access;
};

/* An operation of a call. */
struct rex_op {
	uint64_t correlation;
	int64_t duration_ns;
};

struct rex_process {
	struct fmt_trace *trace;
	struct rex_iteration_range range;
	/* Set by the caller: */
	bool is_alone;	 /* executed without the other ranks */
	int32_t device;	 /* GPU that replaces all recorded ones; -1: as recorded */
	uint32_t *ranks; /* owned */
	size_t n_ranks, ranks_cap;
	uint32_t index, n_processes; /* of the trace */
	struct rex_call *calls;	     /* owned */
	size_t n_calls, calls_cap;
	int64_t *threads; /* owned: thread ids */
	size_t n_threads, threads_cap;
	uint32_t *firsts;	      /* owned: the first call of each thread, as `next` */
	struct rex_content *contents; /* owned: by correlation, then offset */
	size_t n_contents, contents_cap;
	struct rex_content *keyframe; /* owned: contents of memory at the start of the window */
	size_t n_keyframe, keyframe_cap;
	struct fmt_iteration *iterations; /* owned: by start */
	size_t n_iterations, iterations_cap;
	struct fmt_slice **slices; /* owned */
	size_t n_slices, slices_cap;
	struct rex_op *ops; /* owned: by correlation */
	size_t n_ops, ops_cap;
	uint64_t unknown; /* calls of functions without a description */
};

/* The processes of a trace, numbered by their first ranks. */
struct rex_processes {
	uint32_t *by_rank; /* owned: the number of the process, by index of the rank */
	uint32_t n;
};

/* `ret` is zeroed. 0 or -ENOMEM. */
int rex_processes_find(const struct fmt_trace *trace, struct rex_processes *ret);
void rex_processes_done(struct rex_processes *p);

/* Returns the rank that NCCL or the launcher gave process `index`. */
int64_t rex_processes_rank(const struct fmt_trace *trace, const struct rex_processes *p,
			   uint32_t index);

/* Reads process `index`: the window and the earlier calls that it needs. Returns 0 or a negative
 * errno as fmt_slice_load(), with *err. */
int rex_process_read(struct fmt_trace *trace, uint32_t index, struct rex_iteration_range range,
		     struct rex_process *ret, struct fmt_error *err);
void rex_process_done(struct rex_process *p);

/* The first operation of the call; NULL: none, because it failed or became part of a graph. */
const struct rex_op *rex_find_op(const struct rex_process *p, uint64_t correlation);

/* Returns the first content of the operations of a call, and the number of contents in *n. */
const struct rex_content *rex_find_contents(const struct rex_process *p, uint64_t correlation,
					    size_t *n);
