/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublaslt/describe.h"

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

EMU_API size_t cublasLtGetVersion(void)
{
	return CUBLAS_VERSION;
}

EMU_API size_t cublasLtGetCudartVersion(void)
{
	return CUDART_VERSION;
}

EMU_API cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	static const int values[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};

	if (!value || (unsigned)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = values[type];
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask)
{
	return 0;
}

EMU_API const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return emu_blas_status_name(status);
}

EMU_API const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return emu_blas_status_text(status);
}
