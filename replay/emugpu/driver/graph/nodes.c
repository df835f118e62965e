/* SPDX-License-Identifier: Apache-2.0 */

/* Public functions that add nodes, and change their parameters, in graphs and executable
 * graphs. */
#include "base/array.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/graph/condition.h"
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/graph/plan.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/memory/transfer.h"

#include <string.h>

/* ---- ops of nodes, from their parameters */

static CUresult kernel_op(const CUDA_KERNEL_NODE_PARAMS *p, struct emu_op *ret)
{
	CUfunction handle = p && p->func ? p->func : p ? (CUfunction)p->kern : NULL;
	struct emu_function *f = emu_function_of(handle);
	struct emu_op op = {.type = &emu_kernel_type};

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (p->extra) {
		emu_refuse_use("libcuda.so.1", "cuGraphAddKernelNode_v2 (extra)");
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

static CUresult copy_op(const CUDA_MEMCPY3D *p, CUcontext context, struct emu_op *ret)
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

static CUresult set_op(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context, struct emu_op *ret)
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

static CUresult host_op(const CUDA_HOST_NODE_PARAMS *p, struct emu_op *ret)
{
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct emu_op){.type = &emu_host_type,
			       .host = {.function = p->fn, .data = p->userData}};
	return CUDA_SUCCESS;
}

/* `params` is the parameter struct of the public functions for that kind of node; for an event
 * node, the event. Any context of the node's device is valid. */
static CUresult make_op(const struct emu_op_type *type, const void *params, CUcontext context,
			struct emu_op *ret)
{
	if (type == &emu_kernel_type)
		return kernel_op(params, ret);
	if (type == &emu_copy_type)
		return copy_op(params, context, ret);
	if (type == &emu_set_type)
		return set_op(params, context, ret);
	if (type == &emu_host_type)
		return host_op(params, ret);
	*ret = (struct emu_op){.type = type};
	if (type != &emu_event_record_type && type != &emu_event_wait_type)
		return CUDA_SUCCESS;
	ret->event = (struct emu_event *)(uintptr_t)params;
	return emu_is_event((CUevent)ret->event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult refuse_kind(const char *call)
{
	emu_refuse_use("libcuda.so.1", call);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- adding */

/* Takes ownership of the data of `op`, also on failure. */
static CUresult add_op(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
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

CUresult emu_node_add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
		      const struct emu_op_type *type, const void *params, CUcontext context)
{
	struct emu_op op;
	CUresult r = make_op(type, params, context, &op);

	return r ? r : add_op(ret, graph, deps, n_deps, &op);
}

EMU_API CUresult cuGraphAddChildGraphNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					  size_t n_deps, CUgraph child)
{
	struct emu_graph *copy;
	CUresult r = emu_graph_of(child) ? emu_graph_clone(emu_graph_of(child), &copy)
					 : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = emu_node_add(ret, graph, deps, n_deps, &emu_child_type, NULL, NULL);
	if (r)
		emu_graph_free(copy);
	else
		emu_node_of(*ret)->child = copy;
	return r;
}

EMU_API CUresult cuGraphAddMemAllocNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
					size_t n_deps, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct emu_op op;
	struct emu_device *d;
	CUresult r;

	if (!p || p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return refuse_kind("cuGraphAddMemAllocNode (memory of the host)");
	d = emu_device(p->poolProps.location.id);
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	r = emu_graph_memory_alloc_op(d, p->bytesize, &op, &p->dptr);
	return r ? r : add_op(ret, graph, deps, n_deps, &op);
}

EMU_API CUresult cuGraphAddMemFreeNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				       size_t n_deps, CUdeviceptr at)
{
	struct emu_op op;
	CUresult r = emu_graph_memory_free_op(at, &op);

	return r ? r : add_op(ret, graph, deps, n_deps, &op);
}

static CUresult add_conditional(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				size_t n_deps, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	const unsigned most = p->type == CU_GRAPH_COND_TYPE_WHILE ? 1
			      : p->type == CU_GRAPH_COND_TYPE_IF  ? 2
								  : 1u << 16;
	struct emu_graph *g = emu_graph_of(graph), **bodies;
	struct emu_op op;
	CUresult r;

	if (!g || (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || p->size == 0 || p->size > most ||
	    !emu_condition_is_valid(p->handle))
		return CUDA_ERROR_INVALID_VALUE;
	r = emu_conditional_op(g->context, p, &op, &bodies);
	if (!r)
		r = add_op(ret, graph, deps, n_deps, &op);
	if (!r)
		p->phGraph_out = (CUgraph *)bodies;
	return r;
}

/* The parameters of any kind of node, as make_op() takes them. */
struct generic {
	const struct emu_op_type *type;
	const void *params;
	CUcontext context;
};

/* The parameters of each kind of node begin with those of its specific functions. `type` is NULL
 * for an unsupported kind. */
static struct generic generic_of(const CUgraphNodeParams *p)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return (struct generic){&emu_kernel_type, &p->kernel, NULL};
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return (struct generic){&emu_copy_type, &p->memcpy.copyParams, p->memcpy.copyCtx};
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return (struct generic){&emu_set_type, &p->memset, p->memset.ctx};
	case CU_GRAPH_NODE_TYPE_HOST:
		return (struct generic){&emu_host_type, &p->host, NULL};
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return (struct generic){&emu_child_type, NULL, NULL};
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return (struct generic){&emu_empty_type, NULL, NULL};
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return (struct generic){&emu_event_wait_type, p->eventWait.event, NULL};
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return (struct generic){&emu_event_record_type, p->eventRecord.event, NULL};
	default:
		return (struct generic){NULL, NULL, NULL};
	}
}

/* `call` is used in the message about an unsupported kind. */
static CUresult take_generic(const char *call, const CUgraphNodeParams *p, struct generic *ret)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = generic_of(p);
	return ret->type ? CUDA_SUCCESS : refuse_kind(call);
}

