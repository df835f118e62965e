/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs and capture. Runtime and driver share handles; the runtime identifies kernels by the host
 * addresses of their stubs. */
#include "replay/emugpu/runtime/runtime.h"

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
