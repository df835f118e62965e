/* SPDX-License-Identifier: Apache-2.0 */

/* Prints sizes, offsets and values of <nvml.h>. Built with NVIDIA's header and with the one in
 * replay/emugpu/nvml/fallback: both must print the same. */
#include <nvml.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define FIELD(type, field)                                                                         \
	printf(#type "." #field " %zu %zu\n", offsetof(type, field), sizeof(((type *)0)->field))
#define VALUE(name) printf(#name " %u\n", (unsigned)(name))

static void print_memory(void)
{
	SIZE(nvmlMemory_t);
	FIELD(nvmlMemory_t, total);
	FIELD(nvmlMemory_t, free);
	FIELD(nvmlMemory_t, used);
	SIZE(nvmlMemory_v2_t);
	FIELD(nvmlMemory_v2_t, version);
	FIELD(nvmlMemory_v2_t, total);
	FIELD(nvmlMemory_v2_t, reserved);
	FIELD(nvmlMemory_v2_t, free);
	FIELD(nvmlMemory_v2_t, used);
	VALUE(nvmlMemory_v2);
}

static void print_device(void)
{
	SIZE(nvmlDevice_t);
	SIZE(nvmlIntNvLinkDeviceType_t);
	SIZE(nvmlPciInfo_t);
	FIELD(nvmlPciInfo_t, busIdLegacy);
	FIELD(nvmlPciInfo_t, domain);
	FIELD(nvmlPciInfo_t, bus);
	FIELD(nvmlPciInfo_t, device);
	FIELD(nvmlPciInfo_t, pciDeviceId);
	FIELD(nvmlPciInfo_t, pciSubSystemId);
	FIELD(nvmlPciInfo_t, busId);
}

static void print_sensors(void)
{
	SIZE(nvmlUtilization_t);
	FIELD(nvmlUtilization_t, gpu);
	FIELD(nvmlUtilization_t, memory);
	SIZE(nvmlClockType_t);
	SIZE(nvmlTemperatureSensors_t);
	VALUE(NVML_CLOCK_GRAPHICS);
	VALUE(NVML_CLOCK_SM);
	VALUE(NVML_CLOCK_MEM);
	VALUE(NVML_CLOCK_VIDEO);
	VALUE(NVML_TEMPERATURE_GPU);
}

static void print_processes(void)
{
	SIZE(nvmlProcessInfo_v1_t);
	FIELD(nvmlProcessInfo_v1_t, pid);
	FIELD(nvmlProcessInfo_v1_t, usedGpuMemory);
	SIZE(nvmlProcessInfo_v2_t);
	FIELD(nvmlProcessInfo_v2_t, pid);
	FIELD(nvmlProcessInfo_v2_t, usedGpuMemory);
	FIELD(nvmlProcessInfo_v2_t, gpuInstanceId);
	FIELD(nvmlProcessInfo_v2_t, computeInstanceId);
	SIZE(nvmlProcessInfo_t);
}

static void print_fabric(void)
{
	SIZE(nvmlGpuFabricInfo_v2_t);
	FIELD(nvmlGpuFabricInfo_v2_t, version);
	FIELD(nvmlGpuFabricInfo_v2_t, clusterUuid);
	FIELD(nvmlGpuFabricInfo_v2_t, status);
	FIELD(nvmlGpuFabricInfo_v2_t, cliqueId);
	FIELD(nvmlGpuFabricInfo_v2_t, state);
	FIELD(nvmlGpuFabricInfo_v2_t, healthMask);
	VALUE(nvmlGpuFabricInfo_v2);
	SIZE(nvmlGpuFabricInfo_v3_t);
	FIELD(nvmlGpuFabricInfo_v3_t, healthMask);
	FIELD(nvmlGpuFabricInfo_v3_t, healthSummary);
	VALUE(nvmlGpuFabricInfo_v3);
	SIZE(nvmlGpuFabricInfoV_t);
	VALUE(NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
}

int main(void)
{
	VALUE(NVML_API_VERSION);
	VALUE(NVML_DEVICE_UUID_BUFFER_SIZE);
	VALUE(NVML_SUCCESS);
	VALUE(NVML_ERROR_UNINITIALIZED);
	VALUE(NVML_ERROR_INVALID_ARGUMENT);
	VALUE(NVML_ERROR_NOT_SUPPORTED);
	VALUE(NVML_ERROR_NOT_FOUND);
	VALUE(NVML_ERROR_INSUFFICIENT_SIZE);
	VALUE(NVML_ERROR_DRIVER_NOT_LOADED);
	VALUE(NVML_ERROR_LIBRARY_NOT_FOUND);
	VALUE(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	VALUE(NVML_ERROR_UNKNOWN);
	print_memory();
	print_device();
	print_sensors();
	print_processes();
	print_fabric();
	return 0;
}
