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

/* Returns whether $NCCL_ALGO allows an algorithm: a list of names; after ^, of those to avoid.
 * Ignores lists by operation ("allreduce:ring"). */
static int algorithm_is_allowed(const char *algorithm)
{
	const char *list = getenv("NCCL_ALGO");
	int avoids = list && *list == '^', listed = 0;

	if (!list || !*list || strchr(list, ':'))
		return 1;
	for (list += avoids; *list && !listed; list += strspn(list, ",")) {
		size_t n = strcspn(list, ",");

		listed = n == strlen(algorithm) && strncasecmp(list, algorithm, n) == 0;
		list += n;
	}
	return listed != avoids;
}

/* The links between the ranks, from the GPU model and the hosts of the ranks. */
static void find_links(ncclComm_t comm)
{
	const struct emu_gpu *gpu = emu_gpu();
	struct cost_links *l = &comm->links;
	double efficiency = 1, nvlink = 0, pcie = 0, network = 0, compute = 0;
	double gap_ns = 0, call_ns = 0, launch_ns = 0;
	const char *nvls = getenv("NCCL_NVLS_ENABLE");

	gpu->gpuemu_device_value(comm->device, "link_efficiency", &efficiency);
	gpu->gpuemu_device_value(comm->device, "nvlink_bytes_per_s", &nvlink);
	gpu->gpuemu_device_value(comm->device, "pcie_bytes_per_s", &pcie);
	gpu->gpuemu_device_value(comm->device, "network_bytes_per_s", &network);
	gpu->gpuemu_device_value(comm->device, "compute", &compute);
	gpu->gpuemu_device_value(comm->device, "call_collective_ns", &call_ns);
	gpu->gpuemu_device_value(comm->device, "call_launch_ns", &launch_ns);
	gpu->gpuemu_device_value(comm->device, "switch_bytes_per_s", &l->switch_bytes_per_s);
	gpu->gpuemu_device_value(comm->device, "gap_ns", &gap_ns);
	comm->gap_ns = (int64_t)gap_ns;
	comm->call_ns = call_ns > launch_ns ? (int64_t)(call_ns - launch_ns) : 0;
	l->excluded = (algorithm_is_allowed("tree") ? 0 : 1u << COST_TREE) |
		      (algorithm_is_allowed("ring") ? 0 : 1u << COST_RING);
	if (!algorithm_is_allowed("nvls") || (nvls && strcmp(nvls, "0") == 0))
		l->switch_bytes_per_s = 0;
	l->ranks = comm->n;
	l->hosts = 1;
	l->wire = nvlink > 0 ? COST_NVLINK : COST_PCIE;
	l->bytes_per_s = (nvlink > 0 ? nvlink : pcie) * efficiency;
	l->network_bytes_per_s = network * efficiency;
	l->compute_capability = (int)(compute * 10 + 0.5);
}

/* The data that ranks exchange when a communicator is split. */
struct wish {
	int32_t color, key;
	uint8_t id[EMU_SEGMENT_ID_BYTES];
};

/* The first rank of each color makes the id of the new communicator. */
static int is_first_of_color(const struct wish *all, uint32_t n, uint32_t rank)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].color == all[rank].color &&
		    (all[i].key < all[rank].key || (all[i].key == all[rank].key && i < rank)))
			return 0;
	return 1;
}

/* Agrees with the other ranks of the parent on the id, size and ranks of the new communicator. */
static int agree_on_split(ncclComm_t comm, const struct ncclComm *parent)
{
	scoped(free_ptr) struct wish *all = calloc(parent->n, sizeof(*all));
	struct wish mine = {.color = comm->color, .key = comm->key};
	int r;

	if (!all)
		return -ENOMEM;
	r = emu_segment_exchange(parent->segment, &mine, sizeof(mine), all);
	if (r == 0 && mine.color >= 0 && is_first_of_color(all, parent->n, parent->rank))
		r = emu_segment_make(mine.id);
	if (r == 0)
		r = emu_segment_exchange(parent->segment, &mine, sizeof(mine), all);
	for (uint32_t i = 0; r == 0 && mine.color >= 0 && i < parent->n; i++) {
		if (all[i].color != mine.color)
			continue;
		comm->n++;
		comm->rank += all[i].key < mine.key || (all[i].key == mine.key && i < parent->rank);
		if (is_first_of_color(all, parent->n, i))
			memcpy(comm->id, all[i].id, sizeof(comm->id));
	}
	return r;
}