EMU_API CUresult cuGraphAddNode_v2(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps,
				   const CUgraphEdgeData *data, size_t n_deps, CUgraphNodeParams *p)
{
	struct generic g;
	CUresult r;

	if (p && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return cuGraphAddMemAllocNode(ret, graph, deps, n_deps,
					      (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
	if (p && p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return cuGraphAddMemFreeNode(ret, graph, deps, n_deps, p->free.dptr);
	if (p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return add_conditional(ret, graph, deps, n_deps, &p->conditional);
	r = take_generic("cuGraphAddNode_v2 (this kind of node)", p, &g);
	if (r)
		return r;
	if (g.type == &emu_child_type)
		return cuGraphAddChildGraphNode(ret, graph, deps, n_deps, p->graph.graph);
	return emu_node_add(ret, graph, deps, n_deps, g.type, g.params, g.context);
}

/* ---- changing */

CUresult emu_node_set(CUgraphNode handle, const struct emu_op_type *type, const void *params)
{
	const struct emu_node *any = emu_node_of(handle);
	struct emu_node *n = emu_node_of_type(handle, type);
	struct emu_op op;
	CUresult r = make_op(type, params, any ? (CUcontext)any->graph->context : NULL, &op);

	if (r)
		return r;
	if (!n) {
		emu_op_done(&op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_op_done(&n->op);
	n->op = op;
	return CUDA_SUCCESS;
}

CUresult emu_node_exec_set(CUgraphExec exec, CUgraphNode node, const struct emu_op_type *type,
			   const void *params, CUcontext context)
{
	struct emu_op op;
	CUresult r = make_op(type, params, context, &op);

	return r ? r : emu_exec_change(exec, node, &op);
}

EMU_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	struct generic g;
	CUresult r = take_generic("cuGraphNodeSetParams (this kind of node)", p, &g);

	if (r)
		return r;
	return g.type == &emu_child_type ? refuse_kind("cuGraphNodeSetParams (this kind of node)")
					 : emu_node_set(node, g.type, g.params);
}

EMU_API CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	struct generic g;
	CUresult r = take_generic("cuGraphExecNodeSetParams (this kind of node)", p, &g);

	if (r)
		return r;
	if (g.type == &emu_child_type)
		return cuGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
	return emu_node_exec_set(exec, node, g.type, g.params, g.context);
}
