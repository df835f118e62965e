/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cost/nccl.h"

#include <math.h>
#include <string.h>

static const char *const names[COST_COLLECTIVES] = {
	[COST_ALL_REDUCE] = "all_reduce",
	[COST_REDUCE] = "reduce",
	[COST_BROADCAST] = "broadcast",
	[COST_ALL_GATHER] = "all_gather",
	[COST_REDUCE_SCATTER] = "reduce_scatter",
	[COST_ALL_TO_ALL] = "all_to_all",
	[COST_GATHER] = "gather",
	[COST_SCATTER] = "scatter",
	[COST_SEND_RECV] = "send_recv",
};

const char *cost_collective_name(enum cost_collective kind)
{
	return names[kind];
}

enum cost_collective cost_collective_named(const char *name)
{
	int kind = 0;

	while (kind < COST_COLLECTIVES && strcmp(names[kind], name) != 0)
		kind++;
	return (enum cost_collective)kind;
}

enum { TREE = COST_TREE, RING = COST_RING, ALGORITHMS = COST_TOPOLOGIES };
enum { LL, LL128, SIMPLE, PROTOCOLS };

/* Latencies in microseconds: of the kernel, and of each step over a link. */
static const double base_us[ALGORITHMS][PROTOCOLS] = {{6.8, 14.0, 0}, {6.6, 14.0, 8.4}};
static const double step_us[3][ALGORITHMS][PROTOCOLS] = {
	[COST_NVLINK] = {{0.6, 1.25, 28.0}, {0.6, 1.9, 3.4}},
	[COST_PCIE] = {{1.0, 1.9, 28.0}, {1.0, 2.5, 5.7}},
	[COST_NETWORK] = {{5.0, 8.5, 28.0}, {2.7, 4.0, 14.0}},
};

