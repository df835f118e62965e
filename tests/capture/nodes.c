/* SPDX-License-Identifier: Apache-2.0 */

/* nodes FILE [LAUNCHES]: makes and changes graphs of all kinds, or launches one graph LAUNCHES
 * times. Prints results that do not depend on how the program is recorded. Writes to FILE when each
 * kernel ran, as the emulated GPU reports it. */
#include "tests/emugpu/held.h"
#include <gpuemu.h>

#include <stdlib.h>
#include <unistd.h>

#define BYTES 4096

static const char ptx[] = ".version 8.0\n"
			  ".target sm_90\n"
			  ".address_size 64\n"
			  ".visible .entry work(.param .u64 x, .param .u32 add, .param .u32 ns)\n"
			  "{ ret; }\n";

static FILE *times;
static CUcontext context;
static CUfunction work;
static CUstream a, b;
static CUdeviceptr x, y;
static void *host;

/* ---- the kernel: takes `ns`, and reports its start and end */

static void run_kernel(struct gpuemu_launch *launch, void *const *args)
{
	uint64_t *at = *(uint64_t **)args[0];
	uint32_t ns = *(uint32_t *)args[2];

	*at = *at * 3 + *(uint32_t *)args[1];
	fprintf(times, "%u %lld %lld\n", *(uint32_t *)args[1], (long long)launch->start_ns,
		(long long)launch->start_ns + ns);
}

static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	ret->ns = *(uint32_t *)args[2];
}

static const struct gpuemu_kernel kernel = {.name = "work", .run = run_kernel, .cost = cost};

/* `add` identifies the launch; it is also the grid. */
struct params {
	CUdeviceptr at;
	uint32_t add, ns;
	void *args[3];
	CUDA_KERNEL_NODE_PARAMS node;
};

static struct params *params(CUdeviceptr at, uint32_t add, uint32_t ns)
{
	static struct params p;

	p = (struct params){.at = at, .add = add, .ns = ns, .args = {&p.at, &p.add, &p.ns}};
	p.node = (CUDA_KERNEL_NODE_PARAMS){.func = work,
					   .gridDimX = add,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = p.args};
	return &p;
}

static void launch(CUstream s, CUdeviceptr at, uint32_t add, uint32_t ns)
{
	OK(cuLaunchKernel(work, add, 1, 1, 32, 1, 1, 0, s, params(at, add, ns)->args, NULL));
}

static void show(const char *what)
{
	uint64_t now[2];

	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&now[0], x, 8));
	OK(cuMemcpyDtoH(&now[1], y, 8));
	printf("%s: %llu %llu\n", what, (unsigned long long)now[0], (unsigned long long)now[1]);
}

/* ---- graphs */

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

/* One node after the other. */
static CUgraph chain(uint32_t add)
{
	CUgraph graph;

	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(a, x, add, 20000);
	OK(cuMemcpyDtoDAsync(y + 8, x, 8, a));
	launch(a, x, add + 1, 30000);
	OK(cuMemsetD8Async(y + 16, 1, 64, a));
	launch(a, y, add + 2, 10000);
	OK(cuStreamEndCapture(a, &graph));
	return graph;
}

/* On two streams at once, twice. */
static CUgraph fork_and_join(uint32_t add)
{
	CUevent forked, joined;
	CUgraph graph;

	OK(cuEventCreate(&forked, 0));
	OK(cuEventCreate(&joined, 0));
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(a, x, add, 5000);
	for (int i = 0; i < 2; i++) {
		OK(cuEventRecord(forked, a));
		OK(cuStreamWaitEvent(b, forked, 0));
		launch(a, x, add + 1, 20000);
		launch(b, y, add + 2, 30000);
		launch(b, y, add + 3, 4000);
		OK(cuEventRecord(joined, b));
		OK(cuStreamWaitEvent(a, joined, 0));
		launch(a, x, add + 4, 7000);
	}
	OK(cuEventRecord(forked, a));
	OK(cuStreamWaitEvent(b, forked, 0));
	launch(b, y, add + 5, 9000);
	OK(cuEventRecord(joined, b));
	OK(cuStreamWaitEvent(a, joined, 0));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuEventDestroy(forked));
	OK(cuEventDestroy(joined));
	return graph;
}

static void test_in_flight(void)
{
	CUgraph graph = chain(10), both = fork_and_join(20);
	CUgraphExec exec = instantiate(graph), other = instantiate(both);

	for (int i = 0; i < 5; i++) {
		OK(cuGraphLaunch(exec, a));
		OK(cuGraphLaunch(other, a));
		launch(a, y, 30, 6000);
	}
	show("in flight");
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(other));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(both));
}

/* Changes nodes that the driver returned, in capture order. */
static void test_changes(void)
{
	CUgraph graph = chain(40), like = chain(50), unlike = fork_and_join(60);
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec, second;
	CUgraphNode nodes[8];
	unsigned enabled = 2;
	size_t n = 8;

	OK(cuGraphGetNodes(graph, nodes, &n));
	TRUE(n == 5);
	exec = instantiate(graph);
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphExecKernelNodeSetParams(exec, nodes[2], &params(x, 45, 25000)->node));
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
	OK(cuGraphNodeGetEnabled(exec, nodes[0], &enabled));
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphNodeSetEnabled(exec, nodes[0], 1));
	show("changed");
	printf("enabled %u\n", enabled);

	/* Changes the graph between two instantiations. */
	OK(cuGraphKernelNodeSetParams(nodes[4], &params(y, 46, 15000)->node));
	second = instantiate(graph);
	OK(cuGraphLaunch(second, a));
	OK(cuGraphLaunch(exec, a));
	show("changed between");

	OK(cuGraphExecUpdate(exec, like, &info));
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params(x, 47, 5000)->node));
	OK(cuGraphLaunch(exec, a));
	FAILS(cuGraphExecUpdate(exec, unlike, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	OK(cuGraphLaunch(exec, a));
	show("updated");
	FAILS(cuGraphExecKernelNodeSetParams(exec, nodes[1], &params(x, 1, 1)->node),
	      CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(second));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(like));
	OK(cuGraphDestroy(unlike));
}

