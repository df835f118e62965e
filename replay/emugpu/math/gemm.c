/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/gemm.h"

#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"
#include "replay/emugpu/math/dense.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 512 };
#define PANEL_ELEMENTS (INT64_C(1) << 22) /* of D that are computed together */

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

/* Sums of 8-bit products are exact in double. They wrap at 32 bits, as on GPUs. */
static double wrapped(double sum)
{
	return (double)(int32_t)(uint32_t)(int64_t)sum;
}

static const void *element_at(const struct emu_matrix *m, int64_t i, int64_t j)
{
	return (const char *)m->data +
	       (i * m->row + j * m->column) * (int64_t)emu_type_bytes(m->type);
}

/* Stores `n` elements of column `j` of D, from row `i`; `sum` has these elements of A B. */
static void store_block(const struct emu_gemm *g, int64_t i, size_t n, int64_t j, double *sum,
			double *grad)
{
	double c[BLOCK];

	for (size_t r = 0; r < n; r++)
		sum[r] = g->alpha[0] * (g->compute == EMU_I32 ? wrapped(sum[r]) : sum[r]);
	if (g->beta[0] != 0) {
		emu_to_f64(g->c.type, element_at(&g->c, i, j), g->c.row, n, c);
		for (size_t r = 0; r < n; r++)
			sum[r] += g->beta[0] * c[r];
	}
	for (size_t r = 0; g->epilogue && r < n; r++) {
		sum[r] = epilogue(g->epilogue, i + (int64_t)r, j, sum[r]);
		if (grad)
			grad[i + (int64_t)r] += sum[r];
	}
	emu_from_f64(g->d.type, (void *)(uintptr_t)element_at(&g->d, i, j), g->d.row, n, sum);
}

/* Stores column `j` of D, from the column of A B that begins at `sum`. */
static void store_column(const struct emu_gemm *g, int64_t j, enum emu_type type, const char *sum,
			 double *grad)
{
	double block[BLOCK];

	for (int64_t i = 0; i < g->m; i += BLOCK) {
		size_t n = (size_t)(g->m - i < BLOCK ? g->m - i : BLOCK);

		emu_to_f64(type, sum + i * (int64_t)emu_type_bytes(type), 1, n, block);
		store_block(g, i, n, j, block, grad);
	}
}

static void store_complex_column(const struct emu_gemm *g, int64_t j, enum emu_type type,
				 const void *sum)
{
	double complex alpha = emu_complex(g->alpha[0], g->alpha[1]);
	double complex beta = emu_complex(g->beta[0], g->beta[1]);

	for (int64_t i = 0; i < g->m; i++) {
		double complex v = alpha * emu_load_complex(type, sum, i);

		if (beta != 0)
			v += beta * emu_load_complex(g->c.type, element_at(&g->c, i, j), 0);
		emu_store_complex(g->d.type, (void *)(uintptr_t)element_at(&g->d, i, j), 0, v);
	}
}

/* Computes `n` columns of D, from `j`. `sum` has space for them. */
static int panel(const struct emu_gemm *g, enum emu_type type, obj_t *a, int64_t j, int64_t n,
		 void *sum, double *grad)
{
	struct emu_matrix from = g->b, to = {sum, type, 0, 1, g->m};
	scoped(emu_dense_done) struct emu_dense b = {.copy = NULL}, product = {.copy = NULL};

	from.data = element_at(&g->b, 0, j);
	if (emu_dense_of(&from, g->k, n, type, &b) < 0 ||
	    emu_dense_of(&to, g->m, n, type, &product) < 0)
		return -ENOMEM;
	bli_gemm(&BLIS_ONE, a, &b.object, &BLIS_ZERO, &product.object);
	for (int64_t c = 0; c < n; c++) {
		const char *column = (char *)sum + c * g->m * (int64_t)emu_type_bytes(type);

		if (type == EMU_C32 || type == EMU_C64)
			store_complex_column(g, j + c, type, column);
		else
			store_column(g, j + c, type, column, grad);
	}
	return 0;
}

static int all_panels(const struct emu_gemm *g, enum emu_type type, double *grad)
{
	int64_t columns = PANEL_ELEMENTS / g->m + 1;
	scoped(emu_dense_done) struct emu_dense a = {.copy = NULL};
	scoped(free_ptr) void *sum = NULL;
	int r = emu_dense_of(&g->a, g->m, g->k, type, &a);

	columns = columns < g->n ? columns : g->n;
	sum = calloc((size_t)(g->m * columns), emu_type_bytes(type));
	if (!sum)
		return -ENOMEM;
	for (int64_t j = 0; r == 0 && j < g->n; j += columns)
		r = panel(g, type, &a.object, j, g->n - j < columns ? g->n - j : columns, sum,
			  grad);
	return r;
}

int emu_gemm(const struct emu_gemm *g)
{
	enum emu_type type = g->compute == EMU_I32 ? EMU_F64 : g->compute;
	const struct emu_epilogue *e = g->epilogue;
	scoped(free_ptr) double *grad = NULL;
	int r;

	if (g->m < 0 || g->n < 0 || g->k < 0)
		return -EINVAL;
	if (type != EMU_F32 && type != EMU_F64 && type != EMU_C32 && type != EMU_C64)
		return -ENOTSUP;
	if ((e && g->compute != EMU_F32 && g->compute != EMU_F64) ||
	    (type >= EMU_C32 && g->d.type != EMU_C32 && g->d.type != EMU_C64))
		return -ENOTSUP;
	if (e && e->bias_grad) {
		grad = calloc((size_t)g->m + 1, sizeof(*grad));
		if (!grad)
			return -ENOMEM;
	}
	r = g->m > 0 && g->n > 0 ? all_panels(g, type, grad) : 0;
	for (int64_t i = 0; r == 0 && grad && i < g->m; i++)
		emu_store(e->bias_type, e->bias_grad, i, grad[i]);
	return r;
}
