/* SPDX-License-Identifier: Apache-2.0 */

/* Explanations of errors whose CUresult does not name the cause. Printed once on stderr, and passed
 * to the program's log callbacks (cuLogsRegisterCallback) by each call that returns the error,
 * since programs collect messages per thread. Any thread. */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"
#include <gpuemu.h>

struct emu_context;

/* Returns the error of a context, or CUDA_SUCCESS, for a call that is about to return it. */
CUresult emu_context_error(const struct emu_context *c);

gpuemu_explain_fn gpuemu_explain;
