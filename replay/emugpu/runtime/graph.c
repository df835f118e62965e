/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs and capture. Runtime and driver share handles; the runtime identifies kernels by the host
 * addresses of their stubs. */
#include "replay/emugpu/runtime/runtime.h"

#include <string.h>

cudaError_t rt_kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
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

cudaError_t rt_node_params(const struct cudaGraphNodeParams *p, CUgraphNodeParams *ret)
{
	_Static_assert(sizeof(*p) == sizeof(*ret), "layout of cudaGraphNodeParams");
	cudaError_t e = rt_ready();

	if (e || !p)
		return e ? e : rt_error(cudaErrorInvalidValue);
	memcpy(ret, p, sizeof(*ret));
	if (p->type == cudaGraphNodeTypeKernel) {
		ret->kernel.func = NULL;
		return rt_kernel(p->kernel.func, &ret->kernel.kern);
	}
	if (p->type == cudaGraphNodeTypeMemcpy) {
		ret->memcpy.copyCtx = rt_current();
		return rt_copy_params(&p->memcpy.copyParams, &ret->memcpy.copyParams);
	}
	if (p->type == cudaGraphNodeTypeMemset)
		ret->memset.ctx = rt_current();
	return cudaSuccess;
}

EMU_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret, cudaGraph_t graph,
				     const cudaGraphNode_t *deps, const cudaGraphEdgeData *data,
				     size_t n, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams q;
	cudaError_t e = rt_node_params(p, &q);

	if (!e)
		e = RT(cuGraphAddNode_v2, ret, graph, deps, (const CUgraphEdgeData *)data, n, &q);
	if (!e && p->type == cudaGraphNodeTypeMemAlloc)
		p->alloc.dptr = (void *)(uintptr_t)q.alloc.dptr;
	if (!e && p->type == cudaGraphNodeTypeConditional)
		p->conditional.phGraph_out = (cudaGraph_t *)q.conditional.phGraph_out;
	return e;
}
