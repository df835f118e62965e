/* SPDX-License-Identifier: Apache-2.0 */

/* Copies and fills. */
#include "replay/emugpu/runtime/runtime.h"

#define PTR(p) ((CUdeviceptr)(uintptr_t)(p))

/* Synchronous copies on the thread's own default stream. */
static cudaError_t linear_per_thread(void *to, const void *from, size_t bytes)
{
	cudaError_t e = RT(cuMemcpyAsync, PTR(to), PTR(from), bytes, CU_STREAM_PER_THREAD);

	return e ? e : RT(cuStreamSynchronize, CU_STREAM_PER_THREAD);
}

EMU_API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	if (bytes == 0)
		return rt_ready();
	if (emu_per_thread && kind <= cudaMemcpyDefault)
		return linear_per_thread(to, from, bytes);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT(cuMemcpyHtoD_v2, PTR(to), from, bytes);
	case cudaMemcpyDeviceToHost:
		return RT(cuMemcpyDtoH_v2, to, PTR(from), bytes);
	case cudaMemcpyDeviceToDevice:
		return RT(cuMemcpyDtoD_v2, PTR(to), PTR(from), bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT(cuMemcpy, PTR(to), PTR(from), bytes);
	default:
		return rt_error(cudaErrorInvalidMemcpyDirection);
	}
}

EMU_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
				    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (bytes == 0)
		return rt_ready();
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT(cuMemcpyHtoDAsync_v2, PTR(to), from, bytes, rt_stream(stream));
	case cudaMemcpyDeviceToHost:
		return RT(cuMemcpyDtoHAsync_v2, to, PTR(from), bytes, rt_stream(stream));
	case cudaMemcpyDeviceToDevice:
		return RT(cuMemcpyDtoDAsync_v2, PTR(to), PTR(from), bytes, rt_stream(stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT(cuMemcpyAsync, PTR(to), PTR(from), bytes, rt_stream(stream));
	default:
		return rt_error(cudaErrorInvalidMemcpyDirection);
	}
}

/* ---- variables ---- */

cudaError_t rt_symbol_range(const void *symbol, size_t offset, size_t bytes, char **ret)
{
	CUdeviceptr at;
	size_t size;
	cudaError_t e = rt_symbol(symbol, &at, &size);

	if (e)
		return e;
	if (offset > size || bytes > size - offset)
		return rt_error(cudaErrorInvalidValue);
	*ret = (char *)at + offset;
	return cudaSuccess;
}

/* ---- 2D and 3D, with unified addresses ---- */

CUDA_MEMCPY3D rt_box(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		     size_t height, size_t depth)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = PTR(from),
		.srcPitch = from_pitch,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = PTR(to),
		.dstPitch = to_pitch,
		.WidthInBytes = width,
		.Height = height,
		.Depth = depth,
	};
}

cudaError_t rt_copy(const CUDA_MEMCPY3D *p)
{
	cudaError_t e;

	if (!emu_per_thread)
		return RT(cuMemcpy3D_v2, p);
	e = RT(cuMemcpy3DAsync_v2, p, CU_STREAM_PER_THREAD);
	return e ? e : RT(cuStreamSynchronize, CU_STREAM_PER_THREAD);
}

cudaError_t rt_plane_params(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			    size_t width, size_t height, CUDA_MEMCPY3D *ret)
{
	*ret = rt_box(to, to_pitch, from, from_pitch, width, height, 1);
	return rt_error(to_pitch < width || from_pitch < width ? cudaErrorInvalidPitchValue
							       : cudaSuccess);
}

cudaError_t rt_copy_params(const struct cudaMemcpy3DParms *q, CUDA_MEMCPY3D *ret)
{
	if (!q)
		return rt_error(cudaErrorInvalidValue);
	if (q->srcArray || q->dstArray) {
		emu_refuse_use("libcudart.so.13", "cudaMemcpy3D (arrays)");
		return rt_error(cudaErrorNotSupported);
	}
	*ret = rt_box(q->dstPtr.ptr, q->dstPtr.pitch, q->srcPtr.ptr, q->srcPtr.pitch,
		      q->extent.width, q->extent.height, q->extent.depth);
	ret->srcHeight = q->srcPtr.ysize;
	ret->srcXInBytes = q->srcPos.x;
	ret->srcY = q->srcPos.y;
	ret->srcZ = q->srcPos.z;
	ret->dstHeight = q->dstPtr.ysize;
	ret->dstXInBytes = q->dstPos.x;
	ret->dstY = q->dstPos.y;
	ret->dstZ = q->dstPos.z;
	return cudaSuccess;
}

cudaError_t rt_peer_copy_params(const struct cudaMemcpy3DPeerParms *q, CUDA_MEMCPY3D *ret)
{
	struct cudaMemcpy3DParms p = {.srcArray = q->srcArray,
				      .srcPos = q->srcPos,
				      .srcPtr = q->srcPtr,
				      .dstArray = q->dstArray,
				      .dstPos = q->dstPos,
				      .dstPtr = q->dstPtr,
				      .extent = q->extent};

	return rt_copy_params(&p, ret);
}

EMU_API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
				      cudaStream_t stream)
{
	cudaError_t e = rt_ready();

	for (size_t z = 0; !e && z < extent.depth; z++)
		e = cudaMemset2DAsync((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value,
				      extent.width, extent.height, stream);
	return e;
}

CUcontext rt_current(void)
{
	CUcontext c = NULL;

	RT_DRIVER(cuCtxGetCurrent)(&c);
	return c;
}
