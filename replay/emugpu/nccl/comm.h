/* SPDX-License-Identifier: Apache-2.0 */

/* A communicator: one rank of it, on one device. */
#pragma once

#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/nccl/exchange.h"
#include "replay/emugpu/refuse.h"

#include <nccl.h>
#include <pthread.h>

/* Defines pncclX; gen/stubs.py generates ncclX. */
#define EMU_NCCL(name, ...)                                                                        \
	EMU_API ncclResult_t p##name(__VA_ARGS__);                                                 \
	EMU_API ncclResult_t p##name(__VA_ARGS__)

enum { EMU_MAX_OPS = 64 }; /* live operators of ncclRedOpCreatePreMulSum */

struct emu_red_op {
	enum emu_type type;
	int used;
	const void *device_value; /* device memory; or NULL, and `value` */
	double value;
};

struct ncclComm {
	struct emu_segment *segment; /* NULL until all ranks have joined */
	uint32_t rank, n;
	CUcontext context;
	CUdevice device;
	ncclConfig_t config;
	struct cost_links links;
	int64_t gap_ns;	 /* between two kernels of a stream */
	int64_t call_ns; /* host time of a launch, in addition to that of cuLaunchKernel() */
	struct emu_red_op ops[EMU_MAX_OPS];
	int32_t state;	      /* ncclResult_t of joining, or the first error since */
	int32_t lost;	      /* aborted by this rank */
	pthread_mutex_t lock; /* protects the following members */
	pthread_cond_t changed;
	uint64_t next, serving; /* operation numbers: next to assign, next to run */
	uint64_t posting;	/* next to post */
	struct {
		const uint8_t *at;
		uint64_t bytes;
	} out[EMU_WINDOW]; /* results of posting, by operation number */
	uint32_t in_flight;
	pthread_t joining;
	int has_thread;
	uint8_t id[EMU_SEGMENT_ID_BYTES];
	ncclComm_t *split_to;  /* of a split in a group: set at the end of the group */
	ncclComm_t parent;     /* of a split; then n and rank are 0 until the ranks have agreed */
	int32_t color, key;    /* of a split */
	uint64_t split_number; /* among the splits of the parent */
	uint64_t splits, splits_done;
};

/* Creates a rank of a communicator and joins it: with `on_thread`, or if the configuration is
 * non-blocking, in a thread of its own (ncclInProgress). */
ncclResult_t emu_comm_init(ncclComm_t *comm, int n, const ncclUniqueId *id, int rank,
			   const ncclConfig_t *config, int on_thread);

/* Creates a communicator of the ranks of `parent` with an equal color, ordered by key, and joins
 * it as emu_comm_init() does. A negative color gives
 * NULL, or with `on_thread` an object to end after it has joined. */
ncclResult_t emu_comm_split(ncclComm_t parent, int color, int key, const ncclConfig_t *config,
			    int on_thread, ncclComm_t *ret);

/* Waits for a rank that joins in a separate thread. */
ncclResult_t emu_comm_joined(ncclComm_t comm);

/* Destroys the communicator: after its operations have ended, or at once (abort). */
ncclResult_t emu_comm_end(ncclComm_t comm, int abort);

/* Returns the result for ncclCommGetAsyncError(). */
ncclResult_t emu_comm_state(ncclComm_t comm);

/* Sets the error of the communicator, unless it already has one. */
void emu_comm_fail(ncclComm_t comm, ncclResult_t why);

/* Returns the NCCL result for an errno value of segment.h. */
ncclResult_t emu_nccl_result(int error);
int emu_nccl_type(ncclDataType_t type, enum emu_type *ret);
