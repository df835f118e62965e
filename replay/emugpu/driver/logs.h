/* SPDX-License-Identifier: Apache-2.0 */

/* Explanations of errors whose CUresult does not tell the cause: printed once, and given to the
 * program's log callbacks (cuLogsRegisterCallback) by each call that returns the error, since
 * programs collect messages on the calling thread. Any thread. */
#pragma once

#include "replay/emugpu/driver/device.h"

/* The error of a context, for a call to return; CUDA_SUCCESS: none. */
CUresult emu_context_error(const struct emu_context *c);

gpuemu_explain_fn gpuemu_explain;
