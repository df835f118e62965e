/* SPDX-License-Identifier: Apache-2.0 */

/* Work of a device: what streams are made of, and graphs.
 *
 * An op runs twice at once: in virtual time, where it gets a start and an end, and in fact, where
 * its bytes are copied or its kernel's code is called. In fact it runs in the thread that submits
 * it, unless something before it waits for the outside (another process, a host function, another
 * stream that waits): then the stream's own thread runs it later, and virtual time comes out the
 * same. What waits for other processes is posted to them as soon as it can be, so that these need
 * not wait for the op to run (post.c).
 */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"
#include "replay/engine/moment.h"

#include <stdint.h>

/* A moment that ops or hosts wait for: counted references, any thread. */
struct emu_point {
	int refs;
	uint32_t done; /* a futex */
	int64_t end_ns;
};

struct emu_point *emu_point_new(void); /* one reference; NULL without memory */
void emu_point_drop(struct emu_point *p);
int emu_point_reached(const struct emu_point *p);
/* Waits for at most `ns` of real time. Whether it is reached. */
int emu_point_await(struct emu_point *p, long ns);

/* A thread that polls waits this long for the host to do the work, after so many queries in a row:
 * threads that poll would keep the processors from those that work. */
enum { EMU_POLLS = 4, EMU_POLL_NS = 200000 };

/* A moment that is known, or will be. Owns a reference to `point`. */
struct emu_dep {
	int64_t end_ns;
	int64_t lag_ns;		 /* how much later it is seen; added to end_ns once that is known */
	struct emu_point *point; /* NULL: known */
};

/* Waits in real time, gives up the reference; the virtual time. */
int64_t emu_dep_wait(struct emu_dep *d);

/* Where ops run one after another, in virtual time. */
struct emu_track {
	struct emu_device *device;
	struct emu_context *context;
	int64_t tail_ns; /* end of the last op */
};

struct emu_function;
struct emu_model;

struct emu_kernel_op {
	struct emu_function *function;
	uint32_t grid[3], block[3], shared_bytes;
	void **args; /* the caller's, until owned */
	void *args_copy;
	uint64_t ticket; /* gpuemu_launch.ticket, of a graph node */
};

/* Bytes from here to there; lines and planes for the 2D and 3D forms, else one of each. */
struct emu_copy_op {
	uint8_t *to;
	const uint8_t *from;
	size_t width_bytes, height, depth;
	size_t to_pitch, from_pitch;   /* bytes from line to line */
	size_t to_height, from_height; /* lines from plane to plane */
	uint8_t kind;		       /* enum emu_copy_kind */
	uint8_t pageable;	       /* the host's side is not page-locked */
	struct emu_device *peer;       /* the other device of a copy between two */
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

struct emu_value_op { /* a wait for, or a write of, a word of memory */
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
	int64_t ready_ns;     /* the latest of the moments that it waits for and that are known */
	struct emu_dep *deps; /* those that are not; owned */
	unsigned n_deps;
	int posted; /* post.c */
	union {
		struct emu_kernel_op kernel;
		struct emu_copy_op copy;
		struct emu_set_op set;
		struct emu_host_op host;
		struct emu_value_op value;
		struct emu_point *point; /* record: reached by it; one reference */
		struct {
			struct emu_plan *plan;
			uint64_t *tickets; /* by step; NULL: no kernel has `issue` */
		} graph;
		struct emu_event *event; /* graph nodes only */
		struct {
			struct emu_shared_event *event;
			uint32_t number;
		} shared;
		struct {
			uintptr_t at;
			struct emu_pool *pool;
		} memory; /* given back */
	};
};

struct emu_op_type {
	const char *name;
	CUgraphNodeType node;
	int light; /* takes no launch and no gap: it only marks or moves the track's end */
	/* 1 when running it may wait for the outside. */
	int (*blocks)(const struct emu_op *op);
	/* Copies what the caller owns; 1, 0 when that cannot be done (the submitter then waits), or
	 * -ENOMEM. */
	int (*own)(struct emu_op *op);
	void (*release)(struct emu_op *op); /* what own() copied, and references */
	/* As gpuemu_kernel's, of an op that is owned; may be NULL. */
	int (*post)(struct emu_op *op, const struct emu_op *before, struct emu_track *track,
		    int64_t ready_ns, int64_t gap_ns);
	/* Runs; `ready_ns` is the earliest start. The end. */
	int64_t (*run)(struct emu_op *op, struct emu_track *track, int64_t ready_ns);
};

extern const struct emu_op_type emu_kernel_type, emu_copy_type, emu_set_type, emu_host_type,
	emu_record_type, emu_wait_type;

/* The earliest start of `op` behind what ended at tail_ns. */
int64_t emu_op_ready(const struct emu_op *op, const struct emu_model *m, int64_t tail_ns);
/* Runs `op` at the end of `track`, whose deps are all known. */
void emu_op_run(struct emu_op *op, struct emu_track *track);
/* Frees what the op owns, not the op. */
void emu_op_done(struct emu_op *op);
