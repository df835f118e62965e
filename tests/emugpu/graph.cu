/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs captured from streams that fork and join, and graphs built by hand. */
#include "tests/emugpu/check.h"
#include <gpuemu.h>

#include <atomic>
#include <unistd.h>

__global__ void add(int *x, int by)
{
	*x += by;
}

static void add_host(int *x, int by)
{
	*x += by;
}
GPUEMU_HOST_KERNEL(add, add_host)

/* Sets the condition to *x + by. */
__global__ void test_value(int *x, int by, cudaGraphConditionalHandle condition)
{
	*x += by;
	cudaGraphSetConditional(condition, *x);
}

static void test_value_host(int *x, int by, cudaGraphConditionalHandle condition)
{
	static gpuemu_set_conditional_fn *set =
		(gpuemu_set_conditional_fn *)dlsym(RTLD_DEFAULT, "gpuemu_set_conditional");

	*x += by;
	set(condition, (unsigned)*x);
}
GPUEMU_HOST_KERNEL(test_value, test_value_host)

__global__ void without_host_kernel()
{
}

static int *x;

static int value()
{
	int v;

	OK(cudaMemcpy(&v, x, sizeof(v), cudaMemcpyDeviceToHost));
	return v;
}

static void test_capture()
{
	cudaStream_t a, b;
	cudaEvent_t forked, joined;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStreamCaptureStatus status;
	size_t nodes = 0, edges = 0;
	int *y;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreate(&forked));
	OK(cudaEventCreate(&joined));
	OK(cudaMalloc(&y, 4));
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	OK(cudaStreamIsCapturing(a, &status));
	TRUE(status == cudaStreamCaptureStatusActive);
	OK(cudaMemsetAsync(x, 0, 4, a));
	OK(cudaEventRecord(forked, a));
	OK(cudaStreamWaitEvent(b, forked));
	add<<<1, 1, 0, a>>>(x, 1);
	OK(cudaMemsetAsync(y, 0, 4, b));
	OK(cudaEventRecord(joined, b));
	OK(cudaStreamWaitEvent(a, joined));
	for (int i = 2; i <= 3; i++)
		add<<<1, 1, 0, a>>>(x, i);
	OK(cudaGetLastError());
	OK(cudaStreamEndCapture(a, &graph));
	OK(cudaGraphGetNodes(graph, nullptr, &nodes));
	OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
	TRUE(nodes == 5 && edges == 5);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphDestroy(graph));
	for (int i = 0; i < 3; i++)
		OK(cudaGraphLaunch(exec, a));
	OK(cudaStreamSynchronize(a));
	TRUE(value() == 6);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaEventDestroy(forked));
	OK(cudaEventDestroy(joined));
}

static void sleep_briefly(void *unused)
{
	usleep(50000);
}

/* The launch records the event of a node, before the node runs. */
static void test_event_node()
{
	const cudaHostNodeParams host = {sleep_briefly, nullptr};
	cudaGraphNode_t node, record;
	cudaStream_t a, b;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaEvent_t event;
	float ms;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreate(&event));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host));
	OK(cudaGraphAddEventRecordNode(&record, graph, &node, 1, event));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, a));
	OK(cudaStreamWaitEvent(b, event));
	FAILS(cudaStreamQuery(b), cudaErrorNotReady);
	FAILS(cudaEventQuery(event), cudaErrorNotReady);
	OK(cudaStreamSynchronize(b));
	OK(cudaEventQuery(event));
	OK(cudaEventElapsedTime(&ms, event, event));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaEventDestroy(event));
}

