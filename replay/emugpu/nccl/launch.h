/* SPDX-License-Identifier: Apache-2.0 */

/* Operations on their way to the GPU. A group's collectives are one kernel each, its sends and
 * receives with one communicator and stream are one kernel together. */
#pragma once

#include "replay/emugpu/nccl/comm.h"

enum { EMU_INLINE_TRANSFERS = 96 };

/* The one parameter of every kernel of NCCL. */
struct emu_nccl_work {
	ncclComm_t comm;
	uint64_t number; /* turn of the operation; UINT64_MAX in a graph: each launch has its own
			  */
	int posted;	 /* the others know that this rank takes part */
	struct emu_operation operation;
	const void *scalar_at; /* where operation.scalar is read, when not NULL */
	uint32_t n_transfers;
	struct emu_transfer *more; /* all of them, when they don't fit; kept for good */
	struct emu_transfer transfers[EMU_INLINE_TRANSFERS];
};

/* What it takes once all are there: as recorded, else by the model. */
int64_t emu_nccl_duration_ns(const struct emu_nccl_work *w);

/* Launches it on `stream`, in the communicator's context. */
ncclResult_t emu_nccl_launch(struct emu_nccl_work *w, CUstream stream);

/* A call of the program: run at once, or with the others at the end of the group. */
ncclResult_t emu_group_operation(ncclComm_t comm, const struct emu_operation *o,
				 const void *scalar_at, CUstream stream);
ncclResult_t emu_group_transfer(ncclComm_t comm, const struct emu_transfer *t, CUstream stream);

/* Does this thread stand between ncclGroupStart and ncclGroupEnd? Then `comm`, which is joining, is
 * waited for at the end. */
int emu_group_joining(ncclComm_t comm);
