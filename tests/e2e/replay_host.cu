/* SPDX-License-Identifier: Apache-2.0 */

/* `functions`: functions of the host on streams and in a graph. `memory`: the host writes
 * page-locked and managed memory, and a managed variable, between launches, copies and graphs that
 * read it. `threads [late]`: two threads whose emulated clocks differ; the first allocates after
 * the second if it is `late`. `devices`: a graph uses two GPUs. `processes`: two processes read
 * each other's memory. With -DPLUGIN only the host kernels. */
#include "axpy.cuh"
#include "check.h"
#include <gpuemu.h>

#define N 4096
#define BYTES (N * sizeof(float))

#ifndef PLUGIN
#include <gputrace.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

static int calls;

/* `ms` of the first function's data. */
static void CUDART_CB wait_ms(void *ms)
{
	struct timespec t = {0, 1000000L * *(int *)ms};

	nanosleep(&t, NULL);
	calls++;
}

/* 1 ms longer in each call. */
static void CUDART_CB wait_longer(void *ms)
{
	wait_ms(ms);
	++*(int *)ms;
}

static cudaStream_t stream;
static __managed__ float variable[N];

static void CUDART_CB wait_5_ms(cudaStream_t on, cudaError_t status, void *ms)
{
	if (on == stream && status == cudaSuccess)
		wait_ms(ms);
}

static void launch(const float *x, float *y)
{
	axpy<<<(N + 255) / 256, 256, 0, stream>>>(N, 2, x, y);
}

static int run_functions()
{
	static int ms[] = {2, 3, 5};
	const cudaHostNodeParams by_hand = {wait_longer, &ms[0]};
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	float *x, *y;

	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemset(x, 1, BYTES));
	CUDA(cudaMemset(y, 2, BYTES));
	CUDA(cudaStreamCreate(&stream));
	launch(x, y);
	CUDA(cudaLaunchHostFunc(stream, wait_ms, &ms[1]));
	launch(y, x);
	CUDA(cudaStreamAddCallback(stream, wait_5_ms, &ms[2], 0));
	launch(x, y);
	CUDA(cudaStreamSynchronize(stream));

	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	launch(x, y);
	CUDA(cudaLaunchHostFunc(stream, wait_longer, &ms[0]));
	launch(y, x);
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddHostNode(&node, graph, NULL, 0, &by_hand));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaDeviceSynchronize());
	printf("%d calls\n", calls);
	return 0;
}

static void fill(float *at, float value)
{
	for (int i = 0; i < N; i++)
		at[i] = value + i;
}

/* Reads page-locked and managed memory in a graph: by a kernel, and by a copy. */
static cudaGraphExec_t capture(const float *in_kernel, const float *in_copy, float *x, float *y)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	launch(in_kernel, y);
	CUDA(cudaMemcpyAsync(x, in_copy, BYTES, cudaMemcpyHostToDevice, stream));
	launch(x, y);
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

/* Memory that a kernel of a graph reads. */
static cudaKernelNodeParams node_of(void **args)
{
	cudaKernelNodeParams p = {};

	p.func = (void *)axpy;
	p.gridDim = dim3((N + 255) / 256);
	p.blockDim = dim3(256);
	p.kernelParams = args;
	return p;
}

/* The same of a graph whose nodes are added one by one. */
static cudaGraphExec_t build(const float *in_kernel, const float *in_copy, float *x, float *y,
			     cudaGraphNode_t *ret)
{
	int n = N;
	float a = 2;
	void *args[] = {&n, &a, &in_kernel, &y};
	const cudaKernelNodeParams kernel = node_of(args);
	cudaGraphNode_t copy;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddKernelNode(ret, graph, NULL, 0, &kernel));
	CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, ret, 1, x, in_copy, BYTES,
				      cudaMemcpyHostToDevice));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void change(cudaGraphExec_t exec, cudaGraphNode_t node, const float *x, float *y)
{
	int n = N;
	float a = 3;
	void *args[] = {&n, &a, &x, &y};
	const cudaKernelNodeParams kernel = node_of(args);

	CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
}

/* Copies `n` parts of two sources to `x` at once. */
static void copy_many(float *x, const float *pageable, const float *locked, size_t n)
{
	std::vector<void *> to(n);
	std::vector<const void *> from(n);
	std::vector<size_t> bytes(n, 8);
	cudaMemcpyAttributes how = {};
	size_t first = 0;

	how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	for (size_t i = 0; i < n; i++) {
		to[i] = x + 3 * i;
		from[i] = (i % 2 ? pageable : locked) + 7 * i;
	}
	CUDA(cudaMemcpyBatchAsync((const void **)to.data(), from.data(), bytes.data(), n, &how,
				  &first, 1, stream));
}

