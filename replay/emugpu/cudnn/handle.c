/* SPDX-License-Identifier: Apache-2.0 */

/* The handle of cuDNN, versions and messages. */
#include "replay/emugpu/cudnn/calls.h"

#include <stdio.h>
#include <stdlib.h>

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
