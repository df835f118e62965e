/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/launch.h"

/* The collectives and transfers of nccl.h. */
ncclResult_t emu_nccl_collective(ncclComm_t comm, enum cost_collective kind, const void *send,
				 void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
				 int root, cudaStream_t stream)
{
	struct emu_operation o = {.kind = kind, .count = count, .send = send, .receive = receive};
	const void *scalar_at = NULL;
	unsigned made = (unsigned)op - ncclNumOps;

	static const enum emu_reduction reductions[] = {
		[ncclSum] = EMU_SUM, [ncclProd] = EMU_PROD, [ncclMax] = EMU_MAX,
		[ncclMin] = EMU_MIN, [ncclAvg] = EMU_AVG,
	};

	if (!comm || emu_nccl_type(type, &o.type) < 0 || root < 0)
		return ncclInvalidArgument;
	if ((unsigned)op < ncclNumOps) {
		o.reduction = reductions[op];
	} else if (made < EMU_MAX_OPS && comm->ops[made].used && comm->ops[made].type == o.type) {
		o.reduction = EMU_PREMUL;
		o.scalar = comm->ops[made].value;
		scalar_at = comm->ops[made].device_value;
	} else {
		return ncclInvalidArgument;
	}
	o.root = (uint32_t)root;
	return emu_group_operation(comm, &o, scalar_at, stream);
}

ncclResult_t emu_nccl_transfer(ncclComm_t comm, const void *data, size_t count, ncclDataType_t type,
			       int peer, int receives, cudaStream_t stream)
{
	struct emu_message t = {.data = (void *)(uintptr_t)data, .peer = (uint32_t)peer};
	enum emu_type element;

	if (!comm || emu_nccl_type(type, &element) < 0 || peer < 0)
		return ncclInvalidArgument;
	t.bytes = count * emu_type_bytes(element);
	t.receives = (uint32_t)receives;
	return emu_group_message(comm, &t, stream);
}

EMU_NCCL(ncclRedOpCreatePreMulSum, ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
	 ncclScalarResidence_t residence, ncclComm_t comm)
{
	enum emu_type type;

	if (!op || !scalar || !comm || emu_nccl_type(datatype, &type) < 0)
		return ncclInvalidArgument;
	for (unsigned i = 0; i < EMU_MAX_OPS; i++) {
		struct emu_red_op *o = &comm->ops[i];

		if (o->used)
			continue;
		o->used = 1;
		o->type = type;
		o->device_value = residence == ncclScalarDevice ? scalar : NULL;
		o->value = o->device_value ? 0 : emu_load(type, scalar, 0);
		*op = (ncclRedOp_t)(ncclNumOps + i);
		return ncclSuccess;
	}
	return ncclInvalidUsage;
}

EMU_NCCL(ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t comm)
{
	unsigned made = (unsigned)op - ncclNumOps;

	if (!comm || made >= EMU_MAX_OPS || !comm->ops[made].used)
		return ncclInvalidArgument;
	comm->ops[made].used = 0;
	return ncclSuccess;
}
