/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nvml/system.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

nvmlReturn_t emu_nvml_device(nvmlDevice_t handle, CUdevice *ret)
{
	const struct emu_gpu *g = emu_nvml();
	uintptr_t number = (uintptr_t)handle;
	int n = 0;

	if (!g)
		return NVML_ERROR_UNINITIALIZED;
	if (g->cuDeviceGetCount(&n) || number < 1 || number > (uintptr_t)n ||
	    g->cuDeviceGet(ret, (int)number - 1))
		return NVML_ERROR_INVALID_ARGUMENT;
	return NVML_SUCCESS;
}

EMU_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	nvmlDevice_t handle = (nvmlDevice_t)((uintptr_t)index + 1);
	CUdevice d;
	nvmlReturn_t r = emu_nvml_device(handle, &d);

	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS)
		*device = handle;
	return r;
}

EMU_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	char text[NVML_DEVICE_UUID_BUFFER_SIZE] = "GPU-";
	size_t at = 4;
	CUdevice d;
	CUuuid id;
	nvmlReturn_t r = emu_nvml_device(device, &d);

	if (r == NVML_SUCCESS && emu_nvml()->cuDeviceGetUuid_v2(&id, d))
		r = NVML_ERROR_UNKNOWN;
	if (r != NVML_SUCCESS)
		return r;
	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       (unsigned)(uint8_t)id.bytes[i]);
	return emu_nvml_text(text, uuid, length);
}

int emu_nvml_attribute(CUdevice d, CUdevice_attribute what)
{
	int value = 0;

	emu_nvml()->cuDeviceGetAttribute(&value, what, d);
	return value;
}

EMU_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	CUdevice d;
	nvmlReturn_t r = emu_nvml_device(device, &d);

	if (r == NVML_SUCCESS && !pci)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r != NVML_SUCCESS)
		return r;
	memset(pci, 0, sizeof(*pci));
	pci->domain = (unsigned)emu_nvml_attribute(d, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
	pci->bus = (unsigned)emu_nvml_attribute(d, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
	pci->device = (unsigned)emu_nvml_attribute(d, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
	snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", pci->domain, pci->bus,
		 pci->device);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.0",
		 pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0xff);
	return NVML_SUCCESS;
}

EMU_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	unsigned n = 0, domain, bus, slot;
	nvmlReturn_t r = nvmlDeviceGetCount_v2(&n);
	nvmlPciInfo_t pci;

	if (r != NVML_SUCCESS)
		return r;
	if (!pciBusId || !device || sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < n; i++) {
		nvmlDevice_t handle = (nvmlDevice_t)((uintptr_t)i + 1);

		if (nvmlDeviceGetPciInfo_v3(handle, &pci) == NVML_SUCCESS && pci.domain == domain &&
		    pci.bus == bus && pci.device == slot) {
			*device = handle;
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

EMU_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	unsigned n = 0;
	nvmlReturn_t r = nvmlDeviceGetCount_v2(&n);
	char text[NVML_DEVICE_UUID_BUFFER_SIZE];

	if (r != NVML_SUCCESS)
		return r;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < n; i++) {
		nvmlDevice_t handle = (nvmlDevice_t)((uintptr_t)i + 1);

		if (nvmlDeviceGetUUID(handle, text, sizeof(text)) == NVML_SUCCESS &&
		    strcasecmp(text, uuid) == 0) {
			*device = handle;
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

/* The size comes from the model; used memory is known only for this process, if it has a
 * context. */
EMU_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	const struct emu_gpu *g = emu_nvml();
	size_t free_bytes, total;
	unsigned flags;
	CUcontext context, before = NULL;
	int active = 0;
	CUdevice d;
	nvmlReturn_t r = emu_nvml_device(device, &d);

	if (r != NVML_SUCCESS)
		return r;
	if (!memory || g->cuDeviceTotalMem_v2(&total, d))
		return NVML_ERROR_INVALID_ARGUMENT;
	free_bytes = total;
	if (g->cuDevicePrimaryCtxGetState(d, &flags, &active) == CUDA_SUCCESS && active &&
	    g->cuDevicePrimaryCtxRetain(&context, d) == CUDA_SUCCESS) {
		g->cuCtxGetCurrent(&before);
		g->cuCtxSetCurrent(context);
		g->cuMemGetInfo_v2(&free_bytes, &total);
		g->cuCtxSetCurrent(before);
		g->cuDevicePrimaryCtxRelease_v2(d);
	}
	memory->total = total;
	memory->free = free_bytes;
	memory->used = total - free_bytes;
	return NVML_SUCCESS;
}

/* Emulated GPUs are not in an NVLink fabric across hosts. Drivers report this from Hopper on; older
 * GPUs do not support the query. */
EMU_API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device,
						 nvmlGpuFabricInfoV_t *gpuFabricInfo)
{
	nvmlGpuFabricInfoV_t none = {.state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED};
	CUdevice d;
	nvmlReturn_t r = emu_nvml_device(device, &d);

	if (r == NVML_SUCCESS && !gpuFabricInfo)
		r = NVML_ERROR_INVALID_ARGUMENT;
	if (r != NVML_SUCCESS)
		return r;
	if (emu_nvml_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9)
		return NVML_ERROR_NOT_SUPPORTED;
	none.version = gpuFabricInfo->version;
	if (none.version == nvmlGpuFabricInfo_v3)
		*gpuFabricInfo = none;
	else if (none.version == nvmlGpuFabricInfo_v2)
		memcpy(gpuFabricInfo, &none, sizeof(nvmlGpuFabricInfo_v2_t));
	else
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return NVML_SUCCESS;
}
