/* SPDX-License-Identifier: Apache-2.0 */

/* Launches of NCCL operations. Each collective is one kernel; the sends and receives of a group on
 * one communicator and stream are one kernel together. */
#pragma once

#include "replay/emugpu/nccl/comm.h"

enum { EMU_INLINE_TRANSFERS = 96 };

/* The parameter of all NCCL kernels. */
struct emu_nccl_work {
	ncclComm_t comm;
	uint64_t number; /* of the operation; UINT64_MAX in a graph: differs by launch */
	int posted;	 /* posted to the other ranks */
	struct emu_operation operation;
	const void *scalar_at; /* address of operation.scalar, if not NULL */
	uint32_t n_transfers;
	struct emu_message *more; /* all transfers if transfers[] is too small; never freed */
	struct emu_message transfers[EMU_INLINE_TRANSFERS];
};

/* Returns the duration after the last arrival: recorded, else from the model. */
int64_t emu_nccl_duration_ns(const struct emu_nccl_work *w);

/* Launches `w` on `stream`, in the communicator's context. */
ncclResult_t emu_nccl_launch(struct emu_nccl_work *w, CUstream stream);

/* Runs a call of the program, now or at the end of the group. */
ncclResult_t emu_group_operation(ncclComm_t comm, const struct emu_operation *o,
				 const void *scalar_at, CUstream stream);
ncclResult_t emu_group_message(ncclComm_t comm, const struct emu_message *t, CUstream stream);

/* Returns 1 if the thread is in a group, whose end then waits for `comm` to join. */
int emu_group_joining(ncclComm_t comm);

/* Functions for the expressions of forward.txt: a collective, with any operator and root; a send or
 * receive; ncclCommInitRank. */
ncclResult_t emu_nccl_collective(ncclComm_t comm, enum cost_collective kind, const void *send,
				 void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
				 int root, cudaStream_t stream);
ncclResult_t emu_nccl_transfer(ncclComm_t comm, const void *data, size_t count, ncclDataType_t type,
			       int peer, int receives, cudaStream_t stream);
ncclResult_t emu_nccl_init(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank,
			   const ncclConfig_t *config);
