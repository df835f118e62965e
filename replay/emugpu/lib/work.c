/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/work.h"

#include "base/scope.h"
#include "replay/emugpu/absent.h"
#include "replay/emugpu/math/complex_element.h"
#include "replay/emugpu/math/factor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void resolve_scalar(const struct emu_scalar *s, double ret[2])
{
	double complex v;

	ret[0] = s->value[0];
	ret[1] = s->value[1];
	if (!s->address)
		return;
	v = emu_load_complex(s->type, s->address, 0);
	ret[0] = creal(v);
	ret[1] = cimag(v);
}

static double scale_of(const struct emu_scalar *s)
{
	double v[2];

	resolve_scalar(s, v);
	return s->address ? v[0] : 1;
}

static struct emu_matrix matrix_of(const struct emu_operand *o, int64_t number)
{
	struct emu_matrix m = o->m;

	if (o->pointers)
		m.data = ((const void *const *)o->m.data)[number];
	else if (m.data)
		m.data =
			(const char *)m.data + number * o->stride * (int64_t)emu_type_bytes(m.type);
	return m;
}

/* Expands a matrix with one stored triangle to a full column-major matrix in new memory. */
static int unfold(const struct emu_operand *o, int64_t n, struct emu_matrix *m, void **memory)
{
	struct emu_matrix from = *m;
	char *all = malloc((size_t)(n * n) * emu_type_bytes(m->type) + 1);

	if (!all)
		return -ENOMEM;
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < n; i++) {
			int stored = i == j || (o->fill == 'U' ? i < j : i > j);
			int64_t at = stored ? i * from.row + j * from.column
					    : j * from.row + i * from.column;
			double complex v = emu_load_complex(from.type, from.data, at);

			if (o->hermitian)
				v = i == j ? creal(v) : stored ? v : conj(v);
			emu_store_complex(from.type, all, i + j * n, v);
		}
	*memory = all;
	m->data = all;
	m->row = 1;
	m->column = n;
	return 0;
}

/* Copies one triangle of `from` to `to`. */
static void keep_triangle(uint8_t fill, int64_t m, int64_t n, const struct emu_matrix *from,
			  const struct emu_matrix *to)
{
	size_t bytes = emu_type_bytes(to->type);

	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++)
			if (fill == 'U' ? i <= j : i >= j)
				memcpy((char *)(uintptr_t)to->data +
					       (size_t)(i * to->row + j * to->column) * bytes,
				       (const char *)from->data +
					       (size_t)(i * from->row + j * from->column) * bytes,
				       bytes);
}

/* bias_grad[i] = the sum over k of row i of A, or of column i of B. */
static void sum_over_k(const struct emu_gemm_work *w, const struct emu_gemm *g)
{
	int of_a = w->sum_of == 'A';
	const struct emu_matrix *m = of_a ? &g->a : &g->b;

	for (int64_t i = 0; i < (of_a ? g->m : g->n); i++) {
		double sum = 0;

		for (int64_t p = 0; p < g->k; p++)
			sum += emu_load(m->type, m->data,
					of_a ? i * m->row + p * m->column
					     : p * m->row + i * m->column);
		emu_store(g->epilogue->bias_type, g->epilogue->bias_grad, i, sum);
	}
}

static void note_largest(const struct emu_gemm *g, float *amax)
{
	double largest = *amax;

	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++)
			largest = fmax(largest, fabs(emu_load(g->d.type, g->d.data,
							      i * g->d.row + j * g->d.column)));
	*amax = (float)largest;
}

static void *advance(const void *p, enum emu_type type, int64_t elements)
{
	return p ? (char *)(uintptr_t)p + elements * (int64_t)emu_type_bytes(type) : NULL;
}

static int run_product(const struct emu_gemm_work *w, struct emu_gemm *g)
{
	scoped(free_ptr) void *a = NULL, *b = NULL, *d = NULL;
	struct emu_matrix to = g->d;
	int r = 0;

	if (w->a.fill)
		r = unfold(&w->a, g->m, &g->a, &a);
	if (r == 0 && w->b.fill)
		r = unfold(&w->b, g->n, &g->b, &b);
	if (r < 0)
		return r;
	if (w->fill) {
		d = malloc((size_t)(g->m * g->n) * emu_type_bytes(to.type) + 1);
		if (!d)
			return -ENOMEM;
		g->d = (struct emu_matrix){d, to.type, 0, 1, g->m};
	}
	r = emu_gemm(g);
	if (r == 0 && w->fill)
		keep_triangle(w->fill, g->m, g->n, &g->d, &to);
	return r;
}

