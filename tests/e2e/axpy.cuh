/* SPDX-License-Identifier: Apache-2.0 */

/* y += a x, on the GPU and as a host kernel. */
#pragma once

#include <gpuemu.h>

__global__ void axpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

static void axpy_host(int n, float a, const float *x, float *y)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}
GPUEMU_HOST_KERNEL(axpy, axpy_host)
