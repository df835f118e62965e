/* SPDX-License-Identifier: Apache-2.0 */

/* mappings [BYTE]: copies from the host into a range of three mappings, as PyTorch's expandable
 * segments are, and back: a large buffer and a small one over the border of two mappings. BYTE of
 * the large buffer is changed. */
#include "tests/emugpu/check_driver.h"

#include <stdlib.h>

#define MAPPINGS 3
#define SMALL 1000

static CUdeviceptr map_all(size_t unit)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
	const CUmemAccessDesc access = {.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;

	OK(cuMemAddressReserve(&at, (MAPPINGS + 1) * unit, 0, 0, 0));
	for (int i = 0; i < MAPPINGS; i++) {
		CUmemGenericAllocationHandle memory;

		OK(cuMemCreate(&memory, unit, &prop, 0));
		OK(cuMemMap(at + i * unit, unit, 0, memory, 0));
		OK(cuMemSetAccess(at + i * unit, unit, &access, 1));
		OK(cuMemRelease(memory));
	}
	return at;
}

int main(int argc, char **argv)
{
	size_t unit = 2 << 20, bytes = MAPPINGS * unit - 4096;
	unsigned char *host = malloc(bytes);
	CUdeviceptr at, other;

	use_device(0);
	OK(cuMemAlloc(&other, 1000));
	at = map_all(unit);
	for (size_t i = 0; i < bytes; i++)
		host[i] = (unsigned char)(i * 2654435761u >> 13);
	if (argc > 1)
		host[atoi(argv[1])] ^= 1;
	OK(cuMemcpyHtoD(at + 4096, host, bytes));
	OK(cuMemcpyHtoD(at + unit - SMALL / 2, host, SMALL));
	OK(cuMemcpyDtoH(host, at + unit - SMALL / 2, SMALL));
	for (int i = 0; i < MAPPINGS; i++)
		OK(cuMemUnmap(at + i * unit, unit));
	OK(cuMemAddressFree(at, (MAPPINGS + 1) * unit));
	OK(cuMemFree(other));
	free(host);
	return 0;
}