static void test_capture_refuses()
{
	cudaStream_t a, b;
	cudaEvent_t forked;
	cudaGraph_t graph;
	void *p;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreate(&forked));

	/* A call that is illegal during capture invalidates the capture. */
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	FAILS(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
	FAILS(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	FAILS(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
	FAILS(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
	OK(cudaMalloc(&p, 16));
	OK(cudaStreamEndCapture(a, &graph));
	OK(cudaGraphDestroy(graph));

	/* A forked stream must join the capturing stream again. */
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	add<<<1, 1, 0, a>>>(x, 1);
	OK(cudaEventRecord(forked, a));
	OK(cudaStreamWaitEvent(b, forked));
	add<<<1, 1, 0, b>>>(x, 1);
	FAILS(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);
	OK(cudaStreamSynchronize(b));
	OK(cudaEventDestroy(forked));
}

static std::atomic<int> called;

static void note(void *data)
{
	called += *(int *)data;
}

static void test_nodes()
{
	cudaGraph_t graph, child;
	cudaGraphNode_t set, one, two, host, nested;
	cudaGraphExec_t exec;
	int by = 5, amount = 7;
	void *args[] = {&x, &by};
	cudaMemsetParams memset_params = {};
	cudaKernelNodeParams kernel = {};
	cudaHostNodeParams host_params = {note, &amount};

	memset_params.dst = x;
	memset_params.elementSize = 4;
	memset_params.value = 100;
	memset_params.width = memset_params.height = 1;
	kernel.func = (void *)add;
	kernel.gridDim = kernel.blockDim = dim3(1);
	kernel.kernelParams = args;
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &memset_params));
	OK(cudaGraphAddKernelNode(&one, graph, &set, 1, &kernel));
	by = 1000; /* the node has a copy of its arguments */
	OK(cudaGraphAddHostNode(&host, graph, &one, 1, &host_params));
	OK(cudaGraphCreate(&child, 0));
	OK(cudaGraphAddKernelNode(&two, child, nullptr, 0, &kernel));
	OK(cudaGraphAddChildGraphNode(&nested, graph, &host, 1, child));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	TRUE(value() == 1105 && called == 7);
	by = 1;
	OK(cudaGraphExecKernelNodeSetParams(exec, one, &kernel));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	TRUE(value() == 1101 && called == 14);

	/* A graph with a cycle cannot be instantiated. */
	OK(cudaGraphAddDependencies(graph, &host, &set, nullptr, 1));
	cudaGraphExec_t never;
	FAILS(cudaGraphInstantiate(&never, graph, 0), cudaErrorInvalidValue);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(child));
	OK(cudaGraphDestroy(graph));
}

static cudaGraphNode_t add_node(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphNodeParams *p)
{
	cudaGraphNode_t node;

	OK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, p));
	return node;
}

static cudaGraphNodeParams params_of(cudaGraphNodeType type)
{
	cudaGraphNodeParams p = {};

	p.type = type;
	return p;
}

/* Nodes of every kind, made and changed through the generic functions. */
struct any_nodes {
	cudaGraph_t graph, child;
	cudaGraphNode_t set, one, copied;
	cudaEvent_t event;
	int by = 5, amount = 7, results[2] = {0, 0};
	void *args[2] = {&x, &by};
	cudaGraphNodeParams memset = params_of(cudaGraphNodeTypeMemset);
	cudaGraphNodeParams kernel = params_of(cudaGraphNodeTypeKernel);
	cudaGraphNodeParams copy = params_of(cudaGraphNodeTypeMemcpy);
	cudaGraphNodeParams host = params_of(cudaGraphNodeTypeHost);
	cudaGraphNodeParams nested = params_of(cudaGraphNodeTypeGraph);
	cudaGraphNodeParams wait = params_of(cudaGraphNodeTypeWaitEvent);
	cudaGraphNodeParams record = params_of(cudaGraphNodeTypeEventRecord);
	cudaGraphNodeParams empty = params_of(cudaGraphNodeTypeEmpty);
};

