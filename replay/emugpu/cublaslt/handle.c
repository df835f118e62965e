/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublaslt/calls.h"

#include <stdlib.h>

/* A handle has no state, since programs may pass a cuBLAS handle instead. */
EMU_API cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
	if (!lightHandle)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*lightHandle = calloc(1, 64);
	return *lightHandle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

EMU_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
	free(lightHandle);
	return CUBLAS_STATUS_SUCCESS;
}
