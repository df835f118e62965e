/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs and capture. Runtime and driver share handles; the runtime identifies kernels by the host
 * addresses of their stubs. */
#include "replay/emugpu/runtime/runtime.h"

#define EDGES(p) ((const CUgraphEdgeData *)(p))

/* ---- graphs ---- */

/* ---- nodes ---- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	CUkernel k;
	cudaError_t e = p ? rt_kernel(p->func, &k) : rt_error(cudaErrorInvalidValue);

	if (e)
		return e;
	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
		.kern = k,
	};
	return cudaSuccess;
}

EMU_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					   const cudaGraphNode_t *deps, size_t n,
					   const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS q;
	cudaError_t e = kernel_params(p, &q);

	return e ? e : RT(cuGraphAddKernelNode_v2, ret, graph, deps, n, &q);
}

EMU_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
						 const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS q;
	cudaError_t e = kernel_params(p, &q);

	return e ? e : RT(cuGraphKernelNodeSetParams_v2, node, &q);
}

EMU_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
						 struct cudaKernelNodeParams *ret)
{
	CUDA_KERNEL_NODE_PARAMS q;
	cudaError_t e = RT(cuGraphKernelNodeGetParams_v2, node, &q);

	if (e)
		return e;
	*ret = (struct cudaKernelNodeParams){
		.func = q.func,
		.gridDim = {q.gridDimX, q.gridDimY, q.gridDimZ},
		.blockDim = {q.blockDimX, q.blockDimY, q.blockDimZ},
		.sharedMemBytes = q.sharedMemBytes,
		.kernelParams = q.kernelParams,
	};
	return cudaSuccess;
}

EMU_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						     const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS q;
	cudaError_t e = kernel_params(p, &q);

	return e ? e : RT(cuGraphExecKernelNodeSetParams_v2, exec, node, &q);
}

static CUcontext current(void)
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
	CUDA_MEMCPY3D p = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)(uintptr_t)from,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)to,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};
	cudaError_t e = rt_ready();

	return e ? e : RT(cuGraphAddMemcpyNode, ret, graph, deps, n, &p, current());
}

EMU_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					   const cudaGraphNode_t *deps, size_t n,
					   const struct cudaMemcpy3DParms *q)
{
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if (!q || q->srcArray || q->dstArray)
		return rt_error(q ? cudaErrorNotSupported : cudaErrorInvalidValue);
	CUDA_MEMCPY3D p = {
		.srcXInBytes = q->srcPos.x,
		.srcY = q->srcPos.y,
		.srcZ = q->srcPos.z,
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)q->srcPtr.ptr,
		.srcPitch = q->srcPtr.pitch,
		.srcHeight = q->srcPtr.ysize,
		.dstXInBytes = q->dstPos.x,
		.dstY = q->dstPos.y,
		.dstZ = q->dstPos.z,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)q->dstPtr.ptr,
		.dstPitch = q->dstPtr.pitch,
		.dstHeight = q->dstPtr.ysize,
		.WidthInBytes = q->extent.width,
		.Height = q->extent.height,
		.Depth = q->extent.depth,
	};

	return RT(cuGraphAddMemcpyNode, ret, graph, deps, n, &p, current());
}

EMU_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					   const cudaGraphNode_t *deps, size_t n,
					   const struct cudaMemsetParams *p)
{
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if (!p)
		return rt_error(cudaErrorInvalidValue);
	CUDA_MEMSET_NODE_PARAMS q = {.dst = (CUdeviceptr)p->dst,
				     .pitch = p->pitch,
				     .value = p->value,
				     .elementSize = p->elementSize,
				     .width = p->width,
				     .height = p->height};

	return RT(cuGraphAddMemsetNode, ret, graph, deps, n, &q, current());
}

EMU_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					 const cudaGraphNode_t *deps, size_t n,
					 const struct cudaHostNodeParams *p)
{
	if (!p)
		return rt_error(cudaErrorInvalidValue);
	CUDA_HOST_NODE_PARAMS q = {.fn = p->fn, .userData = p->userData};

	return RT(cuGraphAddHostNode, ret, graph, deps, n, &q);
}

/* ---- what graphs keep ---- */
