/* SPDX-License-Identifier: Apache-2.0 */

/* Two host threads for each GPU, one for computation and one for communication: a worker adds one
 * to a buffer on its own stream; a communicator thread waits for the event of each addition and
 * reduces the buffer over all GPUs. Each thread has its own NCCL communicator over all GPUs.
 * Results must be exact, and the kernels of the two threads must overlap in virtual time.
 *
 *     two_threads [GPUS [ROUNDS]]
 */
#include "tests/emugpu/check_driver.h"
#include <gpuemu.h>

#include <nccl.h>
#include <pthread.h>

enum { MAX_GPUS = 64, ITEMS = 1000 };

#define KERNEL_NS 1000000

static const char ptx[] = PTX(ENTRY("add_one(.param .u64 items)"));

static void add_one(struct gpuemu_launch *launch, void *const *args)
{
	float *items = *(float **)args[0];

	for (int i = 0; i < ITEMS; i++)
		items[i] += 1;
}

static void add_one_cost(const struct gpuemu_launch *launch, void *const *args,
			 struct gpuemu_cost *ret)
{
	ret->ns = KERNEL_NS;
}

static const struct gpuemu_kernel kernel = {
	.name = "add_one", .run = add_one, .cost = add_one_cost};

/* A GPU, and the buffers and events that its two threads share. */
struct gpu {
	int number, n, rounds;
	CUcontext context;
	CUfunction add;
	CUevent added;
	CUdeviceptr items, sums[2];
	pthread_barrier_t turn;
	ncclComm_t comms[2]; /* the worker's and the communicator thread's */
};

static void reduce(struct gpu *g, int who, CUdeviceptr from, CUstream stream)
{
	TRUE(ncclAllReduce((void *)from, (void *)g->sums[who], ITEMS, ncclFloat, ncclSum,
			   g->comms[who], stream) == ncclSuccess);
}

static void check_sums(struct gpu *g, int who, CUstream stream, float expected)
{
	float sums[ITEMS];

	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH(sums, g->sums[who], sizeof(sums)));
	for (int i = 0; i < ITEMS; i++)
		TRUE(sums[i] == expected);
}

static void *work(void *arg)
{
	struct gpu *g = arg;
	void *params[] = {&g->items};
	CUstream stream;

	OK(cuCtxSetCurrent(g->context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int round = 0; round < g->rounds; round++) {
		OK(cuLaunchKernel(g->add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
		OK(cuEventRecord(g->added, stream));
		pthread_barrier_wait(&g->turn);
		reduce(g, 0, g->items, stream);
		check_sums(g, 0, stream, (float)(g->n * (round + 1)));
		pthread_barrier_wait(&g->turn);
	}
	OK(cuStreamDestroy(stream));
	return NULL;
}

static void *communicate(void *arg)
{
	struct gpu *g = arg;
	CUstream stream;

	OK(cuCtxSetCurrent(g->context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int round = 0; round < g->rounds; round++) {
		pthread_barrier_wait(&g->turn);
		OK(cuStreamWaitEvent(stream, g->added, 0));
		reduce(g, 1, g->items, stream);
		check_sums(g, 1, stream, (float)(g->n * (round + 1)));
		pthread_barrier_wait(&g->turn);
	}
	OK(cuStreamDestroy(stream));
	return NULL;
}

/* Launches a kernel of KERNEL_NS and waits for it. */
static void *run_one_kernel(void *arg)
{
	struct gpu *g = arg;
	CUdeviceptr items;
	void *params[] = {&items};
	CUstream stream;

	OK(cuCtxSetCurrent(g->context));
	OK(cuMemAlloc(&items, ITEMS * sizeof(float)));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchKernel(g->add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
	OK(cuStreamSynchronize(stream));
	OK(cuStreamDestroy(stream));
	OK(cuMemFree(items));
	return NULL;
}

static void run_pair(struct gpu *gpus, int n, void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2 * MAX_GPUS];

	for (int i = 0; i < n; i++) {
		TRUE(pthread_create(&threads[2 * i], NULL, first, &gpus[i]) == 0);
		TRUE(pthread_create(&threads[2 * i + 1], NULL, second, &gpus[i]) == 0);
	}
	for (int i = 0; i < 2 * n; i++)
		TRUE(pthread_join(threads[i], NULL) == 0);
}

/* Returns the virtual milliseconds in which two threads on one GPU run one kernel each. */
static float pair_ms(struct gpu *g)
{
	CUevent from;

	OK(cuCtxSetCurrent(g->context));
	from = record_now();
	run_pair(g, 1, run_one_kernel, run_one_kernel);
	return ms_since(from);
}

static void open_gpu(struct gpu *g)
{
	OK(cuDevicePrimaryCtxRetain(&g->context, g->number));
	OK(cuCtxSetCurrent(g->context));
	g->add = load_kernel(ptx, "add_one");
	OK(cuEventCreate(&g->added, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc(&g->items, ITEMS * sizeof(float)));
	OK(cuMemsetD8(g->items, 0, ITEMS * sizeof(float)));
	for (int i = 0; i < 2; i++)
		OK(cuMemAlloc(&g->sums[i], ITEMS * sizeof(float)));
	TRUE(pthread_barrier_init(&g->turn, NULL, 2) == 0);
}

int main(int argc, char **argv)
{
	static struct gpu gpus[MAX_GPUS];
	ncclComm_t comms[MAX_GPUS];
	int n = argc > 1 ? atoi(argv[1]) : 4, rounds = argc > 2 ? atoi(argv[2]) : 20;
	float ms;

	TRUE(n > 0 && n <= MAX_GPUS && rounds > 0);
	gpuemu_register(&kernel);
	OK(cuInit(0));
	for (int i = 0; i < n; i++) {
		gpus[i].number = i;
		gpus[i].n = n;
		gpus[i].rounds = rounds;
		open_gpu(&gpus[i]);
	}
	for (int who = 0; who < 2; who++) {
		TRUE(ncclCommInitAll(comms, n, NULL) == ncclSuccess);
		for (int i = 0; i < n; i++)
			gpus[i].comms[who] = comms[i];
	}
	run_pair(gpus, n, work, communicate);
	ms = pair_ms(&gpus[0]);
	printf("two kernels of 1 ms, from two threads on one GPU: %.3f ms\n", (double)ms);
	TRUE(ms >= 1.0f && ms < 1.5f);
	for (int i = 0; i < n; i++)
		for (int who = 0; who < 2; who++)
			TRUE(ncclCommDestroy(gpus[i].comms[who]) == ncclSuccess);
	return 0;
}
