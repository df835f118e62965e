/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Operations of a communicator run sequentially, in call order, on any streams. */
static uint64_t number_next(ncclComm_t comm)
{
	uint64_t number;

	pthread_mutex_lock(&comm->lock);
	number = comm->next++;
	comm->in_flight++;
	pthread_mutex_unlock(&comm->lock);
	return number;
}

static void wait_turn(ncclComm_t comm, uint64_t number)
{
	pthread_mutex_lock(&comm->lock);
	while (comm->serving != number)
		pthread_cond_wait(&comm->changed, &comm->lock);
	pthread_mutex_unlock(&comm->lock);
}

static void end_turn(ncclComm_t comm)
{
	pthread_mutex_lock(&comm->lock);
	comm->serving++;
	if (comm->posting < comm->serving)
		comm->posting = comm->serving;
	comm->in_flight--;
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->lock);
}

static const struct emu_message *transfers_of(const struct emu_nccl_work *w)
{
	return w->more ? w->more : w->transfers;
}

/* Returns the bytes of an operation as defined by cost_collective_ns(). A transfer to the rank
 * itself uses no link. */
static double bytes_of(const struct emu_nccl_work *w)
{
	const struct emu_message *t = transfers_of(w);
	double sum[2] = {0, 0};

	if (w->operation.kind != COST_SEND_RECV)
		return (double)w->operation.count * (double)emu_type_bytes(w->operation.type);
	for (uint32_t i = 0; i < w->n_transfers; i++)
		sum[t[i].receives] += t[i].peer == w->comm->rank ? 0 : (double)t[i].bytes;
	return sum[0] > sum[1] ? sum[0] : sum[1];
}

/* The larger of a rank's input and output, as recordings count bytes. */
static uint64_t message_bytes(const struct emu_nccl_work *w, uint32_t n)
{
	enum cost_collective kind = w->operation.kind;
	int by_ranks = kind == COST_ALL_GATHER || kind == COST_REDUCE_SCATTER ||
		       kind == COST_ALL_TO_ALL || kind == COST_GATHER || kind == COST_SCATTER;

	return (uint64_t)bytes_of(w) * (by_ranks ? n : 1);
}

int64_t emu_nccl_duration_ns(const struct emu_nccl_work *w)
{
	enum cost_collective kind = w->operation.kind;
	gpuemu_recorded_ns_fn *recorded_ns = emu_gpu()->gpuemu_recorded_ns;
	int64_t ns = -1;

	if (recorded_ns)
		ns = recorded_ns(cost_collective_name(kind), w->comm->n,
				 message_bytes(w, w->comm->n));
	if (ns >= 0)
		return ns;
	/* The model's times are those that nccl-tests prints, which include the gap between two
	 * operations. */
	ns = cost_collective_ns(&w->comm->links, kind, bytes_of(w));
	return ns > w->comm->gap_ns ? ns - w->comm->gap_ns : ns;
}

/* Returns 1 if the operation reads the output of an earlier one that has not run. */
static int reads_unwritten(const struct emu_nccl_work *w)
{
	const uint8_t *in = w->operation.send;
	uint64_t bytes = emu_exchange_in(&w->operation, w->comm->n);

	for (uint64_t i = w->comm->serving; i < w->number; i++) {
		const uint8_t *out = w->comm->out[i % EMU_WINDOW].at;

		if (in < out + w->comm->out[i % EMU_WINDOW].bytes && out < in + bytes)
			return 1;
	}
	return 0;
}

/* Returns whether the operation can be posted before it runs: its input is complete, all earlier
 * operations are posted, and its start follows from the previous one on its stream. */
