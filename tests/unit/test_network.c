/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/network.h"

#include "tests/unit/test.h"

#include "base/scope.h"

#include <string.h>

#define KIB 1024
#define MIB (1024 * KIB)

static fmt_str string(struct fmt_names *n, const char *s)
{
	fmt_str ret = 0;

	ck_assert_int_eq(fmt_names_string(n, s, strlen(s), &ret), 0);
	return ret;
}

static const struct {
	const char *what;
	int64_t samples[8][2];		   /* bytes, ns */
	int64_t sizes, latency_ns, mib_ns; /* mib_ns: of a message of 1 MiB */
} rows[] = {
	{"latency and bandwidth: 10 us and 0.1 ns a byte",
	 {{KIB, 10102}, {KIB, 10102}, {MIB, 114858}, {4 * MIB, 429430}},
	 3,
	 9999,
	 114858},
	{"one size: all of the time is bandwidth",
	 {{MIB, 100000}, {MIB, 100000}, {MIB, 130000}},
	 1,
	 0,
	 100000},
	{"larger messages are not slower: all of it is latency",
	 {{KIB, 20000}, {2 * KIB, 20000}, {4 * KIB, 19000}},
	 3,
	 20000,
	 20000},
	{"one late collective does not move the line",
	 {{KIB, 10102}, {KIB, 10102}, {KIB, 900000}, {MIB, 114858}, {MIB, 114858}, {MIB, 700000}},
	 2,
	 9999,
	 114858},
	{"no latency below zero", {{KIB, 10}, {MIB, 100000}, {2 * MIB, 300000}}, 3, 0, 100000},
};

TEST_ROWS(test_fit, rows)
{
	struct fmt_network_sample samples[8];
	scoped(fmt_network_done) struct fmt_network made = {0};
	scoped(fmt_network_done) struct fmt_network got;
	const struct fmt_network_fit *f;
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	size_t n = 0;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (; n < 8 && row->samples[n][0]; n++)
		samples[n] = (struct fmt_network_sample){2, string(names, "all_reduce"),
							 row->samples[n][0], row->samples[n][1]};
	ck_assert_int_eq(fmt_network_fit(names, samples, n, &made), 0);
	ck_assert_int_eq(fmt_network_put(names, &made), 0);
	ck_assert_int_eq(fmt_network_get(names, &got), 0);
	ck_assert_ptr_null(fmt_network_find(&got, 1, "all_reduce"));
	ck_assert_ptr_null(fmt_network_find(&got, 2, "all_gather"));
	f = fmt_network_find(&got, 2, "all_reduce");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(f->collectives, (int64_t)n);
	ck_assert_int_eq(f->sizes, row->sizes);
	ck_assert_int_le(llabs(f->latency_ns - row->latency_ns), 3);
	ck_assert_int_le(llabs(fmt_network_ns(f, MIB) - row->mib_ns), 40);
}

/* Four ranks leave evenly within 8 us: the first 1.6 us after the shortest possible transfer, with
 * a random error of 1.31 us. */
enum { SAMPLES = 32, SPREAD_NS = 4800, FIRST_NS = 1600, OFF_NS = 881 };

static const struct {
	int64_t bytes, spread_ns,
		off_ns; /* off_ns: the median distance of the samples from 13 us */
	double noise_share;
	int64_t latency_ns, message_ns; /* message_ns: time of a message of `bytes` */
} noisy[] = {
	{MIB, SPREAD_NS, OFF_NS, 1, 0, 13000},
	{MIB, SPREAD_NS, 2 * OFF_NS, 0.25, 0, 13000},
	{MIB, SPREAD_NS, OFF_NS / 2, 1, 0, 13000},
	{MIB, 20000, OFF_NS, 0, 0, 14600},	     /* parts of different sizes: not by chance */
	{-1, SPREAD_NS, 2 * OFF_NS, 0.55, 0, 13000}, /* message sizes are unknown */
};

