/* SPDX-License-Identifier: Apache-2.0 */

/* ends N: N operations on a stream of an emulated GPU, an exec that fails, N more operations, and
 * exit without waiting for any.
 * ends N contexts: N operations in each of 70 contexts that are destroyed without waiting; N in the
 * primary context, which is then reset; and N more.
 * ends N late SECONDS: N operations, and N more behind a host function that takes SECONDS of real
 * time. */
#include "tests/emugpu/check_driver.h"

#include <errno.h>
#include <unistd.h>

static void operations(CUdeviceptr at, CUstream stream, int n)
{
	for (int i = 0; i < n; i++)
		OK(cuMemsetD8Async(at, (unsigned char)i, 4096, stream));
}

/* Launches operations in the current context, a copy among them. */
static void launch_operations(int n)
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
		launch_operations(n);
		OK(cuCtxDestroy(context));
	}
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	launch_operations(n);
	OK(cuDevicePrimaryCtxReset(0));
	launch_operations(n);
	return 0;
}

static void CUDA_CB sleep_in_host_function(void *seconds)
{
	sleep((unsigned)atoi(seconds));
}

static int late(int n, char *seconds, CUdeviceptr at, CUstream stream)
{
	operations(at, stream, n);
	OK(cuLaunchHostFunc(stream, sleep_in_host_function, seconds));
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
