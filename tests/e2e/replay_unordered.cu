/* SPDX-License-Identifier: Apache-2.0 */

/* Launches three times: a kernel that writes random values, one that reads them, and one that does
 * not. With -DPLUGIN, contains the host kernels alone. If $WRONG_COUNT is set, the last kernel is
 * wrong. */
#include "check.h"
#include <gpuemu.h>

#include <sys/random.h>

__global__ void stamp(unsigned long long *out)
{
	*out = clock64();
}

static void stamp_host(unsigned long long *out)
{
	if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
		abort();
}
GPUEMU_HOST_KERNEL(stamp, stamp_host)

__global__ void copy(const unsigned long long *in, unsigned long long *out)
{
	*out = *in;
}

static void copy_host(const unsigned long long *in, unsigned long long *out)
{
	*out = *in;
}
GPUEMU_HOST_KERNEL(copy, copy_host)

__global__ void count(unsigned long long *n)
{
	*n += 1;
}

static void count_host(unsigned long long *n)
{
	*n += getenv("WRONG_COUNT") ? 2 : 1;
}
GPUEMU_HOST_KERNEL(count, count_host)

#ifndef PLUGIN
int main()
{
	unsigned long long *stamped, *copied, *n;

	CUDA(cudaMalloc(&stamped, sizeof(*stamped)));
	CUDA(cudaMalloc(&copied, sizeof(*copied)));
	CUDA(cudaMalloc(&n, sizeof(*n)));
	CUDA(cudaMemset(n, 0, sizeof(*n)));
	for (int i = 0; i < 3; i++) {
		CUDA(cudaMemset(stamped, 0, sizeof(*stamped)));
		CUDA(cudaMemset(copied, 0, sizeof(*copied)));
		stamp<<<1, 1>>>(stamped);
		copy<<<1, 1>>>(stamped, copied);
		count<<<1, 1>>>(n);
	}
	CUDA(cudaDeviceSynchronize());
	return 0;
}
#endif
