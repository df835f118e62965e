/* SPDX-License-Identifier: Apache-2.0 */

/* The GPU as the emulated libraries see it: the driver API of libcuda.so.1, found by dlopen, and
 * nothing else. What a library does on the GPU is a kernel, launched like any program's, whose code
 * is given to the emulated driver by name (gpuemu.h). Any thread.
 */
#pragma once

#include <gpuemu.h>

#include <cuda.h>

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
};

/* The driver, initialised; NULL where there is none, or it is not an emulated one. */
const struct emu_gpu *emu_gpu(void);

/* Makes sure that this thread has a context, that of device 0 where it had none. */
CUresult emu_gpu_context(void);

/* A library's kernels: registered with the driver and loaded once, at the first launch. Each takes
 * one parameter, by value, of param_bytes. */
struct emu_kernels {
	const struct gpuemu_kernel *kernels;
	unsigned n;
	size_t param_bytes;
	CUkernel *loaded; /* n of them, the library's */
	int state;	  /* 0 at first */
};

CUresult emu_gpu_launch(struct emu_kernels *kernels, unsigned number, CUstream stream,
			const void *param, unsigned blocks, unsigned threads);
