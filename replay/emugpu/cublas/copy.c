/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/calls.h"

cublasStatus_t emu_cublas_copy(int to_device, int64_t bytes, int64_t n, int64_t from_step,
			       int64_t to_step, const void *from, void *to, CUstream stream,
			       int waits)
{
	const struct emu_gpu *gpu = emu_gpu();
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcDevice = (CUdeviceptr)(uintptr_t)from,
		.dstHost = to,
		.dstDevice = (CUdeviceptr)(uintptr_t)to,
		.srcPitch = (size_t)from_step,
		.dstPitch = (size_t)to_step,
		.WidthInBytes = (size_t)bytes,
		.Height = (size_t)n,
	};
	CUresult r;

	if (!gpu)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (bytes < 0 || n < 0 || from_step < bytes || to_step < bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes == 0 || n == 0)
		return CUBLAS_STATUS_SUCCESS;
	if (from_step == bytes && to_step == bytes) { /* no gaps */
		copy.WidthInBytes = copy.srcPitch = copy.dstPitch = (size_t)(bytes * n);
		copy.Height = 1;
	}
	r = emu_gpu_context();
	if (r == CUDA_SUCCESS)
		r = gpu->cuMemcpy2DAsync_v2(&copy, stream);
	if (r == CUDA_SUCCESS && waits)
		r = gpu->cuStreamSynchronize(stream);
	return emu_blas_status(r);
}
