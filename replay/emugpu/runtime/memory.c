/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/runtime/runtime.h"

#include <string.h>

#define PTR(p) ((CUdeviceptr)(uintptr_t)(p))

EMU_API cudaError_t cudaMalloc(void **ret, size_t bytes)
{
	if (!ret)
		return rt_error(cudaErrorInvalidValue);
	*ret = NULL;
	if (bytes == 0)
		return rt_ready();
	return RT(cuMemAlloc_v2, (CUdeviceptr *)ret, bytes);
}

EMU_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
	size_t pitch;
	void *at;
	cudaError_t e = cudaMallocPitch(&at, &pitch, extent.width, extent.height * extent.depth);

	if (!e)
		*ret = (struct cudaPitchedPtr){at, pitch, extent.width, extent.height};
	return e;
}

EMU_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *at)
{
	unsigned type = 0;
	int device = -2;
	char managed = 0;
	CUdeviceptr on_device = 0;
	void *on_host = NULL;
	CUpointer_attribute what[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *values[] = {&type, &device, &managed, &on_device, &on_host};
	cudaError_t e = RT(cuPointerGetAttributes, 5, what, values, PTR(at));

	if (e)
		return e;
	memset(ret, 0, sizeof(*ret));
	ret->type = managed			   ? cudaMemoryTypeManaged
		    : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
		    : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
						   : cudaMemoryTypeUnregistered;
	ret->device = device;
	ret->devicePointer = (void *)on_device;
	ret->hostPointer = type ? on_host : (void *)(uintptr_t)at;
	return cudaSuccess;
}
