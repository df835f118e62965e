/* SPDX-License-Identifier: Apache-2.0 */

/* The durations of a recorded run, which tools/gpuemu/timing.h writes. Loaded once; then any
 * thread. */
#pragma once

#include <gpuemu.h>
#include <stdint.h>

/* A kernel and shape. */
struct emu_timing {
	char *name;
	uint32_t grid[3], block[3];
	int64_t ns;
};

/* 0 or a negative errno. */
int emu_timing_load(const char *path);

/* The rows of a kernel: [*ret, *end). */
void emu_timing_find(const char *symbol, const struct emu_timing **ret,
		     const struct emu_timing **end);

/* How long `what` of `bytes` took: a copy ("in", "out", "within" or "peer", each also "pageable
 * in"), or a collective ("all_reduce") of so many ranks, else 0. Between two sizes that were
 * recorded it is on the line between them; beyond them -1, nobody knows. */
int64_t emu_timing_ns(const char *what, uint32_t ranks, uint64_t bytes);

gpuemu_recorded_ns_fn gpuemu_recorded_ns;
