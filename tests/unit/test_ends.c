/* SPDX-License-Identifier: Apache-2.0 */
/* Matching of operations of different ranks to collectives. */
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

#include <stdbool.h>

/* Three ranks: 0 and 1 communicate; rank 2's collectives end at other times. Rank 1's recording
 * starts one collective later. */
static const struct row ranks[] = {
	{CALL, LAUNCH, 0, 10, 1, 0},   {NCCL, ALL_REDUCE, 100, 500, 1, 0},
	{CALL, LAUNCH, 20, 10, 2, 0},  {NCCL, ALL_REDUCE, 1000, 500, 2, 0},
	{CALL, LAUNCH, 40, 10, 3, 0},  {NCCL, ALL_REDUCE, 2000, 400, 3, 0},
	{CALL, LAUNCH, 60, 10, 4, 0},  {NCCL, ALL_REDUCE, 3000, 300, 4, 0},
	{CALL, LAUNCH, 620, 10, 2, 1}, {NCCL, ALL_REDUCE, 1210, 300, 2, 1},
	{CALL, LAUNCH, 640, 10, 3, 1}, {NCCL, ALL_REDUCE, 1910, 500, 3, 1},
	{CALL, LAUNCH, 660, 10, 4, 1}, {NCCL, ALL_REDUCE, 3110, 200, 4, 1},
	{CALL, LAUNCH, 620, 10, 2, 2}, {NCCL, ALL_REDUCE, 700, 30, 2, 2},
	{CALL, LAUNCH, 640, 10, 3, 2}, {NCCL, ALL_REDUCE, 1600, 30, 3, 2},
	{CALL, LAUNCH, 660, 10, 4, 2}, {NCCL, ALL_REDUCE, 2600, 40, 4, 2},
};

static const struct fmt_run_collective *collective(const struct made *m, int rank, size_t i)
{
	ck_assert_uint_lt(i, m->ranks[rank].n_collectives);
	return &m->ranks[rank].collectives[i];
}

TEST(test_ranks)
{
	scoped(unmake) struct made m;

	make(&m, ranks, ARRAY_SIZE(ranks), 3);
	ck_assert_uint_eq(m.ranks[0].n_collectives, 4);
	ck_assert_uint_eq(m.ranks[1].n_collectives, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(collective(&m, 0, i + 1)->comm, collective(&m, 1, i)->comm);
		ck_assert_int_eq(collective(&m, 0, i + 1)->seq, collective(&m, 1, i)->seq);
		ck_assert_int_ne(collective(&m, 0, i)->comm, collective(&m, 2, i)->comm);
	}
	ck_assert_uint_eq(fmt_comm(m.names, (uint32_t)collective(&m, 0, 0)->comm)->n_ranks, 2);
}

/* Ranks 0 and 1 reduce on one communicator twelve times, and once on another in between. The other
 * collective is short and must not misalign the first communicator. */
TEST(test_short_collectives_do_not_misalign_long_ones)
{
	static struct row rows[60];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 2; rank++)
		for (int i = 0; i < 12; i++) {
			int start = 1000 + 100 * i + 3 * rank, correlation = i + 1;

			rows[n++] = (struct row){CALL, LAUNCH, 10 * i, 5, correlation, rank};
			rows[n++] = (struct row){NCCL,		ALL_REDUCE,  start,
						 80 - 3 * rank, correlation, rank};
		}
	for (int rank = 0; rank < 2; rank++) {
		rows[n++] = (struct row){CALL, LAUNCH, 500, 5, 50, rank};
		rows[n++] = (struct row){FMT_COLLECTIVE, 28, ALL_REDUCE, 1320, 70, 50, rank};
	}
	make(&m, rows, n, 2);
	ck_assert_uint_eq(fmt_n_comms(m.names), 2);
	for (size_t i = 0; i < 13; i++) {
		ck_assert_int_eq(collective(&m, 0, i)->comm, collective(&m, 1, i)->comm);
		ck_assert_int_eq(collective(&m, 0, i)->seq, collective(&m, 1, i)->seq);
	}
}

/* An all-to-all of parts of different sizes, with the kernel of sends, on ranks whose clocks are
 * milliseconds apart. The recording of rank 1 begins one collective later. The name of the group
 * and the order suffice for the match. */
TEST(test_named_group)
{
	static const int clock[] = {0, 4100, -3300}, gaps[] = {900, 1700, 1100, 2300, 1300};
	static struct row rows[60];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 3; rank++)
		for (int i = rank == 1, at = rank == 1 ? 5000 + gaps[0] : 5000; i < 10; i++) {
			int length = 300 + (i + rank) % 3 * 200, start = at + clock[rank];

			rows[n++] = (struct row){CALL, LAUNCH, start - 50, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL,	"ncclDevKernel_SendRecv",
						 start, length,
						 i + 1, rank,
						 NULL,	"all_to_all"};
			at += gaps[i % 5];
		}
	make(&m, rows, n, 3);
	ck_assert_uint_eq(fmt_n_comms(m.names), 1);
	for (size_t i = 0; i < 10; i++) {
		ck_assert_int_eq(collective(&m, 0, i)->seq, (int64_t)i);
		ck_assert_int_eq(collective(&m, 2, i)->seq, (int64_t)i);
		if (i > 0)
			ck_assert_int_eq(collective(&m, 1, i - 1)->seq, (int64_t)i);
	}
}

