/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of cuDNN that do not return a status. All others are refused, so programs built for
 * cuDNN start, and use it for nothing. */
#include "replay/emugpu/refuse.h"

#include <cuda.h>
#include <cudnn.h>
#include <stdio.h>

/* Programs refuse an older version than they were built for, so this is the last of its major
 * version. */
EMU_API size_t cudnnGetVersion(void)
{
	return CUDNN_MAJOR * 10000 + 9900;
}

EMU_API size_t cudnnGetMaxDeviceVersion(void)
{
	return CUDNN_MAX_DEVICE_VERSION;
}

EMU_API size_t cudnnGetCudartVersion(void)
{
	return CUDA_VERSION;
}

EMU_API const char *cudnnGetErrorString(cudnnStatus_t status)
{
	return status == CUDNN_STATUS_SUCCESS	      ? "CUDNN_STATUS_SUCCESS"
	       : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
						      : "CUDNN_STATUS_INTERNAL_ERROR";
}

EMU_API void cudnnGetLastErrorString(char *message, size_t max_size)
{
	if (message && max_size)
		snprintf(message, max_size, "not supported on emulated GPUs");
}
