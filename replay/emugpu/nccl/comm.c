/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/comm.h"

#include "base/scope.h"

#include <errno.h>

ncclResult_t emu_nccl_result(int error)
{
	switch (error) {
	case 0:
		return ncclSuccess;
	case -ECONNRESET:
		return ncclRemoteError;
	case -EINVAL:
	case -EPROTO:
		return ncclInvalidUsage;
	case -ECANCELED:
		return ncclRemoteError;
	default:
		return ncclSystemError;
	}
}

int emu_nccl_type(ncclDataType_t type, enum emu_type *ret)
{
	static const enum emu_type types[] = {
		[ncclInt8] = EMU_I8,	   [ncclUint8] = EMU_U8,	[ncclInt32] = EMU_I32,
		[ncclUint32] = EMU_U32,	   [ncclInt64] = EMU_I64,	[ncclUint64] = EMU_U64,
		[ncclFloat16] = EMU_F16,   [ncclFloat32] = EMU_F32,	[ncclFloat64] = EMU_F64,
		[ncclBfloat16] = EMU_BF16, [ncclFloat8e4m3] = EMU_E4M3, [ncclFloat8e5m2] = EMU_E5M2,
	};

	if ((unsigned)type >= sizeof(types) / sizeof(types[0]))
		return -EINVAL;
	*ret = types[type];
	return 0;
}

void emu_comm_fail(ncclComm_t comm, ncclResult_t why)
{
	int32_t none = ncclSuccess;

	__atomic_compare_exchange_n(&comm->state, &none, why, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
}

ncclResult_t emu_comm_state(ncclComm_t comm)
{
	return (ncclResult_t)__atomic_load_n(&comm->state, __ATOMIC_ACQUIRE);
}

/* The links between the ranks, from the GPU model and the hosts of the ranks. */
static void find_links(ncclComm_t comm)
{
	const struct emu_gpu *gpu = emu_gpu();
	struct cost_links *l = &comm->links;
	double efficiency = 1, nvlink = 0, pcie = 0, network = 0, compute = 0;
	double step_ns = 0;

	gpu->gpuemu_device_value(comm->device, "link_efficiency", &efficiency);
	gpu->gpuemu_device_value(comm->device, "nvlink_bytes_per_s", &nvlink);
	gpu->gpuemu_device_value(comm->device, "pcie_bytes_per_s", &pcie);
	gpu->gpuemu_device_value(comm->device, "network_bytes_per_s", &network);
	gpu->gpuemu_device_value(comm->device, "compute", &compute);
	gpu->gpuemu_device_value(comm->device, "collective_step_ns", &step_ns);
	gpu->gpuemu_device_value(comm->device, "switch_bytes_per_s", &l->switch_bytes_per_s);
	l->step_us = step_ns / 1000;
	l->ranks = comm->n;
	l->hosts = 1;
	l->wire = nvlink > 0 ? COST_NVLINK : COST_PCIE;
	l->bytes_per_s = (nvlink > 0 ? nvlink : pcie) * efficiency;
	l->network_bytes_per_s = network * efficiency;
	l->compute_capability = (int)(compute * 10 + 0.5);
}

static ncclResult_t join(ncclComm_t comm)
{
	int r = emu_segment_join(comm->id, comm->n, comm->rank, comm->device, &comm->segment);
	ncclResult_t result = r == -ECONNRESET ? ncclRemoteError
			      : r == -EPROTO   ? ncclInvalidArgument
			      : r < 0	       ? ncclSystemError
					       : ncclSuccess;

	if (r == 0)
		find_links(comm);
	__atomic_store_n(&comm->state, (int32_t)result, __ATOMIC_RELEASE);
	return result;
}

static void *join_on_thread(void *comm)
{
	join(comm);
	return NULL;
}

static int32_t waits(const ncclConfig_t *config)
{
	return !config || config->blocking != 0;
}

static ncclResult_t comm_new(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank,
			     const ncclConfig_t *config)
{
	static const ncclConfig_t usual = NCCL_CONFIG_INITIALIZER;
	const struct emu_gpu *gpu;
	scoped(free_ptr) ncclComm_t comm = calloc(1, sizeof(*comm));

	if (!comm)
		return ncclSystemError;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return ncclUnhandledCudaError;
	gpu = emu_gpu();
	if (gpu->cuCtxGetCurrent(&comm->context) != CUDA_SUCCESS ||
	    gpu->cuCtxGetDevice(&comm->device) != CUDA_SUCCESS)
		return ncclUnhandledCudaError;
	comm->n = (uint32_t)n;
	comm->rank = (uint32_t)rank;
	comm->state = ncclInProgress;
	comm->config = config ? *config : usual;
	memcpy(comm->id, id->internal, sizeof(comm->id));
	pthread_mutex_init(&comm->lock, NULL);
	pthread_cond_init(&comm->changed, NULL);
	*ret = take(comm);
	return ncclSuccess;
}

ncclResult_t emu_comm_init(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank,
			   const ncclConfig_t *config, int on_thread)
{
	ncclComm_t comm = NULL;
	ncclResult_t r;

	if (!ret || n < 1 || rank < 0 || rank >= n)
		return ncclInvalidArgument;
	r = comm_new(&comm, n, id, rank, config);
	if (r != ncclSuccess)
		return r;
	*ret = comm;
	if (!on_thread && waits(config)) {
		r = join(comm);
		if (r == ncclSuccess)
			return r;
		*ret = NULL;
		emu_comm_end(comm, 1);
		return r;
	}
	if (pthread_create(&comm->joining, NULL, join_on_thread, comm) != 0) {
		*ret = NULL;
		free(comm);
		return ncclSystemError;
	}
	comm->has_thread = 1;
	return ncclInProgress;
}

ncclResult_t emu_comm_joined(ncclComm_t comm)
{
	if (comm->has_thread)
		pthread_join(comm->joining, NULL);
	comm->has_thread = 0;
	return emu_comm_state(comm);
}

ncclResult_t emu_comm_end(ncclComm_t comm, int abort)
{
	if (!comm)
		return ncclSuccess;
	emu_comm_joined(comm);
	if (abort && comm->segment) {
		__atomic_store_n(&comm->lost, 1, __ATOMIC_RELEASE);
		emu_segment_abort(comm->segment);
	}
	pthread_mutex_lock(&comm->lock);
	while (comm->in_flight > 0)
		pthread_cond_wait(&comm->changed, &comm->lock);
	pthread_mutex_unlock(&comm->lock);
	emu_segment_leave(comm->segment);
	pthread_mutex_destroy(&comm->lock);
	pthread_cond_destroy(&comm->changed);
	free(comm);
	return ncclSuccess;
}
