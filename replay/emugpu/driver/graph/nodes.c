/* SPDX-License-Identifier: Apache-2.0 */

/* Public functions that add nodes. */
#include "base/array.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/memory/transfer.h"

static CUresult add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
		    struct emu_op *op)
{
	struct emu_graph *g = emu_graph_of(graph);

	for (size_t i = 0; g && i < n_deps; i++)
		if (!emu_node_of(deps[i]))
			g = NULL;
	if (!g || !ret) {
		emu_op_done(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return emu_graph_add(g, op, (struct emu_node *const *)deps, n_deps,
			     (struct emu_node **)ret);
}

CUresult emu_kernel_op_of(const CUDA_KERNEL_NODE_PARAMS *p, struct emu_op *ret)
{
	CUfunction handle = p && p->func ? p->func : p ? (CUfunction)p->kern : NULL;
	struct emu_function *f = emu_function_of(handle);
	struct emu_op op = {.type = &emu_kernel_type};

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (p->extra) {
		emu_refused_use("libcuda.so.1", "cuGraphAddKernelNode_v2 (extra)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	op.kernel = (struct emu_kernel_op){
		.function = f,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.shared_bytes = p->sharedMemBytes,
		.args = p->kernelParams,
	};
	return emu_op_copy(&op, ret) < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EMU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					 size_t n_deps, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_kernel_op_of(p, &op);

	return r ? r : add(ret, graph, deps, n_deps, &op);
}

CUresult emu_copy_op_of(const CUDA_MEMCPY3D *p, CUcontext context, struct emu_op *ret)
{
	struct emu_op op = {.type = &emu_copy_type};
	CUresult r = p && emu_is_context(context) ? emu_copy_from_3d(p, &op.copy)
						  : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	emu_copy_classify(&op.copy, ((struct emu_context *)context)->device);
	*ret = op;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphAddMemcpyNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				      size_t n_deps, const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct emu_op op;
	CUresult r = emu_copy_op_of(p, context, &op);

	return r ? r : add(ret, graph, deps, n_deps, &op);
}

CUresult emu_set_op_of(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context, struct emu_op *ret)
{
	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
	    !emu_is_context(context))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct emu_op){
		.type = &emu_set_type,
		.set = {.to = (uint8_t *)p->dst,
			.value = p->value,
			.item_bytes = p->elementSize,
			.width = p->width,
			.height = p->height,
			.pitch = p->pitch},
	};
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphAddMemsetNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				      size_t n_deps, const CUDA_MEMSET_NODE_PARAMS *p,
				      CUcontext context)
{
	struct emu_op op;
	CUresult r = emu_set_op_of(p, context, &op);

	return r ? r : add(ret, graph, deps, n_deps, &op);
}

CUresult emu_host_op_of(const CUDA_HOST_NODE_PARAMS *p, struct emu_op *ret)
{
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct emu_op){.type = &emu_host_type,
			       .host = {.function = p->fn, .data = p->userData}};
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphAddHostNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				    size_t n_deps, const CUDA_HOST_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_host_op_of(p, &op);

	return r ? r : add(ret, graph, deps, n_deps, &op);
}

EMU_API CUresult cuGraphAddEmptyNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				     size_t n_deps)
{
	struct emu_op op = {.type = &emu_empty_type};

	return add(ret, graph, deps, n_deps, &op);
}

CUresult emu_event_op_of(const struct emu_op_type *type, CUevent event, struct emu_op *ret)
{
	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct emu_op){.type = type, .event = (struct emu_event *)event};
	return CUDA_SUCCESS;
}

static CUresult add_event(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
			  const struct emu_op_type *type, CUevent event)
{
	struct emu_op op;
	CUresult r = emu_event_op_of(type, event, &op);

	return r ? r : add(ret, graph, deps, n_deps, &op);
}

EMU_API CUresult cuGraphAddEventRecordNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					   size_t n_deps, CUevent event)
{
	return add_event(ret, graph, deps, n_deps, &emu_event_record_type, event);
}

EMU_API CUresult cuGraphAddEventWaitNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					 size_t n_deps, CUevent event)
{
	return add_event(ret, graph, deps, n_deps, &emu_event_wait_type, event);
}

EMU_API CUresult cuGraphAddChildGraphNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					  size_t n_deps, CUgraph child)
{
	struct emu_op op = {.type = &emu_child_type};
	struct emu_graph *copy;
	CUresult r = emu_graph_of(child) ? emu_graph_clone(emu_graph_of(child), &copy)
					 : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = add(ret, graph, deps, n_deps, &op);
	if (!r)
		emu_node_of(*ret)->child = copy;
	if (!r)
		copy->is_child = 1;
	return r;
}

/* Adds a node of any kind. */
EMU_API CUresult cuGraphAddNode_v2(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				   const CUgraphEdgeData *data, size_t n_deps, CUgraphNodeParams *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		const CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;
		CUDA_KERNEL_NODE_PARAMS q = {
			.func = k->func,
			.gridDimX = k->gridDimX,
			.gridDimY = k->gridDimY,
			.gridDimZ = k->gridDimZ,
			.blockDimX = k->blockDimX,
			.blockDimY = k->blockDimY,
			.blockDimZ = k->blockDimZ,
			.sharedMemBytes = k->sharedMemBytes,
			.kernelParams = k->kernelParams,
			.extra = k->extra,
			.kern = k->kern,
		};

		return cuGraphAddKernelNode_v2(ret, graph, deps, n_deps, &q);
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cuGraphAddMemcpyNode(ret, graph, deps, n_deps, &p->memcpy.copyParams,
					    p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		CUDA_MEMSET_NODE_PARAMS q = {.dst = p->memset.dst,
					     .pitch = p->memset.pitch,
					     .value = p->memset.value,
					     .elementSize = p->memset.elementSize,
					     .width = p->memset.width,
					     .height = p->memset.height};

		return cuGraphAddMemsetNode(ret, graph, deps, n_deps, &q, p->memset.ctx);
	}
	case CU_GRAPH_NODE_TYPE_HOST: {
		CUDA_HOST_NODE_PARAMS q = {.fn = p->host.fn, .userData = p->host.userData};

		return cuGraphAddHostNode(ret, graph, deps, n_deps, &q);
	}
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return cuGraphAddChildGraphNode(ret, graph, deps, n_deps, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return cuGraphAddEmptyNode(ret, graph, deps, n_deps);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cuGraphAddEventWaitNode(ret, graph, deps, n_deps, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cuGraphAddEventRecordNode(ret, graph, deps, n_deps, p->eventRecord.event);
	default:
		emu_refused_use("libcuda.so.1", "cuGraphAddNode_v2 (this kind of node)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
