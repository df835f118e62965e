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

EMU_API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
				   size_t bytes)
{
	CUcontext a, b;
	cudaError_t e = rt_context(to_device, &a);

	if (!e)
		e = rt_context(from_device, &b);
	return e ? e : RT(cuMemcpyPeer, PTR(to), a, PTR(from), b, bytes);
}

EMU_API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
					size_t bytes, cudaStream_t stream)
{
	CUcontext a, b;
	cudaError_t e = rt_context(to_device, &a);

	if (!e)
		e = rt_context(from_device, &b);
	return e ? e : RT(cuMemcpyPeerAsync, PTR(to), a, PTR(from), b, bytes, rt_stream(stream));
}

/* ---- variables ---- */

static cudaError_t symbol_range(const void *symbol, size_t offset, size_t bytes, char **ret)
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

EMU_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
				       size_t offset, enum cudaMemcpyKind kind)
{
	char *at = NULL;
	cudaError_t e = symbol_range(symbol, offset, bytes, &at);

	return e ? e : cudaMemcpy(at, from, bytes, kind);
}

EMU_API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
					 enum cudaMemcpyKind kind)
{
	char *at = NULL;
	cudaError_t e = symbol_range(symbol, offset, bytes, &at);

	return e ? e : cudaMemcpy(to, at, bytes, kind);
}

EMU_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
					    size_t offset, enum cudaMemcpyKind kind,
					    cudaStream_t stream)
{
	char *at = NULL;
	cudaError_t e = symbol_range(symbol, offset, bytes, &at);

	return e ? e : cudaMemcpyAsync(at, from, bytes, kind, stream);
}

EMU_API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes,
					      size_t offset, enum cudaMemcpyKind kind,
					      cudaStream_t stream)
{
	char *at = NULL;
	cudaError_t e = symbol_range(symbol, offset, bytes, &at);

	return e ? e : cudaMemcpyAsync(to, at, bytes, kind, stream);
}

/* ---- 2D and 3D, with unified addresses ---- */

static CUDA_MEMCPY3D copy_params(void *to, size_t to_pitch, const void *from, size_t from_pitch,
				 size_t width, size_t height, size_t depth)
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

static cudaError_t copy_box(const CUDA_MEMCPY3D *p)
{
	cudaError_t e;

	if (!emu_per_thread)
		return RT(cuMemcpy3D_v2, p);
	e = RT(cuMemcpy3DAsync_v2, p, CU_STREAM_PER_THREAD);
	return e ? e : RT(cuStreamSynchronize, CU_STREAM_PER_THREAD);
}

static cudaError_t describe_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			       size_t width, size_t height, CUDA_MEMCPY3D *ret)
{
	*ret = copy_params(to, to_pitch, from, from_pitch, width, height, 1);
	return rt_error(to_pitch < width || from_pitch < width ? cudaErrorInvalidPitchValue
							       : cudaSuccess);
}

EMU_API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = describe_2d(to, to_pitch, from, from_pitch, width, height, &p);

	return e ? e : copy_box(&p);
}

EMU_API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
				      size_t from_pitch, size_t width, size_t height,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = describe_2d(to, to_pitch, from, from_pitch, width, height, &p);

	return e ? e : RT(cuMemcpy3DAsync_v2, &p, rt_stream(stream));
}

cudaError_t rt_describe_copy(const struct cudaMemcpy3DParms *q, CUDA_MEMCPY3D *ret)
{
	if (!q)
		return rt_error(cudaErrorInvalidValue);
	if (q->srcArray || q->dstArray) {
		emu_refuse_use("libcudart.so.13", "cudaMemcpy3D (arrays)");
		return rt_error(cudaErrorNotSupported);
	}
	*ret = copy_params(q->dstPtr.ptr, q->dstPtr.pitch, q->srcPtr.ptr, q->srcPtr.pitch,
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

EMU_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *q)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = rt_describe_copy(q, &p);

	return e ? e : copy_box(&p);
}

