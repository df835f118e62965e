/* SPDX-License-Identifier: Apache-2.0 */

/* PyTorch 2.15 resolves these functions by name at start, and calls some without checking for NULL.
 * The lists were extracted from its libraries (c10/cuda/driver_api.h, ATen's lazy NVRTC and NCCL
 * interfaces). */
#include "tests/emugpu/check_all.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

/* Through cuGetProcAddress, with the CUDA version that introduced each. */
static const struct {
	const char *name;
	int version;
} driver_calls[] = {
	{"cuCtxFromGreenCtx", 12040},
	{"cuCtxGetCurrent", 12000},
	{"cuCtxPopCurrent", 12000},
	{"cuCtxPushCurrent", 12000},
	{"cuCtxSetCurrent", 12000},
	{"cuDevResourceGenerateDesc", 12040},
	{"cuDevSmResourceSplitByCount", 12040},
	{"cuDeviceGet", 12000},
	{"cuDeviceGetAttribute", 12000},
	{"cuDeviceGetCount", 12000},
	{"cuDeviceGetDevResource", 12040},
	{"cuDeviceGetUuid", 12000},
	{"cuDevicePrimaryCtxGetState", 12000},
	{"cuDevicePrimaryCtxRetain", 12000},
	{"cuFuncSetCacheConfig", 12000},
	{"cuGetErrorName", 12000},
	{"cuGetErrorString", 12000},
	{"cuGreenCtxCreate", 12040},
	{"cuGreenCtxDestroy", 12040},
	{"cuGreenCtxStreamCreate", 12050},
	{"cuInit", 12000},
	{"cuKernelGetAttribute", 12000},
	{"cuLaunchCooperativeKernel", 12000},
	{"cuLogsRegisterCallback", 12090},
	{"cuLogsUnregisterCallback", 12090},
	{"cuMemAddressFree", 12000},
	{"cuMemAddressReserve", 12000},
	{"cuMemCreate", 12000},
	{"cuMemExportToShareableHandle", 12000},
	{"cuMemGetAddressRange", 12000},
	{"cuMemGetAllocationGranularity", 12000},
	{"cuMemGetAllocationPropertiesFromHandle", 12000},
	{"cuMemImportFromShareableHandle", 12000},
	{"cuMemMap", 12000},
	{"cuMemRelease", 12000},
	{"cuMemRetainAllocationHandle", 12000},
	{"cuMemSetAccess", 12000},
	{"cuMemUnmap", 12000},
	{"cuMemsetD32Async", 12000},
	{"cuMulticastAddDevice", 12030},
	{"cuMulticastBindMem", 12030},
	{"cuMulticastCreate", 12030},
	{"cuMulticastUnbind", 12030},
	{"cuOccupancyMaxActiveBlocksPerMultiprocessor", 12000},
	{"cuPointerGetAttribute", 12000},
	{"cuStreamGetCtx", 12000},
	{"cuStreamWriteValue32", 12000},
	{"cuTensorMapEncodeTiled", 12000},
};

/* Through dlsym. */
static const char *const nvml_calls[] = {
	"nvmlDeviceGetComputeRunningProcesses",
	"nvmlDeviceGetCount_v2",
	"nvmlDeviceGetGpuFabricInfoV",
	"nvmlDeviceGetHandleByIndex_v2",
	"nvmlDeviceGetHandleByPciBusId_v2",
	"nvmlDeviceGetHandleByUUID",
	"nvmlDeviceGetNvLinkRemoteDeviceType",
	"nvmlDeviceGetNvLinkRemotePciInfo_v2",
	"nvmlDeviceGetUUID",
	"nvmlErrorString",
	"nvmlInit_v2",
	"nvmlShutdown",
	"nvmlSystemGetCudaDriverVersion_v2",
};

int main(void)
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY);

	CHECK(nvml != NULL);
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
		CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
		void *address = NULL;

		cuGetProcAddress(driver_calls[i].name, &address, driver_calls[i].version, 0,
				 &found);
		if (!address || found != CU_GET_PROC_ADDRESS_SUCCESS)
			printf("%s (CUDA %d): not found (%d)\n", driver_calls[i].name,
			       driver_calls[i].version, (int)found);
		CHECK(address && found == CU_GET_PROC_ADDRESS_SUCCESS);
	}
	for (size_t i = 0; nvml && i < sizeof(nvml_calls) / sizeof(nvml_calls[0]); i++) {
		const char *name = nvml_calls[i] ? nvml_calls[i] : "(no name)";
		bool found = dlsym(nvml, name) != NULL;

		if (!found)
			printf("%s: not found\n", name);
		CHECK(found);
	}
	return failures != 0;
}
