/* SPDX-License-Identifier: Apache-2.0 */

/* Parameters of nodes: read and changed, in graphs and executable graphs. */
#include "replay/emugpu/driver/graph/graph.h"

#include <stdlib.h>
#include <string.h>

static struct emu_node *node_of(CUgraphNode handle, const struct emu_op_type *type)
{
	struct emu_node *n = emu_node_of(handle);

	return n && n->op.type == type ? n : NULL;
}

/* Takes over `op`, also on failure. */
static CUresult change(CUgraphNode handle, struct emu_op *op)
{
	struct emu_node *n = node_of(handle, op->type);

	if (!n) {
		emu_op_done(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_op_done(&n->op);
	n->op = *op;
	return CUDA_SUCCESS;
}

/* ---- kernels ---- */

EMU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret)
{
	const struct emu_node *n = node_of(node, &emu_kernel_type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	const struct emu_kernel_op *k = &n->op.kernel;

	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)k->function,
		.gridDimX = k->grid[0],
		.gridDimY = k->grid[1],
		.gridDimZ = k->grid[2],
		.blockDimX = k->block[0],
		.blockDimY = k->block[1],
		.blockDimZ = k->block[2],
		.sharedMemBytes = k->shared_bytes,
		.kernelParams = k->args,
	};
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_kernel_op_of(p, &op);

	return r ? r : change(node, &op);
}

EMU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_kernel_op_of(p, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

/* No attribute can be set; all have their defaults. */
EMU_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
					       CUkernelNodeAttrValue *ret)
{
	if (!node_of(node, &emu_kernel_type) || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUkernelNodeAttrValue){0};
	return CUDA_SUCCESS;
}

/* ---- copies and fills ---- */

static CUmemorytype side_of(const struct emu_copy_op *c, enum emu_copy_kind one_way)
{
	return c->kind == EMU_H2H || c->kind == one_way ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

EMU_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
	const struct emu_node *n = node_of(node, &emu_copy_type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	const struct emu_copy_op *c = &n->op.copy;

	*ret = (CUDA_MEMCPY3D){
		.srcMemoryType = side_of(c, EMU_H2D),
		.srcHost = c->from,
		.srcDevice = (CUdeviceptr)(uintptr_t)c->from,
		.srcPitch = c->from_pitch,
		.srcHeight = c->from_height,
		.dstMemoryType = side_of(c, EMU_D2H),
		.dstHost = c->to,
		.dstDevice = (CUdeviceptr)c->to,
		.dstPitch = c->to_pitch,
		.dstHeight = c->to_height,
		.WidthInBytes = c->width_bytes,
		.Height = c->height,
		.Depth = c->depth,
	};
	return CUDA_SUCCESS;
}

/* Any context of the node's device will do. */
static CUcontext context_of(CUgraphNode node)
{
	const struct emu_node *n = emu_node_of(node);

	return n ? (CUcontext)n->graph->context : NULL;
}

EMU_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	struct emu_op op;
	CUresult r = emu_copy_op_of(p, context_of(node), &op);

	return r ? r : change(node, &op);
}

EMU_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct emu_op op;
	CUresult r = emu_copy_op_of(p, context, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

EMU_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret)
{
	const struct emu_node *n = node_of(node, &emu_set_type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	const struct emu_set_op *s = &n->op.set;

	*ret = (CUDA_MEMSET_NODE_PARAMS){
		.dst = (CUdeviceptr)s->to,
		.pitch = s->pitch,
		.value = s->value,
		.elementSize = s->item_bytes,
		.width = s->width,
		.height = s->height,
	};
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_set_op_of(p, context_of(node), &op);

	return r ? r : change(node, &op);
}

EMU_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	struct emu_op op;
	CUresult r = emu_set_op_of(p, context, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

/* ---- host functions, events, children ---- */

EMU_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret)
{
	const struct emu_node *n = node_of(node, &emu_host_type);

	if (!n || !ret || n->op.host.callback)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_HOST_NODE_PARAMS){.fn = n->op.host.function, .userData = n->op.host.data};
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_host_op_of(p, &op);

	return r ? r : change(node, &op);
}

EMU_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					      const CUDA_HOST_NODE_PARAMS *p)
{
	struct emu_op op;
	CUresult r = emu_host_op_of(p, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

static CUresult get_event(CUgraphNode node, const struct emu_op_type *type, CUevent *ret)
{
	const struct emu_node *n = node_of(node, type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUevent)n->op.event;
	return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode node, const struct emu_op_type *type, CUevent event)
{
	struct emu_op op;
	CUresult r = emu_event_op_of(type, event, &op);

	return r ? r : change(node, &op);
}

static CUresult exec_set_event(CUgraphExec exec, CUgraphNode node, const struct emu_op_type *type,
			       CUevent event)
{
	struct emu_op op;
	CUresult r = emu_event_op_of(type, event, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

EMU_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *ret)
{
	return get_event(node, &emu_event_record_type, ret);
}

EMU_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, &emu_event_record_type, event);
}

EMU_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
						    CUevent event)
{
	EMU_ENTER(EMU_CALL_EVENT);
	const struct emu_node *n = emu_node_of(node);
	const char *allowed = getenv("GPUEMU_CHILD_EVENTS");

	(void)self;
	if (n && n->graph->is_child && allowed && strcmp(allowed, "0") == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return exec_set_event(exec, node, &emu_event_record_type, event);
}

EMU_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *ret)
{
	return get_event(node, &emu_event_wait_type, ret);
}

EMU_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, &emu_event_wait_type, event);
}

EMU_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return exec_set_event(exec, node, &emu_event_wait_type, event);
}

EMU_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret)
{
	const struct emu_node *n = node_of(node, &emu_child_type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUgraph)n->child;
	return CUDA_SUCCESS;
}
