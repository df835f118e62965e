/* SPDX-License-Identifier: Apache-2.0 */

/* addresses: prints where the driver puts memory, and which wanted addresses cuMemAddressReserve()
 * follows: near its own memory, inside the large mappings of the process, and far from both. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#define MIB (1ull << 20)

static void print_maps(const char *when)
{
	char line[512];
	unsigned long start, end;
	FILE *f = fopen("/proc/self/maps", "r");

	printf("%s:\n", when);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    (end - start >= 64 * MIB || strstr(line, "nvidia")))
			printf("%8lu MiB %s", (end - start) >> 20, line);
	if (f)
		fclose(f);
}

static void want(const char *what, CUdeviceptr address, size_t bytes)
{
	CUdeviceptr got = 0;
	CUresult r = cuMemAddressReserve(&got, bytes, 0, address, 0);

	printf("%s: want %llx, %llu MiB: result %d, %s\n", what, address, bytes / MIB, r,
	       got == address ? "the same" : "elsewhere");
	if (r == CUDA_SUCCESS)
		cuMemAddressFree(got, bytes);
}

int main(void)
{
	CUcontext context;
	CUdeviceptr allocated, reserved;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuMemAlloc(&allocated, MIB) || cuMemAddressReserve(&reserved, 2 * MIB, 0, 0, 0) ||
	    cuMemAddressFree(reserved, 2 * MIB))
		return 1;
	print_maps("mappings");
	printf("allocated %llx, reserved %llx\n", allocated, reserved);
	want("what was reserved", reserved, 2 * MIB);
	want("the same, longer", reserved, 64 * MIB);
	want("behind it", reserved + 4 * MIB, 2 * MIB);
	want("1 GiB behind", reserved + 1024 * MIB, 2 * MIB);
	want("64 GiB behind", reserved + 65536 * MIB, 2 * MIB);
	want("1 GiB before", reserved - 1024 * MIB, 2 * MIB);
	want("64 GiB before", reserved - 65536 * MIB, 2 * MIB);
	want("1 TiB before", reserved - 1048576 * MIB, 2 * MIB);
	want("behind the allocation", (allocated + 64 * MIB) & ~(2 * MIB - 1), 2 * MIB);
	for (int bits = 33; bits < 47; bits += 2)
		want("a power of two", 1ull << bits, 2 * MIB);
	return 0;
}
