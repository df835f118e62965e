/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/complex_gemm.h"

#include <errno.h>

double complex emu_load_complex(enum emu_type type, const void *data, int64_t index)
{
	if (type == EMU_C32)
		return emu_complex(((const float *)data)[2 * index],
				   ((const float *)data)[2 * index + 1]);
	if (type == EMU_C64)
		return emu_complex(((const double *)data)[2 * index],
				   ((const double *)data)[2 * index + 1]);
	return emu_load(type, data, index);
}

void emu_store_complex(enum emu_type type, void *data, int64_t index, double complex value)
{
	if (type == EMU_C32) {
		((float *)data)[2 * index] = (float)creal(value);
		((float *)data)[2 * index + 1] = (float)cimag(value);
	} else if (type == EMU_C64) {
		((double *)data)[2 * index] = creal(value);
		((double *)data)[2 * index + 1] = cimag(value);
	} else {
		emu_store(type, data, index, creal(value));
	}
}

static double complex element(const struct emu_matrix *m, int64_t i, int64_t j)
{
	double complex v = emu_load_complex(m->type, m->data, i * m->row + j * m->column);

	return m->conjugate ? conj(v) : v;
}

int emu_gemm_complex(const struct emu_gemm *g)
{
	double complex alpha = emu_complex(g->alpha[0], g->alpha[1]);
	double complex beta = emu_complex(g->beta[0], g->beta[1]);

	if (g->d.type != EMU_C32 && g->d.type != EMU_C64)
		return -ENOTSUP;
	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++) {
			double complex sum = 0;

			for (int64_t p = 0; p < g->k; p++)
				sum += element(&g->a, i, p) * element(&g->b, p, j);
			sum *= alpha;
			if (beta != 0)
				sum += beta * element(&g->c, i, j);
			emu_store_complex(g->d.type, (void *)(uintptr_t)g->d.data,
					  i * g->d.row + j * g->d.column, sum);
		}
	return 0;
}
