/* SPDX-License-Identifier: Apache-2.0 */

/* Processes on a GPU. Only the calling process is listed: emulated GPUs do not share their
 * allocation counters between processes. */
#include "replay/emugpu/nvml/system.h"

#include <stdint.h>
#include <unistd.h>

/* Finds out if the calling process has a context on the GPU, and its allocated bytes. */
static nvmlReturn_t process_bytes(nvmlDevice_t device, int *ret_active,
				  unsigned long long *ret_bytes)
{
	nvmlMemory_t memory;
	unsigned flags;
	CUdevice d;
	nvmlReturn_t r = emu_nvml_device(device, &d);

	if (r != NVML_SUCCESS)
		return r;
	if (emu_nvml()->cuDevicePrimaryCtxGetState(d, &flags, ret_active))
		return NVML_ERROR_UNKNOWN;
	r = nvmlDeviceGetMemoryInfo(device, &memory);
	if (r == NVML_SUCCESS)
		*ret_bytes = memory.used;
	return r;
}

/* As in NVML: *count is the capacity of `infos`, and is set to the number of processes. */
static nvmlReturn_t check_capacity(unsigned *count, unsigned n, const void *infos)
{
	unsigned capacity;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	capacity = *count;
	*count = n;
	return n > 0 && (capacity < n || !infos) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

EMU_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
							     unsigned int *infoCount,
							     nvmlProcessInfo_t *infos)
{
	unsigned long long bytes = 0;
	int active = 0;
	nvmlReturn_t r = process_bytes(device, &active, &bytes);

	if (r == NVML_SUCCESS)
		r = check_capacity(infoCount, active ? 1 : 0, infos);
	if (r == NVML_SUCCESS && active)
		infos[0] = (nvmlProcessInfo_t){
			.pid = (unsigned)getpid(),
			.usedGpuMemory = bytes,
			.gpuInstanceId = UINT32_MAX, /* MIG is off */
			.computeInstanceId = UINT32_MAX,
		};
	return r;
}

EMU_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device,
							  unsigned int *infoCount,
							  nvmlProcessInfo_v1_t *infos)
{
	nvmlProcessInfo_t info;
	nvmlReturn_t r =
		nvmlDeviceGetComputeRunningProcesses_v3(device, infoCount, infos ? &info : NULL);

	if (r == NVML_SUCCESS && *infoCount > 0)
		infos[0] = (nvmlProcessInfo_v1_t){info.pid, info.usedGpuMemory};
	return r;
}
