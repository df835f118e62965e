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
