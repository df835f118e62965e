/* SPDX-License-Identifier: Apache-2.0 */

/* The handle of cuDNN, versions and messages. */
#include "replay/emugpu/cudnn/calls.h"

#include <stdio.h>
#include <stdlib.h>

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

cudnnStatus_t emu_dnn_create(void **ret, size_t bytes)
{
	if (!ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = calloc(1, bytes);
	return *ret ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}
