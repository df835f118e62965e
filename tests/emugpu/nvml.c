/* SPDX-License-Identifier: Apache-2.0 */

/* NVML and the driver say the same about the emulated GPUs. */
#include "tests/emugpu/check_all.h"

#include <cuda.h>
#include <nvml.h>
#include <stdio.h>
#include <string.h>

static void compare(unsigned number)
{
	char name[256], same[256], bus[32], uuid[NVML_DEVICE_UUID_BUFFER_SIZE];
	unsigned domain, slot, place, index;
	int major = 0, minor = 0, value;
	nvmlDevice_t device, again;
	nvmlMemory_t memory;
	nvmlPciInfo_t pci;
	size_t total;
	CUdevice d;

	CHECK(cuDeviceGet(&d, (int)number) == CUDA_SUCCESS);
	CHECK(nvmlDeviceGetHandleByIndex(number, &device) == NVML_SUCCESS);
	CHECK(nvmlDeviceGetIndex(device, &index) == NVML_SUCCESS && index == number);
	CHECK(nvmlDeviceGetName(device, name, sizeof(name)) == NVML_SUCCESS);
	CHECK(cuDeviceGetName(same, sizeof(same), d) == CUDA_SUCCESS && !strcmp(name, same));
	CHECK(nvmlDeviceGetName(device, name, 2) == NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK(nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS);
	CHECK(cuDeviceTotalMem(&total, d) == CUDA_SUCCESS && total == memory.total);
	CHECK(memory.used + memory.free == memory.total);
	CHECK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == NVML_SUCCESS);
	cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
	CHECK(major == value);
	CHECK(nvmlDeviceGetPciInfo(device, &pci) == NVML_SUCCESS);
	CHECK(cuDeviceGetPCIBusId(bus, sizeof(bus), d) == CUDA_SUCCESS);
	CHECK(sscanf(bus, "%x:%x:%x", &domain, &slot, &place) == 3 && pci.bus == slot &&
	      pci.device == place);
	CHECK(nvmlDeviceGetHandleByPciBusId(bus, &again) == NVML_SUCCESS && again == device);
	CHECK(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)) == NVML_SUCCESS);
	CHECK(nvmlDeviceGetHandleByUUID(uuid, &again) == NVML_SUCCESS && again == device);
	CHECK(nvmlDeviceGetBoardId(device, &index) == NVML_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	unsigned n = 0;
	int count = 0;
	nvmlDevice_t device;

	CHECK(nvmlDeviceGetCount(&n) == NVML_ERROR_UNINITIALIZED);
	CHECK(nvmlInit() == NVML_SUCCESS);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(nvmlDeviceGetCount(&n) == NVML_SUCCESS);
	CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS && (int)n == count);
	for (unsigned i = 0; i < n; i++)
		compare(i);
	CHECK(nvmlDeviceGetHandleByIndex(n, &device) == NVML_ERROR_INVALID_ARGUMENT);
	CHECK(nvmlShutdown() == NVML_SUCCESS);
	CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
	if (!failures)
		printf("all right\n");
	return failures != 0;
}
