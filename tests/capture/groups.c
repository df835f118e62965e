/* SPDX-License-Identifier: Apache-2.0 */

/* groups: one thread drives four GPUs, and each step is one group of NCCL calls of all of them.
 *
 *     equal    sends to all ranks and receives from all, as PyTorch's all_to_all does
 *     uneven   the same without empty messages, in a range nccl:all_to_all
 *     ring     a send to the next rank, a receive of three times the size from the previous one
 *     gather   sends to rank 0, in a range nccl:gather
 *     split    an all-gather of the communicator's halves
 *     scaled   an all-reduce with a factor for each rank
 *     same     three all-reduces of a rank
 *     mixed    an all-reduce, an all-gather, and sends and receives of a rank
 */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#define N 4
#define COUNT 1000

struct gpu {
	CUcontext context;
	CUstream stream;
	ncclComm_t comm, half;
	ncclRedOp_t scaled;
	float *from, *to;
};

static struct gpu gpus[N];

static void open_gpu(struct gpu *g, int device)
{
	CUdeviceptr at;

	OK(cuDevicePrimaryCtxRetain(&g->context, device));
	OK(cuCtxSetCurrent(g->context));
	OK(cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 2 * N * N * COUNT * sizeof(float)));
	g->from = (float *)at;
	g->to = g->from + N * N * COUNT;
	OK(cuMemsetD32Async(at, (unsigned)device + 1, N * N * COUNT, g->stream));
}

static void split(void)
{
	NCCL(ncclGroupStart());
	for (int i = 0; i < N; i++)
		NCCL(ncclCommSplit(gpus[i].comm, i % 2, i, &gpus[i].half, NULL));
	NCCL(ncclGroupEnd());
}

/* The factor is an argument that the call reads at once. */
static void make_scaled(struct gpu *g, int i)
{
	int factor = 3 + i;

	NCCL(ncclRedOpCreatePreMulSum(&g->scaled, &factor, ncclInt, ncclScalarHostImmediate,
				      g->comm));
}

static void transfer(int from, int to, size_t count)
{
	if (count == 0)
		return;
	NCCL(ncclSend(gpus[from].from, count, ncclFloat, to, gpus[from].comm, gpus[from].stream));
	NCCL(ncclRecv(gpus[to].to + from * COUNT, count, ncclFloat, from, gpus[to].comm,
		      gpus[to].stream));
}

static void equal(int i)
{
	for (int to = 0; to < N; to++)
		transfer(i, to, COUNT);
}

static void uneven(int i)
{
	for (int to = 0; to < N; to++)
		transfer(i, to, (size_t)(to > i) * COUNT);
}

static void ring(int i)
{
	transfer(i, (i + 1) % N, i == 0 ? 3 * COUNT : COUNT);
}

static void gather(int i)
{
	if (i > 0)
		transfer(i, 0, COUNT);
}

static void halves(int i)
{
	NCCL(ncclAllGather(gpus[i].from, gpus[i].to, COUNT, ncclFloat, gpus[i].half,
			   gpus[i].stream));
}

static void reduce_scaled(int i)
{
	NCCL(ncclAllReduce(gpus[i].from, gpus[i].to, COUNT, ncclInt, gpus[i].scaled, gpus[i].comm,
			   gpus[i].stream));
}

static void reduce_three_times(int i)
{
	for (int k = 1; k <= 3; k++)
		NCCL(ncclAllReduce(gpus[i].from, gpus[i].to, (size_t)k * COUNT, ncclFloat, ncclSum,
				   gpus[i].comm, gpus[i].stream));
}

static void mixed(int i)
{
	NCCL(ncclAllReduce(gpus[i].from, gpus[i].to, COUNT, ncclHalf, ncclSum, gpus[i].comm,
			   gpus[i].stream));
	NCCL(ncclAllGather(gpus[i].from, gpus[i].to, COUNT, ncclInt, gpus[i].comm, gpus[i].stream));
	/* The emulated NCCL executes the calls of a rank in their order. */
	NCCL(ncclSend(gpus[i].from, COUNT, ncclFloat, (i + 1) % N, gpus[i].comm, gpus[i].stream));
	NCCL(ncclRecv(gpus[i].to, COUNT, ncclFloat, (i + N - 1) % N, gpus[i].comm, gpus[i].stream));
}

static void run_groups(void (*calls)(int i), const char *range)
{
	if (range)
		nvtxRangePushA(range);
	NCCL(ncclGroupStart());
	for (int i = 0; i < N; i++)
		calls(i);
	NCCL(ncclGroupEnd());
	if (range)
		nvtxRangePop();
	for (int i = 0; i < N; i++) {
		OK(cuCtxSetCurrent(gpus[i].context));
		OK(cuStreamSynchronize(gpus[i].stream));
	}
}

int main(void)
{
	ncclComm_t comms[N];

	OK(cuInit(0));
	for (int i = 0; i < N; i++)
		open_gpu(&gpus[i], i);
	NCCL(ncclCommInitAll(comms, N, NULL));
	for (int i = 0; i < N; i++)
		gpus[i].comm = comms[i];
	split();
	for (int i = 0; i < N; i++)
		make_scaled(&gpus[i], i);
	run_groups(equal, NULL);
	run_groups(uneven, "nccl:all_to_all");
	run_groups(ring, NULL);
	run_groups(gather, "nccl:gather");
	run_groups(halves, NULL);
	run_groups(reduce_scaled, NULL);
	run_groups(reduce_three_times, NULL);
	run_groups(mixed, NULL);
	return 0;
}
