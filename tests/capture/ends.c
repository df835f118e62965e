/* SPDX-License-Identifier: Apache-2.0 */

/* ends N: N operations on a stream of an emulated GPU, an exec that fails, as many operations
 * again, and the end, without waiting for any of them. */
#include "tests/emugpu/check_driver.h"

#include <errno.h>
#include <unistd.h>

static void operations(CUdeviceptr at, CUstream stream, int n)
{
	for (int i = 0; i < n; i++)
		OK(cuMemsetD8Async(at, (unsigned char)i, 4096, stream));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	CUcontext context;
	CUstream stream;
	CUdeviceptr at;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 4096));
	operations(at, stream, n);
	if (execv("/does/not/exist", (char *[]){NULL}) != -1 || errno != ENOENT)
		return 2;
	operations(at, stream, n);
	return 0;
}