EMU_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *q, cudaStream_t stream)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = rt_describe_copy(q, &p);

	return e ? e : RT(cuMemcpy3DAsync_v2, &p, rt_stream(stream));
}

static cudaError_t describe_peer_copy(const struct cudaMemcpy3DPeerParms *q, CUDA_MEMCPY3D *ret)
{
	struct cudaMemcpy3DParms p = {.srcArray = q->srcArray,
				      .srcPos = q->srcPos,
				      .srcPtr = q->srcPtr,
				      .dstArray = q->dstArray,
				      .dstPos = q->dstPos,
				      .dstPtr = q->dstPtr,
				      .extent = q->extent};

	return rt_describe_copy(&p, ret);
}

EMU_API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *q)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = describe_peer_copy(q, &p);

	return e ? e : copy_box(&p);
}

EMU_API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *q,
					  cudaStream_t stream)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = describe_peer_copy(q, &p);

	return e ? e : RT(cuMemcpy3DAsync_v2, &p, rt_stream(stream));
}

/* ---- fills ---- */

EMU_API cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	return RT(cuMemsetD8Async, PTR(to), (unsigned char)value, bytes, rt_stream(stream));
}

EMU_API cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
	if (emu_per_thread)
		return cudaMemsetAsync(to, value, bytes, cudaStreamPerThread);
	return RT(cuMemsetD8_v2, PTR(to), (unsigned char)value, bytes);
}

EMU_API cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width,
				      size_t height, cudaStream_t stream)
{
	return RT(cuMemsetD2D8Async, PTR(to), pitch, (unsigned char)value, width, height,
		  rt_stream(stream));
}

EMU_API cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	if (emu_per_thread)
		return cudaMemset2DAsync(to, pitch, value, width, height, cudaStreamPerThread);
	return RT(cuMemsetD2D8_v2, PTR(to), pitch, (unsigned char)value, width, height);
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

EMU_API cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
	return cudaMemset3DAsync(to, value, extent, NULL);
}

/* ---- nodes of graphs ---- */

CUcontext rt_current(void)
{
	CUcontext c = NULL;

	RT_DRIVER(cuCtxGetCurrent)(&c);
	return c;
}

EMU_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret, cudaGraph_t graph,
					     const cudaGraphNode_t *deps, size_t n, void *to,
					     const void *from, size_t bytes,
					     enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D p = copy_params(to, 0, from, 0, bytes, 1, 1);

	return RT(cuGraphAddMemcpyNode, ret, graph, deps, n, &p, rt_current());
}

EMU_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					   const cudaGraphNode_t *deps, size_t n,
					   const struct cudaMemcpy3DParms *q)
{
	CUDA_MEMCPY3D p;
	cudaError_t e = rt_describe_copy(q, &p);

	return e ? e : RT(cuGraphAddMemcpyNode, ret, graph, deps, n, &p, rt_current());
}

EMU_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					   const cudaGraphNode_t *deps, size_t n,
					   const struct cudaMemsetParams *p)
{
	return RT(cuGraphAddMemsetNode, ret, graph, deps, n, (const CUDA_MEMSET_NODE_PARAMS *)p,
		  rt_current());
}

EMU_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
						   size_t bytes, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D p = copy_params(to, 0, from, 0, bytes, 1, 1);

	return RT(cuGraphMemcpyNodeSetParams, node, &p);
}

EMU_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
						       void *to, const void *from, size_t bytes,
						       enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D p = copy_params(to, 0, from, 0, bytes, 1, 1);

	return RT(cuGraphExecMemcpyNodeSetParams, exec, node, &p, rt_current());
}

EMU_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						     const struct cudaMemsetParams *p)
{
	return RT(cuGraphExecMemsetNodeSetParams, exec, node, (const CUDA_MEMSET_NODE_PARAMS *)p,
		  rt_current());
}
