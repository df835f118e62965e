/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "replay/emugpu/lib/work.h"
#include "replay/emugpu/math/complex_element.h"
#include "tests/unit/test.h"

#include <math.h>

static uint32_t seed = 1;

static double any(void)
{
	seed = seed * 1664525 + 1013904223;
	return (double)(seed >> 20) / 2048 - 1;
}

/* Returns a column-major matrix of random values with one unused row; the caller frees it. */
static struct emu_matrix matrix(enum emu_type type, int64_t rows, int64_t columns, int transposed)
{
	struct emu_matrix m = {NULL, type, 0, 1, rows + 1};
	char *data = calloc((size_t)((rows + 1) * (columns + 1)), emu_type_bytes(type));

	for (int64_t i = 0; i < (rows + 1) * columns; i++)
		emu_store_complex(type, data, i,
				  type == EMU_I8 ? (int)(any() * 100) : emu_complex(any(), any()));
	m.data = data;
	if (transposed) {
		m.row = rows + 1;
		m.column = 1;
	}
	return m;
}

static double complex element(const struct emu_matrix *m, int64_t i, int64_t j)
{
	double complex v = emu_load_complex(m->type, m->data, i * m->row + j * m->column);

	return m->conjugate ? conj(v) : v;
}

static const struct {
	enum emu_type in, out, compute;
	int64_t m, n, k;
	int ta, tb;
	double alpha, beta;
	double tolerance; /* relative to the sum of the absolute products */
} rows[] = {
	{EMU_F32, EMU_F32, EMU_F32, 1, 1, 1, 0, 0, 1, 0, 1e-6},
	{EMU_F32, EMU_F32, EMU_F32, 33, 13, 700, 0, 0, 1, 0, 1e-6},
	{EMU_F32, EMU_F32, EMU_F32, 530, 790, 9, 1, 0, 2, 1, 1e-6},
	{EMU_F32, EMU_F32, EMU_F32, 65, 64, 63, 0, 1, 1, -1, 1e-6},
	{EMU_F32, EMU_F32, EMU_F32, 17, 5, 31, 1, 1, 0.5, 0.5, 1e-6},
	{EMU_F32, EMU_F32, EMU_F32, 7, 5, 0, 0, 0, 1, 0.5, 1e-6},
	{EMU_F64, EMU_F64, EMU_F64, 100, 70, 400, 0, 1, 1, 1, 1e-15},
	{EMU_F64, EMU_F64, EMU_F64, 31, 33, 35, 1, 0, -1, 0, 1e-15},
	{EMU_F16, EMU_F16, EMU_F32, 40, 50, 60, 0, 0, 1, 0, 1e-3},
	{EMU_F16, EMU_F32, EMU_F32, 40, 50, 60, 1, 0, 1, 0, 1e-6},
	{EMU_BF16, EMU_BF16, EMU_F32, 40, 50, 60, 0, 1, 1, 1, 5e-3},
	{EMU_BF16, EMU_F32, EMU_F32, 129, 1, 600, 1, 1, 1, 0, 1e-6},
	{EMU_E4M3, EMU_BF16, EMU_F32, 20, 30, 40, 1, 0, 1, 0, 5e-3},
	{EMU_I8, EMU_I32, EMU_I32, 40, 50, 999, 0, 0, 1, 0, 0},
	{EMU_I8, EMU_I32, EMU_I32, 4, 5, 9, 1, 1, 3, 2, 0},
	{EMU_I8, EMU_F32, EMU_F32, 14, 15, 90, 0, 1, 1, 0, 1e-6},
	{EMU_C32, EMU_C32, EMU_C32, 20, 21, 22, 0, 1, 1, 1, 1e-6},
	{EMU_C64, EMU_C64, EMU_C64, 20, 21, 22, 1, 0, 2, 0, 1e-15},
};

TEST_ROWS(products, rows)
{
	int64_t m = row->m, n = row->n, k = row->k;
	struct emu_gemm g = {m, n, k, row->compute, {row->alpha, 0}, {row->beta, 0}};
	scoped(free_ptr) char *old = NULL;

	g.a = row->ta ? matrix(row->in, k, m, 1) : matrix(row->in, m, k, 0);
	g.b = row->tb ? matrix(row->in, n, k, 1) : matrix(row->in, k, n, 0);
	g.a.conjugate = row->ta && row->in >= EMU_C32;
	g.c = g.d = matrix(row->out, m, n, 0);
	old = malloc((size_t)((m + 1) * (n + 1)) * emu_type_bytes(g.c.type));
	memcpy(old, g.c.data, (size_t)((m + 1) * (n + 1)) * emu_type_bytes(g.c.type));
	ck_assert_int_eq(emu_gemm(&g), 0);
	g.c.data = old;
	for (int64_t j = 0; j < n; j++) {
		for (int64_t i = 0; i < m; i++) {
			double complex want = row->beta * element(&g.c, i, j);
			double size = cabs(want) + 1e-30;

			for (int64_t p = 0; p < k; p++) {
				double complex v =
					element(&g.a, i, p) * element(&g.b, p, j) * row->alpha;

				want += v;
				size += cabs(v);
			}
			ck_assert_msg(cabs(element(&g.d, i, j) - want) <= size * row->tolerance,
				      "row %d (%ld, %ld): %g not %g", (int)(row - rows), (long)i,
				      (long)j, creal(element(&g.d, i, j)), creal(want));
		}
		/* The unused row is unchanged. */
		ck_assert(element(&g.d, m, j) == element(&g.c, m, j));
	}
	free((void *)(uintptr_t)g.a.data);
	free((void *)(uintptr_t)g.b.data);
	free((void *)(uintptr_t)g.d.data);
}

