/* SPDX-License-Identifier: Apache-2.0 */

/* Checks for programs that use the driver API: the first failed check ends the program. */
#pragma once

#include "tests/emugpu/check_true.h"

#include <cuda.h>

#define OK(call) check_is(call, CUDA_SUCCESS, #call, __LINE__)
#define FAILS(call, why) check_is(call, why, #call, __LINE__)
#define NCCL(call) TRUE((call) == ncclSuccess) /* for programs that include nccl.h */

static inline void check_is(CUresult got, CUresult want, const char *call, int line)
{
	const char *name = "?";

	if (got == want)
		return;
	cuGetErrorName(got, &name);
	fprintf(stderr, "line %d: %s gave %s\n", line, call, name);
	exit(1);
}

/* A module of kernels without code, and such a kernel: PTX(ENTRY("add(.param .u64 x)")). */
#define PTX(entries) ".version 8.0\n.target sm_52\n.address_size 64\n" entries
#define ENTRY(head) ".visible .entry " head " { ret; }\n"

/* Initialises the driver and makes a device's primary context current. */
static inline CUcontext use_device(int ordinal)
{
	CUcontext context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, ordinal));
	OK(cuCtxSetCurrent(context));
	return context;
}

/* The kernel of that name in an image. */
static inline CUfunction load_kernel(const char *image, const char *name)
{
	CUmodule module;
	CUfunction ret;

	OK(cuModuleLoadData(&module, image));
	OK(cuModuleGetFunction(&ret, module, name));
	return ret;
}

/* An event that is recorded on the null stream. */
static inline CUevent record_now(void)
{
	CUevent event;

	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, NULL));
	return event;
}

/* Milliseconds from record_now() until the null stream gets here. */
static inline float ms_since(CUevent from)
{
	CUevent to = record_now();
	float ms;

	OK(cuEventSynchronize(to));
	OK(cuEventElapsedTime(&ms, from, to));
	OK(cuEventDestroy(from));
	OK(cuEventDestroy(to));
	return ms;
}
