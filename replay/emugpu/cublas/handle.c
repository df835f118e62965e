/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

#include <stdlib.h>

EMU_API cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	struct cublasContext *h;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	if (emu_gpu()->cuMemAlloc_v2(&h->result, 64) != CUDA_SUCCESS) {
		free(h);
		return CUBLAS_STATUS_ALLOC_FAILED;
	}
	*handle = h;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	emu_gpu()->cuMemFree_v2(handle->result);
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}
