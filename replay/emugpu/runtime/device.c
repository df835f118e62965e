/* SPDX-License-Identifier: Apache-2.0 */

/* Devices: their properties, and what belongs to the current one. */
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

/* The fields that are attributes of the driver's. */
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
	rt_driver.cuDeviceGetName(ret->name, sizeof(ret->name), device);
	rt_driver.cuDeviceGetUuid_v2((CUuuid *)&ret->uuid, device);
	rt_driver.cuDeviceTotalMem_v2(&ret->totalGlobalMem, device);
	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		int value;
		size_t wide;

		rt_driver.cuDeviceGetAttribute(&value, properties[i].attribute, device);
		wide = (size_t)value;
		if (properties[i].bytes == sizeof(value))
			memcpy((char *)ret + properties[i].offset, &value, sizeof(value));
		else
			memcpy((char *)ret + properties[i].offset, &wide, sizeof(wide));
	}
	return cudaSuccess;
}

/* Asked without a context, which it does not need. */
EMU_API cudaError_t cudaDeviceGetAttribute(int *ret, enum cudaDeviceAttr what, int device)
{
	int count;
	cudaError_t e = cudaGetDeviceCount(&count);

	return e ? e
		 : rt_result(rt_driver.cuDeviceGetAttribute(ret, (CUdevice_attribute)what, device));
}

EMU_API cudaError_t cudaChooseDevice(int *ret, const struct cudaDeviceProp *wanted)
{
	int count;

	*ret = 0;
	return cudaGetDeviceCount(&count);
}

EMU_API cudaError_t cudaSetValidDevices(int *devices, int n)
{
	int count;

	return cudaGetDeviceCount(&count);
}

EMU_API cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	int device;
	cudaError_t e = cudaGetDevice(&device);

	return e ? e : rt_result(rt_driver.cuDevicePrimaryCtxSetFlags_v2(device, flags));
}

EMU_API cudaError_t cudaGetDeviceFlags(unsigned *ret)
{
	int device, active;
	cudaError_t e = cudaGetDevice(&device);

	return e ? e : rt_result(rt_driver.cuDevicePrimaryCtxGetState(device, ret, &active));
}

EMU_API cudaError_t cudaDeviceGetByPCIBusId(int *ret, const char *id)
{
	return RT(cuDeviceGetByPCIBusId, ret, id);
}

EMU_API cudaError_t cudaDeviceGetPCIBusId(char *ret, int len, int device)
{
	return RT(cuDeviceGetPCIBusId, ret, len, device);
}

/* The two number limits alike. */
EMU_API cudaError_t cudaDeviceGetLimit(size_t *ret, enum cudaLimit limit)
{
	return RT(cuCtxGetLimit, ret, (CUlimit)limit);
}

EMU_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return RT(cuCtxSetLimit, (CUlimit)limit, value);
}

EMU_API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *ret)
{
	return RT(cuCtxGetCacheConfig, (CUfunc_cache *)ret);
}

EMU_API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	return RT(cuCtxSetCacheConfig, (CUfunc_cache)config);
}

EMU_API cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *ret)
{
	return RT(cuCtxGetSharedMemConfig, (CUsharedconfig *)ret);
}

EMU_API cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	return RT(cuCtxSetSharedMemConfig, (CUsharedconfig)config);
}

EMU_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RT(cuCtxGetStreamPriorityRange, least, greatest);
}

EMU_API cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	return RT(cuCtxResetPersistingL2Cache);
}

EMU_API cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned *capabilities,
							const enum cudaAtomicOperation *operations,
							unsigned count, int device)
{
	return RT(cuDeviceGetHostAtomicCapabilities, capabilities,
		  (const CUatomicOperation *)operations, count, device);
}

/* ---- peers ---- */

EMU_API cudaError_t cudaDeviceCanAccessPeer(int *ret, int device, int peer)
{
	return RT(cuDeviceCanAccessPeer, ret, device, peer);
}

EMU_API cudaError_t cudaDeviceGetP2PAttribute(int *ret, enum cudaDeviceP2PAttr what, int from,
					      int to)
{
	return RT(cuDeviceGetP2PAttribute, ret, (CUdevice_P2PAttribute)what, from, to);
}

EMU_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CUcontext c;
	cudaError_t e = rt_context(peer, &c);

	return e ? e : RT(cuCtxEnablePeerAccess, c, flags);
}

EMU_API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext c;
	cudaError_t e = rt_context(peer, &c);

	return e ? e : RT(cuCtxDisablePeerAccess, c);
}

/* ---- libraries ---- */

EMU_API cudaError_t cudaLibraryLoadData(cudaLibrary_t *ret, const void *code,
					enum cudaJitOption *jit, void **jit_values, unsigned n_jit,
					enum cudaLibraryOption *options, void **values, unsigned n)
{
	return RT(cuLibraryLoadData, (CUlibrary *)ret, code, NULL, NULL, 0, NULL, NULL, 0);
}

EMU_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *ret, const char *path,
					    enum cudaJitOption *jit, void **jit_values,
					    unsigned n_jit, enum cudaLibraryOption *options,
					    void **values, unsigned n)
{
	return RT(cuLibraryLoadFromFile, (CUlibrary *)ret, path, NULL, NULL, 0, NULL, NULL, 0);
}

EMU_API cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	return RT(cuLibraryUnload, (CUlibrary)library);
}

EMU_API cudaError_t cudaLibraryGetKernel(cudaKernel_t *ret, cudaLibrary_t library, const char *name)
{
	return RT(cuLibraryGetKernel, (CUkernel *)ret, (CUlibrary)library, name);
}

EMU_API cudaError_t cudaLibraryGetKernelCount(unsigned *ret, cudaLibrary_t library)
{
	return RT(cuLibraryGetKernelCount, ret, (CUlibrary)library);
}

EMU_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *ret, unsigned n,
						cudaLibrary_t library)
{
	return RT(cuLibraryEnumerateKernels, (CUkernel *)ret, n, (CUlibrary)library);
}

EMU_API cudaError_t cudaLibraryGetGlobal(void **ret, size_t *bytes, cudaLibrary_t library,
					 const char *name)
{
	return RT(cuLibraryGetGlobal, (CUdeviceptr *)ret, bytes, (CUlibrary)library, name);
}

EMU_API cudaError_t cudaLibraryGetManaged(void **ret, size_t *bytes, cudaLibrary_t library,
					  const char *name)
{
	return RT(cuLibraryGetManaged, (CUdeviceptr *)ret, bytes, (CUlibrary)library, name);
}

EMU_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
						    enum cudaFuncAttribute what, int value,
						    int device)
{
	return RT(cuKernelSetAttribute, (CUfunction_attribute)what, value, (CUkernel)kernel,
		  device);
}

EMU_API cudaError_t cudaProfilerStart(void)
{
	return RT(cuProfilerStart);
}

EMU_API cudaError_t cudaProfilerStop(void)
{
	return RT(cuProfilerStop);
}

EMU_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
							   enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
