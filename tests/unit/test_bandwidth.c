/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/bandwidth.h"

#include "base/array.h"
#include "tests/unit/test.h"

/* 8 GB in one second: algorithm bandwidth and bus bandwidth in GB/s as nccl-tests computes them.
 * -1: none. */
static const struct {
	const char *op;
	uint32_t n_ranks;
	double algorithm, bus;
} rows[] = {
	{"all_reduce", 8, 8, 14}, {"all_reduce", 2, 8, 8},
	{"all_gather", 8, 8, 7},  {"reduce_scatter", 4, 8, 6},
	{"all_to_all", 8, 8, 7},  {"broadcast", 8, 8, 8},
	{"reduce", 8, 8, 8},	  {"send_recv", 2, 8, 8},
	{"send_recv", 0, 8, 8},	  {"all_reduce", 0, 8, -1}, /* the number of ranks is not known */
	{"all_reduce", 1, 8, -1}, {"gather", 8, -1, -1},
	{"barrier", 8, -1, -1},	  {"", 8, -1, -1},
};

TEST(test_factors)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fmt_bandwidth b =
			fmt_bandwidth(rows[i].op, rows[i].n_ranks, 8000000000, 1000000000);
		double unit = 1e9;

		ck_assert_msg(b.algorithm < 0 ? rows[i].algorithm < 0
					      : b.algorithm == rows[i].algorithm * unit,
			      "%s: algbw %f", rows[i].op, b.algorithm);
		ck_assert_msg(b.bus < 0 ? rows[i].bus < 0 : b.bus == rows[i].bus * unit,
			      "%s: busbw %f", rows[i].op, b.bus);
	}
	ck_assert(fmt_bandwidth("all_reduce", 8, -1, 1000).algorithm < 0);
	ck_assert(fmt_bandwidth("all_reduce", 8, 1000, 0).algorithm < 0);
}
