/* SPDX-License-Identifier: Apache-2.0 */

/* Activity records, in the client's buffers. */
#include "replay/emugpu/cupti/cupti.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* CUPTI 13.2 has appended the priority. A client built with older headers ignores it. */
struct kernel_record {
	CUpti_ActivityKernel10 kernel;
	int32_t priority;
	uint32_t padding;
};

static struct {
	pthread_mutex_t lock;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	uint8_t *buffer; /* from the client; NULL: none requested */
	size_t bytes, used, records, most_records;
	size_t dropped;
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define STACK 64

static __thread struct {
	uint64_t ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][STACK];
	uint32_t n[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
} external __attribute__((tls_model("initial-exec")));

/* Returns the buffer to the client. `complete` is called without the lock, since it may call
 * CUPTI. */
static void hand_over(uint8_t *buffer, size_t bytes, size_t used)
{
	if (buffer && out.complete)
		out.complete(NULL, 0, buffer, bytes, used);
}

static int has_space(size_t bytes)
{
	return out.buffer && out.used + bytes <= out.bytes &&
	       (out.most_records == 0 || out.records < out.most_records);
}

static void put_record(const void *record, size_t bytes)
{
	uint8_t *full = NULL;
	size_t full_bytes = 0, full_used = 0;

	pthread_mutex_lock(&out.lock);
	if (!has_space(bytes) && out.request) {
		full = out.buffer;
		full_bytes = out.bytes;
		full_used = out.used;
		out.buffer = NULL;
		out.bytes = out.used = out.records = out.most_records = 0;
		out.request(&out.buffer, &out.bytes, &out.most_records);
	}
	if (has_space(bytes)) {
		memcpy(out.buffer + out.used, record, bytes);
		out.used += bytes;
		out.records++;
	} else {
		out.dropped++;
	}
	pthread_mutex_unlock(&out.lock);
	hand_over(full, full_bytes, full_used);
}

void cupti_put_external(uint32_t correlation)
{
	CUpti_ActivityExternalCorrelation r = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
					       .correlationId = correlation};

	if (!cupti_wants(r.kind))
		return;
	for (int kind = 1; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
		if (external.n[kind] == 0)
			continue;
		r.externalKind = (CUpti_ExternalCorrelationKind)kind;
		r.externalId = external.ids[kind][(external.n[kind] - 1) % STACK];
		put_record(&r, sizeof(r));
	}
}

void cupti_put_call(CUpti_CallbackDomain domain, uint32_t cbid, int64_t start_ns, int64_t end_ns,
		    uint32_t correlation, int result)
{
	CUpti_ActivityAPI r = {
		.kind = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME
							      : CUPTI_ACTIVITY_KIND_DRIVER,
		.cbid = cbid,
		.start = cupti_stamp(start_ns),
		.end = cupti_stamp(end_ns),
		.processId = (uint32_t)getpid(),
		.threadId = (uint32_t)pthread_self(),
		.correlationId = correlation,
		.returnValue = (uint32_t)result,
	};

	put_record(&r, sizeof(r));
}

