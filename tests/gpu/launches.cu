/* SPDX-License-Identifier: Apache-2.0 */

/* launches N: launches an empty kernel N times, in batches with a synchronisation after each.
 * Prints the median over the batches of the host time of a launch, in ns. */
#include <gpuemu.h>

#include <algorithm>
#include <chrono>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define BATCH 500

__global__ void nothing(int a, float b, void *c, void *d)
{
}

static void nothing_host(int a, float b, void *c, void *d)
{
}
GPUEMU_HOST_KERNEL(nothing, nothing_host)

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	std::vector<double> each;

	for (long done = 0; done < n; done += BATCH) {
		auto from = std::chrono::steady_clock::now();
		for (int i = 0; i < BATCH; i++)
			nothing<<<1, 32>>>(i, 1, NULL, NULL);
		auto to = std::chrono::steady_clock::now();

		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
		each.push_back(std::chrono::duration<double, std::nano>(to - from).count() / BATCH);
	}
	std::sort(each.begin(), each.end());
	printf("%.0f\n", each[each.size() / 2]);
	return 0;
}
