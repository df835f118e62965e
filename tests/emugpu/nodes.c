/* SPDX-License-Identifier: Apache-2.0 */

/* Graph nodes: found in clones, queried, changed in a graph and in an executable graph; event
 * nodes. */
#include "tests/emugpu/held.h"

#define BYTES (1 << 20)

static CUcontext context;
static CUstream stream;
static CUdeviceptr at;

static CUDA_MEMSET_NODE_PARAMS memset_params(unsigned value)
{
	return (CUDA_MEMSET_NODE_PARAMS){
		.dst = at, .value = value, .elementSize = 1, .width = BYTES, .height = 1};
}

static unsigned char first_byte(void)
{
	unsigned char byte;

	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH(&byte, at, 1));
	return byte;
}

static void test_clones(void)
{
	CUDA_MEMSET_NODE_PARAMS set = memset_params(1);
	CUgraph graph, clone, other;
	CUgraphNode a, b, found, dep;
	size_t n = 1;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &set, context));
	OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphClone(&other, clone));
	OK(cuGraphNodeFindInClone(&found, b, clone));
	TRUE(found != b);
	OK(cuGraphNodeGetDependencies(found, &dep, NULL, &n));
	OK(cuGraphNodeFindInClone(&found, a, clone));
	TRUE(n == 1 && found == dep);
	FAILS(cuGraphNodeFindInClone(&found, a, graph), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphNodeFindInClone(&found, a, other), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphAddEmptyNode(&b, graph, NULL, 0));
	FAILS(cuGraphNodeFindInClone(&found, b, clone), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(other));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(graph));
}

/* An allocation node has no counterpart in a clone. */
static void test_what_allocates(void)
{
	CUgraph graph, clone;
	CUdeviceptr memory;

	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAllocAsync(&memory, 1024, stream));
	OK(cuMemFreeAsync(memory, stream));
	OK(cuStreamEndCapture(stream, &graph));
	FAILS(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuGraphDestroy(graph));
}

static void test_params(void)
{
	CUDA_MEMSET_NODE_PARAMS set = memset_params(3), told;
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = at,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .WidthInBytes = 16,
			      .Height = 1,
			      .Depth = 1},
		      copies;
	CUgraph graph;
	CUgraphNode a, b;
	CUgraphExec exec;
	unsigned char host[16];
	unsigned enabled;

	copy.dstHost = host;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &set, context));
	OK(cuGraphAddMemcpyNode(&b, graph, &a, 1, &copy, context));
	OK(cuGraphMemsetNodeGetParams(a, &told));
	TRUE(told.dst == at && told.value == 3 && told.width == BYTES && told.elementSize == 1);
	OK(cuGraphMemcpyNodeGetParams(b, &copies));
	TRUE(copies.srcMemoryType == CU_MEMORYTYPE_DEVICE && copies.srcDevice == at);
	TRUE(copies.dstMemoryType == CU_MEMORYTYPE_HOST && copies.dstHost == host);
	TRUE(copies.WidthInBytes == 16 && copies.Height == 1 && copies.Depth == 1);
	FAILS(cuGraphMemcpyNodeGetParams(a, &copies), CUDA_ERROR_INVALID_VALUE);
	set.value = 4;
	OK(cuGraphMemsetNodeSetParams(a, &set));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	set.value = 5;
	OK(cuGraphMemsetNodeSetParams(a, &set)); /* affects the next instantiation only */
	OK(cuGraphLaunch(exec, stream));
	TRUE(first_byte() == 4 && host[0] == 4);

	set.value = 6;
	OK(cuGraphExecMemsetNodeSetParams(exec, a, &set, context));
	copy.WidthInBytes = 1;
	OK(cuGraphExecMemcpyNodeSetParams(exec, b, &copy, context));
	OK(cuGraphLaunch(exec, stream));
	TRUE(first_byte() == 6 && host[0] == 6 && host[1] == 4);
	OK(cuGraphNodeSetEnabled(exec, a, 0));
	OK(cuGraphNodeGetEnabled(exec, a, &enabled));
	TRUE(!enabled);
	OK(cuMemsetD8(at, 9, BYTES));
	OK(cuGraphLaunch(exec, stream));
	TRUE(first_byte() == 9 && host[0] == 9);

	/* An update must have the same nodes; they stay enabled or disabled. */
	OK(cuGraphExecUpdate(exec, graph, NULL));
	OK(cuGraphNodeGetEnabled(exec, a, &enabled));
	TRUE(!enabled);
	OK(cuGraphNodeSetEnabled(exec, a, 1));
	OK(cuGraphLaunch(exec, stream));
	TRUE(first_byte() == 5 && host[1] == 5);

	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* A child graph is a copy; nodes of other graphs are not found in it. */
static void test_child(void)
{
	CUDA_MEMSET_NODE_PARAMS set = memset_params(3);
	CUgraph graph, child;
	CUgraphNode a, node;
	CUgraphExec exec;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &set, context));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	FAILS(cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY,
					    &(CUkernelNodeAttrValue){0}),
	      CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, graph));
	OK(cuGraphChildGraphNodeGetGraph(node, &child));
	TRUE(child != graph);
	FAILS(cuGraphNodeSetEnabled(exec, node, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* A launch runs the graph as it was at the launch, however late it starts. */
static void test_later_changes(void)
{
	CUDA_MEMSET_NODE_PARAMS set = memset_params(1);
	CUgraph graph;
	CUgraphNode a, leaf;
	CUgraphExec exec;
	CUevent before, first, second;
	float to_first, to_second;

	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&first, 0));
	OK(cuEventCreate(&second, 0));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &set, context));
	OK(cuGraphAddEventRecordNode(&leaf, graph, &a, 1, first));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuEventRecord(before, stream));
	hold(stream);
	OK(cuGraphLaunch(exec, stream));
	set.value = 2;
	OK(cuGraphExecMemsetNodeSetParams(exec, a, &set, context));
	FAILS(cuGraphExecEventRecordNodeSetEvent(exec, a, second), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphExecEventRecordNodeSetEvent(exec, leaf, second));
	FAILS(cuEventElapsedTime(&to_first, before, first), CUDA_ERROR_INVALID_HANDLE);
	release_held();
	TRUE(first_byte() == 1);
	FAILS(cuEventElapsedTime(&to_second, before, second), CUDA_ERROR_INVALID_HANDLE);
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphExecDestroy(exec));
	TRUE(first_byte() == 2);
	OK(cuEventElapsedTime(&to_first, before, first));
	OK(cuEventElapsedTime(&to_second, before, second));
	TRUE(to_first > 0 && to_second > to_first);
	OK(cuGraphDestroy(graph));
	OK(cuEventDestroy(before));
	OK(cuEventDestroy(first));
	OK(cuEventDestroy(second));
}

int main(void)
{
	context = use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, BYTES));
	test_clones();
	test_what_allocates();
	test_params();
	test_child();
	test_later_changes();
	return 0;
}
