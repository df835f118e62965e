/* SPDX-License-Identifier: Apache-2.0 */

/* Compiled once for each level of the x86-64 instruction set (TILE_NAME, TILE_BYTES a vector,
 * TILE_COLUMNS), and with plain vectors on other processors. */
#include "replay/emugpu/math/tile.h"

#define UNROLL _Pragma("GCC unroll 12")

/* Two vectors of rows by TILE_COLUMNS columns stay in registers over the whole of k. */
#define DEFINE_TILE(name, T)                                                                       \
	typedef T name##_vec __attribute__((vector_size(TILE_BYTES), aligned(sizeof(T))));         \
	static void name(int64_t k, const T *a, const T *b, T *c, int64_t ldc)                     \
	{                                                                                          \
		enum { TRACKS = TILE_BYTES / sizeof(T), ROWS = 2 * TRACKS };                       \
		name##_vec sum[TILE_COLUMNS][2] = {0};                                             \
                                                                                                   \
		for (int64_t p = 0; p < k; p++, a += ROWS, b += TILE_COLUMNS) {                    \
			name##_vec low = *(const name##_vec *)a;                                   \
			name##_vec high = *(const name##_vec *)(a + TRACKS);                       \
			UNROLL for (int j = 0; j < TILE_COLUMNS; j++)                              \
			{                                                                          \
				sum[j][0] += low * b[j];                                           \
				sum[j][1] += high * b[j];                                          \
			}                                                                          \
		}                                                                                  \
		UNROLL for (int j = 0; j < TILE_COLUMNS; j++)                                      \
		{                                                                                  \
			*(name##_vec *)(c + j * ldc) += sum[j][0];                                 \
			*(name##_vec *)(c + j * ldc + TRACKS) += sum[j][1];                        \
		}                                                                                  \
	}

DEFINE_TILE(tile_f32, float)
DEFINE_TILE(tile_f64, double)
DEFINE_TILE(tile_i32, int32_t)

const struct emu_tile TILE_NAME = {
	.rows = 2 * TILE_BYTES / 4,
	.columns = TILE_COLUMNS,
	.f32 = tile_f32,
	.f64 = tile_f64,
	.i32 = tile_i32,
	.rows64 = 2 * TILE_BYTES / 8,
};
