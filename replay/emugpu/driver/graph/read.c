/* SPDX-License-Identifier: Apache-2.0 */

/* Public functions that read the parameters of nodes. */
#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/memory/transfer.h"

struct emu_node *emu_node_of_type(CUgraphNode handle, const struct emu_op_type *type)
{
	struct emu_node *n = emu_node_of(handle);

	return n && n->op.type == type ? n : NULL;
}

EMU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret)
{
	const struct emu_node *n = emu_node_of_type(node, &emu_kernel_type);

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

static CUmemorytype side_of(const struct emu_copy_op *c, enum emu_copy_kind one_way)
{
	return c->kind == EMU_H2H || c->kind == one_way ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

EMU_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
	const struct emu_node *n = emu_node_of_type(node, &emu_copy_type);

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

EMU_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret)
{
	const struct emu_node *n = emu_node_of_type(node, &emu_set_type);

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

EMU_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
	const struct emu_node *n = emu_node_of_type(node, &emu_graph_alloc_type);

	if (!n || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}};
	ret->bytesize = emu_graph_memory_of(&n->op, &ret->dptr, &ret->poolProps.location.id);
	return CUDA_SUCCESS;
}
