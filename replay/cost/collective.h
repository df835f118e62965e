/* SPDX-License-Identifier: Apache-2.0 */

/* The duration of an NCCL operation after the last arrival, by the model with which NCCL chooses
 * its algorithm (ncclTopoTuneModel and ncclTopoGetAlgoTime, src/graph/tuning.cc of
 * github.com/NVIDIA/nccl): time = latency + bytes / bandwidth, for ring and tree and the protocols
 * LL, LL128 and Simple; the fastest counts. To it are added what measured curves show: the
 * time until the pipeline of steps is full, a shortest duration, and reduction by NVSwitch (NVLS).
 * doc/gpuemu.md has the formulas.
 */
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

/* The name of a kind as in traces: "all_reduce". */
const char *cost_collective_name(enum cost_collective kind);
/* The kind of that name, or COST_COLLECTIVES. */
enum cost_collective cost_collective_named(const char *name);

enum cost_wire { COST_NVLINK, COST_PCIE, COST_NETWORK };

/* The links between the GPUs of a communicator. */
struct cost_links {
	uint32_t ranks, hosts;
	enum cost_wire wire;	    /* within a host */
	double bytes_per_s;	    /* of one GPU in one direction, within a host */
	double network_bytes_per_s; /* of one GPU in one direction, between hosts */
	int compute_capability;	    /* major * 10 + minor */
	/* Within a host: reduction by the switch, of one GPU in one direction, or 0; the shortest
	 * operation, for each step of a ring. */
	double switch_bytes_per_s, step_us;
};

/* Nanoseconds. `bytes`: what one rank contributes (all-gather, gather), gets (reduce-scatter,
 * scatter), or has in its buffer (the others); of SEND_RECV, the larger of sent and received. */
int64_t cost_collective_ns(const struct cost_links *links, enum cost_collective kind, double bytes);
