/* SPDX-License-Identifier: Apache-2.0 */

/* The loop of nccl-tests' all_reduce_perf -t THREADS -g 1: a thread for each GPU launches a batch
 * of all-reduces, then polls its stream and its communicator until they are done. Prints the real
 * time of the loop over a range of sizes in seconds, without start and exit of the process.
 *
 *     polling THREADS [MAX_BYTES [ITERATIONS]]
 */
#include <cuda.h>
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_THREADS = 64, MIN_BYTES = 8, WARMUPS = 5 };

static pthread_barrier_t turn;
static size_t max_bytes = 1 << 20;
static int n_threads, iterations = 20;

struct rank {
	int number;
	ncclComm_t comm;
};

static void must(int ok, const char *call)
{
	if (ok)
		return;
	fprintf(stderr, "%s failed\n", call);
	exit(1);
}

#define OK(call) must((call) == CUDA_SUCCESS, #call)
#define NCCL(call) must((call) == ncclSuccess, #call)

static uint64_t polls;

static void poll_stream(struct rank *r, CUstream stream)
{
	CUresult state;
	ncclResult_t error;
	uint64_t n = 0;

	while ((state = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
		NCCL(ncclCommGetAsyncError(r->comm, &error));
		must(error == ncclSuccess, "the communicator");
		sched_yield();
		n++;
	}
	OK(state);
	__atomic_fetch_add(&polls, n, __ATOMIC_RELAXED);
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;
	CUcontext context;
	CUdeviceptr send, receive;
	CUstream stream;

	OK(cuDevicePrimaryCtxRetain(&context, r->number));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&send, max_bytes));
	OK(cuMemAlloc(&receive, max_bytes));
	for (size_t bytes = MIN_BYTES; bytes <= max_bytes; bytes *= 2)
		for (int i = 0; i < 2; i++) {
			pthread_barrier_wait(&turn);
			for (int k = 0; k < (i ? iterations : WARMUPS); k++)
				NCCL(ncclAllReduce((void *)send, (void *)receive, bytes / 4,
						   ncclFloat, ncclSum, r->comm, stream));
			poll_stream(r, stream);
		}
	OK(cuStreamDestroy(stream));
	return NULL;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct rank ranks[MAX_THREADS];
	ncclComm_t comms[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	double begun_s;

	n_threads = argc > 1 ? atoi(argv[1]) : 4;
	max_bytes = argc > 2 ? strtoull(argv[2], NULL, 0) : max_bytes;
	iterations = argc > 3 ? atoi(argv[3]) : iterations;
	must(n_threads > 0 && n_threads <= MAX_THREADS && iterations > 0, "the command line");
	OK(cuInit(0));
	NCCL(ncclCommInitAll(comms, n_threads, NULL));
	pthread_barrier_init(&turn, NULL, (unsigned)n_threads);
	begun_s = now_s();
	for (int i = 0; i < n_threads; i++) {
		ranks[i] = (struct rank){i, comms[i]};
		must(pthread_create(&threads[i], NULL, run_rank, &ranks[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%.6f %llu\n", now_s() - begun_s, (unsigned long long)polls);
	for (int i = 0; i < n_threads; i++)
		NCCL(ncclCommDestroy(comms[i]));
	return 0;
}
