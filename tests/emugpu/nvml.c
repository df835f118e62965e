/* SPDX-License-Identifier: Apache-2.0 */

/* NVML and the driver report the same about the emulated GPUs. */
#include "tests/emugpu/check_all.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <cuda.h>
#include <nvml.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* nvmlDeviceGetTemperature */

static void check_fabric(nvmlDevice_t device, int major)
{
	nvmlGpuFabricInfoV_t fabric = {.version = nvmlGpuFabricInfo_v2, .state = 9};
	nvmlReturn_t expected = major >= 9 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;

	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric) == expected);
	CHECK(fabric.state == (major >= 9 ? NVML_GPU_FABRIC_STATE_NOT_SUPPORTED : 9));
	fabric.version = nvmlGpuFabricInfo_v3;
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric) == expected);
	fabric.version = 7;
	CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric) ==
	      (major >= 9 ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH : NVML_ERROR_NOT_SUPPORTED));
}

/* The emulated GPUs have clocks, but no sensors. */
static void check_sensors(nvmlDevice_t device, CUdevice d)
{
	nvmlUtilization_t utilization;
	unsigned value;
	int khz = 0;

	cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, d);
	CHECK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &value) == NVML_SUCCESS);
	CHECK(value > 0 && (int)value == khz / 1000);
	cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, d);
	CHECK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS);
	CHECK(value > 0 && (int)value == khz / 1000);
	CHECK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_VIDEO, &value) == NVML_ERROR_NOT_SUPPORTED);
	CHECK(nvmlDeviceGetUtilizationRates(device, &utilization) == NVML_ERROR_NOT_SUPPORTED);
	CHECK(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &value) ==
	      NVML_ERROR_NOT_SUPPORTED);
	CHECK(nvmlDeviceGetPowerUsage(device, &value) == NVML_ERROR_NOT_SUPPORTED);
}

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
	check_fabric(device, major);
	check_sensors(device, d);
	CHECK(nvmlDeviceGetPciInfo(device, &pci) == NVML_SUCCESS);
	CHECK(cuDeviceGetPCIBusId(bus, sizeof(bus), d) == CUDA_SUCCESS);
	CHECK(sscanf(bus, "%x:%x:%x", &domain, &slot, &place) == 3 && pci.bus == slot &&
	      pci.device == place);
	CHECK(nvmlDeviceGetHandleByPciBusId(bus, &again) == NVML_SUCCESS && again == device);
	CHECK(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)) == NVML_SUCCESS);
	CHECK(nvmlDeviceGetHandleByUUID(uuid, &again) == NVML_SUCCESS && again == device);
	CHECK(nvmlDeviceGetBoardId(device, &index) == NVML_ERROR_NOT_SUPPORTED);
}

/* A process is listed on a GPU from its first context there. */
static void check_processes(nvmlDevice_t device)
{
	nvmlProcessInfo_v1_t old[2];
	nvmlProcessInfo_t found[2];
	CUcontext context;
	CUdeviceptr memory;
	unsigned n = 2;

	CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, found) == NVML_SUCCESS && n == 0);
	CHECK(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
	CHECK(cuMemAlloc(&memory, 1 << 20) == CUDA_SUCCESS);
	CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL) ==
		      NVML_ERROR_INSUFFICIENT_SIZE &&
	      n == 1);
	CHECK(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, found) == NVML_SUCCESS && n == 1);
	CHECK(found[0].pid == (unsigned)getpid() && found[0].usedGpuMemory >= 1 << 20);
	CHECK(found[0].gpuInstanceId == UINT32_MAX && found[0].computeInstanceId == UINT32_MAX);
	CHECK(nvmlDeviceGetComputeRunningProcesses(device, &n, old) == NVML_SUCCESS && n == 1);
	CHECK(old[0].pid == (unsigned)getpid() && old[0].usedGpuMemory == found[0].usedGpuMemory);
	CHECK(cuMemFree(memory) == CUDA_SUCCESS);
	CHECK(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
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
	CHECK(nvmlDeviceGetHandleByIndex(0, &device) == NVML_SUCCESS);
	check_processes(device);
	CHECK(nvmlDeviceGetHandleByIndex(n, &device) == NVML_ERROR_INVALID_ARGUMENT);
	CHECK(nvmlShutdown() == NVML_SUCCESS);
	CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
	if (!failures)
		printf("all right\n");
	return failures != 0;
}
