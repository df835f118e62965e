/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/exchange.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The work of each rank: one function for all processes, which exit with 0 on success. */
struct plan {
	uint8_t id[EMU_SEGMENT_ID_BYTES];
	uint32_t n;
	enum cost_collective kind;
	uint64_t count;
};

static double value(uint32_t rank, uint64_t i)
{
	return rank * 1000.0 + (double)(i % 997);
}

static double expected_sum(const struct plan *p, uint32_t rank, uint64_t i)
{
	uint32_t block = (uint32_t)(i / p->count);
	double sum = 0;

	switch (p->kind) {
	case COST_ALL_REDUCE:
	case COST_REDUCE:
	case COST_REDUCE_SCATTER:
		if (p->kind == COST_REDUCE_SCATTER)
			i += rank * p->count;
		for (uint32_t r = 0; r < p->n; r++)
			sum += value(r, i);
		return sum;
	case COST_BROADCAST:
		return value(1 % p->n, i);
	case COST_SCATTER:
		return value(1 % p->n, i + rank * p->count);
	case COST_ALL_GATHER:
	case COST_GATHER:
		return value(block, i % p->count);
	default:
		return value(block, rank * p->count + i % p->count);
	}
}

static int check_result(const struct plan *p, struct emu_segment *s, uint32_t rank)
{
	int many = p->kind >= COST_ALL_GATHER && p->kind != COST_REDUCE_SCATTER &&
		   p->kind != COST_SCATTER;
	uint64_t blocks = p->count * p->n, got = many ? blocks : p->count;
	double *send = calloc(blocks, sizeof(double)), *receive = calloc(blocks, sizeof(double));
	struct emu_operation o = {.kind = p->kind,
				  .type = EMU_F64,
				  .root = 1 % p->n,
				  .count = p->count,
				  .send = send,
				  .receive = receive};
	int64_t end = 0;
	int bad;

	for (uint64_t i = 0; i < blocks; i++)
		send[i] = value(rank, i);
	bad = emu_exchange(s, &o, 100 + 10 * rank, 50 + rank, &end) < 0 ||
	      end != 100 + 10 * (p->n - 1) + 50;
	if ((p->kind == COST_REDUCE || p->kind == COST_GATHER) && rank != 1 % p->n)
		got = 0;
	for (uint64_t i = 0; i < got && !bad; i++)
		bad = receive[i] != expected_sum(p, rank, i);
	free(send);
	free(receive);
	return bad;
}

static int run_rank(const struct plan *p, uint32_t rank)
{
	struct emu_segment *s = NULL;
	int bad = emu_segment_join(p->id, p->n, rank, (int32_t)rank, &s) != 0;

	for (int round = 0; round < 3 && !bad; round++)
		bad = check_result(p, s, rank);
	if (!bad)
		emu_segment_leave(s);
	return bad;
}

/* Does the work on all ranks, each in a process of its own. */
static void on_all_ranks(struct plan *p, int (*work)(const struct plan *p, uint32_t rank))
{
	ck_assert_int_eq(emu_segment_make(p->id), 0);
	for (uint32_t r = 1; r < p->n; r++)
		if (fork() == 0)
			_exit(work(p, r));
	ck_assert_int_eq(work(p, 0), 0);
	for (uint32_t r = 1; r < p->n; r++) {
		int status = -1;

		wait(&status);
		ck_assert_int_eq(status, 0);
	}
}

TEST_EACH(collectives, COST_SEND_RECV * 12)
{
	static const uint32_t sizes[] = {1, 2, 5, 8};
	static const uint64_t counts[] = {1, 1000, 400001};
	struct plan p = {.n = sizes[_i / 3 % 4],
			 .kind = (enum cost_collective)(_i / 12),
			 .count = counts[_i % 3] / (sizes[_i / 3 % 4] > 2 ? 4 : 1)};

	if (p.count > 0)
		on_all_ranks(&p, run_rank);
}

