/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/peers.h"

#include "tests/unit/scene.h"
#include "tests/unit/test.h"

TEST(a_list_is_read_to_its_end)
{
	const char *at = "[3, 12,4294967295]";
	uint32_t rank;

	ck_assert(fmt_peers_contain(at, 12) && !fmt_peers_contain(at, 1) &&
		  !fmt_peers_contain("", 0));
	ck_assert(fmt_peers_next(&at, &rank) && rank == 3);
	ck_assert(fmt_peers_next(&at, &rank) && rank == 12);
	ck_assert(fmt_peers_next(&at, &rank) && rank == UINT32_MAX);
	ck_assert(!fmt_peers_next(&at, &rank));
	at = "[4294967296, 1]";
	ck_assert(!fmt_peers_next(&at, &rank));
	at = "[\"a\"]";
	ck_assert(!fmt_peers_next(&at, &rank));
}

/* Rank 0 exchanges with 1 and 2, which begin 30 and 50 us later and do not exchange with each
 * other. */
TEST(a_transfer_begins_with_the_last_of_the_peers)
{
	static const char *const peers[] = {"[1, 2]", "[0]", "[0]"};
	static const int late[] = {0, 30, 50}, takes[] = {80, 38, 30};
	static const int64_t want[] = {30000, 38000, 30000};
	static struct row rows[72];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 3; rank++)
		for (int i = 0; i < 11; i++) {
			int start = 1000 + 200 * i + late[rank];

			rows[n++] = (struct row){CALL, LAUNCH, 10 * i, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL,
						 ALL_REDUCE,
						 start,
						 takes[rank],
						 .correlation = i + 1,
						 .rank = rank,
						 .peers = peers[rank]};
		}
	make(&m, rows, n, 3, 0);
	for (int rank = 0; rank < 3; rank++) {
		size_t found = 0;

		for (size_t i = 0; i < m.ranks[rank].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[rank].edges[i];

			if (strcmp(rule_of(&m, e), "transfer") != 0)
				continue;
			ck_assert_int_eq(e->lag_ns, want[rank]);
			found++;
		}
		ck_assert_uint_eq(found, 11);
	}
}