void cupti_put_wait(enum emu_observed_wait wait, uint32_t context, uint32_t stream,
		    int64_t start_ns, int64_t end_ns, uint32_t correlation)
{
	CUpti_ActivitySynchronization2 r = {
		.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		.type = (CUpti_ActivitySynchronizationType)wait,
		.start = cupti_stamp(start_ns),
		.end = cupti_stamp(end_ns),
		.correlationId = correlation,
		.contextId = context,
		.streamId = stream ? stream : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.cudaEventId = (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	};

	if (cupti_wants(r.kind))
		put_record(&r, sizeof(r));
}

static void put_kernel(const struct emu_observed_op *op)
{
	struct kernel_record r = {
		.kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
			   .registersPerThread = (uint16_t)op->registers,
			   .start = cupti_stamp(op->start_ns),
			   .end = cupti_stamp(op->end_ns),
			   .completed = cupti_stamp(op->end_ns),
			   .deviceId = (uint32_t)op->device,
			   .contextId = op->context,
			   .streamId = op->stream,
			   .gridX = (int32_t)op->grid[0],
			   .gridY = (int32_t)op->grid[1],
			   .gridZ = (int32_t)op->grid[2],
			   .blockX = (int32_t)op->block[0],
			   .blockY = (int32_t)op->block[1],
			   .blockZ = (int32_t)op->block[2],
			   .staticSharedMemory = (int32_t)op->static_bytes,
			   .dynamicSharedMemory = (int32_t)op->dynamic_bytes,
			   .localMemoryPerThread = op->local_bytes,
			   .correlationId = op->correlation,
			   .name = op->name,
			   .sharedMemoryExecuted = op->static_bytes + op->dynamic_bytes},
	};

	if (!cupti_wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		r.kernel.kind = CUPTI_ACTIVITY_KIND_KERNEL;
	if (cupti_wants(r.kernel.kind))
		put_record(&r, sizeof(r));
}

/* By enum emu_copy_kind. */
static const struct {
	CUpti_ActivityMemcpyKind kind;
	int from_host, to_host;
} copies[] = {
	{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1, 0}, {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 0, 1},
	{CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 0, 0}, {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 0, 0},
	{CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, 1, 1},
};

static uint8_t memory_kind(int host, int pageable)
{
	if (!host)
		return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	return pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

static void put_copy(const struct emu_observed_op *op)
{
	CUpti_ActivityMemcpy6 r = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
		.copyKind = (uint8_t)copies[op->copy_kind].kind,
		.srcKind = memory_kind(copies[op->copy_kind].from_host, op->pageable),
		.dstKind = memory_kind(copies[op->copy_kind].to_host, op->pageable),
		.bytes = op->bytes,
		.start = cupti_stamp(op->start_ns),
		.end = cupti_stamp(op->end_ns),
		.deviceId = (uint32_t)op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.copyCount = 1,
	};

	if (cupti_wants(r.kind))
		put_record(&r, sizeof(r));
}

static void put_fill(const struct emu_observed_op *op)
{
	CUpti_ActivityMemset4 r = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET,
		.value = op->value,
		.bytes = op->bytes,
		.start = cupti_stamp(op->start_ns),
		.end = cupti_stamp(op->end_ns),
		.deviceId = (uint32_t)op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
	};

	if (cupti_wants(r.kind))
		put_record(&r, sizeof(r));
}

void cupti_put_op(const struct emu_observed_op *op)
{
	if (op->kind == EMU_OBSERVED_KERNEL)
		put_kernel(op);
	else if (op->kind == EMU_OBSERVED_COPY)
		put_copy(op);
	else
		put_fill(op);
}

static size_t record_bytes(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(struct kernel_record);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return sizeof(CUpti_ActivitySynchronization2);
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(CUpti_ActivityExternalCorrelation);
	default:
		return 0;
	}
}

/* ---- the public functions ---- */

EMU_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
						   CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&out.lock);
	out.request = request;
	out.complete = complete;
	pthread_mutex_unlock(&out.lock);
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityFlushAll(uint32_t flags)
{
	pthread_mutex_lock(&out.lock);
	uint8_t *buffer = out.buffer;
	size_t bytes = out.bytes, used = out.used;

	out.buffer = NULL;
	out.bytes = out.used = out.records = out.most_records = 0;
	pthread_mutex_unlock(&out.lock);
	hand_over(buffer, bytes, used);
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
					       CUpti_Activity **record)
{
	uint8_t *next = buffer;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		size_t bytes = record_bytes((*record)->kind);

		if (bytes == 0)
			return CUPTI_ERROR_INVALID_KIND;
		next = (uint8_t *)*record + bytes;
	}
	if ((size_t)(next - buffer) >= valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						      size_t *ret)
{
	if (!ret)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&out.lock);
	*ret = out.dropped;
	out.dropped = 0;
	pthread_mutex_unlock(&out.lock);
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							   uint64_t id)
{
	if (kind <= 0 || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	external.ids[kind][external.n[kind]++ % STACK] = id;
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							  uint64_t *ret)
{
	if (kind <= 0 || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external.n[kind] == 0)
		return CUPTI_ERROR_QUEUE_EMPTY;
	external.n[kind]--;
	if (ret)
		*ret = external.ids[kind][external.n[kind] % STACK];
	return CUPTI_SUCCESS;
}
