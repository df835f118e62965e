/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

#include <stdlib.h>

EMU_API cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	struct cublasContext *h;
	CUresult r;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	r = emu_gpu_context();
	if (r != CUDA_SUCCESS)
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

EMU_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	static const int values[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};

	if (!value || (unsigned)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = values[type];
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API size_t cublasGetCudartVersion(void)
{
	return CUDART_VERSION;
}

EMU_API void cublasXerbla(const char *srName, int info)
{
}

/* Defines the functions that set and get a field of the handle. */
#define FIELD(field, type, set, get)                                                               \
	EMU_API cublasStatus_t set(cublasHandle_t handle, type value)                              \
	{                                                                                          \
		if (!handle)                                                                       \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                      \
		handle->field = value;                                                             \
		return CUBLAS_STATUS_SUCCESS;                                                      \
	}                                                                                          \
	EMU_API cublasStatus_t get(cublasHandle_t handle, type *value)                             \
	{                                                                                          \
		if (!handle)                                                                       \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                      \
		if (!value)                                                                        \
			return CUBLAS_STATUS_INVALID_VALUE;                                        \
		*value = handle->field;                                                            \
		return CUBLAS_STATUS_SUCCESS;                                                      \
	}

FIELD(pointers, cublasPointerMode_t, cublasSetPointerMode_v2, cublasGetPointerMode_v2)
FIELD(atomics, cublasAtomicsMode_t, cublasSetAtomicsMode, cublasGetAtomicsMode)
FIELD(math, cublasMath_t, cublasSetMathMode, cublasGetMathMode)
FIELD(sm_count, int, cublasSetSmCountTarget, cublasGetSmCountTarget)
FIELD(emulation, cublasEmulationStrategy_t, cublasSetEmulationStrategy, cublasGetEmulationStrategy)

/* As in cuBLAS, setting a stream resets the workspace. */
EMU_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->stream = streamId;
	handle->workspace = NULL;
	handle->workspace_bytes = 0;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!streamId)
		return CUBLAS_STATUS_INVALID_VALUE;
	*streamId = handle->stream;
	return CUBLAS_STATUS_SUCCESS;
}

/* Stored but unused: products use their own host memory. */
EMU_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
					     size_t workspaceSizeInBytes)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((uintptr_t)workspace % 256)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->workspace = workspace;
	handle->workspace_bytes = workspaceSizeInBytes;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLoggerConfigure(int logIsOn, int logToStdOut, int logToStdErr,
					     const char *logFileName)
{
	return logIsOn ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback)
{
	return userCallback ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *userCallback)
{
	if (!userCallback)
		return CUBLAS_STATUS_INVALID_VALUE;
	*userCallback = NULL;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API const char *cublasGetStatusName(cublasStatus_t status)
{
	return emu_blas_status_name(status);
}

EMU_API const char *cublasGetStatusString(cublasStatus_t status)
{
	return emu_blas_status_text(status);
}
