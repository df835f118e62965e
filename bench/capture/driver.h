/* SPDX-License-Identifier: Apache-2.0 */

/* The few functions of the driver that the bench calls; not from CUDA's headers, so that it builds
 * without them. */
#pragma once

#include <stddef.h>

#define DRIVER __attribute__((visibility("default")))

DRIVER int cuInit(unsigned flags);
DRIVER int cuDriverGetVersion(int *ret);
DRIVER int cuCtxGetCurrent(void **ret);
DRIVER int cuCtxGetFlags(unsigned *ret);
DRIVER int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
			  void **params, void **extra);
DRIVER int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes);
