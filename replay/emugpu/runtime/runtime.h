/* SPDX-License-Identifier: Apache-2.0 */

/* The CUDA runtime on top of the driver. Each call makes a context current in its thread, then
 * calls libcuda.so.1, opened by that name so that a recorder preloaded under it sees all calls.
 *
 * Functions that are one call of the driver are rows of forward.txt. Runtime and
 * driver share error numbers, enumerators and handles. Any thread. */
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include "replay/emugpu/refuse.h"

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <cudaProfiler.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* A function of the driver, looked up by name when the driver is opened. */
struct rt_function {
	const char *name;
	void *address;
};

/* Returns the driver's `function`. Each use adds a row to the linker section of functions to look
 * up; the driver must be open (rt_ready, rt_context). */
#define RT_DRIVER(function)                                                                        \
	({                                                                                         \
		static struct rt_function row_                                                     \
			__attribute__((section("rt_functions"), used)) = {#function, NULL};        \
		(__typeof__(function) *)row_.address;                                              \
	})

/* On the thread's first call, opens the driver and makes a context current. */
cudaError_t rt_ready(void);

/* Sets the thread's last error (cudaGetLastError), unless `e` is success; returns `e`. */
cudaError_t rt_error(cudaError_t e);

static inline cudaError_t rt_result(CUresult r)
{
	return r ? rt_error((cudaError_t)r) : cudaSuccess;
}

/* Calls a function of the driver, after rt_ready(). */
#define RT(function, ...)                                                                          \
	({                                                                                         \
		cudaError_t e_ = rt_ready();                                                       \
		e_ ? e_ : rt_result(RT_DRIVER(function)(__VA_ARGS__));                             \
	})

/* Returns the driver's handle of a stream: 0 means the per-thread default stream in name_ptsz and
 * name_ptds. */
static inline CUstream rt_stream(cudaStream_t s)
{
	return s || !emu_per_thread ? (CUstream)s : CU_STREAM_PER_THREAD;
}

/* Returns the primary context of a device, created on first use. */
cudaError_t rt_context(int device, CUcontext *ret);

/* Returns the driver's kernel for the address of a __global__ function, or for a kernel handle. */
cudaError_t rt_kernel(const void *function, CUkernel *ret);

/* Returns the address and size of a __device__ variable on the current device. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret, size_t *bytes);

/* Returns the current context of the thread; after rt_ready(). */
CUcontext rt_current(void);

/* As rt_symbol, for `bytes` bytes of the variable from `offset`. */
cudaError_t rt_symbol_range(const void *symbol, size_t offset, size_t bytes, char **ret);

/* Returns the parameters of a copy with unified addresses. */
CUDA_MEMCPY3D rt_box(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		     size_t height, size_t depth);

/* Copies now, on the thread's default stream. */
cudaError_t rt_copy(const CUDA_MEMCPY3D *p);

/* Convert parameters to the driver's. For nodes of any kind, runtime and driver share the layout
 * except for kernels, copies, and the context of a fill. */
cudaError_t rt_copy_params(const struct cudaMemcpy3DParms *q, CUDA_MEMCPY3D *ret);
cudaError_t rt_peer_copy_params(const struct cudaMemcpy3DPeerParms *q, CUDA_MEMCPY3D *ret);
cudaError_t rt_plane_params(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			    size_t width, size_t height, CUDA_MEMCPY3D *ret);
cudaError_t rt_launch_config(const cudaLaunchConfig_t *c, CUlaunchConfig *ret);
cudaError_t rt_kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret);
cudaError_t rt_node_params(const struct cudaGraphNodeParams *p, CUgraphNodeParams *ret);

/* The macros of forward.txt: calls the driver if `first` succeeds; evaluates `copy` with the
 * parameters `box` that `convert` sets, or with `at`, the address in a variable; a copy of `count`
 * bytes from `src` to `dst`. */
#define AFTER(first, call)                                                                         \
	({                                                                                         \
		cudaError_t e_ = (first);                                                          \
		e_ ? e_ : rt_result(call);                                                         \
	})
#define BOX(convert, copy)                                                                         \
	({                                                                                         \
		CUDA_MEMCPY3D box;                                                                 \
		cudaError_t converted_ = (convert);                                                \
		converted_ ? converted_ : (copy);                                                  \
	})
#define IN_SYMBOL(copy)                                                                            \
	({                                                                                         \
		char *at = NULL;                                                                   \
		cudaError_t e_ = rt_symbol_range(symbol, offset, count, &at);                      \
		e_ ? e_ : (copy);                                                                  \
	})
#define LINEAR (&(CUDA_MEMCPY3D[1]){rt_box(dst, 0, src, 0, count, 1, 1)}[0])
