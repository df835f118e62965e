/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the functions of NVML. The GPUs are those of libcuda.so.1. */
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/refuse.h"

#include <nvml.h>

/* Returns the driver between nvmlInit and nvmlShutdown; else NULL. */
const struct emu_gpu *emu_nvml(void);

/* Finds the GPU of a handle; NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT. */
nvmlReturn_t emu_nvml_device(nvmlDevice_t handle, CUdevice *ret);

/* Copies `text` into `buffer` of `length`; NVML_ERROR_INSUFFICIENT_SIZE if it does not fit. */
nvmlReturn_t emu_nvml_text(const char *text, char *buffer, unsigned int length);

int emu_nvml_attribute(CUdevice d, CUdevice_attribute what);

/* Executes the statements for the GPU `d` of the parameter `device`, unless the result pointer
 * `ret` is NULL; they may set `r`. Used by forward.txt. */
#define OF_GPU(ret, ...)                                                                           \
	({                                                                                         \
		CUdevice d = 0;                                                                    \
		nvmlReturn_t r = emu_nvml_device(device, &d);                                      \
		if (r == NVML_SUCCESS && !(ret))                                                   \
			r = NVML_ERROR_INVALID_ARGUMENT;                                           \
		if (r == NVML_SUCCESS) {                                                           \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		r;                                                                                 \
	})