/* Digests compare bit by bit, so a product must not depend on where its operands lie in memory. */
TEST_EACH(alignment, 4)
{
	enum { N = 67 };
	enum emu_type type = _i < 2 ? EMU_F32 : EMU_F64;
	size_t size = emu_type_bytes(type);
	struct emu_gemm g = {N, _i % 2 ? 1 : N, N, type, {1, 0}, {0, 0}};
	scoped(free_ptr) char *first = NULL;
	scoped(free_ptr) char *data = malloc(3 * (N + 1) * (N + 1) * size);
	struct emu_matrix a = matrix(type, N, N, 0), b = matrix(type, N, N, 0);

	for (size_t shift = 0; shift < 64; shift += size) {
		char *at = data + shift;

		memcpy(at, a.data, (N + 1) * N * size);
		memcpy(at + (N + 1) * N * size, b.data, (N + 1) * N * size);
		g.a = (struct emu_matrix){at, type, 0, 1, N + 1};
		g.b = (struct emu_matrix){at + (N + 1) * N * size, type, 0, 1, N + 1};
		g.c = g.d = (struct emu_matrix){at + 2 * (N + 1) * N * size, type, 0, 1, N};
		ck_assert_int_eq(emu_gemm(&g), 0);
		if (!first) {
			first = malloc(N * N * size);
			memcpy(first, g.d.data, (size_t)(N * g.n) * size);
		}
		ck_assert_mem_eq(first, g.d.data, (size_t)(N * g.n) * size);
	}
	free((void *)(uintptr_t)a.data);
	free((void *)(uintptr_t)b.data);
}

/* Bias and activation functions, forward and backward: GELU against a difference quotient, ReLU by
 * its mask. */
TEST_EACH(epilogues, 2)
{
	enum { M = 128, N = 9, K = 20 };
	int gelu = _i;
	struct emu_epilogue e = {.activation = gelu ? EMU_GELU : EMU_RELU, .aux_stride = M};
	struct emu_gemm g = {M, N, K, EMU_F64, {1, 0}, {0, 0}};
	double bias[M], before[M * N], grad[M];
	uint8_t mask[M * N / 8];

	for (int i = 0; i < M; i++)
		bias[i] = any();
	memset(mask, 0xa5, sizeof(mask));
	e.bias = bias;
	e.bias_type = e.aux_type = EMU_F64;
	e.aux = gelu ? (void *)before : (void *)mask;
	g.a = matrix(EMU_F64, M, K, 0);
	g.b = matrix(EMU_F64, K, N, 0);
	g.d = matrix(EMU_F64, M, N, 0);
	g.epilogue = &e;
	ck_assert_int_eq(emu_gemm(&g), 0);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < M; i++) {
			double v = bias[i], want;

			for (int p = 0; p < K; p++)
				v += creal(element(&g.a, i, p) * element(&g.b, p, j));
			want = gelu ? 0.5 * v * (1 + tanh(0.79788456 * (v + 0.044715 * v * v * v)))
				    : fmax(v, 0);
			ck_assert(fabs(creal(element(&g.d, i, j)) - want) < 1e-7);
			if (gelu)
				ck_assert(fabs(before[i + j * M] - v) < 1e-12);
			else
				ck_assert_int_eq(mask[(i + j * M) / 8] >> (i + j * M) % 8 & 1,
						 v > 0);
		}
	e.backward = 1;
	e.bias = NULL;
	e.bias_grad = grad;
	ck_assert_int_eq(emu_gemm(&g), 0);
	for (int i = 0; i < M; i++) {
		double sum = 0;

		for (int j = 0; j < N; j++) {
			double v = 0, x = before[i + j * M], slope;

			for (int p = 0; p < K; p++)
				v += creal(element(&g.a, i, p) * element(&g.b, p, j));
			slope = gelu ? (emu_gelu(x + 1e-5) - emu_gelu(x - 1e-5)) / 2e-5
				     : mask[(i + j * M) / 8] >> (i + j * M) % 8 & 1;
			ck_assert(fabs(creal(element(&g.d, i, j)) - v * slope) < 1e-7);
			sum += creal(element(&g.d, i, j));
		}
		ck_assert(fabs(grad[i] - sum) < 1e-12);
	}
	free((void *)(uintptr_t)g.a.data);
	free((void *)(uintptr_t)g.b.data);
	free((void *)(uintptr_t)g.d.data);
}