/* Bandwidth correction of trees, in tenths, by log2(bytes / 64). */
enum { SIZES = 23 };
static const uint8_t tree_tenths[PROTOCOLS][SIZES] = {
	{10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
	{10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
	{9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9},
};

static double steps_of(enum cost_collective kind, double n)
{
	switch (kind) {
	case COST_ALL_REDUCE:
		return 2 * (n - 1);
	case COST_ALL_GATHER:
	case COST_REDUCE_SCATTER:
		return n - 1;
	default:
		return n;
	}
}

/* Returns the lower of the two bandwidths in a ring through all ranks. */
static double bus_bandwidth(const struct cost_links *l)
{
	if (l->hosts > 1 && l->network_bytes_per_s > 0)
		return fmin(l->bytes_per_s, l->network_bytes_per_s);
	return l->bytes_per_s;
}

static double protocol_share(const struct cost_links *l, enum cost_collective kind, int algorithm,
			     int protocol)
{
	int reduces = kind == COST_ALL_REDUCE || kind == COST_REDUCE;

	if (protocol == SIMPLE)
		return 1;
	if (algorithm == RING && protocol == LL)
		return l->hosts > 1 || reduces ? 1.0 / 4 : 1.0 / 3;
	if (protocol == LL)
		return 1 / 3.8;
	if (algorithm == RING)
		return 0.92;
	return l->hosts == 1 ? 7.0 / 9 : 0.915;
}

/* LL128 needs NVLink, and GPUs from Volta on. */
static int is_usable(const struct cost_links *l, enum cost_collective kind, int algorithm,
		     int protocol)
{
	if (algorithm == TREE && kind != COST_ALL_REDUCE)
		return 0;
	return protocol != LL128 || (l->wire == COST_NVLINK && l->compute_capability >= 70);
}

/* The LL protocol stores a flag with each word, which limits its rate on any link. */
static double ll_limit(const struct cost_links *l)
{
	if (l->hosts > 1)
		return l->hosts == 2 ? 39.0e9 : 20.4e9;
	return l->compute_capability >= 80 ? 87.7e9 : 39.0e9;
}

static double latency_us(const struct cost_links *l, enum cost_collective kind, int algorithm,
			 int protocol, double bytes)
{
	double within = step_us[l->wire][algorithm][protocol];
	double between = step_us[COST_NETWORK][algorithm][protocol];
	double steps = steps_of(kind, l->ranks), across = 0, us;

	if (algorithm == TREE)
		return base_us[TREE][protocol] + 2 * (((double)l->ranks / l->hosts - 1) * within +
						      floor(log2(l->hosts)) * between);
	if (kind == COST_REDUCE || kind == COST_BROADCAST)
		return base_us[RING][protocol] + (l->hosts > 1 ? between : within);
	if (l->hosts > 1) {
		across = kind == COST_ALL_REDUCE ? 2.0 * l->hosts : steps_of(kind, l->hosts);
		within = fmax(within, protocol == SIMPLE ? 3 : 1);
	}
	us = base_us[RING][protocol] + fmax(steps - across, 0) * within + across * between;
	if (l->hosts > 1 && protocol == SIMPLE && kind == COST_ALL_REDUCE && bytes / l->ranks >= 64)
		us *= l->compute_capability < 80 ? 1.9 : 1.4;
	return us;
}

static double time_us(const struct cost_links *l, enum cost_collective kind, int algorithm,
		      int protocol, double bytes)
{
	double bus = bus_bandwidth(l) * (algorithm == TREE ? 0.92 : 1);
	double ratio = algorithm == TREE ? 0.5 : l->ranks / steps_of(kind, l->ranks);
	int size = bytes >= 64 ? (int)log2(bytes / 64) : 0;

	bus *= protocol_share(l, kind, algorithm, protocol);
	if (protocol == LL)
		bus = fmin(bus, ll_limit(l));
	if (algorithm == TREE && size < SIZES)
		bus *= tree_tenths[protocol][size] / 10.0;
	return latency_us(l, kind, algorithm, protocol, bytes) + bytes / (bus * ratio) * 1e6;
}

/* Until the pipeline is full, each step waits for up to this many bytes. */
#define FILL_BYTES 2e6
#define FILL_AFTER 20e6
#define FILL_AFTER_SWITCH 10e6

/* The shortest all-reduce by the switch: measured on eight H20s, in one process each. */
#define SWITCH_US 18.3

/* On NVLink, from measured curves of all-reduce on eight GPUs. */
static double filling_us(const struct cost_links *l, enum cost_collective kind, double bytes_per_s,
			 double bytes, double after)
{
	return steps_of(kind, l->ranks) * FILL_BYTES / bytes_per_s * 1e6 *
	       (1 - exp(-bytes / after));
}

/* The switch reduces: each GPU sends and receives its buffer once. */
static double switch_us(const struct cost_links *l, double bytes)
{
	double ring = l->switch_bytes_per_s * 2 * (l->ranks - 1) / l->ranks;

	return SWITCH_US + bytes / l->switch_bytes_per_s * 1e6 +
	       filling_us(l, COST_ALL_REDUCE, ring, bytes, FILL_AFTER_SWITCH);
}

static double measured_us(const struct cost_links *l, enum cost_collective kind, double model_us,
			  double bytes)
{
	if (l->hosts > 1 || l->wire != COST_NVLINK)
		return model_us;
	model_us += filling_us(l, kind, l->bytes_per_s, bytes, FILL_AFTER);
	if (kind == COST_ALL_REDUCE && l->switch_bytes_per_s > 0)
		model_us = fmin(model_us, switch_us(l, bytes));
	return model_us;
}

/* NCCL executes these as sends and receives in the Simple protocol, with one kernel for all. */
static double peers_us(const struct cost_links *l, enum cost_collective kind, double bytes)
{
	double peers = l->ranks - 1.0;
	double through = kind == COST_SEND_RECV ? bytes : bytes * peers;
	double wire = step_us[l->hosts > 1 ? COST_NETWORK : l->wire][RING][SIMPLE];

	return base_us[RING][SIMPLE] + wire + through / bus_bandwidth(l) * 1e6;
}

/* Returns infinity if no algorithm is left. */
static double fastest_us(const struct cost_links *l, enum cost_collective kind, unsigned excluded,
			 double bytes)
{
	double best = INFINITY;

	for (int a = 0; a < ALGORITHMS; a++)
		for (int p = 0; p < PROTOCOLS; p++)
			if (is_usable(l, kind, a, p) && !(excluded >> a & 1))
				best = fmin(best, time_us(l, kind, a, p, bytes));
	return measured_us(l, kind, best, bytes);
}

int64_t cost_collective_ns(const struct cost_links *l, enum cost_collective kind, double bytes)
{
	double us;

	if (l->bytes_per_s <= 0)
		return 0;
	/* One rank: a copy within its own memory; only its latency is modelled. */
	if (l->ranks < 2)
		return (int64_t)(base_us[RING][LL] * 1000);
	if (kind > COST_REDUCE_SCATTER)
		return (int64_t)(peers_us(l, kind, bytes) * 1000);
	/* The model uses the size of all ranks' buffers. */
	if (kind == COST_ALL_GATHER || kind == COST_REDUCE_SCATTER)
		bytes *= l->ranks;
	us = fastest_us(l, kind, l->excluded, bytes);
	if (isinf(us))
		us = fastest_us(l, kind, 0, bytes);
	return (int64_t)(us * 1000);
}
