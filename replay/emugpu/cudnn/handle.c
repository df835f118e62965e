/* SPDX-License-Identifier: Apache-2.0 */

/* The handle of cuDNN, versions and messages. */
#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/lib/gpu.h"

#include <stdio.h>
#include <stdlib.h>

/* PyTorch refuses a version older than its own: 2.15 from PyPI contains 9.26.0. */
#define VERSION (CUDNN_VERSION > 92600 ? CUDNN_VERSION : 92600)

EMU_API size_t cudnnGetVersion(void)
{
	return VERSION;
}

EMU_API size_t cudnnGetMaxDeviceVersion(void)
{
	return CUDNN_MAX_DEVICE_VERSION;
}

EMU_API size_t cudnnGetCudartVersion(void)
{
	return CUDA_VERSION;
}

EMU_API cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
	static const int values[] = {VERSION / 10000, VERSION / 100 % 100, VERSION % 100};

	if (!value || (unsigned)type > PATCH_LEVEL)
		return CUDNN_STATUS_BAD_PARAM;
	*value = values[type];
	return CUDNN_STATUS_SUCCESS;
}

EMU_API const char *cudnnGetErrorString(cudnnStatus_t status)
{
	switch (CUDNN_STATUS_CATEGORY((int)status)) {
	case CUDNN_STATUS_SUCCESS:
		return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS"
						      : "CUDNN_STATUS_NOT_INITIALIZED";
	case 1000:
		return "CUDNN_STATUS_NOT_INITIALIZED";
	case CUDNN_STATUS_BAD_PARAM:
		return "CUDNN_STATUS_BAD_PARAM";
	case CUDNN_STATUS_NOT_SUPPORTED:
		return "CUDNN_STATUS_NOT_SUPPORTED";
	case CUDNN_STATUS_EXECUTION_FAILED:
		return "CUDNN_STATUS_EXECUTION_FAILED";
	default:
		return "CUDNN_STATUS_INTERNAL_ERROR";
	}
}

EMU_API void cudnnGetLastErrorString(char *message, size_t max_size)
{
	if (message && max_size)
		snprintf(message, max_size, "not supported on emulated GPUs");
}

EMU_API cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	if (!handle)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUDNN_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

EMU_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	free(handle);
	return handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

EMU_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	handle->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *ret)
{
	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *ret,
					     cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	*ret = CUDNN_STATUS_SUCCESS;
	return CUDNN_STATUS_SUCCESS;
}
