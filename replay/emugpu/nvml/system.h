/* SPDX-License-Identifier: Apache-2.0 */

/* What the functions of NVML share. The GPUs are those of libcuda.so.1. */
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/refuse.h"

#include <nvml.h>

/* The driver, between nvmlInit and nvmlShutdown; else NULL. */
const struct emu_gpu *emu_nvml(void);

/* The GPU that a handle stands for; NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT. */
nvmlReturn_t emu_nvml_device(nvmlDevice_t handle, CUdevice *ret);

/* `text` into `buffer` of `length`; NVML_ERROR_INSUFFICIENT_SIZE where it doesn't fit. */
nvmlReturn_t emu_nvml_text(const char *text, char *buffer, unsigned int length);
