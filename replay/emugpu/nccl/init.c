/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/launch.h"

#include "replay/emugpu/counts.h"

#include <dlfcn.h>
#include <stdio.h>

EMU_NCCL(ncclGetUniqueId, ncclUniqueId *uniqueId)
{
	if (!uniqueId)
		return ncclInvalidArgument;
	memset(uniqueId, 0, sizeof(*uniqueId));
	return emu_nccl_result(emu_segment_make((uint8_t *)uniqueId->internal));
}

/* The end of the group waits for a communicator created in the group. As NCCL, sets *comm at once,
 * but for a split at the end of the group. */
static ncclResult_t in_group(ncclComm_t *comm, ncclResult_t r)
{
	if (r != ncclInProgress || !emu_group_joining(*comm))
		return r;
	if ((*comm)->parent) {
		(*comm)->split_to = comm;
		*comm = NULL;
	}
	return ncclSuccess;
}

ncclResult_t emu_nccl_init(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank,
			   const ncclConfig_t *config)
{
	return in_group(ret, emu_comm_init(ret, n, id, rank, config, emu_group_joining(NULL)));
}

EMU_NCCL(ncclCommInitAll, ncclComm_t *comm, int ndev, const int *devlist)
{
	const struct emu_gpu *gpu = emu_gpu();
	CUcontext before = NULL, context;
	ncclResult_t r = ncclSuccess, last;
	ncclUniqueId id;

	if (!gpu)
		return ncclUnhandledCudaError;
	if (!comm || ndev < 1)
		return ncclInvalidArgument;
	r = pncclGetUniqueId(&id);
	gpu->cuCtxGetCurrent(&before);
	pncclGroupStart();
	for (int i = 0; r == ncclSuccess && i < ndev; i++) {
		if (gpu->cuDevicePrimaryCtxRetain(&context, devlist ? devlist[i] : i) !=
			    CUDA_SUCCESS ||
		    gpu->cuCtxSetCurrent(context) != CUDA_SUCCESS)
			r = ncclInvalidArgument;
		else
			r = emu_nccl_init(&comm[i], ndev, &id, i, NULL);
	}
	gpu->cuCtxSetCurrent(before);
	last = pncclGroupEnd();
	return r == ncclSuccess ? last : r;
}

/* Checks that the communicator works. Calls the exported function, as NCCL does, so that tools can
 * intercept the call. While calls of the program are counted ($GPUEMU_COUNTS), reads the state
 * directly, since the program did not make this call. */
static ncclResult_t check_ready(ncclComm_t comm)
{
	typedef ncclResult_t query(ncclComm_t comm, ncclResult_t * state);
	query *exported = (query *)dlsym(RTLD_DEFAULT, "ncclCommGetAsyncError");
	ncclResult_t state = ncclSuccess, r;

	if (!exported || emu_counting & EMU_COUNTED)
		return emu_comm_state(comm);
	r = exported(comm, &state);
	return r == ncclSuccess ? state : r;
}

EMU_NCCL(ncclCommCount, const ncclComm_t comm, int *count)
{
	if (!comm || !count)
		return ncclInvalidArgument;
	*count = (int)comm->n;
	return check_ready(comm);
}

EMU_NCCL(ncclCommUserRank, const ncclComm_t comm, int *rank)
{
	if (!comm || !rank)
		return ncclInvalidArgument;
	*rank = (int)comm->rank;
	return check_ready(comm);
}

EMU_NCCL(ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
	 ncclConfig_t *config)
{
	if (!comm || !newcomm || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
		return ncclInvalidArgument;
	if (emu_comm_state(comm) != ncclSuccess)
		return ncclInvalidUsage;
	return in_group(newcomm, emu_comm_split(comm, color, key, config ? config : &comm->config,
						emu_group_joining(NULL), newcomm));
}

EMU_API const char *pncclGetErrorString(ncclResult_t result)
{
	static const char *const texts[] = {
		[ncclSuccess] = "no error",
		[ncclUnhandledCudaError] = "unhandled cuda error",
		[ncclSystemError] = "unhandled system error",
		[ncclInternalError] = "internal error",
		[ncclInvalidArgument] = "invalid argument",
		[ncclInvalidUsage] = "invalid usage",
		[ncclRemoteError] = "remote process exited or there was a network error",
		[ncclInProgress] = "NCCL operation in progress",
	};

	return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result]
								   : "unknown result code";
}

EMU_API const char *pncclGetLastError(ncclComm_t comm)
{
	return comm && emu_comm_state(comm) != ncclSuccess
		       ? pncclGetErrorString(emu_comm_state(comm))
		       : "";
}

EMU_NCCL(ncclMemAlloc, void **ptr, size_t size)
{
	CUdeviceptr at = 0;

	if (!ptr || emu_gpu_context() != CUDA_SUCCESS ||
	    emu_gpu()->cuMemAlloc_v2(&at, size) != CUDA_SUCCESS)
		return ncclUnhandledCudaError;
	*ptr = (void *)(uintptr_t)at;
	return ncclSuccess;
}

/* A window is its memory address; one-sided operations are not implemented. */
EMU_NCCL(ncclCommWindowRegister, ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win,
	 int winFlags)
{
	if (!comm || !buff || !win || size == 0 ||
	    (winFlags != NCCL_WIN_DEFAULT && winFlags != NCCL_WIN_COLL_SYMMETRIC))
		return ncclInvalidArgument;
	if ((uintptr_t)buff % NCCL_WIN_REQUIRED_ALIGNMENT)
		return ncclInvalidArgument;
	*win = (ncclWindow_t)buff;
	return emu_comm_state(comm);
}