/* Splits of one parent exchange data in the order of their calls. */
static int agree_in_order(ncclComm_t comm)
{
	ncclComm_t parent = comm->parent;
	int r;

	pthread_mutex_lock(&parent->lock);
	while (parent->splits_done != comm->split_number)
		pthread_cond_wait(&parent->changed, &parent->lock);
	pthread_mutex_unlock(&parent->lock);
	r = agree_on_split(comm, parent);
	pthread_mutex_lock(&parent->lock);
	parent->splits_done++;
	pthread_cond_broadcast(&parent->changed);
	pthread_mutex_unlock(&parent->lock);
	return r;
}

static ncclResult_t join_comm(ncclComm_t comm)
{
	ncclResult_t result = comm->parent ? emu_nccl_result(agree_in_order(comm)) : ncclSuccess;
	int r = 0;

	if (result == ncclSuccess && comm->color >= 0) {
		r = emu_segment_join(comm->id, comm->n, comm->rank, comm->device, &comm->segment);
		result = r == -ECONNRESET ? ncclRemoteError
			 : r == -EPROTO	  ? ncclInvalidArgument
			 : r < 0	  ? ncclSystemError
					  : ncclSuccess;
	}
	if (comm->segment)
		find_links(comm);
	__atomic_store_n(&comm->state, (int32_t)result, __ATOMIC_RELEASE);
	return result;
}

static void *join_on_thread(void *comm)
{
	join_comm(comm);
	return NULL;
}

static int32_t is_blocking(const ncclConfig_t *config)
{
	return config->blocking != 0;
}

static ncclResult_t comm_new(ncclComm_t *ret, const ncclConfig_t *config)
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
	comm->state = ncclInProgress;
	comm->config = config ? *config : usual;
	pthread_mutex_init(&comm->lock, NULL);
	pthread_cond_init(&comm->changed, NULL);
	*ret = take(comm);
	return ncclSuccess;
}

/* Later splits of the parent would wait for this one, which does not start. */
static void drop_turn(ncclComm_t comm)
{
	ncclComm_t parent = comm->parent;

	pthread_mutex_lock(&parent->lock);
	if (parent->splits == comm->split_number + 1)
		parent->splits--;
	pthread_mutex_unlock(&parent->lock);
}

static ncclResult_t start_join(ncclComm_t comm, int on_thread, ncclComm_t *ret)
{
	ncclResult_t r;

	*ret = comm;
	if (!on_thread && (is_blocking(&comm->config) || comm->color < 0)) {
		r = join_comm(comm);
		if (r == ncclSuccess && comm->color >= 0)
			return r;
		*ret = NULL;
		emu_comm_end(comm, 1);
		return r;
	}
	if (pthread_create(&comm->joining, NULL, join_on_thread, comm) != 0) {
		*ret = NULL;
		if (comm->parent)
			drop_turn(comm);
		emu_comm_end(comm, 1);
		return ncclSystemError;
	}
	comm->has_thread = 1;
	return ncclInProgress;
}

ncclResult_t emu_comm_init(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank,
			   const ncclConfig_t *config, int on_thread)
{
	ncclComm_t comm = NULL;
	ncclResult_t r;

	if (!ret || n < 1 || rank < 0 || rank >= n)
		return ncclInvalidArgument;
	r = comm_new(&comm, config);
	if (r != ncclSuccess)
		return r;
	comm->n = (uint32_t)n;
	comm->rank = (uint32_t)rank;
	memcpy(comm->id, id->internal, sizeof(comm->id));
	return start_join(comm, on_thread, ret);
}

ncclResult_t emu_comm_split(ncclComm_t parent, int color, int key, const ncclConfig_t *config,
			    int on_thread, ncclComm_t *ret)
{
	ncclComm_t comm = NULL;
	ncclResult_t r = comm_new(&comm, config);

	if (r != ncclSuccess)
		return r;
	comm->context = parent->context;
	comm->device = parent->device;
	comm->parent = parent;
	comm->color = color;
	comm->key = key;
	pthread_mutex_lock(&parent->lock);
	comm->split_number = parent->splits++;
	pthread_mutex_unlock(&parent->lock);
	return start_join(comm, on_thread, ret);
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
