/* SPDX-License-Identifier: Apache-2.0 */

/* Recorded durations, from the file that tools/gpuemu/timing.h writes. Loaded once, then usable by
 * any thread. */
#pragma once

#include <gpuemu.h>
#include <stdint.h>

/* The duration of a kernel with a launch shape. */
struct emu_timing {
	char *name;
	uint32_t grid[3], block[3];
	int64_t ns;
};

/* Returns 0 or a negative errno. */
int emu_timing_load(const char *path);

/* Finds the rows of a kernel: [*ret, *end). */
void emu_timing_find(const char *symbol, const struct emu_timing **ret,
		     const struct emu_timing **end);

/* Returns the recorded duration of a copy ("in", "out", "within", "peer", or "pageable in" and so
 * on; ranks 0) or a collective ("all_reduce"). Interpolates linearly between two recorded sizes; -1
 * outside of the recorded sizes. */
int64_t emu_timing_ns(const char *what, uint32_t ranks, uint64_t bytes);

gpuemu_recorded_ns_fn gpuemu_recorded_ns;