/* Nodes added by hand, in a graph and in a child graph. */
static void test_children(void)
{
	CUgraph graph, child = chain(70), inner;
	CUgraphNode node, host_node, nested, nodes[8];
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = x,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = host,
			      .WidthInBytes = 8,
			      .Height = 1,
			      .Depth = 1};
	CUgraphExec exec;
	size_t n = 8;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params(x, 80, 12000)->node));
	OK(cuGraphAddChildGraphNode(&nested, graph, &node, 1, child));
	OK(cuGraphAddEmptyNode(&node, graph, &nested, 1));
	OK(cuGraphAddMemcpyNode(&host_node, graph, &node, 1, &copy, context));
	OK(cuGraphChildGraphNodeGetGraph(nested, &inner));
	OK(cuGraphGetNodes(inner, nodes, &n));
	exec = instantiate(graph);
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params(x, 81, 2000)->node));
	OK(cuGraphLaunch(exec, a));
	show("children");
	printf("copied %d\n", *(uint64_t *)host != 0);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(child));
}

/* A child graph with two forks, nested twice, beside another kernel, with several launches in
 * flight; then one fork is replaced. */
static void test_children_of_children(void)
{
	CUgraph graph, middle, forks = fork_and_join(120), others = fork_and_join(130), inner;
	CUgraphNode first, second, child, beside, both[2];
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;

	OK(cuGraphCreate(&middle, 0));
	OK(cuGraphAddChildGraphNode(&first, middle, NULL, 0, forks));
	OK(cuGraphAddKernelNode(&second, middle, &first, 1, &params(x, 140, 3000)->node));
	OK(cuGraphAddChildGraphNode(&child, middle, &second, 1, others));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&first, graph, NULL, 0, &params(x, 141, 12000)->node));
	OK(cuGraphAddChildGraphNode(&both[0], graph, &first, 1, middle));
	OK(cuGraphAddKernelNode(&beside, graph, &first, 1, &params(y + 8, 142, 40000)->node));
	both[1] = beside;
	OK(cuGraphAddKernelNode(&second, graph, both, 2, &params(y, 143, 5000)->node));
	exec = instantiate(graph);
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, a));
	show("children of children");
	OK(cuGraphDestroy(middle));
	OK(cuGraphChildGraphNodeGetGraph(both[0], &inner));
	OK(cuGraphExecChildGraphNodeSetParams(exec, both[0], inner));
	OK(cuGraphLaunch(exec, a));
	FAILS(cuGraphExecChildGraphNodeSetParams(exec, both[0], forks), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphExecUpdate(exec, forks, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	OK(cuGraphExecUpdate(exec, graph, &info));
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphLaunch(exec, a));
	show("put in place");
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(forks));
	OK(cuGraphDestroy(others));
}

/* A graph with an allocation node cannot be cloned. */
static void test_allocation(void)
{
	CUdeviceptr memory;
	CUgraphExec exec;
	CUgraph graph;

	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAllocAsync(&memory, BYTES, a));
	launch(a, x, 90, 8000);
	OK(cuMemFreeAsync(memory, a));
	OK(cuStreamEndCapture(a, &graph));
	exec = instantiate(graph);
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphLaunch(exec, a));
	show("allocated");
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* An executable graph is destroyed before its launches have started. */
static void test_destroyed(void)
{
	CUgraph graph = chain(100);
	CUgraphExec exec = instantiate(graph);

	hold(a);
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, a));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	release_held();
	show("destroyed");
}

/* Memory of this process without its rings, which are files and grow when they are first
 * written. */
static long own_bytes(void)
{
	long pages = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	TRUE(f && fscanf(f, "%*d %ld %ld", &pages, &shared) == 2);
	fclose(f);
	return (pages - shared) * sysconf(_SC_PAGESIZE);
}

/* Keeps up to eight launches in flight. From time to time it lets the recorder catch up, which it
 * does at an exit. */
static void launch_often(int n)
{
	CUgraph graph = chain(110);
	CUgraphExec exec = instantiate(graph);
	long early = 0;

	for (int i = 0; i < n; i++) {
		if (i == n / 10)
			early = own_bytes();
		OK(cuGraphLaunch(exec, a));
		if (i % 8 == 7)
			OK(cuStreamSynchronize(a));
		if (i % 512 == 511)
			TRUE(execv("/does/not/exist", (char *[]){NULL}) == -1);
	}
	OK(cuCtxSynchronize());
	printf("grew by %ld MB\n", (own_bytes() - early) >> 20);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{

	times = argc > 1 ? fopen(argv[1], "w") : stderr;
	gpuemu_register(&kernel);
	context = use_device(0);
	work = load_kernel(ptx, "work");
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&x, BYTES));
	OK(cuMemAlloc(&y, BYTES));
	OK(cuMemHostAlloc(&host, BYTES, 0));
	OK(cuMemsetD8(x, 0, BYTES));
	OK(cuMemsetD8(y, 0, BYTES));
	if (argc > 2) {
		launch_often(atoi(argv[2]));
		return 0;
	}
	test_in_flight();
	test_changes();
	test_children();
	test_children_of_children();
	test_allocation();
	test_destroyed();
	return fclose(times) != 0;
}
