/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "replay/emugpu/math/complex_gemm.h"
#include "replay/emugpu/math/vector.h"

#include <errno.h>
#include <stdlib.h>

static double complex load_element(const struct emu_matrix *m, int64_t i, int64_t j)
{
	double complex v = emu_load_complex(m->type, m->data, i * m->row + j * m->column);

	return m->conjugate ? conj(v) : v;
}

static void store_element(const struct emu_matrix *m, int64_t i, int64_t j, double complex v)
{
	emu_store_complex(m->type, (void *)(uintptr_t)m->data, i * m->row + j * m->column, v);
}

/* X A = B is the same as A^T X^T = B^T, so only the left case is implemented. */
static struct emu_triangle from_the_left(const struct emu_triangle *t)
{
	struct emu_triangle l = *t;

	if (!t->right)
		return l;
	l.right = 0;
	l.upper = !t->upper;
	l.m = t->n;
	l.n = t->m;
	l.a.row = t->a.column;
	l.a.column = t->a.row;
	l.b.row = t->b.column;
	l.b.column = t->b.row;
	l.x.row = t->x.column;
	l.x.column = t->x.row;
	return l;
}

void emu_trsm(const struct emu_triangle *t)
{
	struct emu_triangle l = from_the_left(t);
	double complex alpha = emu_complex(t->alpha[0], t->alpha[1]);

	for (int64_t j = 0; j < l.n; j++)
		for (int64_t step = 0; step < l.m; step++) {
			int64_t i = l.upper ? l.m - 1 - step : step;
			double complex v = alpha * load_element(&l.b, i, j);

			for (int64_t p = l.upper ? i + 1 : 0; p < (l.upper ? l.m : i); p++)
				v -= load_element(&l.a, i, p) * load_element(&l.x, p, j);
			store_element(&l.x, i, j, l.unit ? v : v / load_element(&l.a, i, i));
		}
}

int emu_trmm(const struct emu_triangle *t)
{
	struct emu_triangle l = from_the_left(t);
	double complex alpha = emu_complex(t->alpha[0], t->alpha[1]);
	scoped(free_ptr) double complex *column = calloc((size_t)l.m + 1, sizeof(*column));

	if (!column)
		return -ENOMEM;
	for (int64_t j = 0; j < l.n; j++) {
		for (int64_t i = 0; i < l.m; i++)
			column[i] = load_element(&l.b, i, j);
		for (int64_t i = 0; i < l.m; i++) {
			double complex v =
				l.unit ? column[i] : load_element(&l.a, i, i) * column[i];

			for (int64_t p = l.upper ? i + 1 : 0; p < (l.upper ? l.m : i); p++)
				v += load_element(&l.a, i, p) * column[p];
			store_element(&l.x, i, j, alpha * v);
		}
	}
	return 0;
}

void emu_geam(const struct emu_gemm *g)
{
	double complex alpha = emu_complex(g->alpha[0], g->alpha[1]);
	double complex beta = emu_complex(g->beta[0], g->beta[1]);

	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++) {
			double complex v = 0;

			if (alpha != 0)
				v += alpha * load_element(&g->a, i, j);
			if (beta != 0)
				v += beta * load_element(&g->b, i, j);
			store_element(&g->d, i, j, v);
		}
}
