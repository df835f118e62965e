/* SPDX-License-Identifier: Apache-2.0 */

/* memory: calls each driver function that allocates or frees memory once. Prints a line for each
 * call: its name, the bytes and the address that the table of allocations should show; `-` for
 * none. */
#include "tests/emugpu/check_driver.h"

#include <stdint.h>
#include <stdio.h>

#define NONE UINT64_MAX

static void expect(const char *call, uint64_t bytes, uint64_t address)
{
	printf("%s ", call);
	if (bytes == NONE)
		printf("- ");
	else
		printf("%llu ", (unsigned long long)bytes);
	if (address == NONE)
		printf("-\n");
	else
		printf("%llu\n", (unsigned long long)address);
}

static void of_device(CUstream stream)
{
	CUdeviceptr at;
	CUmemoryPool pool;
	size_t pitch;

	OK(cuMemAlloc(&at, 1000));
	expect("cuMemAlloc_v2", 1000, at);
	OK(cuMemFree(at));
	expect("cuMemFree_v2", 1000, at);
	OK(cuMemAllocManaged(&at, 3000, CU_MEM_ATTACH_GLOBAL));
	expect("cuMemAllocManaged", 3000, at);
	OK(cuMemFree(at));
	expect("cuMemFree_v2", 3000, at);
	OK(cuMemAllocPitch(&at, &pitch, 100, 7, 4));
	expect("cuMemAllocPitch_v2", 7 * pitch, at);
	OK(cuMemFree(at));
	expect("cuMemFree_v2", 7 * pitch, at);
	OK(cuMemAllocAsync(&at, 5000, stream));
	expect("cuMemAllocAsync", 5000, at);
	OK(cuMemFreeAsync(at, stream));
	expect("cuMemFreeAsync", 5000, at);
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocFromPoolAsync(&at, 6000, pool, stream));
	expect("cuMemAllocFromPoolAsync", 6000, at);
	OK(cuMemFreeAsync(at, stream));
	expect("cuMemFreeAsync", 6000, at);
	FAILS(cuMemAlloc(&at, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
	expect("cuMemAlloc_v2", (uint64_t)1 << 60, NONE);
}

static void of_host(void)
{
	static char mine[1 << 16];
	void *at;

	OK(cuMemHostAlloc(&at, 7000, CU_MEMHOSTALLOC_PORTABLE));
	expect("cuMemHostAlloc", 7000, (uintptr_t)at);
	OK(cuMemFreeHost(at));
	expect("cuMemFreeHost", 7000, (uintptr_t)at);
	OK(cuMemAllocHost(&at, 8000));
	expect("cuMemAllocHost_v2", 8000, (uintptr_t)at);
	OK(cuMemFreeHost(at));
	expect("cuMemFreeHost", 8000, (uintptr_t)at);
	OK(cuMemHostRegister(mine, sizeof(mine), 0));
	expect("cuMemHostRegister_v2", sizeof(mine), (uintptr_t)mine);
	OK(cuMemHostUnregister(mine));
	expect("cuMemHostUnregister", sizeof(mine), (uintptr_t)mine);
}

/* Reserves addresses and creates memory separately. */
static void of_addresses(void)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
	CUmemGenericAllocationHandle memory;
	CUdeviceptr at;
	size_t unit;

	OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	OK(cuMemAddressReserve(&at, 4 * unit, 0, 0, 0));
	expect("cuMemAddressReserve", 4 * unit, at);
	OK(cuMemCreate(&memory, 2 * unit, &prop, 0));
	expect("cuMemCreate", 2 * unit, NONE);
	OK(cuMemMap(at + unit, 2 * unit, 0, memory, 0));
	expect("cuMemMap", 2 * unit, at + unit);
	OK(cuMemUnmap(at + unit, 2 * unit));
	expect("cuMemUnmap", 2 * unit, at + unit);
	OK(cuMemRelease(memory));
	expect("cuMemRelease", 2 * unit, NONE);
	OK(cuMemAddressFree(at, 4 * unit));
	expect("cuMemAddressFree", 4 * unit, at);
}

int main(void)
{
	CUstream stream;

	use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	of_device(stream);
	of_host();
	of_addresses();
	OK(cuStreamSynchronize(stream));
	return 0;
}
