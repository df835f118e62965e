/* SPDX-License-Identifier: Apache-2.0 */

/* ends N: N operations on a stream of an emulated GPU, an exec that fails, as many operations
 * again, and the end, without waiting for any of them.
 * ends N contexts: N operations in each of 70 contexts, one after the other, that are destroyed
 * without waiting; and as many in the primary one, that is reset, and another N.
 * ends N late SECONDS: N operations, and as many behind a host function that takes so long in real
 * time. */
#include "tests/emugpu/check_driver.h"

#include <errno.h>
#include <unistd.h>

static void operations(CUdeviceptr at, CUstream stream, int n)
{
	for (int i = 0; i < n; i++)
		OK(cuMemsetD8Async(at, (unsigned char)i, 4096, stream));
}

/* In the context that is current; a copy among them. */
static void some(int n)
{
	static char from[100000];
	CUdeviceptr at;

	OK(cuMemAlloc(&at, sizeof(from)));
	operations(at, NULL, n - 1);
	OK(cuMemcpyHtoDAsync(at, from, sizeof(from), NULL));
}

static int contexts(int n)
{
	CUcontext context;

	for (int i = 0; i < 70; i++) {
		OK(cuCtxCreate(&context, NULL, 0, 0));
		some(n);
		OK(cuCtxDestroy(context));
	}
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	some(n);
	OK(cuDevicePrimaryCtxReset(0));
	some(n);
	return 0;
}

static void CUDA_CB take(void *seconds)
{
	sleep((unsigned)atoi(seconds));
}

static int late(int n, char *seconds, CUdeviceptr at, CUstream stream)
{
	operations(at, stream, n);
	OK(cuLaunchHostFunc(stream, take, seconds));
	operations(at, stream, n);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	CUcontext context;
	CUstream stream;
	CUdeviceptr at;

	OK(cuInit(0));
	if (argc == 3)
		return contexts(n);
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 4096));
	if (argc > 3)
		return late(n, argv[3], at, stream);
	operations(at, stream, n);
	if (execv("/does/not/exist", (char *[]){NULL}) != -1 || errno != ENOENT)
		return 2;
	operations(at, stream, n);
	return 0;
}
