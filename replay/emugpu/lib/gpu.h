/* SPDX-License-Identifier: Apache-2.0 */

/* The driver API of libcuda.so.1, opened by dlopen: the only way in which the emulated libraries
 * use the GPU. Their work is launched as kernels, like that of any program, with host kernels
 * registered by name (gpuemu.h). Any thread. */
#pragma once

#include "replay/emugpu/math/element.h"

#include <gpuemu.h>

#include <cuda.h>
#include <library_types.h>

#define EMU_GPU_CALLS(X)                                                                           \
	X(cuInit)                                                                                  \
	X(cuDriverGetVersion)                                                                      \
	X(cuDeviceGet)                                                                             \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGetAttribute)                                                                    \
	X(cuDeviceGetName)                                                                         \
	X(cuDeviceGetUuid_v2)                                                                      \
	X(cuDeviceGetPCIBusId)                                                                     \
	X(cuDeviceTotalMem_v2)                                                                     \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuDevicePrimaryCtxRelease_v2)                                                            \
	X(cuDevicePrimaryCtxGetState)                                                              \
	X(cuCtxGetCurrent)                                                                         \
	X(cuCtxSetCurrent)                                                                         \
	X(cuCtxGetDevice)                                                                          \
	X(cuMemAlloc_v2)                                                                           \
	X(cuMemGetInfo_v2)                                                                         \
	X(cuMemFree_v2)                                                                            \
	X(cuMemcpyDtoHAsync_v2)                                                                    \
	X(cuMemcpyHtoDAsync_v2)                                                                    \
	X(cuMemcpy2DAsync_v2)                                                                      \
	X(cuStreamSynchronize)                                                                     \
	X(cuStreamIsCapturing)                                                                     \
	X(cuStreamCreate)                                                                          \
	X(cuStreamDestroy_v2)                                                                      \
	X(cuLibraryLoadData)                                                                       \
	X(cuLibraryGetKernel)                                                                      \
	X(cuLaunchKernel)

struct emu_gpu {
#define EMU_GPU_MEMBER(name) __typeof__(&name) name;
	EMU_GPU_CALLS(EMU_GPU_MEMBER)
#undef EMU_GPU_MEMBER
	gpuemu_register_kernel_fn *gpuemu_register_kernel; /* NULL: not an emulated driver */
	gpuemu_device_value_fn *gpuemu_device_value;
	gpuemu_recorded_ns_fn *gpuemu_recorded_ns; /* or NULL */
	gpuemu_explain_fn *gpuemu_explain;	   /* or NULL */
	/* Of the calling thread's clock, see driver/clock.h. */
	uint64_t (*gpuemu_host_ns)(void);
	void (*gpuemu_thread_not_before)(int64_t ns);
	void (*gpuemu_clock_pause)(void);
	void (*gpuemu_clock_resume)(void);
};

/* Returns the initialised driver; NULL if not found or not emulated. */
const struct emu_gpu *emu_gpu(void);

/* Returns the peak for operations on elements of `type`. `tensor`: they may run on tensor cores. */
enum gpuemu_math emu_gpu_math(enum emu_type type, int tensor);

/* Stores a part of a library's version; returns 0 for an invalid argument. */
int emu_property(libraryPropertyType type, int *value, int major, int minor, int patch);

/* Makes the context of device 0 current in a thread without a context. */
CUresult emu_gpu_context(void);

/* A library's kernels, registered and loaded at the first launch. Each has one parameter of
 * param_bytes bytes, by value. */
struct emu_kernels {
	const struct gpuemu_kernel *kernels;
	unsigned n;
	size_t param_bytes;
	CUkernel *loaded; /* n of them, the library's */
	int state;	  /* 0 initially */
};

CUresult emu_gpu_launch(struct emu_kernels *kernels, unsigned number, CUstream stream,
			const void *param, unsigned blocks, unsigned threads);
