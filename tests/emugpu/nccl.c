/* SPDX-License-Identifier: Apache-2.0 */

/* NCCL over emulated GPUs, through the driver API.
 *
 *     nccl threads N     one process, a thread and a GPU for each rank
 *     nccl group N       one process and one thread for all ranks
 *     nccl processes N   a process for each rank
 *     nccl killed N      the same, and the last rank dies before the second operation
 *     nccl random N      the same ten times, a rank is killed at a random time; the next run works
 *
 * The exit status is 0 if all results are right.
 */
#include "tests/emugpu/check_all.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <gpuemu.h>
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 100000, MAX = 64 };

struct rank {
	ncclUniqueId id;
	ncclComm_t comm;
	CUcontext context;
	CUstream stream;
	CUdeviceptr send, receive;
	int rank, n, dies;
	float *host;
};

static bool refuses_threads;

/* Replaces the function for NCCL, too. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *id, const pthread_attr_t *attr,
							  void *(*run)(void *), void *arg)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	return refuses_threads ? EAGAIN
			       : ((create *)dlsym(RTLD_NEXT, "pthread_create"))(id, attr, run, arg);
}

static void open_gpu(struct rank *r)
{
	CUdevice device;

	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDeviceGet(&device, r->rank) == CUDA_SUCCESS);
	CHECK(cuDevicePrimaryCtxRetain(&r->context, device) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(r->context) == CUDA_SUCCESS);
	CHECK(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	CHECK(cuMemAlloc(&r->send, COUNT * sizeof(float)) == CUDA_SUCCESS);
	CHECK(cuMemAlloc(&r->receive, COUNT * sizeof(float)) == CUDA_SUCCESS);
	r->host = malloc(COUNT * sizeof(float));
}

static void fill_buffers(struct rank *r)
{
	CHECK(cuCtxSetCurrent(r->context) == CUDA_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		r->host[i] = (float)(r->rank + i % 10);
	CHECK(cuMemcpyHtoD(r->send, r->host, COUNT * sizeof(float)) == CUDA_SUCCESS);
}

static CUresult fetch(struct rank *r)
{
	CUresult c;

	CHECK(cuCtxSetCurrent(r->context) == CUDA_SUCCESS);
	c = cuStreamSynchronize(r->stream);
	return c ? c : cuMemcpyDtoH(r->host, r->receive, COUNT * sizeof(float));
}

static void all_reduce(struct rank *r)
{
	CHECK(ncclAllReduce((void *)r->send, (void *)r->receive, COUNT, ncclFloat, ncclSum, r->comm,
			    r->stream) == ncclSuccess);
}

static void check_sum(struct rank *r)
{
	int bad = 0;

	CHECK(fetch(r) == CUDA_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		bad += r->host[i] != (float)(r->n * (r->n - 1) / 2 + r->n * (i % 10));
	CHECK(bad == 0);
}

/* Each rank sends to the next one, in a group. */
static void exchange_in_ring(struct rank *r)
{
	int next = (r->rank + 1) % r->n, last = (r->rank + r->n - 1) % r->n;

	CHECK(ncclGroupStart() == ncclSuccess);
	CHECK(ncclSend((void *)r->send, COUNT, ncclFloat, next, r->comm, r->stream) == ncclSuccess);
	CHECK(ncclRecv((void *)r->receive, COUNT, ncclFloat, last, r->comm, r->stream) ==
	      ncclSuccess);
	CHECK(ncclGroupEnd() == ncclSuccess);
}

