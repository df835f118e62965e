/* SPDX-License-Identifier: Apache-2.0 */

/* The duration of an NCCL operation after the last arrival, by the model with which NCCL chooses
 * its algorithm (ncclTopoTuneModel and ncclTopoGetAlgoTime, src/graph/tuning.cc of
 * github.com/NVIDIA/nccl): time = latency + bytes / bandwidth, for ring and tree and the protocols
 * LL, LL128 and Simple; the fastest counts. doc/gpuemu.md has the formulas.
 */
#pragma once

#include <stdint.h>

enum emu_collective {
	EMU_ALL_REDUCE,
	EMU_REDUCE,
	EMU_BROADCAST,
	EMU_ALL_GATHER,
	EMU_REDUCE_SCATTER,
	EMU_ALL_TO_ALL,
	EMU_GATHER,
	EMU_SCATTER,
	EMU_SEND_RECV,
	EMU_COLLECTIVES
};

enum emu_wire { EMU_NVLINK, EMU_PCIE, EMU_NETWORK };

/* The links between the GPUs of a communicator. */
struct emu_links {
	uint32_t ranks, hosts;
	enum emu_wire wire;	    /* within a host */
	double bytes_per_s;	    /* of one GPU in one direction, within a host */
	double network_bytes_per_s; /* of one GPU in one direction, between hosts */
	int compute_capability;	    /* major * 10 + minor */
};

/* Nanoseconds. `bytes`: what one rank contributes (all-gather, gather), gets (reduce-scatter,
 * scatter), or has in its buffer (the others); of SEND_RECV, the larger of sent and received. */
int64_t emu_collective_ns(const struct emu_links *links, enum emu_collective kind, double bytes);