static int run_gemm(const struct emu_gemm_work *w)
{
	double scale = scale_of(&w->a_scale) * scale_of(&w->b_scale) * scale_of(&w->d_scale);
	struct emu_gemm g = {w->m, w->n, w->k, w->compute, .epilogue = NULL};
	double alpha[2], beta[2];
	int r = 0;

	resolve_scalar(&w->alpha, alpha);
	resolve_scalar(&w->beta, beta);
	for (int64_t i = 0; r == 0 && i < w->batch; i++) {
		struct emu_epilogue e = w->epilogue;

		e.bias = advance(e.bias, e.bias_type, i * w->bias_batch);
		e.bias_grad = advance(e.bias_grad, e.bias_type, i * w->bias_batch);
		e.aux = e.activation == EMU_RELU ? advance(e.aux, EMU_U8, i * w->aux_batch / 8)
						 : advance(e.aux, e.aux_type, i * w->aux_batch);
		g = (struct emu_gemm){w->m, w->n, w->k, w->compute, .epilogue = NULL};
		g.alpha[0] = alpha[0] * scale;
		g.alpha[1] = alpha[1] * scale;
		g.beta[0] = beta[0] * scale_of(&w->c_scale) * scale_of(&w->d_scale);
		g.beta[1] = beta[1];
		g.a = matrix_of(&w->a, i);
		g.b = matrix_of(&w->b, i);
		g.c = matrix_of(&w->c, i);
		g.d = matrix_of(&w->d, i);
		g.epilogue = w->has_epilogue ? &e : NULL;
		if (emu_work_skip(w, &g))
			continue;
		if (w->sum_of) {
			sum_over_k(w, &g);
			e.bias_grad = NULL;
		}
		r = run_product(w, &g);
		if (r == 0 && w->d_amax)
			note_largest(&g, w->d_amax);
	}
	return r;
}

static void run_geam(const struct emu_gemm_work *w)
{
	struct emu_gemm g = {w->m, w->n, 0, w->compute, .epilogue = NULL};

	resolve_scalar(&w->alpha, g.alpha);
	resolve_scalar(&w->beta, g.beta);
	g.a = w->a.m;
	g.b = w->b.m;
	g.d = w->d.m;
	emu_geam(&g);
}

static void run_dgmm(const struct emu_gemm_work *w)
{
	const struct emu_matrix *a = &w->a.m, *x = &w->b.m, *d = &w->d.m;

	for (int64_t j = 0; j < w->n; j++)
		for (int64_t i = 0; i < w->m; i++) {
			double complex v =
				emu_load_complex(a->type, a->data, i * a->row + j * a->column);

			v *= emu_load_complex(x->type, x->data, (w->right ? j : i) * x->row);
			emu_store_complex(d->type, (void *)(uintptr_t)d->data,
					  i * d->row + j * d->column, v);
		}
}

static int run_vector(const struct emu_work *work)
{
	const struct emu_vector_work *w = &work->vector;
	double s[4];

	if (work->kind == EMU_WORK_MAP) {
		resolve_scalar(&w->a, s);
		resolve_scalar(&w->b, s + 2);
		emu_map(w->map, w->n, s, w->x, w->y);
		return 0;
	}
	emu_fold(w->fold, w->n, w->x, w->y, s);
	emu_store_complex(w->result_type, w->result, 0, emu_complex(s[0], s[1]));
	return 0;
}

static const void *pointer_in(const void *array, int64_t number)
{
	return ((const void *const *)array)[number];
}

static int run_triangle(const struct emu_work *work)
{
	const struct emu_triangle_work *w = &work->triangle;
	int r = 0;

	for (int64_t i = 0; r == 0 && i < w->batch; i++) {
		struct emu_triangle t = w->t;

		resolve_scalar(&w->alpha, t.alpha);
		if (w->pointers) {
			t.a.data = pointer_in(w->t.a.data, i);
			t.b.data = pointer_in(w->t.b.data, i);
			t.x.data = pointer_in(w->t.x.data, i);
		}
		r = work->kind == EMU_WORK_TRSM ? emu_trsm(&t) : emu_trmm(&t);
	}
	return r;
}

static int run_factor(const struct emu_work *work)
{
	const struct emu_factor_work *w = &work->factor;
	int64_t pivots = w->m < w->n ? w->m : w->n;
	int r = 0;

	for (int64_t i = 0; r == 0 && i < w->batch; i++) {
		struct emu_matrix a = matrix_of(&w->a, i), b = matrix_of(&w->b, i);
		int32_t *p = w->pivots ? w->pivots + i * pivots : NULL;
		int info = 0;

		if (work->kind == EMU_WORK_FACTOR)
			r = emu_factor(&a, w->m, w->n, w->fill, p, &info);
		else
			r = emu_factor_solve(&a, w->n, w->fill, w->op, p, &b, w->columns);
		if (w->info && (work->kind == EMU_WORK_FACTOR || i == 0))
			w->info[i] = info;
	}
	return r;
}

/* Reports success of work that is too large to be computed: without row exchanges. */
static void skip_factor(const struct emu_work *work)
{
	const struct emu_factor_work *w = &work->factor;
	int64_t n = w->m < w->n ? w->m : w->n;

	if (work->kind == EMU_WORK_SOLVE && w->info)
		w->info[0] = 0;
	for (int64_t i = 0; work->kind == EMU_WORK_FACTOR && i < w->batch; i++) {
		if (w->info)
			w->info[i] = 0;
		for (int64_t k = 0; w->pivots && k < n; k++)
			w->pivots[i * n + k] = (int32_t)k + 1;
	}
}