/* Rank 0 posts as many operations as it may before another rank arrives; each starts when the
 * previous one ends. */
static int run_ahead(const struct plan *p, uint32_t rank)
{
	enum { GAP = 5, TAKES = 10, READY = 7 };
	struct emu_segment *s = NULL;
	double data[2 * EMU_WINDOW] = {0};
	struct emu_operation o[2 * EMU_WINDOW];
	int64_t end = 0, want = READY - GAP;
	int posted = 0, bad = emu_segment_join(p->id, p->n, rank, 0, &s) != 0;

	for (int i = 0; i < 2 * EMU_WINDOW && !bad; i++) {
		data[i] = value(rank, (uint64_t)i);
		o[i] = (struct emu_operation){
			.type = EMU_F64, .count = 1, .send = &data[i], .receive = &data[i]};
	}
	while (rank == 0 && !bad && posted < EMU_WINDOW) {
		bad = emu_exchange_post(s, &o[posted], posted ? 0 : READY, posted ? GAP : -1, TAKES,
					0) != 0;
		posted++;
	}
	if (rank == 0 && !bad)
		bad = emu_exchange_post(s, &o[posted], 0, GAP, TAKES, 0) != -EAGAIN;
	if (!bad)
		bad = emu_segment_barrier(s, EMU_BARRIER_HOST) != 0;
	for (int i = 0; i < 2 * EMU_WINDOW && !bad; i++) {
		want += GAP + TAKES;
		if (rank == 0 && posted == i)
			bad = emu_exchange_post(s, &o[posted++], 0, GAP, TAKES, 1) < 0;
		if (rank > 0)
			bad = emu_exchange(s, &o[i], 0, TAKES, &end) != 0;
		else if (!bad)
			bad = emu_exchange_finish(s, &o[i], &end) != 0;
		bad = bad || end != want ||
		      data[i] != 2 * value(0, (uint64_t)i) + value(1, 0) - value(0, 0);
	}
	if (!bad)
		emu_segment_leave(s);
	return bad;
}

TEST(ranks_that_run_ahead)
{
	struct plan p = {.n = 2};

	on_all_ranks(&p, run_ahead);
}

/* Every rank sends two messages to every rank, itself included; together they exceed a ring. */
static int run_transfers(const struct plan *p, uint32_t rank)
{
	struct emu_segment *s = NULL;
	struct emu_message t[32];
	uint32_t *memory = calloc(4 * p->n * p->count, sizeof(uint32_t)), n = 0;
	struct emu_mismatch mismatch;
	int64_t end;
	int bad = emu_segment_join(p->id, p->n, rank, 0, &s) != 0;

	for (uint32_t m = 0; m < 2; m++)
		for (uint32_t r = 0; r < p->n; r++) {
			uint32_t *out = memory + (m * p->n + r) * p->count;

			for (uint64_t i = 0; i < p->count; i++)
				out[i] = (uint32_t)i ^ rank << 24 ^ r << 28 ^ m << 20;
			t[n++] = (struct emu_message){out, p->count * 4, r, 0};
			t[n++] =
				(struct emu_message){out + 2 * p->n * p->count, p->count * 4, r, 1};
		}
	bad = bad || emu_messages(s, t, n, 7 + rank, 5, &end, &mismatch) != 0 ||
	      end != 7 + p->n - 1 + 5;
	for (uint32_t m = 0; m < 2 && !bad; m++)
		for (uint32_t r = 0; r < p->n; r++)
			for (uint64_t i = 0; i < p->count; i++)
				bad |= memory[(2 * p->n + m * p->n + r) * p->count + i] !=
				       ((uint32_t)i ^ r << 24 ^ rank << 28 ^ m << 20);
	free(memory);
	if (!bad)
		emu_segment_leave(s);
	return bad;
}

TEST_EACH(transfers, 2)
{
	struct plan p = {.n = 4, .count = _i ? 200000 : 3};

	on_all_ranks(&p, run_transfers);
}

