/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/gemm.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_gemm.h"
#include "replay/emugpu/math/tile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Multiples of the rows and columns of all tiles. A packed block of A fits into the L2 cache. */
enum { BLOCK_ROWS = 512, BLOCK_COLUMNS = 768, BLOCK_K = 384, SMALL_BYTES = 32 << 10 };

struct range {
	int64_t at, n;
};

struct buffers {
	void *a, *b, *sum;
	void *line; /* one line of BLOCK_K elements, or one column of a block */
	void *heap; /* all buffers, if they do not fit into `small` */
	uint8_t small[SMALL_BYTES] __attribute__((aligned(64)));
};

static int64_t round_up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

static void buffers_done(struct buffers *b)
{
	free(b->heap);
}

static int buffers_init(struct buffers *b, int64_t rows, int64_t columns, int64_t k, size_t bytes)
{
	int64_t depth = (k < BLOCK_K ? k : BLOCK_K) + 1, size = (int64_t)bytes;
	int64_t a = round_up(rows * depth * size, 64), of_b = round_up(columns * depth * size, 64);
	int64_t sum = round_up(rows * columns * size, 64);
	int64_t line = round_up((BLOCK_ROWS + BLOCK_K) * size, 64);
	uint8_t *at = b->small;

	b->heap = NULL;
	if (a + of_b + sum + line > SMALL_BYTES)
		at = b->heap = aligned_alloc(64, (size_t)(a + of_b + sum + line));
	if (!at)
		return -ENOMEM;
	b->a = at;
	b->b = at + a;
	b->sum = at + a + of_b;
	b->line = at + a + of_b + sum;
	return 0;
}

double emu_gelu(double x)
{
	return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_derivative(double x)
{
	double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = tanh(inner);

	return 0.5 * (1 + t) +
	       0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static double backward(const struct emu_epilogue *e, int64_t at, double v)
{
	if (e->activation == EMU_RELU)
		return ((uint8_t *)e->aux)[at / 8] >> at % 8 & 1 ? v : 0;
	if (e->activation == EMU_GELU)
		return v * gelu_derivative(emu_load(e->aux_type, e->aux, at));
	return v;
}

static double epilogue(const struct emu_epilogue *e, int64_t i, int64_t j, double v)
{
	int64_t at = i + j * e->aux_stride;

	if (e->bias)
		v += emu_load(e->bias_type, e->bias, i);
	if (e->backward)
		return backward(e, at, v);
	if (e->activation == EMU_RELU) {
		if (e->aux) {
			uint8_t *mask = (uint8_t *)e->aux + at / 8;

			*mask = (uint8_t)((*mask & ~(1 << at % 8)) | (v > 0) << at % 8);
		}
		return v > 0 ? v : v == v ? 0 : v;
	}
	if (e->activation == EMU_GELU) {
		if (e->aux)
			emu_store(e->aux_type, e->aux, at, v);
		return emu_gelu(v);
	}
	return v;
}

#define T float
#define NAME(x) x##_f32
#define TO emu_to_f32
#define FROM emu_from_f32
#define KERNEL f32
#define ROWS_OF(tile) ((tile)->rows)
#define SCALE(x) ((float)(x))
#include "replay/emugpu/math/gemm_type.h"

#define T double
#define NAME(x) x##_f64
#define TO emu_to_f64
#define FROM emu_from_f64
#define KERNEL f64
#define ROWS_OF(tile) ((tile)->rows64)
#define SCALE(x) (x)
#include "replay/emugpu/math/gemm_type.h"

/* Sums of 8-bit products, which wrap at 32 bits as on GPUs; alpha and beta are integers, or float.
 */
#define T int32_t
#define NAME(x) x##_i32
#define TO emu_to_i32
#define FROM emu_from_i32
#define KERNEL i32
#define ROWS_OF(tile) ((tile)->rows)
#define SCALE(x) (x)
#include "replay/emugpu/math/gemm_type.h"

static const struct emu_tile *tile_of_this_processor(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return &emu_tile_v4;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &emu_tile_v3;
#endif
	return &emu_tile_v1;
}

static int product(const struct emu_gemm *g, double *grad)
{
	const struct emu_tile *tile = tile_of_this_processor();

	switch (g->compute) {
	case EMU_F32:
		return product_f32(g, tile, grad);
	case EMU_F64:
		return product_f64(g, tile, grad);
	case EMU_I32:
		return product_i32(g, tile, grad);
	case EMU_C32:
	case EMU_C64:
		return emu_gemm_complex(g);
	default:
		return -ENOTSUP;
	}
}

int emu_gemm(const struct emu_gemm *g)
{
	const struct emu_epilogue *e = g->epilogue;
	scoped(free_ptr) double *grad = NULL;
	int r;

	if (g->m < 0 || g->n < 0 || g->k < 0)
		return -EINVAL;
	if (e && g->compute != EMU_F32 && g->compute != EMU_F64)
		return -ENOTSUP;
	if (e && e->bias_grad) {
		grad = calloc((size_t)g->m + 1, sizeof(*grad));
		if (!grad)
			return -ENOMEM;
	}
	r = product(g, grad);
	for (int64_t i = 0; r == 0 && grad && i < g->m; i++)
		emu_store(e->bias_type, e->bias_grad, i, grad[i]);
	return r;
}
