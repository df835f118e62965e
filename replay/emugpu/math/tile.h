/* SPDX-License-Identifier: Apache-2.0 */

/* The inner loops of the matrix product, for each instruction set. */
#pragma once

#include <stdint.h>

/* Sizes of a set of kernels. A is packed in slivers of `rows` rows, B of `columns` columns, both
 * with k outermost, padded with zeros. */
struct emu_tile {
	int rows, columns;
	/* c[i + j * ldc] += sum over p < k of a[p * rows + i] * b[p * columns + j]. */
	void (*f32)(int64_t k, const float *a, const float *b, float *c, int64_t ldc);
	void (*f64)(int64_t k, const double *a, const double *b, double *c, int64_t ldc);
	void (*i32)(int64_t k, const int32_t *a, const int32_t *b, int32_t *c, int64_t ldc);
	int rows64; /* rows of a sliver of doubles */
};

extern const struct emu_tile emu_tile_v1, emu_tile_v3, emu_tile_v4;
