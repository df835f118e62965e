/* SPDX-License-Identifier: Apache-2.0 */

/* A driver that does nothing, to measure the overhead of recorders. A kernel has four parameters
 * and takes no time; an event holds the time at which it was recorded. */
#include "bench/capture/driver.h"

#include "base/host.h"

#include <stdlib.h>

#define CONTEXT ((void *)4096)

int cuInit(unsigned flags)
{
	return 0;
}

int cuDriverGetVersion(int *ret)
{
	*ret = 13000;
	return 0;
}

int cuCtxGetCurrent(void **ret)
{
	*ret = CONTEXT;
	return 0;
}

int cuCtxGetFlags(unsigned *ret)
{
	return 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra)
{
	return 0;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
	if (index >= 4)
		return 1;
	*offset = 8 * index;
	*bytes = index < 2 ? 4 : 8;
	return 0;
}

/* ---- functions for device times */

struct event {
	int64_t ns;
};

int cuEventCreate(struct event **ret, unsigned flags)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : 2;
}

int cuEventDestroy_v2(struct event *e)
{
	free(e);
	return 0;
}

int cuEventRecord(struct event *e, void *stream)
{
	__atomic_store_n(&e->ns, host_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
	return 0;
}

int cuEventQuery(struct event *e)
{
	return 0;
}

int cuEventSynchronize(struct event *e)
{
	return 0;
}

int cuEventElapsedTime(float *ret_ms, const struct event *from, const struct event *to)
{
	*ret_ms = (float)(__atomic_load_n(&to->ns, __ATOMIC_ACQUIRE) -
			  __atomic_load_n(&from->ns, __ATOMIC_ACQUIRE)) /
		  1e6f;
	return 0;
}

int cuStreamCreate(void **ret, unsigned flags)
{
	*ret = calloc(1, 8);
	return *ret ? 0 : 2;
}

int cuStreamGetCtx(void *stream, void **ret)
{
	return cuCtxGetCurrent(ret);
}

/* Answers queries of a stream's flags and capture state: 0. */
static int none(int *ret)
{
	*ret = 0;
	return 0;
}

int cuStreamGetFlags(void *stream, int *ret)
{
	return none(ret);
}

int cuStreamIsCapturing(void *stream, int *ret)
{
	return none(ret);
}

int cuCtxGetDevice(int *ret)
{
	return none(ret);
}

int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
	return none(ret);
}

int cuDevicePrimaryCtxGetState(int device, unsigned *ret_flags, int *ret_active)
{
	*ret_flags = 0;
	*ret_active = 1;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **ret, int device)
{
	return cuCtxGetCurrent(ret);
}

int cuCtxPopCurrent_v2(void **ret)
{
	return cuCtxGetCurrent(ret);
}

#define DOES_NOTHING(name, ...)                                                                    \
	int name(__VA_ARGS__)                                                                      \
	{                                                                                          \
		return 0;                                                                          \
	}
DOES_NOTHING(cuCtxPushCurrent_v2, void *context)
DOES_NOTHING(cuDevicePrimaryCtxRelease_v2, int device)
DOES_NOTHING(cuCtxSynchronize, void)
DOES_NOTHING(cuStreamSynchronize, void *stream)
DOES_NOTHING(cuThreadExchangeStreamCaptureMode, int *mode)

#define CANNOT(name, ...)                                                                          \
	int name(__VA_ARGS__)                                                                      \
	{                                                                                          \
		return 801;                                                                        \
	}
CANNOT(cuMemHostAlloc, void **ret, size_t bytes, unsigned flags)
CANNOT(cuMemGetAddressRange_v2, void *ret_base, size_t *ret_bytes, uint64_t address)
CANNOT(cuPointerGetAttribute, void *ret, int attribute, uint64_t address)
CANNOT(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream)
CANNOT(cuModuleLoadData, void **ret, const void *image)
CANNOT(cuModuleGetFunction, void **ret, void *module, const char *name)
