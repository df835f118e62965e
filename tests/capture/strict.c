/* SPDX-License-Identifier: Apache-2.0 */

/* strict CASE: what a driver does not forgive, done by a program that is recorded. What the
 * recorder does beside it must neither fail nor show. */
#include "tests/emugpu/check_driver.h"

#include <string.h>

#define BYTES 100000

static CUcontext context;
static CUstream first, second;
static CUdeviceptr memory;

static void begin(void)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
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

/* A stream whose last copy is still to be digested joins a capture by waiting for an event. */
static void joins(void)
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

/* A kernel is launched for the first time while a stream is captured. */
static void loads(void)
{
	CUfunction function;
	CUmodule module;
	uint64_t parameter = 0;
	void *parameters[] = {&parameter};

	OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"
				     ".entry noted(.param .u64 a) { ret; }\n"));
	OK(cuModuleGetFunction(&function, module, "noted"));
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
	end_capture(1);
}

/* A copy is put on a stream of another context than the current one: kernels may not be. */
static void elsewhere(void)
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

/* Nobody but the driver knows what lies there: nothing yet, so that it refuses to copy it. */
static void nowhere(void)
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
	{"elsewhere", elsewhere},
	{"joins", joins},
	{"loads", loads},
	{"nowhere", nowhere},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		begin();
		cases[i].run();
		return 0;
	}
	return 2;
}
