/* SPDX-License-Identifier: Apache-2.0 */

/* gpuemu --no-data ($GPUEMU_DATA is 0): device memory contains no data, except for small transfers,
 * by which processes agree on sizes. Any thread. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns 1 if kernels compute. */
static inline int emu_has_data(void)
{
	static int known; /* 1: no, 2: yes */

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED)) {
		const char *value = getenv("GPUEMU_DATA");

		__atomic_store_n(&known, value && strcmp(value, "0") == 0 ? 1 : 2,
				 __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

/* Returns 1 if a copy, fill or NCCL operation of `bytes` bytes moves data. */
static inline int emu_moves(uint64_t bytes)
{
	return bytes <= 64 << 10 || emu_has_data();
}
