/* SPDX-License-Identifier: Apache-2.0 */

/* The few driver functions that the benchmark calls, declared here so that it builds without CUDA
 * headers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DRIVER __attribute__((visibility("default")))

DRIVER int cuInit(unsigned flags);
DRIVER int cuDriverGetVersion(int *ret);
DRIVER int cuCtxGetCurrent(void **ret);
DRIVER int cuCtxGetFlags(unsigned *ret);
DRIVER int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
			  void **params, void **extra);
DRIVER int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes);

/* Functions that only the recorder calls; handles and results as in CUDA's headers. */
struct event;
DRIVER int cuEventCreate(struct event **ret, unsigned flags);
DRIVER int cuEventDestroy_v2(struct event *e);
DRIVER int cuEventRecord(struct event *e, void *stream);
DRIVER int cuEventQuery(struct event *e);
DRIVER int cuEventSynchronize(struct event *e);
DRIVER int cuEventElapsedTime(float *ret_ms, const struct event *from, const struct event *to);
DRIVER int cuStreamCreate(void **ret, unsigned flags);
DRIVER int cuStreamGetCtx(void *stream, void **ret);
DRIVER int cuStreamGetFlags(void *stream, int *ret);
DRIVER int cuStreamIsCapturing(void *stream, int *ret);
DRIVER int cuStreamSynchronize(void *stream);
DRIVER int cuCtxGetDevice(int *ret);
DRIVER int cuCtxPushCurrent_v2(void *context);
DRIVER int cuCtxPopCurrent_v2(void **ret);
DRIVER int cuCtxSynchronize(void);
DRIVER int cuDeviceGetAttribute(int *ret, int attribute, int device);
DRIVER int cuDevicePrimaryCtxGetState(int device, unsigned *ret_flags, int *ret_active);
DRIVER int cuDevicePrimaryCtxRetain(void **ret, int device);
DRIVER int cuDevicePrimaryCtxRelease_v2(int device);
DRIVER int cuThreadExchangeStreamCaptureMode(int *mode);
DRIVER int cuMemHostAlloc(void **ret, size_t bytes, unsigned flags);
DRIVER int cuMemGetAddressRange_v2(void *ret_base, size_t *ret_bytes, uint64_t address);
DRIVER int cuPointerGetAttribute(void *ret, int attribute, uint64_t address);
DRIVER int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
DRIVER int cuModuleLoadData(void **ret, const void *image);
DRIVER int cuModuleGetFunction(void **ret, void *module, const char *name);
