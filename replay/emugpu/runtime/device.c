/* SPDX-License-Identifier: Apache-2.0 */

/* Devices: properties, settings, peers, libraries. */
#include "base/array.h"
#include "replay/emugpu/runtime/runtime.h"

#include <stddef.h>
#include <string.h>

#define P(field, attribute)                                                                        \
	{                                                                                          \
		offsetof(struct cudaDeviceProp, field),                                            \
			sizeof(((struct cudaDeviceProp *)0)->field),                               \
			CU_DEVICE_ATTRIBUTE_##attribute                                            \
	}

/* Properties that are device attributes of the driver. */
static const struct {
	size_t offset, bytes;
	CUdevice_attribute attribute;
} properties[] = {
	P(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
	P(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
	P(warpSize, WARP_SIZE),
	P(memPitch, MAX_PITCH),
	P(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	P(maxThreadsDim[0], MAX_BLOCK_DIM_X),
	P(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
	P(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
	P(maxGridSize[0], MAX_GRID_DIM_X),
	P(maxGridSize[1], MAX_GRID_DIM_Y),
	P(maxGridSize[2], MAX_GRID_DIM_Z),
	P(totalConstMem, TOTAL_CONSTANT_MEMORY),
	P(major, COMPUTE_CAPABILITY_MAJOR),
	P(minor, COMPUTE_CAPABILITY_MINOR),
	P(textureAlignment, TEXTURE_ALIGNMENT),
	P(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
	P(multiProcessorCount, MULTIPROCESSOR_COUNT),
	P(integrated, INTEGRATED),
	P(canMapHostMemory, CAN_MAP_HOST_MEMORY),
	P(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
	P(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
	P(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
	P(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
	P(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
	P(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
	P(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
	P(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
	P(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
	P(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
	P(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
	P(surfaceAlignment, SURFACE_ALIGNMENT),
	P(concurrentKernels, CONCURRENT_KERNELS),
	P(ECCEnabled, ECC_ENABLED),
	P(pciBusID, PCI_BUS_ID),
	P(pciDeviceID, PCI_DEVICE_ID),
	P(pciDomainID, PCI_DOMAIN_ID),
	P(tccDriver, TCC_DRIVER),
	P(asyncEngineCount, ASYNC_ENGINE_COUNT),
	P(unifiedAddressing, UNIFIED_ADDRESSING),
	P(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
	P(l2CacheSize, L2_CACHE_SIZE),
	P(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
	P(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
	P(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
	P(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
	P(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
	P(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
	P(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
	P(managedMemory, MANAGED_MEMORY),
	P(isMultiGpuBoard, MULTI_GPU_BOARD),
	P(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
	P(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
	P(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
	P(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
	P(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
	P(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
	P(cooperativeLaunch, COOPERATIVE_LAUNCH),
	P(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	P(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
	P(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
	P(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
	P(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
	P(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
	P(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
	P(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
	P(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
	P(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
	P(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
	P(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
	P(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
	P(ipcEventSupported, IPC_EVENT_SUPPORTED),
	P(clusterLaunch, CLUSTER_LAUNCH),
	P(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
	P(deviceNumaConfig, NUMA_CONFIG),
	P(deviceNumaId, NUMA_ID),
	P(mpsEnabled, MPS_ENABLED),
	P(hostNumaId, HOST_NUMA_ID),
	P(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
	P(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
};

EMU_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device)
{
	int count;
	cudaError_t e = cudaGetDeviceCount(&count);

	if (e)
		return e;
	if (!ret || device < 0 || device >= count)
		return rt_error(ret ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
	memset(ret, 0, sizeof(*ret));
	RT_DRIVER(cuDeviceGetName)(ret->name, sizeof(ret->name), device);
	RT_DRIVER(cuDeviceGetUuid_v2)((CUuuid *)&ret->uuid, device);
	RT_DRIVER(cuDeviceTotalMem_v2)(&ret->totalGlobalMem, device);
	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		int value;
		size_t wide;

		RT_DRIVER(cuDeviceGetAttribute)(&value, properties[i].attribute, device);
		wide = (size_t)value;
		if (properties[i].bytes == sizeof(value))
			memcpy((char *)ret + properties[i].offset, &value, sizeof(value));
		else
			memcpy((char *)ret + properties[i].offset, &wide, sizeof(wide));
	}
	return cudaSuccess;
}

EMU_API cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	int device;
	cudaError_t e = cudaGetDevice(&device);

	return e ? e : rt_result(RT_DRIVER(cuDevicePrimaryCtxSetFlags_v2)(device, flags));
}

EMU_API cudaError_t cudaGetDeviceFlags(unsigned *ret)
{
	int device, active;
	cudaError_t e = cudaGetDevice(&device);

	return e ? e : rt_result(RT_DRIVER(cuDevicePrimaryCtxGetState)(device, ret, &active));
}

/* ---- peers ---- */