static void check_ring(struct rank *r)
{
	int last = (r->rank + r->n - 1) % r->n, bad = 0;

	CHECK(fetch(r) == CUDA_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		bad += r->host[i] != (float)(last + i % 10);
	CHECK(bad == 0);
}

/* Splits into even and odd ranks; an average, and a sum with a scaling factor. */
static void run_split(struct rank *r)
{
	ncclComm_t half = NULL;
	ncclRedOp_t op;
	float two = 2;
	int n = 0, rank = -1, bad = 0;

	CHECK(ncclCommSplit(r->comm, r->rank % 2, -r->rank, &half, NULL) == ncclSuccess);
	CHECK(ncclCommCount(half, &n) == ncclSuccess && n == (r->n + 1 - r->rank % 2) / 2);
	CHECK(ncclCommUserRank(half, &rank) == ncclSuccess && rank == n - 1 - r->rank / 2);
	CHECK(ncclAllReduce((void *)r->send, (void *)r->receive, COUNT, ncclFloat, ncclAvg, half,
			    r->stream) == ncclSuccess);
	CHECK(ncclRedOpCreatePreMulSum(&op, &two, ncclFloat, ncclScalarHostImmediate, half) ==
	      ncclSuccess);
	CHECK(ncclAllReduce((void *)r->receive, (void *)r->receive, COUNT, ncclFloat, op, half,
			    r->stream) == ncclSuccess);
	CHECK(fetch(r) == CUDA_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		bad += r->host[i] != 2.0f * (float)n * (float)(r->rank % 2 + n - 1 + i % 10);
	CHECK(bad == 0);
	CHECK(ncclRedOpDestroy(op, half) == ncclSuccess);
	CHECK(ncclCommDestroy(half) == ncclSuccess);
}

static void sleep_ms(void *milliseconds)
{
	usleep((useconds_t)(uintptr_t)milliseconds * 1000);
}

/* Many operations without synchronisation, every second of which reads the output of the one
 * before, with one late rank: ranks may run ahead of each other, but data dependencies hold. */
static void run_without_synchronising(struct rank *r)
{
	enum { PAIRS = 300, EACH = 16 };
	float *send = (float *)r->send, *receive = (float *)r->receive;
	int bad = 0;

	CHECK(cuMemsetD32Async(r->receive, 0, PAIRS * EACH, r->stream) == CUDA_SUCCESS);
	if (r->rank == 0)
		CHECK(cuLaunchHostFunc(r->stream, sleep_ms, (void *)(uintptr_t)30) == CUDA_SUCCESS);
	for (int i = 0; i < PAIRS; i++) {
		float *x = send + (size_t)i * EACH, *y = receive + (size_t)i * EACH;

		CHECK(ncclAllReduce(x, y, EACH, ncclFloat, ncclMax, r->comm, r->stream) ==
		      ncclSuccess);
		CHECK(ncclAllReduce(y, x, EACH, ncclFloat, ncclSum, r->comm, r->stream) ==
		      ncclSuccess);
		CHECK(ncclBroadcast(x, y, EACH, ncclFloat, i % r->n, r->comm, r->stream) ==
		      ncclSuccess);
	}
	CHECK(fetch(r) == CUDA_SUCCESS);
	for (int i = 0; i < PAIRS * EACH; i++)
		bad += r->host[i] != (float)(r->n * (r->n - 1 + i % 10));
	CHECK(bad == 0);
}

/* Collectives in a graph take their turn at the graph's launch: before later calls on any stream,
 * even though they run later. */
static void run_captured(struct rank *r)
{
	CUstream other = NULL;
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;
	int bad = 0;

	CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	CHECK(cuStreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
	CHECK(ncclAllReduce((void *)r->send, (void *)r->receive, COUNT / 2, ncclFloat, ncclSum,
			    r->comm, r->stream) == ncclSuccess);
	CHECK(cuStreamEndCapture(r->stream, &graph) == CUDA_SUCCESS);
	CHECK(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
	if (r->rank == 0)
		CHECK(cuLaunchHostFunc(r->stream, sleep_ms, (void *)(uintptr_t)30) == CUDA_SUCCESS);
	for (int i = 0; i < 10; i++) {
		CHECK(cuGraphLaunch(exec, r->stream) == CUDA_SUCCESS);
		CHECK(ncclAllReduce((float *)r->send + COUNT / 2, (float *)r->receive + COUNT / 2,
				    COUNT / 2, ncclFloat, ncclMax, r->comm,
				    i % 2 ? other : r->stream) == ncclSuccess);
	}
	CHECK(cuStreamSynchronize(other) == CUDA_SUCCESS);
	CHECK(fetch(r) == CUDA_SUCCESS);
	for (int i = 0; i < COUNT / 2; i++)
		bad += r->host[i] != (float)(r->n * (r->n - 1) / 2 + r->n * (i % 10)) ||
		       r->host[i + COUNT / 2] != (float)(r->n - 1 + i % 10);
	CHECK(bad == 0);
	CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
	CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
	CHECK(cuStreamDestroy(other) == CUDA_SUCCESS);
}

/* A simulated group reports its estimated time; a window is registered memory. */
static void run_simulated(struct rank *r)
{
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	ncclWindow_t window = NULL;

	CHECK(ncclGroupSimulateEnd(&info) == ncclInvalidUsage);
	CHECK(ncclGroupStart() == ncclSuccess);
	all_reduce(r);
	CHECK(ncclGroupSimulateEnd(&info) == ncclSuccess && info.estimatedTime > 0);
	CHECK(ncclCommWindowRegister(r->comm, (void *)r->send, COUNT * sizeof(float), &window,
				     NCCL_WIN_DEFAULT) == ncclSuccess);
	CHECK(window && ncclCommWindowDeregister(r->comm, window) == ncclSuccess);
}

static void *run_rank(void *context)
{
	struct rank *r = context;
	ncclResult_t state = ncclSuccess;

	open_gpu(r);
	CHECK(ncclCommInitRank(&r->comm, r->n, r->id, r->rank) == ncclSuccess);
	fill_buffers(r);
	run_simulated(r);
	all_reduce(r);
	check_sum(r);
	if (r->dies) {
		if (r->rank == r->n - 1)
			raise(SIGKILL);
		all_reduce(r);
		CHECK(fetch(r) == CUDA_ERROR_LAUNCH_FAILED);
		CHECK(ncclCommGetAsyncError(r->comm, &state) == ncclSuccess);
		CHECK(state == ncclRemoteError);
		CHECK(ncclCommAbort(r->comm) == ncclSuccess);
		return NULL;
	}
	exchange_in_ring(r);
	check_ring(r);
	run_captured(r);
	run_split(r);
	if (!failures)
		run_without_synchronising(r);
	CHECK(ncclCommDestroy(r->comm) == ncclSuccess);
	return NULL;
}

static void run_threads(struct rank *ranks, int n)
{
	pthread_t threads[MAX];

	CHECK(ncclGetUniqueId(&ranks[0].id) == ncclSuccess);
	for (int i = 0; i < n; i++) {
		ranks[i].id = ranks[0].id;
		pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* Two splits of each communicator in one group: by halves, and without the last rank. */
static void split_in_group(struct rank *ranks, int n)
{
	ncclComm_t halves[MAX], fewer[MAX];
	int count = 0, device = -1;

	CHECK(ncclGroupStart() == ncclSuccess);
	refuses_threads = true;
	CHECK(ncclCommSplit(ranks[0].comm, 0, 0, &halves[0], NULL) == ncclSystemError);
	refuses_threads = false;
	for (int i = 0; i < n; i++) {
		ncclComm_t comm = ranks[i].comm;
		int color = i < n - 1 ? 7 : NCCL_SPLIT_NOCOLOR;

		CHECK(ncclCommSplit(comm, i % 2, -i, &halves[i], NULL) == ncclSuccess);
		CHECK(ncclCommSplit(comm, color, 0, &fewer[i], NULL) == ncclSuccess);
		CHECK(!halves[i] && !fewer[i]); /* until the end of the group */
	}
	CHECK(ncclGroupEnd() == ncclSuccess);
	CHECK(!fewer[n - 1]);
	for (int i = 0; i < n - 1; i++) {
		CHECK(ncclCommCount(fewer[i], &count) == ncclSuccess && count == n - 1);
		CHECK(ncclCommCuDevice(fewer[i], &device) == ncclSuccess && device == i);
		CHECK(ncclCommDestroy(fewer[i]) == ncclSuccess);
	}
	ncclGroupStart();
	for (int i = 0; i < n; i++)
		CHECK(ncclAllReduce((void *)ranks[i].send, (void *)ranks[i].receive, COUNT,
				    ncclFloat, ncclMax, halves[i], ranks[i].stream) == ncclSuccess);
	CHECK(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < n; i++) {
		int highest = n - 1 - (n - 1 - i) % 2, bad = 0;

		CHECK(fetch(&ranks[i]) == CUDA_SUCCESS);
		for (int k = 0; k < COUNT; k++)
			bad += ranks[i].host[k] != (float)(highest + k % 10);
		CHECK(bad == 0);
		CHECK(ncclCommDestroy(halves[i]) == ncclSuccess);
	}
}

/* One thread launches a kernel per rank. Each takes the host time of the model, however long the
 * emulation works. */
static void check_host_time(struct rank *ranks, int n)
{
	uint64_t (*host_ns)(void) = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "gpuemu_host_ns");
	gpuemu_device_value_fn *value =
		(gpuemu_device_value_fn *)dlsym(RTLD_DEFAULT, "gpuemu_device_value");
	double each_ns = 0, took_ns;
	uint64_t before;

	CHECK(host_ns && value && value(0, "call_collective_ns", &each_ns) == 0 && each_ns > 0);
	ncclGroupStart();
	for (int i = 0; i < n; i++)
		all_reduce(&ranks[i]);
	before = host_ns();
	CHECK(ncclGroupEnd() == ncclSuccess);
	took_ns = (double)(host_ns() - before);
	CHECK(took_ns >= n * each_ns && took_ns < n * each_ns + 5000);
}

static void run_group(struct rank *ranks, int n)
{
	ncclComm_t comms[MAX];

	for (int i = 0; i < n; i++) {
		open_gpu(&ranks[i]);
		fill_buffers(&ranks[i]);
	}
	CHECK(ncclCommInitAll(comms, n, NULL) == ncclSuccess);
	ncclGroupStart();
	for (int i = 0; i < n; i++) {
		ranks[i].comm = comms[i];
		all_reduce(&ranks[i]);
	}
	CHECK(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < n; i++)
		check_sum(&ranks[i]);
	check_host_time(ranks, n);
	ncclGroupStart();
	for (int i = 0; i < n; i++)
		exchange_in_ring(&ranks[i]);
	CHECK(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < n; i++)
		check_ring(&ranks[i]);
	split_in_group(ranks, n);
	for (int i = 0; i < n; i++)
		CHECK(ncclCommDestroy(comms[i]) == ncclSuccess);
}

/* Forks a process for each rank. */
static void start_processes(struct rank *ranks, int n, pid_t *children)
{

	CHECK(ncclGetUniqueId(&ranks[0].id) == ncclSuccess);
	for (int i = 0; i < n; i++) {
		ranks[i].id = ranks[0].id;
		children[i] = fork();
		if (children[i] == 0) {
			run_rank(&ranks[i]);
			_exit(failures != 0);
		}
	}
}

static void run_processes(struct rank *ranks, int n)
{
	pid_t children[MAX];

	start_processes(ranks, n, children);
	for (int i = 0; i < n; i++) {
		int status = 0;

		waitpid(children[i], &status, 0);
		CHECK(ranks[i].dies && i == n - 1 ? WIFSIGNALED(status) : status == 0);
	}
}

/* A rank is killed at a random time: all ranks end soon, and the next run works. */
static void run_random(struct rank *ranks, int n)
{
	pid_t children[MAX];

	srand(1);
	for (int round = 0; round < 10; round++) {
		setenv("GPUEMU_JOIN_SECONDS", "2", 1);
		start_processes(ranks, n, children);
		/* in the first rounds before it has joined */
		usleep((useconds_t)(round * round * 700));
		kill(children[rand() % n], SIGKILL);
		for (int i = 0; i < n; i++)
			waitpid(children[i], NULL, 0);
		unsetenv("GPUEMU_JOIN_SECONDS"); /* these ranks must join, however late */
		run_processes(ranks, n);
	}
}

int main(int argc, char **argv)
{
	struct rank ranks[MAX] = {0};
	const char *how = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (n < 1 || n > MAX)
		return 2;
	for (int i = 0; i < n; i++) {
		ranks[i].rank = i;
		ranks[i].n = n;
		ranks[i].dies = strcmp(how, "killed") == 0;
	}
	if (strcmp(how, "threads") == 0)
		run_threads(ranks, n);
	else if (strcmp(how, "group") == 0)
		run_group(ranks, n);
	else if (strcmp(how, "random") == 0)
		run_random(ranks, n);
	else
		run_processes(ranks, n);
	for (int i = 0; i < n; i++)
		free(ranks[i].host);
	if (!failures)
		printf("all right\n");
	return failures != 0;
}
