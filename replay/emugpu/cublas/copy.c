/* SPDX-License-Identifier: Apache-2.0 */

/* Copies of vectors and matrices between host and device. */
#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/refuse.h"

#include <cublas_v2.h>

/* Columns of `bytes` bytes; `from_step` and `to_step`: bytes from one to the next. */
struct columns {
	int64_t bytes, n, from_step, to_step;
};

static cublasStatus_t copy(struct columns c, const void *from, void *to, int to_device,
			   CUstream stream, int waits)
{
	const struct emu_gpu *gpu = emu_gpu();
	CUDA_MEMCPY2D copy = {0};
	CUresult r;

	if (!gpu)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (c.bytes < 0 || c.n < 0 || c.from_step < c.bytes || c.to_step < c.bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (c.bytes == 0 || c.n == 0)
		return CUBLAS_STATUS_SUCCESS;
	if (c.from_step == c.bytes && c.to_step == c.bytes) /* no gaps */
		c = (struct columns){c.bytes * c.n, 1, c.bytes * c.n, c.bytes * c.n};
	r = emu_gpu_context();
	copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	copy.srcHost = from;
	copy.srcDevice = (CUdeviceptr)(uintptr_t)from;
	copy.dstHost = to;
	copy.dstDevice = (CUdeviceptr)(uintptr_t)to;
	copy.srcPitch = (size_t)c.from_step;
	copy.dstPitch = (size_t)c.to_step;
	copy.WidthInBytes = (size_t)c.bytes;
	copy.Height = (size_t)c.n;
	if (r == CUDA_SUCCESS)
		r = gpu->cuMemcpy2DAsync_v2(&copy, stream);
	if (r == CUDA_SUCCESS && waits)
		r = gpu->cuStreamSynchronize(stream);
	return emu_blas_status(r);
}

#define VECTOR(name, to_device, suffix, I)                                                         \
	EMU_API cublasStatus_t cublas##name##Vector##suffix(I n, I elemSize, const void *x,        \
							    I incx, void *y, I incy)               \
	{                                                                                          \
		return copy((struct columns){elemSize, n, (int64_t)incx * elemSize,                \
					     (int64_t)incy * elemSize},                            \
			    x, y, to_device, NULL, 1);                                             \
	}                                                                                          \
	EMU_API cublasStatus_t cublas##name##VectorAsync##suffix(                                  \
		I n, I elemSize, const void *x, I incx, void *y, I incy, cudaStream_t stream)      \
	{                                                                                          \
		return copy((struct columns){elemSize, n, (int64_t)incx * elemSize,                \
					     (int64_t)incy * elemSize},                            \
			    x, y, to_device, stream, 0);                                           \
	}

#define MATRIX(name, to_device, suffix, I)                                                         \
	EMU_API cublasStatus_t cublas##name##Matrix##suffix(I rows, I cols, I elemSize,            \
							    const void *A, I lda, void *B, I ldb)  \
	{                                                                                          \
		return copy((struct columns){(int64_t)rows * elemSize, cols,                       \
					     (int64_t)lda * elemSize, (int64_t)ldb * elemSize},    \
			    A, B, to_device, NULL, 1);                                             \
	}                                                                                          \
	EMU_API cublasStatus_t cublas##name##MatrixAsync##suffix(I rows, I cols, I elemSize,       \
								 const void *A, I lda, void *B,    \
								 I ldb, cudaStream_t stream)       \
	{                                                                                          \
		return copy((struct columns){(int64_t)rows * elemSize, cols,                       \
					     (int64_t)lda * elemSize, (int64_t)ldb * elemSize},    \
			    A, B, to_device, stream, 0);                                           \
	}

#define ALL(suffix, I)                                                                             \
	VECTOR(Set, 1, suffix, I)                                                                  \
	VECTOR(Get, 0, suffix, I)                                                                  \
	MATRIX(Set, 1, suffix, I)                                                                  \
	MATRIX(Get, 0, suffix, I)

ALL(, int)
ALL(_64, int64_t)
