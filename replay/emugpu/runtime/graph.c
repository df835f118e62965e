/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs and capture. Runtime and driver share handles; the runtime identifies kernels by the host
 * addresses of their stubs. */
#include "replay/emugpu/runtime/runtime.h"

#include <string.h>

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

/* Converts parameters of any kind of node. Runtime and driver share their layout, except for
 * kernels, copies, and the context of a fill. */
static cudaError_t node_params(const struct cudaGraphNodeParams *p, CUgraphNodeParams *ret)
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
		return rt_describe_copy(&p->memcpy.copyParams, &ret->memcpy.copyParams);
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
	cudaError_t e = node_params(p, &q);

	if (!e)
		e = RT(cuGraphAddNode_v2, ret, graph, deps, (const CUgraphEdgeData *)data, n, &q);
	if (!e && p->type == cudaGraphNodeTypeMemAlloc)
		p->alloc.dptr = (void *)(uintptr_t)q.alloc.dptr;
	if (!e && p->type == cudaGraphNodeTypeConditional)
		p->conditional.phGraph_out = (cudaGraph_t *)q.conditional.phGraph_out;
	return e;
}

EMU_API cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *ret,
						     cudaGraph_t graph, unsigned at_launch,
						     unsigned flags)
{
	cudaError_t e = rt_ready();

	return e ? e
		 : RT(cuGraphConditionalHandleCreate, (CUgraphConditionalHandle *)ret, graph,
		      rt_current(), at_launch, flags);
}

EMU_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams q;
	cudaError_t e = node_params(p, &q);

	return e ? e : RT(cuGraphNodeSetParams, node, &q);
}

EMU_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					       struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams q;
	cudaError_t e = node_params(p, &q);

	return e ? e : RT(cuGraphExecNodeSetParams, exec, node, &q);
}