/* Copies parts of three sources to `x`, in two ways. */
static void copy_batches(float *x, float pageable[2][N], float *locked)
{
	const void *to[] = {x + 100, x + 2000, x + 1000};
	const void *from[] = {pageable[0], pageable[1] + 10, locked + 5};
	size_t bytes[] = {400, 4000, 40}, first = 0;
	cudaMemcpyAttributes how = {};
	cudaMemcpy3DBatchOp ops[2] = {};

	how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	CUDA(cudaMemcpyBatchAsync(to, from, bytes, 3, &how, &first, 1, stream));
	for (int i = 0; i < 2; i++) {
		ops[i].src.type = ops[i].dst.type = cudaMemcpyOperandTypePointer;
		ops[i].src.op.ptr.ptr = i ? locked + 100 : pageable[1] + 300;
		ops[i].src.op.ptr.rowLength = 80;
		ops[i].dst.op.ptr.ptr = x + 3000 + 500 * i;
		ops[i].dst.op.ptr.rowLength = 160;
		ops[i].dst.op.ptr.layerHeight = 4;
		ops[i].extent = make_cudaExtent(40, 3, 2);
		ops[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	}
	CUDA(cudaMemcpy3DBatchAsync(2, ops, 0, stream));
}

/* The host never writes `staged`: copies bring what the device put there. */
static void copy_through(float *staged, float *x, float *y)
{
	for (int i = 0; i < 3; i++) {
		CUDA(cudaMemcpyAsync(staged, y, BYTES, cudaMemcpyDeviceToHost, stream));
		CUDA(cudaMemcpyAsync(x, staged, BYTES, cudaMemcpyHostToDevice, stream));
		launch(x, y);
	}
}

static int run_memory()
{
	static float pageable[2][N], result[N];
	float *x, *y, *mapped, *managed, *locked, *staged, *registered, *graphs[5];
	const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
	cudaGraphExec_t exec, other, built;
	cudaGraphNode_t node;

	CUDA(cudaStreamCreate(&stream));
	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemset(y, 0, BYTES));
	CUDA(cudaHostAlloc(&mapped, BYTES, cudaHostAllocMapped));
	CUDA(cudaMallocManaged(&managed, BYTES));
	CUDA(cudaMallocHost(&locked, BYTES));
	CUDA(cudaMallocHost(&staged, BYTES));
	registered = (float *)aligned_alloc(4096, BYTES);
	CUDA(cudaHostRegister(registered, BYTES, cudaHostRegisterMapped));
	CUDA(cudaMemAdvise(managed, BYTES, cudaMemAdviseSetPreferredLocation, device));
	CUDA(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachGlobal));
	for (int i = 0; i < 5; i++)
		CUDA(cudaMallocHost(&graphs[i], BYTES));
	exec = capture(graphs[0], graphs[1], x, y);
	other = capture(graphs[2], graphs[2], x, y);
	built = build(graphs[3], graphs[4], x, y, &node);
	for (int i = 1; i < 4; i++) {
		fill(mapped, i);
		fill(managed, 10 * i);
		fill(variable, 30 * i);
		fill(locked, 100 * i);
		for (int k = 0; k < 5; k++)
			fill(graphs[k], 1000 * (k + 1) * i);
		fill(registered, 3000 * i);
		CUDA(cudaMemPrefetchAsync(managed, BYTES, device, 0, stream));
		launch(mapped, y);
		launch(registered, y);
		launch(managed, y);
		launch(variable, y);
		CUDA(cudaMemcpyAsync(x, locked, BYTES, cudaMemcpyDefault, stream));
		launch(x, y);
		CUDA(cudaMemcpyAsync(x, registered, BYTES / 2, cudaMemcpyDefault, stream));
		CUDA(cudaMemcpyAsync(x, managed, BYTES / 4, cudaMemcpyDefault, stream));
		launch(x, y);
		CUDA(cudaGraphLaunch(exec, stream));
		CUDA(cudaGraphLaunch(other, stream));
		if (i == 3)
			change(built, node, graphs[2], y);
		CUDA(cudaGraphLaunch(built, stream));
		launch(x, y);
		fill(pageable[0], 10000 * i);
		fill(pageable[1], 20000 * i);
		copy_batches(x, pageable, locked);
		launch(x, y);
		copy_many(x, pageable[0], locked, 500);
		launch(x, y);
		copy_through(staged, x, y);
		CUDA(cudaStreamSynchronize(stream));
	}
	CUDA(cudaMemcpy(result, y, BYTES, cudaMemcpyDeviceToHost));
	printf("%g\n", result[1]);
	return 0;
}

static float *of_first; /* memory of the first thread, on its GPU */

/* Pipes of two threads, which pass no emulated clock. */
static int go[2], done[2];

static void signal_other(int to)
{
	if (write(to, "", 1) != 1)
		abort();
}

static void wait_for_other(int from)
{
	char c;

	if (read(from, &c, 1) != 1)
		abort();
}

/* Launches before and after the other thread marks an iteration, in turn ahead of that thread's
 * clock and behind it. */
static void run_second()
{
	float *x, *y, *host;

	CUDA(cudaSetDevice(1));
	CUDA(cudaMallocHost(&host, BYTES));
	fill(host, 7);
	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
	CUDA(cudaMemset(y, 2, BYTES));
	for (int i = 0; i < 4; i++) {
		wait_for_other(go[0]);
		axpy<<<(N + 255) / 256, 256>>>(N, 2, x, y);
		CUDA(cudaDeviceSynchronize());
		if (i % 2)
			usleep(60000);
		axpy<<<(N + 255) / 256, 256>>>(N, 3, y, x);
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaSetDevice(0));
		CUDA(cudaMemset(of_first, i, 100));
		CUDA(cudaDeviceSynchronize());
		CUDA(cudaSetDevice(1));
		signal_other(done[1]);
	}
}

