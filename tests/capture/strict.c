/* SPDX-License-Identifier: Apache-2.0 */

/* strict CASE: driver calls with strict preconditions, made by a recorded program. The recorder's
 * additional work must neither fail nor be visible. */
#include "tests/emugpu/check_driver.h"

#include <string.h>

#define BYTES 100000

static CUcontext context;
static CUstream first, second;
static CUdeviceptr memory;

static void begin_capture(void)
{
	context = use_device(0);
	OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&memory, BYTES));
}

static void end_capture(size_t nodes)
{
	CUgraph graph;
	size_t n;

	OK(cuStreamEndCapture(first, &graph));
	OK(cuGraphGetNodes(graph, NULL, &n));
	TRUE(n == nodes);
	OK(cuGraphDestroy(graph));
}

static void CUDA_CB nothing(void *unused)
{
}

/* A stream with a pending digest of its last copy joins a capture by waiting for
 * an event. */
static void capture_joined_by_event(void)
{
	CUevent forked, joined;
	CUstream third;
	void *host;

	OK(cuMemHostAlloc(&host, BYTES, 0));
	OK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemcpyHtoDAsync(memory, host, BYTES, second));
	OK(cuEventRecord(forked, first));
	OK(cuStreamWaitEvent(second, forked, 0));
	OK(cuMemsetD8Async(memory, 1, 10, second));
	OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(third, nothing, NULL));
	OK(cuEventRecord(joined, second));
	OK(cuStreamWaitEvent(first, joined, 0));
	end_capture(1);
	OK(cuCtxSynchronize());
}

/* Returns a kernel that was not launched yet, with one pointer parameter. */
static CUfunction new_kernel(void)
{
	return load_kernel(PTX(ENTRY("noted(.param .u64 a)")), "noted");
}

static void launch(CUfunction function, CUdeviceptr pointer)
{
	void *parameters[] = {&pointer};

	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
}

/* A kernel is launched for the first time during a capture. */
static void load_during_capture(void)
{
	CUfunction function = new_kernel();

	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(function, 0);
	end_capture(1);
}

/* Memory of another device: a copy needs no peer access, a kernel does. */
static void copy_without_peer_access(void)
{
	CUfunction function = new_kernel();
	CUdeviceptr theirs;
	CUcontext other;
	void *host;

	OK(cuMemHostAlloc(&host, BYTES, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuDevicePrimaryCtxRetain(&other, 1));
	OK(cuCtxSetCurrent(other));
	OK(cuMemAlloc(&theirs, BYTES - 1));
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyDtoHAsync(host, theirs, BYTES - 2, first));
	launch(function, theirs);
	OK(cuCtxEnablePeerAccess(other, 0));
	OK(cuMemcpyDtoHAsync(host, theirs, BYTES - 3, first));
	launch(function, theirs);
	OK(cuCtxSynchronize());
	OK(cuCtxDisablePeerAccess(other));
	launch(function, theirs);
	OK(cuCtxSynchronize());
}

/* Memory that is mapped for one device, then for none. */
static void map_for_no_device(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUfunction function = new_kernel();
	CUmemGenericAllocationHandle handle;
	size_t bytes = 2 << 20;
	CUdeviceptr at;

	OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
	OK(cuMemCreate(&handle, bytes, &prop, 0));
	OK(cuMemMap(at, bytes, 0, handle, 0));
	launch(function, at);
	OK(cuMemSetAccess(at, bytes, &access, 1));
	launch(function, at);
	access.location.id = 0;
	OK(cuMemSetAccess(at, bytes, &access, 1));
	launch(function, at);
	OK(cuCtxSynchronize());
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	OK(cuMemSetAccess(at, bytes, &access, 1));
	launch(function, at);
	OK(cuCtxSynchronize());
	OK(cuMemUnmap(at, bytes));
	OK(cuMemRelease(handle));
}

/* Device registers (I/O memory) must not be read. */
static void copy_device_registers(void)
{
	static char io[8192] __attribute__((aligned(4096)));
	CUfunction function = new_kernel();

	OK(cuMemHostRegister(io, sizeof(io), CU_MEMHOSTREGISTER_IOMEMORY));
	launch(function, (CUdeviceptr)(uintptr_t)io);
	OK(cuCtxSynchronize());
	OK(cuMemHostUnregister(io));
}

/* Memory allocated within a capture exists while the graph runs; stream-ordered memory exists for
 * its stream. */
static void stream_ordered_memory(void)
{
	CUdeviceptr captured, ordered;
	CUgraphExec exec;
	CUgraph graph;

	OK(cuMemAllocAsync(&ordered, 12345, second));
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAllocAsync(&captured, 23456, first));
	OK(cuMemsetD8Async(captured, 1, 10, first));
	OK(cuMemFreeAsync(captured, first));
	OK(cuStreamEndCapture(first, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, first));
	OK(cuGraphLaunch(exec, second));
	OK(cuCtxSynchronize());
}

/* A copy may use a stream of another context than the current one; kernels may not. */
static void copy_in_another_context(void)
{
	CUcontext other;
	void *host;

	OK(cuMemHostAlloc(&host, BYTES, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuDevicePrimaryCtxRetain(&other, 1));
	OK(cuCtxSetCurrent(other));
	for (int i = 0; i < 3; i++)
		OK(cuMemcpyHtoDAsync(memory, host, BYTES, first));
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 3; i++)
		OK(cuMemsetD8Async(memory, 1, 10, first));
	OK(cuStreamSynchronize(first));
}

/* An address range without memory: the driver refuses to copy it. */
static void copy_from_unmapped_memory(void)
{
	CUdeviceptr reserved;
	char back[64];

	OK(cuMemAddressReserve(&reserved, 2 << 20, 0, 0, 0));
	FAILS(cuMemcpyDtoDAsync(memory, reserved, 64, first), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyDtoHAsync(back, reserved, 64, first), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressFree(reserved, 2 << 20));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"copy_in_another_context", copy_in_another_context},
	{"capture_joined_by_event", capture_joined_by_event},
	{"load_during_capture", load_during_capture},
	{"map_for_no_device", map_for_no_device},
	{"copy_from_unmapped_memory", copy_from_unmapped_memory},
	{"stream_ordered_memory", stream_ordered_memory},
	{"copy_without_peer_access", copy_without_peer_access},
	{"copy_device_registers", copy_device_registers},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		begin_capture();
		cases[i].run();
		return 0;
	}
	return 2;
}
