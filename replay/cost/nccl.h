/* SPDX-License-Identifier: Apache-2.0 */

/* The duration of an NCCL operation after the last arrival, by the model with which NCCL chooses
 * its algorithm (ncclTopoTuneModel and ncclTopoGetAlgoTime, src/graph/tuning.cc of
 * github.com/NVIDIA/nccl): time = latency + bytes / bandwidth, for ring and tree and the protocols
 * LL, LL128 and Simple; the fastest counts. Three terms from measured curves are added: the time to
 * fill the pipeline of steps, a minimum duration, and reduction by NVSwitch (NVLS). doc/gpuemu.md
 * has the formulas. */
#pragma once

#include <stdint.h>

enum cost_collective {
	COST_ALL_REDUCE,
	COST_REDUCE,
	COST_BROADCAST,
	COST_ALL_GATHER,
	COST_REDUCE_SCATTER,
	COST_ALL_TO_ALL,
	COST_GATHER,
	COST_SCATTER,
	COST_SEND_RECV,
	COST_COLLECTIVES
};

/* Returns the name of a kind as in traces: "all_reduce". */
const char *cost_collective_name(enum cost_collective kind);
/* Returns the kind of that name, or COST_COLLECTIVES. */
enum cost_collective cost_collective_named(const char *name);

enum cost_topology { COST_TREE, COST_RING, COST_TOPOLOGIES };

enum cost_wire { COST_NVLINK, COST_PCIE, COST_NETWORK };

/* The links between the GPUs of a communicator. */
struct cost_links {
	uint32_t ranks, hosts;
	enum cost_wire wire;	    /* within a host */
	double bytes_per_s;	    /* of one GPU in one direction, within a host */
	double network_bytes_per_s; /* of one GPU in one direction, between hosts */
	int compute_capability;	    /* major * 10 + minor */
	/* Within a host: bandwidth of reduction by the switch, per GPU and direction; 0: none. */
	double switch_bytes_per_s;
	/* Bits 1 << enum cost_topology: not to be used where another is possible. */
	unsigned excluded;
};

/* Returns nanoseconds. `bytes` is the input of one rank (all-gather, gather), the output of one
 * rank (reduce-scatter, scatter), the larger of sent and received bytes (SEND_RECV), or the buffer
 * of one rank (all others). */
int64_t cost_collective_ns(const struct cost_links *links, enum cost_collective kind, double bytes);
