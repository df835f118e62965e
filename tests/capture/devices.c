/* SPDX-License-Identifier: Apache-2.0 */

/* devices all|ranks|null|alone|only|peers GPUS STEPS: one thread drives several GPUs, as
 * nccl-tests do with -g. Each step fills a buffer on every GPU and calls a group of all-reduces and
 * a group of all-gathers.
 *
 *     all    ncclCommInitAll(); the last GPU stays current during a group
 *     ranks  a group of ncclCommInitRank(); each GPU is made current for its calls
 *     null   like all, on default streams
 *     alone  without NCCL: the first GPU computes, the others fill buffers
 *     only   without NCCL: only GPU number GPUS computes
 *     peers  each GPU copies from the next one, between contexts of the program
 */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define COUNT 4096

static const char ptx[] = PTX(ENTRY("work(.param .u64 x)"));

struct gpu {
	CUcontext context;
	CUstream stream;
	ncclComm_t comm;
	CUdeviceptr from, to;
	CUfunction work;
};

static void open_gpu(struct gpu *g, int device, int n, int with_stream)
{

	OK(cuDevicePrimaryCtxRetain(&g->context, device));
	OK(cuCtxSetCurrent(g->context));
	g->work = load_kernel(ptx, "work");
	OK(cuMemAlloc(&g->from, COUNT * sizeof(float)));
	OK(cuMemAlloc(&g->to, (size_t)n * COUNT * sizeof(float)));
	if (with_stream)
		OK(cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING));
}

static void init_ranks(struct gpu *gpus, int n)
{
	ncclUniqueId id;

	NCCL(ncclGetUniqueId(&id));
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++) {
		OK(cuCtxSetCurrent(gpus[i].context));
		NCCL(ncclCommInitRank(&gpus[i].comm, n, id, i));
	}
	NCCL(ncclGroupEnd());
}

static void init_all(struct gpu *gpus, int n)
{
	ncclComm_t comms[MOST];

	NCCL(ncclCommInitAll(comms, n, NULL));
	for (int i = 0; i < n; i++)
		gpus[i].comm = comms[i];
}

static void compute(struct gpu *g, int step)
{
	void *args[] = {&g->from};

	OK(cuCtxSetCurrent(g->context));
	OK(cuMemsetD8Async(g->from, (unsigned char)step, COUNT * sizeof(float), g->stream));
	OK(cuLaunchKernel(g->work, 1, 1, 1, 32, 1, 1, 0, g->stream, args, NULL));
}

static void communicate(struct gpu *gpus, int n, int set)
{
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++) {
		struct gpu *g = &gpus[i];

		if (set)
			OK(cuCtxSetCurrent(g->context));
		NCCL(ncclAllReduce((void *)g->from, (void *)g->to, COUNT, ncclFloat, ncclSum,
				   g->comm, g->stream));
	}
	NCCL(ncclGroupEnd());
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++) {
		struct gpu *g = &gpus[i];

		if (set)
			OK(cuCtxSetCurrent(g->context));
		NCCL(ncclAllGather((void *)g->from, (void *)g->to, COUNT, ncclInt, g->comm,
				   g->stream));
	}
	NCCL(ncclGroupEnd());
}

static void end_step(struct gpu *gpus, int n)
{
	for (int i = 0; i < n; i++) {
		OK(cuCtxSetCurrent(gpus[i].context));
		OK(cuStreamSynchronize(gpus[i].stream));
	}
}

static void work_alone(struct gpu *gpus, int n, int steps)
{
	for (int step = 0; step < steps; step++) {
		compute(&gpus[0], step);
		for (int i = 1; i < n; i++) {
			OK(cuCtxSetCurrent(gpus[i].context));
			OK(cuMemsetD8Async(gpus[i].from, 1, COUNT, gpus[i].stream));
		}
		end_step(gpus, n);
	}
}

static void copy_from_peers(int n, int steps)
{
	CUctxCreateParams none = {0};
	CUcontext contexts[MOST];
	CUdeviceptr memory[MOST];

	for (int i = 0; i < n; i++) {
		OK(cuCtxCreate(&contexts[i], &none, 0, i));
		OK(cuMemAlloc(&memory[i], COUNT));
		OK(cuMemsetD8(memory[i], (unsigned char)i, COUNT));
	}
	for (int i = 0; i < n * steps; i++) {
		int peer = (i + 1) % n;

		OK(cuCtxSetCurrent(contexts[i % n]));
		if (i < n)
			OK(cuCtxEnablePeerAccess(contexts[peer], 0));
		OK(cuMemcpyPeerAsync(memory[i % n], contexts[i % n], memory[peer], contexts[peer],
				     COUNT / 2, NULL));
		OK(cuCtxSynchronize());
	}
}

static int compute_on(int device, int steps)
{
	struct gpu gpu = {0};

	OK(cuInit(0));
	open_gpu(&gpu, device, 1, 1);
	work_alone(&gpu, 1, steps);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpu gpus[MOST] = {0};
	int n = argc > 3 ? atoi(argv[2]) : 0, steps = argc > 3 ? atoi(argv[3]) : 0;
	int ranks = argc > 1 && strcmp(argv[1], "ranks") == 0;

	if (argc > 1 && strcmp(argv[1], "only") == 0)
		return compute_on(n, steps);
	if (n < 1 || n > MOST)
		return 2;
	OK(cuInit(0));
	if (strcmp(argv[1], "peers") == 0) {
		copy_from_peers(n, steps);
		return 0;
	}
	for (int i = 0; i < n; i++)
		open_gpu(&gpus[i], i, n, strcmp(argv[1], "null") != 0);
	if (strcmp(argv[1], "alone") == 0) {
		work_alone(gpus, n, steps);
		return 0;
	}
	if (ranks)
		init_ranks(gpus, n);
	else
		init_all(gpus, n);
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < n; i++)
			compute(&gpus[i], step);
		communicate(gpus, n, ranks);
		end_step(gpus, n);
	}
	for (int i = 0; i < n; i++)
		NCCL(ncclCommDestroy(gpus[i].comm));
	return 0;
}
