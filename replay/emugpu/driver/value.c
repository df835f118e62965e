/* SPDX-License-Identifier: Apache-2.0 */

/* Stream operations that write a word of memory or wait for its value. */
#include "replay/emugpu/driver/stream.h"

#include <time.h>

static int is_satisfied(const struct emu_value_op *v)
{
	uint64_t now = v->bytes == 4
			       ? __atomic_load_n((volatile uint32_t *)v->at, __ATOMIC_ACQUIRE)
			       : __atomic_load_n((volatile uint64_t *)v->at, __ATOMIC_ACQUIRE);

	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return v->bytes == 4 ? (int32_t)((uint32_t)now - (uint32_t)v->value) >= 0
				     : (int64_t)(now - v->value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == v->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & v->value) != 0;
	default:
		return ~(now | v->value) != 0;
	}
}

static int value_blocks(const struct emu_op *op)
{
	return !op->value.writes && !is_satisfied(&op->value);
}

static int64_t value_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	const struct emu_value_op *v = &op->value;
	const struct timespec pause = {.tv_nsec = 20000};

	if (v->writes && v->bytes == 4)
		__atomic_store_n((volatile uint32_t *)v->at, (uint32_t)v->value, __ATOMIC_RELEASE);
	else if (v->writes)
		__atomic_store_n((volatile uint64_t *)v->at, v->value, __ATOMIC_RELEASE);
	else if (!is_satisfied(v)) {
		/* The time of the write is unknown, but not later than the latest clock of all
		 * threads. */
		while (!is_satisfied(v))
			nanosleep(&pause, NULL);
		ready_ns = emu_horizon_ns() > ready_ns ? emu_horizon_ns() : ready_ns;
	}
	return ready_ns;
}

static const struct emu_op_type value_type = {
	.name = "value",
	.node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
	.light = 1,
	.blocks = value_blocks,
	.run = value_run,
};

static CUresult submit_value_op(CUstream stream, CUdeviceptr at, uint64_t value, unsigned flags,
				uint8_t bytes, uint8_t writes)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_op op = {
		.type = &value_type,
		.value = {.at = (volatile void *)at,
			  .value = value,
			  .flags = flags,
			  .bytes = bytes,
			  .writes = writes},
	};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	return at && at % bytes == 0 ? emu_submit(self, s, &op) : CUDA_ERROR_INVALID_VALUE;
}

#define VALUES(bits)                                                                               \
	EMU_API CUresult cuStreamWaitValue##bits##_v2(CUstream stream, CUdeviceptr at,             \
						      cuuint##bits##_t value, unsigned flags)      \
	{                                                                                          \
		return submit_value_op(stream, at, value, flags, bits / 8, 0);                     \
	}                                                                                          \
	EMU_API CUresult cuStreamWriteValue##bits##_v2(CUstream stream, CUdeviceptr at,            \
						       cuuint##bits##_t value, unsigned flags)     \
	{                                                                                          \
		return submit_value_op(stream, at, value, flags, bits / 8, 1);                     \
	}

VALUES(32)
VALUES(64)

EMU_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
				       CUstreamBatchMemOpParams *params, unsigned flags)
{
	CUresult r = params && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++) {
		const CUstreamBatchMemOpParams *p = &params[i];

		switch ((int)p->operation) {
		case CU_STREAM_MEM_OP_WAIT_VALUE_32:
			r = cuStreamWaitValue32_v2(stream, p->waitValue.address, p->waitValue.value,
						   p->waitValue.flags);
			break;
		case CU_STREAM_MEM_OP_WAIT_VALUE_64:
			r = cuStreamWaitValue64_v2(stream, p->waitValue.address,
						   p->waitValue.value64, p->waitValue.flags);
			break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_32:
			r = cuStreamWriteValue32_v2(stream, p->writeValue.address,
						    p->writeValue.value, p->writeValue.flags);
			break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_64:
			r = cuStreamWriteValue64_v2(stream, p->writeValue.address,
						    p->writeValue.value64, p->writeValue.flags);
			break;
		case CU_STREAM_MEM_OP_BARRIER: /* every operation sees the writes before it */
		case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
			break;
		default:
			r = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return r;
}