/* A rank that is killed, leaves, or starts another operation: the others soon get an error. */
TEST_EACH(lost_ranks, 3)
{
	struct plan p = {.n = 2, .kind = COST_ALL_REDUCE, .count = 10};
	struct emu_segment *s = NULL;
	double data[20] = {0};
	struct emu_operation o = {.type = EMU_F64, .count = 10, .send = data, .receive = data};
	int64_t end;
	pid_t child;

	ck_assert_int_eq(emu_segment_make(p.id), 0);
	child = fork();
	if (child == 0) {
		ck_assert_int_eq(emu_segment_join(p.id, 2, 1, 1, &s), 0);
		if (_i == 0)
			raise(SIGKILL);
		if (_i == 1)
			emu_segment_leave(s);
		o.count = 9;
		if (_i == 2)
			emu_exchange(s, &o, 0, 0, &end);
		_exit(0);
	}
	ck_assert_int_eq(emu_segment_join(p.id, 2, 0, 0, &s), 0);
	ck_assert_int_eq(emu_exchange(s, &o, 0, 0, &end), _i == 2 ? -EINVAL : -ECONNRESET);
	emu_segment_leave(s);
	waitpid(child, NULL, 0);
}

TEST(unrelated_processes)
{
	struct emu_segment *s = NULL;
	uint8_t id[EMU_SEGMENT_ID_BYTES] = {0};

	ck_assert_int_eq(emu_segment_join(id, 1, 0, 0, &s), -EPROTO);
	ck_assert_int_eq(emu_segment_make(id), 0);
	ck_assert_int_eq(emu_segment_join(id, 0, 0, 0, &s), -EPROTO);
	ck_assert_int_eq(emu_segment_join(id, 2, 2, 0, &s), -EPROTO);
	id[20] ^= 1; /* the nonce */
	ck_assert_int_eq(emu_segment_join(id, 1, 0, 0, &s), -EPROTO);
}

/* Large operations take the time of the ring's bandwidth, small ones its latency. */
TEST(operation_costs)
{
	struct cost_links l = {8, 1, COST_NVLINK, 240e9, 0, 80};
	int64_t large = cost_collective_ns(&l, COST_ALL_REDUCE, 1e9);
	int64_t small = cost_collective_ns(&l, COST_ALL_REDUCE, 8);

	/* The pipeline fills in up to 14 steps of 2 MB. */
	ck_assert(fabs((double)large - (1e9 * 2 * 7 / 8 + 14 * 2e6) / 240e9 * 1e9) <
		  0.02 * (double)large);
	ck_assert(small > 5000 && small < 20000);
	ck_assert(cost_collective_ns(&l, COST_ALL_GATHER, 1e9 / 8) < large);
	l.switch_bytes_per_s = 300e9;
	ck_assert(cost_collective_ns(&l, COST_ALL_REDUCE, 1e9) < large * 6 / 10);
	ck_assert_int_eq(cost_collective_ns(&l, COST_ALL_GATHER, 1e9 / 8),
			 cost_collective_ns(&(struct cost_links){8, 1, COST_NVLINK, 240e9, 0, 80},
					    COST_ALL_GATHER, 1e9 / 8));
	/* Without the ring, the switch reduces; nothing but the ring gathers. */
	l.excluded = 1u << COST_RING | 1u << COST_TREE;
	ck_assert(cost_collective_ns(&l, COST_ALL_REDUCE, 1e9) < large * 6 / 10);
	ck_assert(cost_collective_ns(&l, COST_ALL_GATHER, 1e9 / 8) < large);
	l.switch_bytes_per_s = 0;
	l.excluded = 1u << COST_TREE;
	ck_assert(cost_collective_ns(&l, COST_ALL_REDUCE, 1e9) >= large);
	l.ranks = 1;
	ck_assert(cost_collective_ns(&l, COST_ALL_REDUCE, 1e9) < 10000);
}
