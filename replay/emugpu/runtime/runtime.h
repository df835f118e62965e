/* SPDX-License-Identifier: Apache-2.0 */

/* The runtime over the driver: each call finds its thread's context and asks libcuda.so.1, which is
 * opened by that name, so that whoever is preloaded under it sees everything.
 *
 * Runtime and driver number their errors alike, and their handles are the same pointers. Any
 * thread.
 */
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include "replay/emugpu/refuse.h"

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <cudaProfiler.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include "replay/emugpu/runtime/driver.h"

/* Opens the driver and gives the calling thread a context, at its first call; an error of that. */
cudaError_t rt_ready(void);

/* Keeps an error as the thread's last one; returns it. */
cudaError_t rt_error(cudaError_t e);

static inline cudaError_t rt_result(CUresult r)
{
	return r ? rt_error((cudaError_t)r) : cudaSuccess;
}

/* Calls a function of the driver for a thread that has a context. */
#define RT(function, ...)                                                                          \
	({                                                                                         \
		cudaError_t e_ = rt_ready();                                                       \
		e_ ? e_ : rt_result(rt_driver.function(__VA_ARGS__));                              \
	})

/* The driver's name of a stream: 0 is the thread's own in name_ptsz and name_ptds. */
static inline CUstream rt_stream(cudaStream_t s)
{
	return s || !emu_per_thread ? (CUstream)s : CU_STREAM_PER_THREAD;
}

/* The primary context of a device, made on the first use. */
cudaError_t rt_context(int device, CUcontext *ret);

/* The driver's kernel for the address of a __global__ function, or for a handle of a kernel. */
cudaError_t rt_kernel(const void *function, CUkernel *ret);

/* Where a __device__ variable lies on the current device. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret, size_t *bytes);
