/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs and capture. Runtime and driver share the handles; the runtime names kernels by the
 * addresses of their shadows. */
#include "replay/emugpu/runtime/runtime.h"

#define EDGES(p) ((const CUgraphEdgeData *)(p))

EMU_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RT(cuStreamBeginCapture_v2, rt_stream(stream), (CUstreamCaptureMode)mode);
}

EMU_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
						  const cudaGraphNode_t *deps,
						  const cudaGraphEdgeData *data, size_t n,
						  enum cudaStreamCaptureMode mode)
{
	return RT(cuStreamBeginCaptureToGraph, rt_stream(stream), graph, deps, EDGES(data), n,
		  (CUstreamCaptureMode)mode);
}

EMU_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret)
{
	return RT(cuStreamEndCapture, rt_stream(stream), ret);
}

EMU_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret)
{
	return RT(cuStreamIsCapturing, rt_stream(stream), (CUstreamCaptureStatus *)ret);
}

EMU_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
					     enum cudaStreamCaptureStatus *status,
					     unsigned long long *id, cudaGraph_t *graph,
					     const cudaGraphNode_t **deps,
					     const cudaGraphEdgeData **edges, size_t *n)
{
	return RT(cuStreamGetCaptureInfo_v3, rt_stream(stream), (CUstreamCaptureStatus *)status,
		  (cuuint64_t *)id, graph, deps, (const CUgraphEdgeData **)edges, n);
}

EMU_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *deps,
							const cudaGraphEdgeData *data, size_t n,
							unsigned flags)
{
	return RT(cuStreamUpdateCaptureDependencies_v2, rt_stream(stream), deps, EDGES(data), n,
		  flags);
}

EMU_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RT(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode);
}

/* ---- graphs ---- */

EMU_API cudaError_t cudaGraphCreate(cudaGraph_t *ret, unsigned flags)
{
	return RT(cuGraphCreate, ret, flags);
}

EMU_API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return RT(cuGraphDestroy, graph);
}

EMU_API cudaError_t cudaGraphClone(cudaGraph_t *ret, cudaGraph_t graph)
{
	return RT(cuGraphClone, ret, graph);
}

EMU_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph,
					 unsigned long long flags)
{
	return RT(cuGraphInstantiateWithFlags, ret, graph, flags);
}

EMU_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret, cudaGraph_t graph,
						  unsigned long long flags)
{
	return RT(cuGraphInstantiateWithFlags, ret, graph, flags);
}

EMU_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *ret, cudaGraph_t graph,
						   cudaGraphInstantiateParams *p)
{
	return RT(cuGraphInstantiateWithParams, ret, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)p);
}

EMU_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT(cuGraphLaunch, exec, rt_stream(stream));
}

EMU_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT(cuGraphUpload, exec, rt_stream(stream));
}

EMU_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return RT(cuGraphExecDestroy, exec);
}

EMU_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *ret)
{
	return RT(cuGraphExecGetFlags, exec, (cuuint64_t *)ret);
}

EMU_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
					cudaGraphExecUpdateResultInfo *ret)
{
	return RT(cuGraphExecUpdate_v2, exec, graph, (CUgraphExecUpdateResultInfo *)ret);
}

EMU_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret, size_t *n)
{
	return RT(cuGraphGetNodes, graph, ret, n);
}

EMU_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *ret, size_t *n)
{
	return RT(cuGraphGetRootNodes, graph, ret, n);
}

EMU_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				      cudaGraphEdgeData *data, size_t *n)
{
	return RT(cuGraphGetEdges_v2, graph, from, to, (CUgraphEdgeData *)data, n);
}

EMU_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *ret,
						 cudaGraphEdgeData *data, size_t *n)
{
	return RT(cuGraphNodeGetDependencies_v2, node, ret, (CUgraphEdgeData *)data, n);
}

EMU_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *ret,
						   cudaGraphEdgeData *data, size_t *n)
{
	return RT(cuGraphNodeGetDependentNodes_v2, node, ret, (CUgraphEdgeData *)data, n);
}

EMU_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					     const cudaGraphNode_t *to,
					     const cudaGraphEdgeData *data, size_t n)
{
	return RT(cuGraphAddDependencies_v2, graph, from, to, EDGES(data), n);
}

EMU_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *ret)
{
	/* The two number kinds alike. */
	return RT(cuGraphNodeGetType, node, (CUgraphNodeType *)ret);
}

EMU_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return RT(cuGraphDestroyNode, node);
}

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

	rt_driver.cuCtxGetCurrent(&c);
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

EMU_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					  const cudaGraphNode_t *deps, size_t n)
{
	return RT(cuGraphAddEmptyNode, ret, graph, deps, n);
}

EMU_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					       const cudaGraphNode_t *deps, size_t n,
					       cudaGraph_t child)
{
	return RT(cuGraphAddChildGraphNode, ret, graph, deps, n, child);
}

EMU_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *ret, cudaGraph_t graph,
						const cudaGraphNode_t *deps, size_t n,
						cudaEvent_t event)
{
	return RT(cuGraphAddEventRecordNode, ret, graph, deps, n, event);
}

EMU_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *ret, cudaGraph_t graph,
					      const cudaGraphNode_t *deps, size_t n,
					      cudaEvent_t event)
{
	return RT(cuGraphAddEventWaitNode, ret, graph, deps, n, event);
}

/* ---- what graphs keep ---- */

EMU_API cudaError_t cudaUserObjectCreate(cudaUserObject_t *ret, void *data, cudaHostFn_t destroy,
					 unsigned refs, unsigned flags)
{
	return RT(cuUserObjectCreate, ret, data, destroy, refs, flags);
}

EMU_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count)
{
	return RT(cuUserObjectRetain, object, count);
}

EMU_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
	return RT(cuUserObjectRelease, object, count);
}

EMU_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
					      unsigned count, unsigned flags)
{
	return RT(cuGraphRetainUserObject, graph, object, count, flags);
}

EMU_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
					       unsigned count)
{
	return RT(cuGraphReleaseUserObject, graph, object, count);
}

EMU_API cudaError_t cudaDeviceGraphMemTrim(int device)
{
	return RT(cuDeviceGraphMemTrim, device);
}

EMU_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType what,
						   void *value)
{
	return RT(cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)what, value);
}

EMU_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType what,
						   void *value)
{
	return RT(cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)what, value);
}
