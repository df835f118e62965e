/* SPDX-License-Identifier: Apache-2.0 */

/* gpuemu --poison: a kernel without a host kernel fills its output with NaN, and neither its inputs
 * nor other buffers. */
#include "tests/emugpu/check_driver.h"

#include <dlfcn.h>
#include <math.h>

enum { N = 1000, THREADS = 128, BLOCKS = (N + THREADS - 1) / THREADS };

/* void scale(int n, const float *x, float *y) */
static const char ptx[] = PTX(ENTRY("_Z5scaleiPKfPf(.param .u32 n, .param .u64 x, .param .u64 y)"));

static void scale(CUfunction f, int n, CUdeviceptr x, CUdeviceptr y)
{
	void *params[] = {&n, &x, &y};

	OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
}

/* Returns how many of n numbers are NaN. */
static int nans(CUdeviceptr at, int n)
{
	float numbers[N];
	int found = 0;

	OK(cuMemcpyDtoH(numbers, at, (size_t)n * sizeof(float)));
	for (int i = 0; i < n; i++)
		found += isnan(numbers[i]) != 0;
	return found;
}

int main(void)
{
	CUdeviceptr x, y, all;
	CUfunction f;
	CUmodule module;

	TRUE(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL)); /* the demangler */
	use_device(0);
	f = load_kernel(ptx, "_Z5scaleiPKfPf");

	OK(cuMemAlloc(&x, N * sizeof(float)));
	OK(cuMemAlloc(&y, N * sizeof(float)));
	OK(cuMemsetD32(x, 0, N));
	OK(cuMemsetD32(y, 0, N));
	scale(f, N, x, y);
	TRUE(nans(x, N) == 0);
	TRUE(nans(y, N) == N);

	/* Two tensors of 256 numbers in one allocation. */
	OK(cuMemAlloc(&all, 1 << 20));
	OK(cuMemsetD32(all + 1024, 0, 256));
	scale(f, 256, x, all);
	TRUE(nans(all, 256) == 256);
	TRUE(nans(all + 1024, 256) == 0);
	OK(cuFuncGetModule(&module, f));
	OK(cuModuleUnload(module));
	return 0;
}
