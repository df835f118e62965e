/* SPDX-License-Identifier: Apache-2.0 */

/* Ops: device operations, in streams and graphs.
 *
 * An op has a start and an end in virtual time, and it is executed: bytes are copied, host kernels
 * are called. The submitting thread executes it, unless an earlier op of the stream waits for
 * another process, a host function or another stream: then the stream's worker thread executes it
 * later, with the same virtual time. Ops that wait for other processes are posted early (post.c).
 */
#pragma once

#include "replay/clock/moment.h"
#include "replay/emugpu/driver/cuda_api.h"

#include <stdint.h>

/* A point in time that ops or host threads wait for. Reference-counted; any thread. */
struct emu_point {
	int refs;
	uint32_t done; /* a futex */
	int64_t end_ns;
};

struct emu_point *emu_point_new(void); /* one reference; NULL if out of memory */
void emu_point_drop(struct emu_point *p);
int emu_point_reached(const struct emu_point *p);
void emu_point_reach(struct emu_point *p, int64_t end_ns); /* drops the reference */
int emu_point_await(struct emu_point *p, long ns); /* for at most `ns` of real time; if reached */

/* After EMU_POLLS consecutive queries, a thread sleeps for EMU_POLL_NS, so that others can work. */
enum { EMU_POLLS = 4, EMU_POLL_NS = 200000 };

/* A point in time, known or pending. Owns a reference to `point`. */
struct emu_dep {
	int64_t end_ns;
	int64_t lag_ns;		 /* delay until the point is noticed; added to end_ns once known */
	struct emu_point *point; /* NULL: known */
};

/* Waits in real time and drops the reference; returns the virtual time. */
int64_t emu_dep_wait(struct emu_dep *d);

/* A track: ops run in order, in virtual time. */
struct emu_track {
	struct emu_device *device;
	struct emu_context *context;
	uint64_t stream; /* its id */
	int64_t tail_ns; /* end of the last op */
};

struct emu_function;
struct cost_gpu;

struct emu_kernel_op {
	struct emu_function *function;
	uint32_t grid[3], block[3], shared_bytes;
	void **args; /* owned by the caller until the op owns a copy */
	void *args_copy;
	uint64_t ticket; /* gpuemu_launch.ticket, of a graph node */
};

/* A copy. Height and depth are 1 except in the 2D and 3D forms. */
struct emu_copy_op {
	uint8_t *to;
	const uint8_t *from;
	size_t width_bytes, height, depth;
	size_t to_pitch, from_pitch;   /* bytes from line to line */
	size_t to_height, from_height; /* lines from plane to plane */
	uint8_t kind;		       /* enum emu_copy_kind */
	uint8_t pageable;	       /* the host memory is not pinned */
	struct emu_device *peer;       /* the other device of a copy between two devices */
};

enum emu_copy_kind { EMU_H2D, EMU_D2H, EMU_D2D, EMU_P2P, EMU_H2H };

struct emu_set_op {
	uint8_t *to;
	uint32_t value;
	uint32_t item_bytes; /* 1, 2, 4 */
	size_t width, height, pitch;
};

struct emu_host_op {
	CUhostFn function;
	CUstreamCallback callback; /* instead of `function` */
	CUstream stream;
	void *data;
};

struct emu_value_op { /* waits for, or writes, a word of memory */
	volatile void *at;
	uint64_t value;
	unsigned flags;
	uint8_t bytes;
	uint8_t writes;
};

struct emu_event;
struct emu_plan;
struct emu_shared_event;

struct emu_op {
	const struct emu_op_type *type;
	struct emu_op *next;
	int64_t issued_ns;    /* the submitting thread's clock */
	int64_t ready_ns;     /* latest known time that it waits for */
	struct emu_dep *deps; /* pending points that it waits for; owned */
	unsigned n_deps;
	uint32_t posted, correlation; /* post.c; the submitting call, for an observer */
	union {
		struct emu_kernel_op kernel;
		struct emu_copy_op copy;
		struct emu_set_op set;
		struct emu_host_op host;
		struct emu_value_op value;
		struct emu_point *point; /* record: set by it; one reference */
		struct {
			struct emu_plan *plan;
			union emu_ticket *tickets; /* by step; NULL: none */
		} graph;
		struct emu_event *event;	       /* graph nodes only */
		struct emu_graph_memory *graph_memory; /* one reference */
		struct emu_bodies *bodies;	       /* one reference */
		struct {
			struct emu_shared_event *event;
			uint32_t number;
		} shared;
		struct {
			uintptr_t at;
			struct emu_pool *pool;
		} memory; /* freed memory */
	};
};

struct emu_op_type {
	const char *name;
	CUgraphNodeType node;
	int light; /* no launch latency and no gap: it only marks or moves the track's end */
	/* Returns 1 if running it may wait for another process, stream or host function. */
	int (*blocks)(const struct emu_op *op);
	/* Copies the caller's data. 1; 0: impossible, the submitter waits; or -ENOMEM. */
	int (*own)(struct emu_op *op);
	void (*release)(struct emu_op *op); /* copies of own(), and references */
	void (*retain)(struct emu_op *op);  /* for a copy; may be NULL */
	/* As gpuemu_kernel.post, for an op that owns its data; may be NULL. */
	int (*post)(struct emu_op *op, const struct emu_op *before, struct emu_track *track,
		    int64_t ready_ns, int64_t gap_ns);
	/* Executes the op; `ready_ns` is the earliest start. Returns the end. */
	int64_t (*run)(struct emu_op *op, struct emu_track *track, int64_t ready_ns);
};

extern const struct emu_op_type emu_kernel_type, emu_copy_type, emu_set_type, emu_host_type,
	emu_record_type, emu_wait_type;

/* Returns the earliest start of `op` after the previous op, which ended at tail_ns. */
int64_t emu_op_ready(const struct emu_op *op, const struct cost_gpu *m, int64_t tail_ns);
/* Runs `op`, whose deps are all known, at the end of `track`. */
void emu_op_run(struct emu_op *op, struct emu_track *track);
/* Frees the data of the op, not the op. */
void emu_op_done(struct emu_op *op);