TEST_ROWS(test_noise, noisy)
{
	struct fmt_network_sample samples[SAMPLES];
	scoped(fmt_network_done) struct fmt_network made = {0};
	scoped(fmt_network_done) struct fmt_network got = {0};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (int i = 0; i < SAMPLES; i++)
		samples[i] = (struct fmt_network_sample){
			.collective = string(names, "all_reduce"),
			.bytes = row->bytes,
			.least_ns = 13000 + FIRST_NS + (i % 2 ? 1 : -1) * row->off_ns,
			.second_ns = FIRST_NS,
			.mean_ns = 2400,
			.most_ns = row->spread_ns,
			.n_ranks = 4,
		};
	ck_assert_int_eq(fmt_network_fit(names, samples, SAMPLES, &made), 0);
	ck_assert_int_eq(fmt_network_put(names, &made), 0);
	ck_assert_int_eq(fmt_network_get(names, &got), 0);
	ck_assert_uint_eq(got.n, 1);
	ck_assert_double_eq_tol(got.fits[0].noise_share, row->noise_share, 0.01);
	ck_assert_int_eq(got.fits[0].latency_ns, row->latency_ns);
	ck_assert_int_le(llabs(fmt_network_ns(&got.fits[0], row->bytes) - row->message_ns), 1);
}

static const struct {
	const char *what;
	uint32_t ranks;
	int64_t gaps_ns[2], spread_ns; /* gaps_ns: between the first two exits, in turn */
	int64_t first_ns;
} exits[] = {
	{"four ranks, evenly within 8 us", 4, {1600, 1600}, 4800, 1600},
	{"four ranks, exponentially, 1.5 us on average", 4, {500, 500}, 2750, 375},
	{"two ranks, evenly within 6 us", 2, {586, 3414}, 0, 2000},
	{"two ranks, exponentially, 2 us on average", 2, {0, 4000}, 0, 1000},
	{"all together", 4, {0, 0}, 0, 0},
};

TEST_ROWS(test_exits, exits)
{
	struct fmt_network_sample samples[SAMPLES];
	scoped(fmt_network_done) struct fmt_network made = {0};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (int i = 0; i < SAMPLES; i++)
		samples[i] = (struct fmt_network_sample){
			.collective = string(names, "all_reduce"),
			.bytes = MIB,
			.least_ns = 50000,
			.second_ns = row->gaps_ns[i % 2],
			.mean_ns = 1000,
			.most_ns = row->ranks == 2 ? row->gaps_ns[i % 2] : row->spread_ns,
			.n_ranks = row->ranks,
		};
	ck_assert_int_eq(fmt_network_fit(names, samples, SAMPLES, &made), 0);
	ck_assert_int_le(llabs(made.fits[0].first_exit_ns - row->first_ns), 2);
	ck_assert_int_eq(made.fits[0].exit_ns, made.fits[0].first_exit_ns + 1000);
	ck_assert_int_eq(samples[0].transfer_ns, 50000 - made.fits[0].first_exit_ns);
}

/* A fact of an untrusted file: every value is checked. */
static const struct {
	const char *fact;
	size_t fits;
} facts[] = {
	{"[]", 0},
	{"3", 0},
	{"[{\"comm\": 1}]", 0},
	{"[{\"comm\": -1, \"collective\": \"x\", \"latency_ns\": \"1\", \"ns_per_byte\": 1e999}]",
	 1},
	{"[{\"collective\": \"a name that is longer than any kind of collective has\"}]", 0},
	{"[{\"collective\": \"x\", \"latency_ns\": 99999999999999999999999999}]", 1},
};

TEST_ROWS(test_facts, facts)
{
	scoped(fmt_network_done) struct fmt_network got;
	scoped(fmt_names_freep) struct fmt_names *names = NULL;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_names_fact_json(names, FMT_WHOLE_TRACE, FMT_NETWORK_KEY, row->fact,
					     strlen(row->fact)),
			 0);
	ck_assert_int_eq(fmt_network_get(names, &got), 0);
	ck_assert_uint_eq(got.n, row->fits);
	for (size_t i = 0; i < got.n; i++)
		ck_assert_int_eq(fmt_network_ns(&got.fits[i], INT64_MAX), 0);
}