static int can_be_posted(const struct gpuemu_launch *launch, void *const *args, void *const *before,
			 int64_t gap_ns)
{
	struct emu_nccl_work *w = args[0];
	const struct emu_nccl_work *b = before ? before[0] : NULL;
	ncclComm_t comm = w->comm;
	int r = -EAGAIN, first = 0;

	if (w->operation.kind == COST_SEND_RECV || w->scalar_at || w->number == UINT64_MAX ||
	    (b && (b->comm != comm || b->number + 1 != w->number)))
		return 0;
	pthread_mutex_lock(&comm->lock);
	if (comm->posting == w->number && w->number - comm->serving < EMU_WINDOW &&
	    !reads_unwritten(w))
		r = emu_exchange_post(comm->segment, &w->operation, launch->start_ns,
				      b ? gap_ns : -1, emu_nccl_duration_ns(w), 0);
	if (r >= 0) {
		w->posted = 1;
		comm->posting++;
		comm->out[w->number % EMU_WINDOW].at = w->operation.receive;
		comm->out[w->number % EMU_WINDOW].bytes = emu_exchange_out(&w->operation, comm->n);
		first = comm->serving == w->number;
	}
	pthread_mutex_unlock(&comm->lock);
	return r < 0 ? 0 : r > 0 && first ? GPUEMU_ALL_ARRIVED : GPUEMU_POSTED;
}

static int exchange(const struct emu_nccl_work *w, struct gpuemu_launch *launch)
{
	struct emu_segment *s = w->comm->segment;
	struct emu_operation o = w->operation;

	if (w->posted)
		return emu_exchange_finish(s, &o, &launch->end_ns);
	if (w->scalar_at)
		o.scalar = emu_load(o.type, w->scalar_at, 0);
	return emu_exchange(s, &o, launch->start_ns, emu_nccl_duration_ns(w), &launch->end_ns);
}

static void explain(const char *problem)
{
	const struct emu_gpu *g = emu_gpu();

	if (g && g->gpuemu_explain)
		g->gpuemu_explain(problem);
}

static int run_messages(const struct emu_nccl_work *w, struct gpuemu_launch *launch)
{
	struct emu_mismatch m;
	char problem[200];
	int r = emu_messages(w->comm->segment, transfers_of(w), w->n_transfers, launch->start_ns,
			     emu_nccl_duration_ns(w), &launch->end_ns, &m);

	if (r == -EINVAL) {
		snprintf(problem, sizeof(problem),
			 "ncclSend and ncclRecv fail: rank %u sends %" PRIu64
			 " bytes to rank %u, which expects %" PRIu64,
			 m.sender, m.sent_bytes, m.receiver, m.expected_bytes);
		explain(problem);
	}
	return r;
}

static int collective(const struct emu_nccl_work *w, struct gpuemu_launch *launch)
{
	char problem[200];
	int r = exchange(w, launch);

	if (r == -EINVAL) {
		snprintf(problem, sizeof(problem),
			 "an NCCL collective fails: rank %u calls %s of %" PRIu64
			 " elements, but other ranks call another collective, size, type or root",
			 w->comm->rank, launch->name, w->operation.count);
		explain(problem);
	}
	return r;
}

static void run_operation(struct gpuemu_launch *launch, void *const *args)
{
	const struct emu_nccl_work *w = args[0];
	ncclComm_t comm = w->comm;
	int r;

	wait_turn(comm, w->number == UINT64_MAX ? launch->ticket : w->number);
	r = w->operation.kind == COST_SEND_RECV ? run_messages(w, launch) : collective(w, launch);
	if (r < 0)
		emu_comm_fail(comm, emu_nccl_result(r));
	/* Data to receive is missing: the stream fails, unless this rank itself aborted. */
	if (r < 0 && !__atomic_load_n(&comm->lost, __ATOMIC_ACQUIRE))
		launch->error = CUDA_ERROR_LAUNCH_FAILED;
	end_turn(comm);
}

static uint64_t next_number(void *const *args)
{
	const struct emu_nccl_work *w = args[0];

	return number_next(w->comm);
}

static const size_t param_bytes[] = {sizeof(struct emu_nccl_work)};

/* Named like NCCL's kernels, so that tools recognise them in recordings. */
#define KERNEL(name)                                                                               \
	{                                                                                          \
		name, GPUEMU_BLOCKS | GPUEMU_POSTS | GPUEMU_ISSUES, run_operation, NULL, NULL,     \
			param_bytes, 1, can_be_posted, next_number                                 \
	}