/* Collectives of one size follow each other regularly; the fourth one of rank 1 was not
 * recorded. */
static void make_with_lost(struct made *m, bool numbered)
{
	static struct row rows[60];
	size_t n = 0;

	for (int rank = 0; rank < 3; rank++)
		for (int i = 0; i < 10; i++) {
			int start = 5000 + 500 * i, seq = numbered ? 41 + i : 0;

			if (rank == 1 && i == 3)
				continue;
			rows[n++] = (struct row){CALL, LAUNCH, start - 50, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL, ALL_REDUCE, start,	 300, i + 1,
						 rank, NULL,	   "all_reduce", seq};
		}
	make(m, rows, n, 3);
}

/* Counts the collectives of ranks 1 and 2 that are matched with the same iteration of rank 0. */
static size_t count_right(const struct made *m)
{
	size_t right = 0;

	for (size_t i = 0; i < 10; i++) {
		right += collective(m, 2, i)->seq == collective(m, 0, i)->seq;
		if (i != 3)
			right += collective(m, 1, i - (i > 3))->seq == collective(m, 0, i)->seq;
	}
	return right;
}

TEST(test_recorded_numbers_come_before_the_order)
{
	scoped(unmake) struct made by_order, by_number;

	make_with_lost(&by_order, false);
	ck_assert_uint_lt(count_right(&by_order), 19);
	make_with_lost(&by_number, true);
	ck_assert_uint_eq(count_right(&by_number), 19);
	ck_assert_uint_eq(fmt_n_comms(by_number.names), 1);
	for (size_t i = 0; i < 10; i++)
		ck_assert_int_eq(collective(&by_number, 0, i)->seq, (int64_t)(41 + i));
}

/* Ranks 0 and 1 leave one at a time: each has its own transfer time after both have begun. Rank 1's
 * clock is 10 us ahead, as the end times of most collectives show. */
TEST(test_transfer)
{
	static struct row rows[48];
	const int64_t want[2][2] = {{60, 100}, {60, 60}};
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 2; rank++)
		for (int i = 0; i < 11; i++) {
			int start = 1000 + 200 * i + (rank ? 30 : 0), end = 1080 + 200 * i;

			end += rank ? 10 : i == 10 ? 40 : 0;
			rows[n++] = (struct row){CALL, LAUNCH, 10 * i, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL, ALL_REDUCE, start, end - start, i + 1, rank};
		}
	make(&m, rows, n, 2);
	for (int rank = 0; rank < 2; rank++) {
		int64_t seen[2] = {0};
		size_t found = 0;

		for (size_t i = 0; i < m.ranks[rank].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[rank].edges[i];

			if (strcmp(rule_of(&m, e), "transfer") != 0)
				continue;
			ck_assert_uint_eq(e->from, e->to);
			ck_assert_int_eq(e->kind, FMT_EDGE_RETURN);
			seen[found++ == 10] = e->lag_ns;
		}
		ck_assert_uint_eq(found, 11);
		ck_assert_int_eq(seen[0], want[rank][0] * 1000);
		ck_assert_int_eq(seen[1], want[rank][1] * 1000);
	}
}

/* Two all-reduces of a group without a name; rank 2 leaves one of them last and the other first. */
TEST(test_few_collectives_agree_less)
{
	static const int late[3][2] = {{0, 4}, {1, 5}, {7, 0}};
	static struct row rows[12];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 3; rank++)
		for (int i = 0; i < 2; i++) {
			int start = 5000 + 9000 * i, length = 300 + late[rank][i];

			rows[n++] = (struct row){CALL, LAUNCH, start - 50, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL, ALL_REDUCE, start, length, i + 1, rank};
		}
	make(&m, rows, n, 3);
	ck_assert_uint_eq(fmt_n_comms(m.names), 1);
}

/* Adds a message of two ranks, which the second one leaves `late` later. */
static void message(struct row *rows, size_t *n, int a, int start, int late)
{
	for (int i = 0; i < 2; i++) {
		int correlation = (int)*n + 1, length = 100 + i * late;

		rows[(*n)++] = (struct row){CALL, LAUNCH, start - 50, 5, correlation, a + i};
		rows[(*n)++] = (struct row){NCCL,   "ncclKernel_SendRecv", start,
					    length, correlation,	   a + i};
	}
}

/* Rank 1 exchanges messages with ranks 0 and 2 on one stream. Its partners leave them at different
 * times, and have half as many messages. */
TEST(test_messages_of_a_chain)
{
	static struct row rows[96];
	scoped(unmake) struct made m;
	size_t n = 0, next[3] = {0};

	for (int i = 0; i < 12; i++) {
		message(rows, &n, 0, 1000 + 400 * i, 0);
		message(rows, &n, 1, 1200 + 400 * i, i % 3 * 15);
	}
	make(&m, rows, n, 3);
	ck_assert_uint_eq(fmt_n_comms(m.names), 1);
	for (size_t i = 0; i < n; i += 4) {
		const struct fmt_run_collective *a =
			collective(&m, rows[i].rank, next[rows[i].rank]++);
		const struct fmt_run_collective *b =
			collective(&m, rows[i + 2].rank, next[rows[i + 2].rank]++);

		ck_assert_int_eq(a->seq, b->seq);
	}
}