static void add_any_nodes(struct any_nodes *a)
{
	cudaGraphNode_t last;

	OK(cudaEventCreate(&a->event));
	OK(cudaGraphCreate(&a->graph, 0));
	OK(cudaGraphCreate(&a->child, 0));
	a->memset.memset.dst = x;
	a->memset.memset.elementSize = 4;
	a->memset.memset.value = 100;
	a->memset.memset.width = a->memset.memset.height = 1;
	a->kernel.kernel.func = (void *)add;
	a->kernel.kernel.gridDim = a->kernel.kernel.blockDim = dim3(1);
	a->kernel.kernel.kernelParams = a->args;
	a->copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(x, 4, 4, 1);
	a->copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(a->results, 4, 4, 1);
	a->copy.memcpy.copyParams.extent = make_cudaExtent(4, 1, 1);
	a->copy.memcpy.copyParams.kind = cudaMemcpyDefault;
	a->host.host.fn = note;
	a->host.host.userData = &a->amount;
	a->wait.eventWait.event = a->record.eventRecord.event = a->event;
	a->nested.graph.graph = a->child;
	add_node(a->child, nullptr, &a->kernel);
	a->set = add_node(a->graph, nullptr, &a->memset);
	a->one = add_node(a->graph, a->set, &a->kernel);
	last = add_node(a->graph, a->one, &a->record);
	last = add_node(a->graph, last, &a->wait);
	last = add_node(a->graph, last, &a->empty);
	last = add_node(a->graph, last, &a->nested);
	a->copied = add_node(a->graph, last, &a->copy);
	add_node(a->graph, a->copied, &a->host);
}

static void run(cudaGraphExec_t exec)
{
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
}

static void change_exec(struct any_nodes *a, cudaGraphExec_t exec)
{
	int *y;

	a->memset.memset.value = 200;
	a->by = 1;
	a->copy.memcpy.copyParams.dstPtr.ptr = &a->results[1];
	OK(cudaGraphExecNodeSetParams(exec, a->set, &a->memset));
	OK(cudaGraphExecNodeSetParams(exec, a->one, &a->kernel));
	OK(cudaGraphExecNodeSetParams(exec, a->copied, &a->copy));
	run(exec);
	TRUE(a->results[0] == 110 && a->results[1] == 206 && called == 14);
	FAILS(cudaGraphExecNodeSetParams(exec, a->one, &a->memset), cudaErrorInvalidValue);
	OK(cudaMalloc(&y, 4));
	OK(cudaGraphExecMemcpyNodeSetParams1D(exec, a->copied, y, x, 4, cudaMemcpyDefault));
	run(exec);
	OK(cudaMemcpy(a->results, y, 4, cudaMemcpyDefault));
	TRUE(a->results[0] == 206);
	OK(cudaFree(y));
}

static void test_any_node()
{
	auto signal = params_of(cudaGraphNodeTypeExtSemaphoreSignal);
	cudaGraphExec_t exec;
	cudaGraph_t clone;
	cudaGraphNode_t found;
	struct any_nodes a;

	called = 0;
	add_any_nodes(&a);
	FAILS(cudaGraphAddNode(&found, a.graph, nullptr, nullptr, 0, &signal),
	      cudaErrorNotSupported);
	OK(cudaGraphInstantiate(&exec, a.graph, 0));
	run(exec);
	TRUE(a.results[0] == 110 && called == 7 && cudaEventQuery(a.event) == cudaSuccess);
	change_exec(&a, exec);
	OK(cudaGraphExecDestroy(exec));

	OK(cudaGraphNodeSetParams(a.one, &a.kernel));
	OK(cudaGraphClone(&clone, a.graph));
	OK(cudaGraphNodeFindInClone(&found, a.set, clone));
	TRUE(found != a.set);
	OK(cudaGraphNodeSetParams(found, &a.memset));
	FAILS(cudaGraphNodeSetParams(found, &a.record), cudaErrorInvalidValue);
	a.results[0] = 0;
	OK(cudaGraphInstantiate(&exec, clone, 0));
	run(exec);
	TRUE(a.results[0] == 206 && called == 28);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(clone));
	OK(cudaGraphDestroy(a.child));
	OK(cudaGraphDestroy(a.graph));
	OK(cudaEventDestroy(a.event));
}

/* Branches run concurrently in virtual time. */
static void test_time()
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaEvent_t from, to;
	void *a, *b, *host_a, *host_b;
	size_t bytes = 64 << 20;
	float together, in;

	OK(cudaMalloc(&a, bytes));
	OK(cudaMalloc(&b, bytes));
	OK(cudaMallocHost(&host_a, bytes));
	OK(cudaMallocHost(&host_b, bytes));
	OK(cudaEventCreate(&from));
	OK(cudaEventCreate(&to));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, a, host_a, bytes,
				    cudaMemcpyHostToDevice));
	OK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, host_b, b, bytes,
				    cudaMemcpyDeviceToHost));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaEventRecord(from));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaEventRecord(to));
	OK(cudaEventSynchronize(to));
	OK(cudaEventElapsedTime(&together, from, to));
	OK(cudaEventRecord(from));
	OK(cudaMemcpyAsync(a, host_a, bytes, cudaMemcpyHostToDevice));
	OK(cudaEventRecord(to));
	OK(cudaEventSynchronize(to));
	OK(cudaEventElapsedTime(&in, from, to));
	TRUE(together > 0.9f * in && together < 1.2f * in);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaEventDestroy(from));
	OK(cudaEventDestroy(to));
}

