/* SPDX-License-Identifier: Apache-2.0 */

/* Graph nodes: found in clones, queried, changed in a graph and in an executable graph; event
 * nodes. */
#include "tests/emugpu/held.h"

#include <unistd.h>

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

static cuuint64_t graph_bytes(CUgraphMem_attribute what)
{
	cuuint64_t bytes;

	OK(cuDeviceGetGraphMemAttribute(0, what, &bytes));
	return bytes;
}

static size_t free_bytes(void)
{
	size_t bytes, total;

	OK(cuMemGetInfo(&bytes, &total));
	return bytes;
}

/* Makes a graph that allocates BYTES bytes twice, fills both and frees the first. */
static CUgraph graph_with_memory(CUdeviceptr *ret)
{
	CUDA_MEM_ALLOC_NODE_PARAMS memory = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.bytesize = BYTES};
	CUDA_MEMSET_NODE_PARAMS set = memset_params(7);
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUdeviceptr found;
	CUgraphNode node;
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &memory));
	set.dst = memory.dptr;
	OK(cuGraphAddMemsetNode(&node, graph, &node, 1, &set, context));
	OK(cuGraphAddMemFreeNode(&node, graph, &node, 1, memory.dptr));
	OK(cuGraphMemFreeNodeGetParams(node, &found));
	TRUE(found == memory.dptr);
	FAILS(cuGraphAddMemFreeNode(&node, graph, NULL, 0, at), CUDA_ERROR_INVALID_VALUE);
	any.alloc.poolProps = memory.poolProps;
	any.alloc.bytesize = BYTES;
	OK(cuGraphAddNode(&node, graph, &node, NULL, 1, &any));
	OK(cuGraphMemAllocNodeGetParams(node, &memory));
	TRUE(memory.dptr == any.alloc.dptr && memory.bytesize == BYTES);
	set.dst = *ret = memory.dptr;
	OK(cuGraphAddMemsetNode(&node, graph, &node, 1, &set, context));
	return graph;
}

/* Launches allocate; memory that a launch leaves allocated must be freed before the next one. The
 * device's memory is used from the first launch until the memory is trimmed. */
static void test_memory(void)
{
	const size_t before = free_bytes();
	cuuint64_t zero = 0;
	unsigned char byte;
	CUdeviceptr kept;
	CUgraph graph = graph_with_memory(&kept);
	CUgraphExec exec, freeing;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphInstantiateWithFlags(&freeing, graph,
				       CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	OK(cuGraphDestroy(graph));
	TRUE(free_bytes() == before);
	FAILS(cuMemFree(kept), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH(&byte, kept + BYTES - 1, 1));
	TRUE(byte == 7 && free_bytes() == before - BYTES);
	TRUE(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == BYTES);
	FAILS(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphLaunch(freeing, stream));
	OK(cuMemFreeAsync(kept, stream));
	FAILS(cuMemFreeAsync(kept, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(freeing));
	OK(cuDeviceGraphMemTrim(0));
	TRUE(free_bytes() == before - BYTES); /* `kept` is still allocated */
	OK(cuMemFree(kept));
	TRUE(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == BYTES);
	OK(cuDeviceGraphMemTrim(0));
	TRUE(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0 && free_bytes() == before);
	TRUE(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == BYTES);
	OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
	TRUE(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
}

/* The graph is destroyed: freeing its memory releases the address, after earlier operations. */
static void test_pending_free(void)
{
	CUdeviceptr kept, first, other;
	CUgraph graph = graph_with_memory(&kept);
	CUgraphExec exec;
	unsigned char byte;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuMemAlloc(&first, BYTES)); /* reuses the memory that the graph freed */
	hold(stream);
	OK(cuMemsetD8Async(kept, 9, BYTES, stream));
	OK(cuMemFreeAsync(kept, stream));
	OK(cuMemAlloc(&other, BYTES));
	OK(cuMemsetD8(other, 5, BYTES));
	release_held();
	OK(cuStreamSynchronize(stream));
	held_go = 0; /* for the next test */
	OK(cuMemcpyDtoH(&byte, other, 1));
	TRUE(byte == 5);
	OK(cuMemFree(other));
	OK(cuMemFree(first));
	OK(cuDeviceGraphMemTrim(0));
}

/* The address of freed memory of an exported pool is allocated again, outside of the pool. */
static void test_exported_pool(void)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr pooled, other;

	OK(cuMemPoolCreate(&pool, &props));
	for (int i = 0; i < 100; i++) {
		OK(cuMemAllocFromPoolAsync(&pooled, BYTES, pool, stream));
		OK(cuMemPoolExportPointer(&data, pooled));
		OK(cuMemFreeAsync(pooled, stream));
		OK(cuStreamSynchronize(stream));
	}
	FAILS(cuMemPoolExportPointer(&data, pooled), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc(&other, BYTES));
	TRUE(other == pooled);
	FAILS(cuMemPoolExportPointer(&data, other), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(other));
	OK(cuMemPoolDestroy(pool));
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
	FAILS(cuEventElapsedTime(&to_first, before, first), CUDA_ERROR_NOT_READY);
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

/* An executable graph that waits for `before` and then records `after`. */
static CUgraphExec graph_between(CUevent before, CUevent after)
{
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddEventWaitNode(&node, graph, NULL, 0, before));
	OK(cuGraphAddEventRecordNode(&node, graph, &node, 1, after));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	return exec;
}

/* A node waits for the record that precedes its launch, not for a record of its own graph or of a
 * later launch. */
static void test_event_ring(void)
{
	CUstream other;
	CUevent a, b;
	CUgraphExec self, forth, back;

	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	self = graph_between(a, a);
	forth = graph_between(a, b);
	back = graph_between(b, a);
	alarm(20); /* a wait that never ends fails */
	held_go = 0;
	hold(stream);
	OK(cuGraphLaunch(self, stream));
	OK(cuGraphLaunch(self, stream));
	for (int i = 0; i < 2; i++) {
		OK(cuGraphLaunch(forth, stream));
		OK(cuGraphLaunch(back, other));
	}
	FAILS(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
	FAILS(cuEventQuery(a), CUDA_ERROR_NOT_READY);
	release_held();
	OK(cuStreamSynchronize(stream));
	OK(cuStreamSynchronize(other));
	alarm(0);
	OK(cuEventQuery(a));
	OK(cuGraphExecDestroy(self));
	OK(cuGraphExecDestroy(forth));
	OK(cuGraphExecDestroy(back));
	OK(cuEventDestroy(a));
	OK(cuEventDestroy(b));
	OK(cuStreamDestroy(other));
}

int main(void)
{
	context = use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, BYTES));
	test_clones();
	test_what_allocates();
	test_memory();
	test_pending_free();
	test_exported_pool();
	test_params();
	test_child();
	test_later_changes();
	test_event_ring();
	return 0;
}
