#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch 2.15 resolves these functions by name at start, and calls some without checking for NULL. The lists were
extracted from its libraries (c10/cuda/driver_api.h, ATen's lazy NVRTC and NCCL interfaces)."""
import ctypes

from cuda import cu

# Through cuGetProcAddress, with the CUDA version that introduced each.
DRIVER_CALLS = {
    12000: '''cuCtxGetCurrent cuCtxPopCurrent cuCtxPushCurrent cuCtxSetCurrent cuDeviceGet cuDeviceGetAttribute
        cuDeviceGetCount cuDeviceGetUuid cuDevicePrimaryCtxGetState cuDevicePrimaryCtxRetain cuFuncSetCacheConfig
        cuGetErrorName cuGetErrorString cuInit cuKernelGetAttribute cuLaunchCooperativeKernel cuMemAddressFree
        cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle cuMemGetAddressRange
        cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemImportFromShareableHandle cuMemMap
        cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap cuMemsetD32Async
        cuOccupancyMaxActiveBlocksPerMultiprocessor cuPointerGetAttribute cuStreamGetCtx cuStreamWriteValue32
        cuTensorMapEncodeTiled''',
    12030: '''cuMulticastAddDevice cuMulticastBindMem cuMulticastCreate cuMulticastUnbind''',
    12040: '''cuCtxFromGreenCtx cuDevResourceGenerateDesc cuDevSmResourceSplitByCount cuDeviceGetDevResource
        cuGreenCtxCreate cuGreenCtxDestroy''',
    12050: '''cuGreenCtxStreamCreate''',
    12090: '''cuLogsRegisterCallback cuLogsUnregisterCallback''',
}

# Through dlsym.
NVML_CALLS = '''
    nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetCount_v2 nvmlDeviceGetGpuFabricInfoV
    nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByPciBusId_v2 nvmlDeviceGetHandleByUUID
    nvmlDeviceGetNvLinkRemoteDeviceType nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetUUID nvmlErrorString
    nvmlInit_v2 nvmlShutdown nvmlSystemGetCudaDriverVersion_v2'''


def main():
    missing = []
    for version, names in DRIVER_CALLS.items():
        for name in names.split():
            address, status = ctypes.c_void_p(), ctypes.c_int(1)
            cu.library.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), version, ctypes.c_uint64(0),
                                           ctypes.byref(status))
            if not address.value or status.value:
                missing.append(f'{name} (CUDA {version}): not found ({status.value})')
    nvml = ctypes.CDLL('libnvidia-ml.so.1')
    missing += [f'{name}: not found' for name in NVML_CALLS.split() if not hasattr(nvml, name)]
    assert not missing, '\n'.join(missing)


if __name__ == '__main__':
    main()
