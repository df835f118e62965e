/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/work.h"

#include <math.h>

static double bytes_of(const struct emu_operand *o, int64_t rows, int64_t columns)
{
	return o->m.data ? (double)rows * (double)columns * (double)emu_type_bytes(o->m.type) : 0;
}

static struct emu_work_cost gemm_cost(const struct emu_work *work)
{
	const struct emu_gemm_work *w = &work->gemm;
	int whole = work->kind == EMU_WORK_GEMM;
	int complex_type = w->compute == EMU_C32 || w->compute == EMU_C64;
	double products = (double)w->m * (double)w->n * (whole ? (double)w->k : 1);
	struct emu_work_cost cost = {.type = w->a.m.type, .tensor = w->tensor};

	cost.operations = (complex_type ? 8 : 2) * products * (double)w->batch;
	if (whole)
		cost.bytes = bytes_of(&w->a, w->m, w->k) + bytes_of(&w->b, w->k, w->n);
	else
		cost.bytes = bytes_of(&w->a, w->m, w->n) + bytes_of(&w->b, w->m, w->n);
	if (w->beta.address || w->beta.value[0] != 0)
		cost.bytes += bytes_of(&w->c, w->m, w->n);
	cost.bytes = (cost.bytes + bytes_of(&w->d, w->m, w->n)) * (double)w->batch;
	if (w->fill)
		cost.operations /= 2;
	return cost;
}

static double times_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64 ? 4 : 1;
}

/* The number of operations, from LAPACK's documentation. */
static struct emu_work_cost factor_cost(const struct emu_work *work)
{
	const struct emu_factor_work *w = &work->factor;
	double m = (double)w->m, n = (double)w->n, columns = (double)w->columns, least = fmin(m, n);
	struct emu_work_cost cost = {.type = w->a.m.type};

	cost.bytes = m * n;
	if (work->kind == EMU_WORK_SOLVE) {
		cost.operations = 2 * n * n * columns;
		cost.bytes += 2 * n * columns;
	} else {
		cost.operations = w->fill ? n * n * n / 3 : least * (m * n - least * least / 3);
		cost.bytes *= 2;
	}
	cost.operations *= (double)w->batch * times_complex(cost.type);
	cost.bytes *= (double)w->batch * (double)emu_type_bytes(cost.type);
	return cost;
}

/* Each entry reads a row of B. */
static struct emu_work_cost sparse_cost(const struct emu_sparse_work *w)
{
	double entries = (double)w->a.entries, columns = (double)w->columns,
	       batch = (double)w->batch;
	double element = (double)emu_type_bytes(w->a.type);
	struct emu_work_cost cost = {.type = w->a.type};

	cost.operations = 2 * entries * columns * batch * times_complex(w->a.type);
	cost.bytes = batch * (entries * ((double)emu_type_bytes(w->a.index_type) + element) +
			      (entries + (double)w->a.rows) * columns * element);
	return cost;
}

/* Each dimension reads and writes the data once. */
static struct emu_work_cost fourier_cost(const struct emu_fourier *f)
{
	struct emu_work_cost cost = {.type = f->in.type};
	double elements = (double)f->batch, passes = 0;

	for (int d = 0; d < 3; d++) {
		elements *= (double)f->size[d];
		passes += f->size[d] > 1;
	}
	cost.operations = emu_fourier_operations(f) * (double)f->batch;
	cost.bytes = fmax(passes, 1) * elements *
		     (double)(emu_type_bytes(f->in.type) + emu_type_bytes(f->out.type));
	return cost;
}

/* Each matrix is read and written once. */
static struct emu_work_cost lapack_cost(const struct emu_lapack_work *w)
{
	const struct emu_lapack *l = &w->l;
	struct emu_work_cost cost = {.type = l->matrix[EMU_LAPACK_A].type};
	double matrices = 1 + (l->first == 'V' || l->first == 'S' || l->first == 'A') +
			  (l->second == 'V' || l->second == 'S' || l->second == 'A');

	cost.operations = emu_lapack_operations(l) * (double)w->batch * times_complex(cost.type);
	cost.bytes = 2 * matrices * (double)l->m * (double)l->n * (double)w->batch *
		     (double)emu_type_bytes(cost.type);
	return cost;
}

struct emu_work_cost emu_work_cost(const struct emu_work *w)
{
	struct emu_work_cost cost = {0};
	double n;

	switch (w->kind) {
	case EMU_WORK_GEMM:
	case EMU_WORK_GEAM:
	case EMU_WORK_DGMM:
		return gemm_cost(w);
	case EMU_WORK_FACTOR:
	case EMU_WORK_SOLVE:
		return factor_cost(w);
	case EMU_WORK_SPARSE:
	case EMU_WORK_OFFSETS:
		return sparse_cost(&w->sparse);
	case EMU_WORK_FOURIER:
		return fourier_cost(&w->fourier);
	case EMU_WORK_LAPACK:
		return lapack_cost(&w->lapack);
	case EMU_WORK_MAP:
	case EMU_WORK_FOLD:
		n = (double)w->vector.n;
		cost.type = w->vector.x.type;
		cost.operations = 2 * n;
		cost.bytes = n * (double)emu_type_bytes(cost.type) * (w->vector.y.data ? 3 : 1);
		return cost;
	default:
		n = (double)(w->triangle.t.right ? w->triangle.t.n : w->triangle.t.m);
		cost.type = w->triangle.t.a.type;
		cost.operations = n * (double)w->triangle.t.m * (double)w->triangle.t.n;
		cost.bytes = (double)emu_type_bytes(cost.type) *
			     (n * n / 2 + 2 * (double)w->triangle.t.m * (double)w->triangle.t.n);
		cost.operations *= (double)w->triangle.batch;
		cost.bytes *= (double)w->triangle.batch;
		return cost;
	}
}

struct gpuemu_product emu_work_product(const struct emu_work *work)
{
	const struct emu_gemm_work *w = &work->gemm;

	if (work->kind != EMU_WORK_GEMM || w->fill || w->compute == EMU_C32 ||
	    w->compute == EMU_C64)
		return (struct gpuemu_product){0};
	return (struct gpuemu_product){
		.m = (double)w->m,
		.n = (double)w->n,
		.k = (double)w->k,
		.batch = (double)w->batch,
		.a_bytes = (double)emu_type_bytes(w->a.m.type),
		.d_bytes = (double)emu_type_bytes(w->d.m.type),
		.a_transposed = w->a.m.row != 1,
		.b_transposed = w->b.m.row != 1,
		.adds = w->beta.address || w->beta.value[0] != 0,
	};
}
