/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/op_queue.h"

#include <errno.h>
#include <stddef.h>

static struct cap_op_chunk **chunk_of(struct cap_op_queue *q, uint64_t slot)
{
	return &q->chunks[slot / CAP_OPS_PER_CHUNK % CAP_CHUNKS_PER_QUEUE];
}

static uint64_t chunk_begin(uint64_t slot)
{
	return slot - slot % CAP_OPS_PER_CHUNK;
}

struct cap_timed_op *cap_op_queue_reserve(struct cap_op_queue *q)
{
	uint64_t slot = __atomic_load_n(&q->head, __ATOMIC_RELAXED);

	do {
		if (slot >= __atomic_load_n(&q->limit, __ATOMIC_ACQUIRE))
			return NULL;
	} while (!__atomic_compare_exchange_n(&q->head, &slot, slot + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return &(*chunk_of(q, slot))->ops[slot % CAP_OPS_PER_CHUNK];
}

void cap_timed_publish(struct cap_timed_op *op)
{
	__atomic_store_n(&op->published, true, __ATOMIC_RELEASE);
}

uint64_t cap_op_queue_used(const struct cap_op_queue *q)
{
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&q->head, __ATOMIC_RELAXED) - tail;
}

/* ---- the owner */

void cap_op_queue_init(struct cap_op_queue *q, uint64_t most)
{
	q->most = most;
}

uint64_t cap_op_queue_free(const struct cap_op_queue *q)
{
	return __atomic_load_n(&q->limit, __ATOMIC_RELAXED) -
	       __atomic_load_n(&q->head, __ATOMIC_RELAXED);
}

void cap_op_queue_refill(struct cap_op_queue *q)
{
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
	uint64_t limit = q->end - tail < q->most ? q->end : tail + q->most;

	__atomic_store_n(&q->limit, limit, __ATOMIC_RELEASE);
}

int cap_op_queue_add(struct cap_op_queue *q, struct cap_op_chunk *chunk)
{
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);

	if (q->end - tail >= q->most ||
	    q->end - chunk_begin(tail) == (uint64_t)CAP_CHUNKS_PER_QUEUE * CAP_OPS_PER_CHUNK)
		return -ENOSPC;
	*chunk_of(q, q->end) = chunk;
	q->end += CAP_OPS_PER_CHUNK;
	cap_op_queue_refill(q);
	return 0;
}

struct cap_op_chunk *cap_op_queue_remove_chunk(struct cap_op_queue *q)
{
	uint64_t tail = chunk_begin(__atomic_load_n(&q->tail, __ATOMIC_RELAXED));
	struct cap_op_chunk *chunk = NULL;

	if (tail < q->end) {
		chunk = *chunk_of(q, tail);
		tail += CAP_OPS_PER_CHUNK;
	}
	__atomic_store_n(&q->tail, tail, __ATOMIC_RELAXED);
	__atomic_store_n(&q->head, tail, __ATOMIC_RELAXED);
	__atomic_store_n(&q->limit, tail, __ATOMIC_RELAXED);
	return chunk;
}

/* ---- the consumer */

struct cap_timed_op *cap_op_queue_front(struct cap_op_queue *q)
{
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED);
	struct cap_timed_op *op;

	if (tail >= __atomic_load_n(&q->limit, __ATOMIC_ACQUIRE))
		return NULL;
	op = &(*chunk_of(q, tail))->ops[tail % CAP_OPS_PER_CHUNK];
	return __atomic_load_n(&op->published, __ATOMIC_ACQUIRE) ? op : NULL;
}

struct cap_op_chunk *cap_op_queue_pop(struct cap_op_queue *q)
{
	uint64_t tail = __atomic_load_n(&q->tail, __ATOMIC_RELAXED) + 1;
	struct cap_op_chunk *chunk = *chunk_of(q, tail - 1);

	/* A thread that takes the slot again has read `limit`, which publishes this. */
	__atomic_store_n(&chunk->ops[(tail - 1) % CAP_OPS_PER_CHUNK].published, false,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&q->tail, tail, __ATOMIC_RELEASE);
	return tail % CAP_OPS_PER_CHUNK == 0 ? chunk : NULL;
}
