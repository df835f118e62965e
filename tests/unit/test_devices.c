/* SPDX-License-Identifier: Apache-2.0 */

/* Numbering of ranks: the process and GPU of each rank of a recorded trace. */
#include "formats/run/gpucapture/trace/ranks.h"

#include "tests/unit/rings.h"
#include "tests/unit/test.h"

/* A process without communicator and launcher rank, and a second GPU of a process with one: both
 * are numbered after the communicator's ranks. */
TEST(ranks_outside_the_communicator_come_last)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_ranks_done) struct rec_ranks ranks = {0};
	struct rec_process *p[3];
	static const struct {
		uint32_t process;
		int device;
	} want[] = {{2, 0}, {1, 0}, {0, 0}, {1, 1}};

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct rec_comm comm = {.id = 7, .n = 2, .rank = 2 - i};
		uint32_t track;

		p[i] = process(names, 100 + (int)i, i);
		ck_assert_int_eq(
			rec_add_track(p[i], &(struct rec_track){.kind = FMT_STREAM}, &track), 0);
		if (i == 0)
			continue;
		p[i]->nccl.comms = malloc(sizeof(comm));
		*p[i]->nccl.comms = comm;
		p[i]->nccl.n_comms = 1;
	}
	uint32_t track;
	ck_assert_int_eq(
		rec_add_track(p[1], &(struct rec_track){.kind = FMT_STREAM, .device = 1}, &track),
		0);

	ck_assert_int_eq(rec_ranks_find(p, 3, &ranks), 0);

	ck_assert_uint_eq(ranks.n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(ranks.ranks[i].number, i);
		ck_assert_uint_eq(ranks.ranks[i].process, want[i].process);
		ck_assert_int_eq(ranks.ranks[i].device, want[i].device);
	}
	for (uint32_t i = 0; i < 3; i++)
		rec_process_free(p[i]);
}
