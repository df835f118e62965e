/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the real time of calls of the emulated driver, beside an empty function of a shared
 * library: launches of a kernel with four parameters, and calls on events.
 *
 *     build/bench/emugpu_calls        nanoseconds a call: the median of 21 rounds
 */
#include "base/host.h"
#include "bench/emugpu/empty.h"
#include "replay/emugpu/driver/clock.h"
#include <gpuemu.h>

#include "base/array.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 21
#define CALLS 20000

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry k(.param .u32 a, .param .f32 b, .param .u64 c,"
			  " .param .u64 d) { ret; }\n";

static void nothing(struct gpuemu_launch *launch, void *const *args)
{
}

static const struct gpuemu_kernel kernel = {.name = "k", .run = nothing};

static CUfunction function;
static CUstream stream;
static CUevent event, other;

static void call_empty(void)
{
	emugpu_empty();
}

static void call_launch(void)
{
	int a = 1;
	float b = 2;
	CUdeviceptr c = 0, d = 0;
	void *args[] = {&a, &b, &c, &d};

	if (cuLaunchKernel(function, 128, 1, 1, 256, 1, 1, 0, stream, args, NULL))
		abort();
}

static void call_record(void)
{
	if (cuEventRecord(event, stream))
		abort();
}

static void call_query(void)
{
	cuEventQuery(event);
}

static void call_wait(void)
{
	if (cuStreamWaitEvent(stream, other, 0))
		abort();
}

static void call_host_ns(void)
{
	gpuemu_host_ns();
}

static void call_pause(void)
{
	gpuemu_clock_pause();
	gpuemu_clock_resume();
}

static const struct {
	const char *name;
	void (*call)(void);
} rows[] = {
	{"an empty function", call_empty}, {"cuLaunchKernel", call_launch},
	{"cuEventRecord", call_record},	   {"cuEventQuery", call_query},
	{"cuStreamWaitEvent", call_wait},  {"gpuemu_host_ns", call_host_ns},
	{"gpuemu_aside_...", call_pause},
};

static double now_ns(void)
{
	return (double)host_clock_ns(CLOCK_MONOTONIC);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return array_order(x, y);
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;

	gpuemu_register(&kernel);
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device) ||
	    cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "k") ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuEventCreate(&event, 0) ||
	    cuEventCreate(&other, 0) || cuEventRecord(other, NULL))
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double took[ROUNDS];

		for (int round = 0; round < ROUNDS; round++) {
			double start = now_ns();

			for (int k = 0; k < CALLS; k++)
				rows[i].call();
			took[round] = (now_ns() - start) / CALLS;
		}
		qsort(took, ROUNDS, sizeof(took[0]), ascending);
		printf("%-20s %8.1f ns\n", rows[i].name, took[ROUNDS / 2]);
	}
	return 0;
}