#define REDUCING(kind, op)                                                                         \
	KERNEL("ncclDevKernel_" kind "_" op "_i8"), KERNEL("ncclDevKernel_" kind "_" op "_u8"),    \
		KERNEL("ncclDevKernel_" kind "_" op "_i32"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_u32"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_i64"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_u64"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_f16"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_f32"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_f64"),                                       \
		KERNEL("ncclDevKernel_" kind "_" op "_bf16"),                                      \
		KERNEL("ncclDevKernel_" kind "_" op "_f8e4m3"),                                    \
		KERNEL("ncclDevKernel_" kind "_" op "_f8e5m2")
#define OPS(kind)                                                                                  \
	REDUCING(kind, "Sum"), REDUCING(kind, "Prod"), REDUCING(kind, "Max"),                      \
		REDUCING(kind, "Min"), REDUCING(kind, "Avg"), REDUCING(kind, "PreMulSum")

enum { OPS_EACH = EMU_REDUCTIONS * ncclNumTypes };

static const struct gpuemu_kernel kernels[] = {
	OPS("AllReduce"),
	OPS("Reduce"),
	OPS("ReduceScatter"),
	KERNEL("ncclDevKernel_Broadcast"),
	KERNEL("ncclDevKernel_AllGather"),
	KERNEL("ncclDevKernel_AllToAll"),
	KERNEL("ncclDevKernel_Gather"),
	KERNEL("ncclDevKernel_Scatter"),
	KERNEL("ncclDevKernel_SendRecv"),
};

enum { N_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static unsigned kernel_of(const struct emu_operation *o)
{
	static const unsigned plain[COST_COLLECTIVES] = {
		[COST_ALL_REDUCE] = 0,
		[COST_REDUCE] = OPS_EACH,
		[COST_REDUCE_SCATTER] = 2 * OPS_EACH,
		[COST_BROADCAST] = 3 * OPS_EACH,
		[COST_ALL_GATHER] = 3 * OPS_EACH + 1,
		[COST_ALL_TO_ALL] = 3 * OPS_EACH + 2,
		[COST_GATHER] = 3 * OPS_EACH + 3,
		[COST_SCATTER] = 3 * OPS_EACH + 4,
		[COST_SEND_RECV] = 3 * OPS_EACH + 5,
	};
	enum emu_type type;
	unsigned number = 0;

	if (plain[o->kind] >= 3 * OPS_EACH)
		return plain[o->kind];
	while (emu_nccl_type((ncclDataType_t)number, &type) == 0 && type != o->type)
		number++;
	return plain[o->kind] + o->reduction * ncclNumTypes + number;
}

ncclResult_t emu_nccl_launch(struct emu_nccl_work *w, CUstream stream)
{
	static CUkernel loaded[N_KERNELS];
	static struct emu_kernels all = {kernels, N_KERNELS, sizeof(struct emu_nccl_work), loaded,
					 0};
	const struct emu_gpu *gpu = emu_gpu();
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	ncclComm_t comm = w->comm;
	CUcontext before = NULL;
	CUresult r;

	gpu->cuCtxGetCurrent(&before);
	gpu->cuCtxSetCurrent(comm->context);
	gpu->cuStreamIsCapturing(stream, &capture);
	gpu->gpuemu_thread_not_before((int64_t)gpu->gpuemu_host_ns() + comm->call_ns);
	w->number = capture == CU_STREAM_CAPTURE_STATUS_NONE ? number_next(comm) : UINT64_MAX;
	r = emu_gpu_launch(&all, kernel_of(&w->operation), stream, w, 8, 512);
	if (r != CUDA_SUCCESS && w->number != UINT64_MAX) {
		pthread_mutex_lock(&comm->lock);
		comm->next--;
		comm->in_flight--;
		pthread_mutex_unlock(&comm->lock);
	}
	gpu->cuCtxSetCurrent(before);
	return r == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}