/* Returns memory that contains an address of the device, which is the same in each run. */
static float *make_source(float *x)
{
	float *host;

	CUDA(cudaMallocHost(&host, BYTES));
	fill(host, 8);
	memcpy(host, &x, sizeof(x));
	return host;
}

static int run_threads(bool is_late)
{
	float *x, *host = NULL;

	CUDA(cudaSetDevice(0));
	CUDA(cudaMalloc(&x, BYTES));
	of_first = x;
	if (!is_late)
		host = make_source(x);
	if (pipe(go) || pipe(done))
		return 1;
	std::thread second(run_second);

	for (int i = 0; i < 4; i++) {
		signal_other(go[1]);
		wait_for_other(done[0]);
		if (!host)
			host = make_source(x);
		if (i % 2 == 0)
			usleep(60000);
		gputrace_mark_iteration();
		if (i < 2) /* then this thread makes no calls any more */
			CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
	}
	second.join();
	return 0;
}

/* A graph of one GPU's stream uses memory of another GPU. */
static int run_devices()
{
	cudaEvent_t begun, ended;
	cudaStream_t other;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	float *x, *y;

	CUDA(cudaSetDevice(1));
	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemset(x, 1, BYTES));
	CUDA(cudaMemset(y, 2, BYTES));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaStreamCreate(&other));
	CUDA(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
	CUDA(cudaSetDevice(0));
	CUDA(cudaDeviceEnablePeerAccess(1, 0));
	CUDA(cudaStreamCreate(&stream));
	CUDA(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CUDA(cudaEventRecord(begun, stream));
	CUDA(cudaSetDevice(1));
	CUDA(cudaStreamWaitEvent(other, begun, 0));
	axpy<<<(N + 255) / 256, 256, 0, other>>>(N, 2, x, y);
	CUDA(cudaEventRecord(ended, other));
	CUDA(cudaSetDevice(0));
	CUDA(cudaStreamWaitEvent(stream, ended, 0));
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++) {
		gputrace_mark_iteration();
		CUDA(cudaGraphLaunch(exec, stream));
		CUDA(cudaStreamSynchronize(stream));
	}
	CUDA(cudaSetDevice(1)); /* its first operation after both keyframes */
	CUDA(cudaMemset(x, 3, BYTES));
	CUDA(cudaDeviceSynchronize());
	return 0;
}

struct shared {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
};

/* The clock of each process is in turn ahead of the other's. */
static int run_processes()
{
	cudaEvent_t event, other_event;
	struct shared mine, theirs;
	float *x, *y, *other;
	int self, status = 0;

	if (pipe(go) || pipe(done))
		return 1;
	self = fork() == 0;
	int to = self ? go[1] : done[1], from = self ? done[0] : go[0];

	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemset(x, 0, BYTES));
	CUDA(cudaMemset(y, 1 + self, BYTES));
	if (self)
		usleep(60000);
	CUDA(cudaIpcGetMemHandle(&mine.memory, y));
	CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	CUDA(cudaIpcGetEventHandle(&mine.event, event));
	if (write(to, &mine, sizeof(mine)) != sizeof(mine) ||
	    read(from, &theirs, sizeof(theirs)) != sizeof(theirs))
		return 1;
	CUDA(cudaIpcOpenMemHandle((void **)&other, theirs.memory, cudaIpcMemLazyEnablePeerAccess));
	CUDA(cudaIpcOpenEventHandle(&other_event, theirs.event));
	for (int i = 0; i < 4; i++) {
		if (i % 2 == self)
			usleep(100000);
		axpy<<<(N + 255) / 256, 256>>>(N, 2, y, y);
		CUDA(cudaEventRecord(event, 0));
		signal_other(to);
		wait_for_other(from);
		CUDA(cudaStreamWaitEvent(0, other_event, 0));
		axpy<<<(N + 255) / 256, 256>>>(N, 3, other, x);
		CUDA(cudaMemcpyAsync(x, other + N / 2, 1000, cudaMemcpyDeviceToDevice, 0));
		CUDA(cudaDeviceSynchronize());
		signal_other(to);
		wait_for_other(from);
	}
	CUDA(cudaIpcCloseMemHandle(other));
	CUDA(cudaEventDestroy(other_event));
	signal_other(to);
	wait_for_other(from);
	CUDA(cudaFree(y));
	return self || (wait(&status) > 0 && status == 0) ? 0 : 1;
}

int main(int argc, char **argv)
{
	switch (argc > 1 ? argv[1][0] : 'f') {
	case 'm':
		return run_memory();
	case 'd':
		return run_devices();
	case 'p':
		return run_processes();
	case 't':
		return run_threads(argc > 2);
	default:
		return run_functions();
	}
}
#endif
