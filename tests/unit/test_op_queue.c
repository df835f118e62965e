/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "capture/library/times/op_queue.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

static struct cap_op_queue *new_queue(uint64_t most)
{
	struct cap_op_queue *q = calloc(1, sizeof(*q));

	ck_assert_ptr_nonnull(q);
	cap_op_queue_init(q, most);
	return q;
}

static struct cap_op_chunk *new_chunk(void)
{
	struct cap_op_chunk *chunk = calloc(1, sizeof(*chunk));

	ck_assert_ptr_nonnull(chunk);
	return chunk;
}

static void free_queue(struct cap_op_queue *q)
{
	struct cap_op_chunk *chunk;

	while ((chunk = cap_op_queue_remove_chunk(q)))
		free(chunk);
	free(q);
}

define_cleanup(free_queuep, struct cap_op_queue *, free_queue);

static bool put_id(struct cap_op_queue *q, uint64_t id)
{
	struct cap_timed_op *op = cap_op_queue_reserve(q);

	if (!op)
		return false;
	op->id = id;
	cap_timed_publish(op);
	return true;
}

/* Slots are returned in order, and only after they were published. */
TEST(slots_in_order)
{
	scoped(free_queuep) struct cap_op_queue *q = new_queue(1 << 20);
	struct cap_timed_op *first, *second;

	ck_assert(!cap_op_queue_reserve(q));
	ck_assert(!cap_op_queue_front(q));
	ck_assert_int_eq(cap_op_queue_add(q, new_chunk()), 0);
	ck_assert_uint_eq(cap_op_queue_free(q), CAP_OPS_PER_CHUNK);
	first = cap_op_queue_reserve(q);
	second = cap_op_queue_reserve(q);
	cap_timed_publish(second);
	ck_assert(!cap_op_queue_front(q));
	cap_timed_publish(first);
	ck_assert_ptr_eq(cap_op_queue_front(q), first);
	cap_op_queue_pop(q);
	ck_assert_ptr_eq(cap_op_queue_front(q), second);
	cap_op_queue_pop(q);
	ck_assert(!cap_op_queue_front(q));
	ck_assert_uint_eq(cap_op_queue_used(q), 0);
}

/* A full queue has no free slot until a chunk is added; a removed chunk may be added again. */
TEST(chunks_are_reused)
{
	scoped(free_queuep) struct cap_op_queue *q = new_queue(1 << 20);
	scoped(free_ptr) struct cap_op_chunk *chunk = new_chunk();
	uint64_t n_put = 0, got_id = 0;

	for (int round = 0; round < 3 * (int)CAP_CHUNKS_PER_QUEUE; round++) {
		ck_assert_int_eq(cap_op_queue_add(q, chunk), 0);
		while (put_id(q, n_put))
			n_put++;
		chunk = NULL;
		while (cap_op_queue_front(q)) {
			ck_assert_uint_eq(cap_op_queue_front(q)->id, got_id++);
			ck_assert(!chunk);
			chunk = cap_op_queue_pop(q);
		}
		ck_assert_ptr_nonnull(chunk);
	}
	ck_assert_uint_eq(n_put, 3ull * CAP_CHUNKS_PER_QUEUE * CAP_OPS_PER_CHUNK);
}

/* A queue never uses more slots than its limit, nor more chunks than there are numbers. */
TEST(the_limit_holds)
{
	scoped(free_queuep) struct cap_op_queue *q = new_queue(10);
	scoped(free_ptr) struct cap_op_chunk *chunk = new_chunk();
	int n = 0;

	ck_assert_int_eq(cap_op_queue_add(q, new_chunk()), 0);
	ck_assert_int_eq(cap_op_queue_add(q, chunk), -ENOSPC);
	for (n = 0; put_id(q, 1); n++)
		;
	ck_assert_int_eq(n, 10);
	cap_op_queue_pop(q);
	ck_assert(!put_id(q, 1));
	cap_op_queue_refill(q);
	ck_assert(put_id(q, 1));
	ck_assert(!put_id(q, 1));
	free_queue(q);

	q = new_queue(UINT32_MAX);
	for (unsigned i = 0; i < CAP_CHUNKS_PER_QUEUE; i++)
		ck_assert_int_eq(cap_op_queue_add(q, new_chunk()), 0);
	ck_assert_int_eq(cap_op_queue_add(q, chunk), -ENOSPC);
}

/* A queue that gave back its chunks works with new ones. */
TEST(begins_again_after_release)
{
	scoped(free_queuep) struct cap_op_queue *q = new_queue(1 << 20);

	for (int round = 0; round < 3; round++) {
		struct cap_op_chunk *chunk;
		int n = 0;

		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(cap_op_queue_add(q, new_chunk()), 0);
		for (int i = 0; i < 300; i++)
			ck_assert(put_id(q, 1));
		for (int i = 0; i < 300; i++)
			free(cap_op_queue_pop(q));
		for (; (chunk = cap_op_queue_remove_chunk(q)); n++)
			free(chunk);
		ck_assert_int_eq(n, 2);
		ck_assert(!put_id(q, 1));
		ck_assert(!cap_op_queue_front(q));
	}
}

#define THREADS 4
#define PUT 20000

static struct {
	struct cap_op_queue *queue;
	pthread_mutex_t lock;
	unsigned n_chunks;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_chunk(struct cap_op_chunk *chunk)
{
	pthread_mutex_lock(&shared.lock);
	ck_assert_int_eq(cap_op_queue_add(shared.queue, chunk), 0);
	pthread_mutex_unlock(&shared.lock);
}

static void *produce(void *number)
{
	for (uint64_t i = 0; i < PUT; i++)
		while (!put_id(shared.queue, (uint64_t)(uintptr_t)number << 32 | i)) {
			add_chunk(new_chunk());
			__atomic_fetch_add(&shared.n_chunks, 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

/* Concurrent threads: every item arrives, and the items of one thread in their order. */
TEST(concurrent_threads)
{
	uint64_t next[THREADS] = {0};
	pthread_t threads[THREADS];

	shared.queue = new_queue(1 << 20);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	for (int got = 0; got < THREADS * PUT; got++) {
		struct cap_timed_op *op;
		struct cap_op_chunk *chunk;

		while (!(op = cap_op_queue_front(shared.queue)))
			sched_yield();
		ck_assert_uint_lt(op->id >> 32, THREADS);
		ck_assert_uint_eq(op->id & UINT32_MAX, next[op->id >> 32]++);
		chunk = cap_op_queue_pop(shared.queue);
		if (chunk)
			add_chunk(chunk);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(cap_op_queue_used(shared.queue), 0);
	ck_assert_uint_lt(shared.n_chunks, THREADS * PUT);
	free_queue(shared.queue);
}
