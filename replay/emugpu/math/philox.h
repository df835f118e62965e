/* SPDX-License-Identifier: Apache-2.0 */

/* cuRAND's generator Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC
 * 2011). */
#pragma once

#include <stdint.h>
#include <string.h>

/* Returns four numbers: block `at` of the sequence of a thread. */
static inline void emu_philox(uint64_t seed, uint64_t thread, uint64_t at, uint32_t ret[4])
{
	uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)thread,
			 (uint32_t)(thread >> 32)};
	uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xd2511f53 * c[0], b = (uint64_t)0xcd9e8d57 * c[2];
		uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
				    (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};

		memcpy(c, next, sizeof(c));
		key[0] += 0x9e3779b9;
		key[1] += 0xbb67ae85;
	}
	memcpy(ret, c, sizeof(c));
}

/* In (0, 1]. */
static inline double emu_philox_uniform(uint32_t x)
{
	return (float)x * 0x1p-32f + 0x1p-33f;
}
