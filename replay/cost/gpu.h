/* SPDX-License-Identifier: Apache-2.0 */

/* A GPU model: a table of numbers, from data/gpus or from a file in the same format. A line is a
 * key and a value; '#' starts a comment; unknown keys are errors. Missing values come from
 * data/gpus/common.gpu. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cost_gpu {
	char name[96];	/* of the device, as NVIDIA's driver reports it */
	double compute; /* 9.0 */
	double sms, threads_per_sm, blocks_per_sm, registers_per_sm, shared_per_sm;
	double shared_per_block_optin, l2_bytes;
	double clock_khz, memory_clock_khz, memory_bus_bits, memory_bytes, power_watts, pci_device;
	double memory_bytes_per_s;
	double fp32, fp64, tf32, fp16, fp8, int8; /* operations per second */
	/* In one direction; nvlink_bytes_per_s 0: no NVLink. */
	double pcie_bytes_per_s, pageable_bytes_per_s, nvlink_bytes_per_s, network_bytes_per_s;
	double nvlinks;
	double math_efficiency, memory_efficiency, link_efficiency;
	/* Device: from the end of the launching call to the start; gap between two operations of a
	 * stream; from an event to the waiting operation; shortest kernel; fixed part of a copy;
	 * from the end of an operation to the end of the call that waits for it. */
	double launch_ns, gap_ns, event_ns, kernel_ns, copy_ns, sync_ns;
	/* Host: durations of calls; of NCCL, for each kernel that it launches. */
	double call_launch_ns, call_copy_ns, call_event_ns, call_query_ns, call_malloc_ns;
	double call_collective_ns;
	double pin_bytes_per_s; /* pinning host memory */
	double first_touch_ns;	/* first touch of a 4 KiB page of host memory */
	double network_ns, nvlink_ns;
	/* Bandwidth of all-reduce by NVSwitch, 0: none; efficiency of PCIe in one direction. */
	double switch_bytes_per_s, pcie_efficiency;
	/* Fitted by data/fit to measured durations; doc/gpuemu.md has the formulas. */
	double tile_128x128, tile_128x64, tile_64x64, tile_128x32, tile_32x128;
	double tile_64x32_sliced, tile_32x32_sliced, tile_128x32_sliced;
	double product_wave, product_prologue, product_rows, product_columns, product_store;
	double product_norm, product_l2, product_warps, product_slice, product_lookup,
		product_choice, split_blocks, wide_efficiency;
	double tensor_efficiency, tensor_prologue, tensor_cache_bytes_per_cycle;
	/* If sustained_clock is not set, it is derived: the clock at which FP32 arithmetic uses
	 * cost_gpu_watts(). operations_per_joule 0: unknown; the boost clock is used. */
	double process_nm, memory_joules_per_byte, operations_per_joule;
	double sustained_clock, sustained_ns;
	double cache_bytes_per_cycle, cache_begin, cache_end, write_penalty;
	/* Of a load that a thread waits for: to the L2 cache, and more to the memory, whose latency
	 * does not depend on the clock; elements whose offsets a multiprocessor calculates in a
	 * cycle. */
	double load_cycles, load_ns, indexed_elements;
	double row_norm, l1_share, l2_share, warp_cycles, warp_item_cycles, warp_efficiency;
	double block_cycles, block_item_cycles, block_reread;
	double layer_norm_cycles, layer_norm_item_cycles, layer_norm_reread, layer_norm_norm;
	double winograd_transform, winograd_filter, winograd_efficiency, convolution_efficiency;
};

struct cost_gpu_text {
	const char *name; /* "H200"; NULL ends the list */
	const char *text;
};

extern const struct cost_gpu_text cost_gpu_texts[];
extern const char cost_gpu_common[];

/* Loads a model. `like` is the name of a built-in model ("H100-SXM5"), its alias ("H100"), the name
 * of its device ("NVIDIA H100 80GB HBM3"), or the path of a file. Returns 0, or a negative errno
 * and the problem in `why`. */
int cost_gpu_load(const char *like, struct cost_gpu *ret, char *why, size_t why_size);

/* Returns the power for arithmetic: the rest of the board takes about as much as the memory at its
 * full bandwidth, whatever runs. */
double cost_gpu_watts(const struct cost_gpu *m);

/* Returns the share of the accesses to `held` addresses that hit the L2 cache, which contains as
 * much as fits from the previous operation. */
double cost_cache_hits(const struct cost_gpu *m, double held);

/* Returns the bandwidth of the memory in bytes per second, if read_part (0 to 1) is read. */
double cost_memory_rate(const struct cost_gpu *m, double read_part);

/* Returns the value of a key, or NULL. */
const double *cost_gpu_value(const struct cost_gpu *m, const char *key);