/* Returns 0 if the routine would fail because kernels that were skipped should have written A: for
 * matrices that are not finite, PyTorch raises an exception. */
static int is_defined(const struct emu_lapack *l)
{
	const struct emu_matrix *a = &l->matrix[EMU_LAPACK_A];

	if (!a->data ||
	    (l->routine != EMU_GESVD && l->routine != EMU_SYEV && l->routine != EMU_GEEV))
		return 1;
	if (emu_is_unwritten(a->data) &&
	    emu_is_absent(a->data, (uint64_t)(l->n * a->column) * emu_type_bytes(a->type)))
		return 0;
	for (int64_t j = 0; j < l->n; j++)
		for (int64_t i = 0; i < l->m; i++) {
			double complex v;

			/* The other triangle is not read. */
			if (l->routine == EMU_SYEV && (l->second == 'L' ? i < j : i > j))
				continue;
			v = emu_load_complex(a->type, a->data, i * a->row + j * a->column);
			if (!isfinite(creal(v)) || !isfinite(cimag(v)))
				return 0;
		}
	return 1;
}

static int run_lapack(const struct emu_lapack_work *w)
{
	int r = 0, skipped = 0;

	for (int64_t i = 0; r == 0 && i < w->batch; i++) {
		struct emu_lapack l = w->l;
		int32_t info = 0;

		for (int j = 0; j < EMU_LAPACK_MATRICES; j++) {
			struct emu_operand o = {.m = l.matrix[j],
						.stride = w->strides[j],
						.pointers = w->pointers && l.matrix[j].data};

			l.matrix[j] = matrix_of(&o, i);
		}
		if (is_defined(&l))
			r = emu_lapack_run(&l, &info);
		else
			skipped = 1;
		if (w->info)
			w->info[i] = info;
	}
	return r < 0 ? r : skipped;
}

static int run_sparse(const struct emu_sparse_work *w)
{
	double alpha[2], beta[2];
	int r = 0;

	resolve_scalar(&w->alpha, alpha);
	resolve_scalar(&w->beta, beta);
	for (int64_t i = 0; r == 0 && i < w->batch; i++) {
		struct emu_matrix b = matrix_of(&w->b, i), c = matrix_of(&w->c, i);
		struct emu_sparse a = w->a;

		a.offsets = advance(a.offsets, a.offset_type, i * a.offset_stride);
		a.row_indices = advance(a.row_indices, a.index_type, i * a.entry_stride);
		a.column_indices = advance(a.column_indices, a.index_type, i * a.entry_stride);
		a.values = advance(a.values, a.type, i * a.entry_stride);
		r = emu_sparse_product(&a, w->op, &b, &c, w->columns, alpha, beta);
	}
	return r;
}

/* A host executes so many operations in about half a second. */
#define MOST_OPERATIONS 5e8

static int computes_work(const struct emu_work *w)
{
	const char *value = getenv("GPUEMU_COMPUTE");

	return w->kind < EMU_WORK_FACTOR || (value && strcmp(value, "all") == 0) ||
	       emu_work_cost(w).operations <= MOST_OPERATIONS;
}

int emu_work_run(const struct emu_work *w)
{
	if (w->kind == EMU_WORK_LAPACK && (w->lapack.batch < 0 || !emu_lapack_valid(&w->lapack.l)))
		return -EINVAL;
	if (!computes_work(w)) {
		if (w->kind == EMU_WORK_FACTOR || w->kind == EMU_WORK_SOLVE)
			skip_factor(w);
		else if (w->kind == EMU_WORK_LAPACK && w->lapack.info)
			memset(w->lapack.info, 0, (size_t)w->lapack.batch * sizeof(int32_t));
		return 1;
	}
	switch (w->kind) {
	case EMU_WORK_GEMM:
		return run_gemm(&w->gemm);
	case EMU_WORK_GEAM:
		run_geam(&w->gemm);
		return 0;
	case EMU_WORK_DGMM:
		run_dgmm(&w->gemm);
		return 0;
	case EMU_WORK_MAP:
	case EMU_WORK_FOLD:
		return run_vector(w);
	case EMU_WORK_TRSM:
	case EMU_WORK_TRMM:
		return run_triangle(w);
	case EMU_WORK_FACTOR:
	case EMU_WORK_SOLVE:
		return run_factor(w);
	case EMU_WORK_SPARSE:
		return run_sparse(&w->sparse);
	case EMU_WORK_OFFSETS:
		emu_sparse_offsets(&w->sparse.a, (int32_t *)(uintptr_t)w->sparse.c.m.data);
		return 0;
	case EMU_WORK_FOURIER:
		return emu_fourier_run(&w->fourier);
	case EMU_WORK_LAPACK:
		return run_lapack(&w->lapack);
	default:
		return -EINVAL;
	}
}
