/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "replay/emugpu/math/complex_element.h"
#include "replay/emugpu/math/dense.h"
#include "replay/emugpu/math/vector.h"

#include <errno.h>

static double complex load_element(const struct emu_matrix *m, int64_t i, int64_t j)
{
	double complex v = emu_load_complex(m->type, m->data, i * m->row + j * m->column);

	return m->conjugate ? conj(v) : v;
}

static void store_element(const struct emu_matrix *m, int64_t i, int64_t j, double complex v)
{
	emu_store_complex(m->type, (void *)(uintptr_t)m->data, i * m->row + j * m->column, v);
}

/* Runs bli_trsm() or bli_trmm() on a copy of B, and stores the copy in X. */
static int run(const struct emu_triangle *t,
	       void (*level3)(side_t side, obj_t *alpha, obj_t *a, obj_t *b))
{
	int64_t order = t->right ? t->n : t->m;
	scoped(emu_dense_done) struct emu_dense a = {.copy = NULL}, x = {.copy = NULL};
	obj_t alpha;

	if (emu_dense_of(&t->a, order, order, t->x.type, &a) < 0 ||
	    emu_dense_copy(&t->b, t->m, t->n, t->x.type, &x) < 0)
		return -ENOMEM;
	bli_obj_set_struc(BLIS_TRIANGULAR, &a.object);
	bli_obj_set_uplo(t->upper ? BLIS_UPPER : BLIS_LOWER, &a.object);
	bli_obj_set_diag(t->unit ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, &a.object);
	bli_obj_scalar_init_detached(bli_obj_dt(&x.object), &alpha);
	bli_setsc(t->alpha[0], t->alpha[1], &alpha);
	level3(t->right ? BLIS_RIGHT : BLIS_LEFT, &alpha, &a.object, &x.object);
	for (int64_t j = 0; j < t->n; j++)
		for (int64_t i = 0; i < t->m; i++)
			store_element(&t->x, i, j,
				      emu_load_complex(t->x.type, x.copy,
						       i * bli_obj_row_stride(&x.object) +
							       j * bli_obj_col_stride(&x.object)));
	return 0;
}

int emu_trsm(const struct emu_triangle *t)
{
	return run(t, bli_trsm);
}

int emu_trmm(const struct emu_triangle *t)
{
	return run(t, bli_trmm);
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