static cudaGraph_t *add_conditional(cudaGraph_t graph, const cudaGraphNode_t *after,
				    cudaGraphConditionalHandle handle,
				    enum cudaGraphConditionalNodeType type, unsigned size)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = handle;
	p.conditional.type = type;
	p.conditional.size = size;
	OK(cudaGraphAddNode(&node, graph, after, NULL, after ? 1 : 0, &p));
	return p.conditional.phGraph_out;
}

template <typename... P>
static cudaGraphNode_t add_kernel(cudaGraph_t graph, void (*kernel)(P...), P... parameters)
{
	void *arguments[] = {&parameters..., NULL};
	cudaKernelNodeParams p = {(void *)kernel, 1, 1, 0, arguments, NULL};
	cudaGraphNode_t node;

	OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	return node;
}

/* Launches the graph with `from` in *x; returns *x. */
static int launch_from(cudaGraph_t graph, int from)
{
	cudaGraphExec_t exec;

	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaMemcpy(x, &from, sizeof(from), cudaMemcpyHostToDevice));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaGraphExecDestroy(exec));
	return value();
}

static void test_conditional(enum cudaGraphConditionalNodeType type, unsigned size,
			     const int (*expected)[2])
{
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t first;
	cudaGraph_t graph, clone, *bodies;

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphConditionalHandleCreate(&handle, graph, 7, cudaGraphCondAssignDefault));
	first = add_kernel(graph, test_value, x, 0, handle);
	bodies = add_conditional(graph, &first, handle, type, size);
	FAILS(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
	for (unsigned i = 0; i < size; i++)
		if (type == cudaGraphCondTypeWhile)
			add_kernel(bodies[i], test_value, x, -1, handle);
		else
			add_kernel(bodies[i], add, x, 100 * (int)(i + 1));
	for (int i = 0; i < 4; i++)
		TRUE(launch_from(graph, expected[i][0]) == expected[i][1]);
	OK(cudaGraphDestroy(graph));
}

static void test_conditionals()
{
	static const int if_else[][2] = {{0, 200}, {1, 101}, {2, 102}, {0, 200}};
	static const int loop[][2] = {{0, 0}, {1, 0}, {9, 0}, {0, 0}};
	static const int choice[][2] = {{0, 100}, {1, 201}, {2, 302}, {3, 3}};
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;
	cudaGraph_t graph, body;
	cudaStream_t stream;

	test_conditional(cudaGraphCondTypeIf, 2, if_else);
	test_conditional(cudaGraphCondTypeWhile, 1, loop);
	test_conditional(cudaGraphCondTypeSwitch, 3, choice);

	/* Without host kernels, conditions keep their default, and loops end. */
	OK(cudaStreamCreate(&stream));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	body = add_conditional(graph, NULL, handle, cudaGraphCondTypeWhile, 1)[0];
	OK(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
	without_host_kernel<<<1, 1, 0, stream>>>();
	add<<<1, 1, 0, stream>>>(x, 10);
	OK(cudaStreamEndCapture(stream, NULL));
	TRUE(launch_from(graph, 0) == 10);
	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = handle;
	p.conditional.size = 3;
	FAILS(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p), cudaErrorInvalidValue);
	p.conditional.size = 1;
	p.conditional.handle++;
	FAILS(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p), cudaErrorInvalidValue);
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(stream));
}

int main()
{
	OK(cudaMalloc(&x, 4));
	test_capture();
	test_capture_refuses();
	test_event_node();
	test_nodes();
	test_any_node();
	test_time();
	test_conditionals();
	return 0;
}
