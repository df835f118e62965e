/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/launch.h"

/* The collectives and transfers of nccl.h. */
static ncclResult_t collective(ncclComm_t comm, enum cost_collective kind, const void *send,
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

EMU_NCCL(ncclAllReduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_ALL_REDUCE, sendbuff, recvbuff, count, datatype, op, 0,
			  stream);
}

EMU_NCCL(ncclReduce, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_REDUCE, sendbuff, recvbuff, count, datatype, op, root, stream);
}

EMU_NCCL(ncclBroadcast, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_BROADCAST, sendbuff, recvbuff, count, datatype, ncclSum, root,
			  stream);
}

EMU_NCCL(ncclBcast, void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
	 cudaStream_t stream)
{
	return collective(comm, COST_BROADCAST, buff, buff, count, datatype, ncclSum, root, stream);
}

EMU_NCCL(ncclReduceScatter, const void *sendbuff, void *recvbuff, size_t recvcount,
	 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_REDUCE_SCATTER, sendbuff, recvbuff, recvcount, datatype, op, 0,
			  stream);
}

EMU_NCCL(ncclAllGather, const void *sendbuff, void *recvbuff, size_t sendcount,
	 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, ncclSum,
			  0, stream);
}

EMU_NCCL(ncclAlltoAll, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_ALL_TO_ALL, sendbuff, recvbuff, count, datatype, ncclSum, 0,
			  stream);
}

EMU_NCCL(ncclGather, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_GATHER, sendbuff, recvbuff, count, datatype, ncclSum, root,
			  stream);
}

EMU_NCCL(ncclScatter, const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	 int root, ncclComm_t comm, cudaStream_t stream)
{
	return collective(comm, COST_SCATTER, sendbuff, recvbuff, count, datatype, ncclSum, root,
			  stream);
}

static ncclResult_t send_or_receive(ncclComm_t comm, const void *data, size_t count,
				    ncclDataType_t type, int peer, int receives,
				    cudaStream_t stream)
{
	struct emu_message t = {.data = (void *)(uintptr_t)data, .peer = (uint32_t)peer};
	enum emu_type element;

	if (!comm || emu_nccl_type(type, &element) < 0 || peer < 0)
		return ncclInvalidArgument;
	t.bytes = count * emu_type_bytes(element);
	t.receives = (uint32_t)receives;
	return emu_group_message(comm, &t, stream);
}

EMU_NCCL(ncclSend, const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
	 ncclComm_t comm, cudaStream_t stream)
{
	return send_or_receive(comm, sendbuff, count, datatype, peer, 0, stream);
}

EMU_NCCL(ncclRecv, void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
	 cudaStream_t stream)
{
	return send_or_receive(comm, recvbuff, count, datatype, peer, 1, stream);
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
