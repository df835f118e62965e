/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/emugpu/lib/work.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>

static struct emu_scalar number(double v)
{
	return (struct emu_scalar){NULL, EMU_F64, {v, 0}};
}

TEST(vectors)
{
	float x[] = {1, -2, 3, -4}, y[] = {10, 20, 30, 40}, dot = 0;
	int index = 0;
	struct emu_work w = {.kind = EMU_WORK_MAP};

	w.vector.n = 4;
	w.vector.x = emu_vector_of(EMU_F32, x, 4, 1);
	w.vector.y = emu_vector_of(EMU_F32, y, 4, -1);
	w.vector.map = EMU_AXPY;
	w.vector.a = number(2);
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert(y[3] == 42 && y[2] == 26 && y[1] == 26 && y[0] == 2);
	w.kind = EMU_WORK_FOLD;
	w.vector.fold = EMU_DOT;
	w.vector.result = &dot;
	w.vector.result_type = EMU_F32;
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert(dot == 42 - 52 + 78 - 8);
	w.vector.fold = EMU_IAMAX;
	w.vector.result = &index;
	w.vector.result_type = EMU_I32;
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert_int_eq(index, 4);
	w.vector.fold = EMU_NRM2;
	w.vector.result = &dot;
	w.vector.result_type = EMU_F32;
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert(fabsf(dot - sqrtf(30)) < 1e-6f);
}

/* Triangular solve op(A) X = alpha B, multiplied back, for both sides and both triangles. */
TEST_EACH(triangles, 16)
{
	enum { N = 5, M = 3 };
	int right = _i & 1, upper = _i >> 1 & 1, unit = _i >> 2 & 1, transposed = _i >> 3 & 1;
	double a[N * N], b[N * M], x[N * M];
	struct emu_work w = {.kind = EMU_WORK_TRSM};
	struct emu_triangle *t = &w.triangle.t;

	for (int i = 0; i < N * N; i++)
		a[i] = i % (N + 1) == 0 ? 2 + i : (i * 7 % 11) / 11.0;
	for (int i = 0; i < N * M; i++)
		b[i] = x[i] = i * 3 % 7 - 3;
	t->a = (struct emu_matrix){a, EMU_F64, 0, transposed ? N : 1, transposed ? 1 : N};
	t->upper = upper != transposed;
	t->unit = (uint8_t)unit;
	t->right = (uint8_t)right;
	t->m = right ? M : N;
	t->n = right ? N : M;
	t->b = t->x = (struct emu_matrix){x, EMU_F64, 0, 1, t->m};
	w.triangle.alpha = number(2);
	w.triangle.batch = 1;
	ck_assert_int_eq(emu_work_run(&w), 0);
	w.kind = EMU_WORK_TRMM;
	w.triangle.alpha = number(0.5);
	ck_assert_int_eq(emu_work_run(&w), 0);
	for (int i = 0; i < N * M; i++)
		ck_assert(fabs(x[i] - b[i]) < 1e-12);
}

/* The lower triangle of A A^T, and A times a symmetric matrix that stores one triangle. */
TEST(mirrored)
{
	enum { N = 4 };
	double a[N * N], c[N * N], full[N * N];
	struct emu_work w = {.kind = EMU_WORK_GEMM};

	for (int i = 0; i < N * N; i++) {
		a[i] = i * 5 % 13;
		c[i] = -1;
	}
	w.gemm.m = w.gemm.n = w.gemm.k = N;
	w.gemm.batch = 1;
	w.gemm.compute = EMU_F64;
	w.gemm.alpha = number(1);
	w.gemm.a.m = (struct emu_matrix){a, EMU_F64, 0, 1, N};
	w.gemm.b.m = (struct emu_matrix){a, EMU_F64, 0, N, 1};
	w.gemm.c.m = w.gemm.d.m = (struct emu_matrix){c, EMU_F64, 0, 1, N};
	w.gemm.fill = 'L';
	ck_assert_int_eq(emu_work_run(&w), 0);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++) {
			double v = 0;

			for (int p = 0; p < N; p++)
				v += a[i + p * N] * a[j + p * N];
			full[i + j * N] = v;
			ck_assert(c[i + j * N] == (i >= j ? v : -1));
		}
	w.gemm.fill = 0;
	w.gemm.a.m.data = c;
	w.gemm.a.fill = 'L';
	w.gemm.b.m = (struct emu_matrix){a, EMU_F64, 0, 1, N};
	w.gemm.d.m.data = malloc(sizeof(c));
	ck_assert_int_eq(emu_work_run(&w), 0);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++) {
			double v = 0;

			for (int p = 0; p < N; p++)
				v += full[i + p * N] * a[p + j * N];
			ck_assert(emu_load(EMU_F64, w.gemm.d.m.data, i + j * N) == v);
		}
	free((void *)(uintptr_t)w.gemm.d.m.data);
}

/* A strided batch and a batch of pointers; alpha in device memory. */
TEST(batches)
{
	float a[] = {1, 2, 3}, b[] = {10, 20, 30}, c[3] = {0}, two = 2;
	const void *as[] = {&a[2], &a[0], &a[1]}, *bs[] = {b, b, b};
	void *cs[] = {&c[0], &c[1], &c[2]};
	struct emu_work w = {.kind = EMU_WORK_GEMM};

	w.gemm.m = w.gemm.n = w.gemm.k = 1;
	w.gemm.batch = 3;
	w.gemm.compute = EMU_F32;
	w.gemm.alpha = (struct emu_scalar){&two, EMU_F32, {0, 0}};
	w.gemm.a = (struct emu_operand){{a, EMU_F32, 0, 1, 1}, 1, 0, 0, 0};
	w.gemm.b = (struct emu_operand){{b, EMU_F32, 0, 1, 1}, 1, 0, 0, 0};
	w.gemm.c = w.gemm.d = (struct emu_operand){{c, EMU_F32, 0, 1, 1}, 1, 0, 0, 0};
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert(c[0] == 20 && c[1] == 80 && c[2] == 180);
	w.gemm.a.m.data = as;
	w.gemm.b.m.data = bs;
	w.gemm.c.m.data = w.gemm.d.m.data = cs;
	w.gemm.a.pointers = w.gemm.b.pointers = w.gemm.c.pointers = w.gemm.d.pointers = 1;
	ck_assert_int_eq(emu_work_run(&w), 0);
	ck_assert(c[0] == 60 && c[1] == 20 && c[2] == 40);
}

static struct emu_work eigenvalues(double *a, double *values, int32_t *info)
{
	struct emu_work w = {.kind = EMU_WORK_LAPACK};
	struct emu_lapack *l = &w.lapack.l;

	l->routine = EMU_SYEV;
	l->first = 'N';
	l->second = 'L';
	l->m = l->n = 2;
	l->matrix[EMU_LAPACK_A] = (struct emu_matrix){a, EMU_F64, 0, 1, 2};
	l->matrix[EMU_VALUES] = (struct emu_matrix){values, EMU_F64, 0, 1, 2};
	w.lapack.batch = 1;
	w.lapack.info = info;
	return w;
}

/* A trace may hold any parameters; LAPACK ends the program for invalid sizes. */
TEST(lapack_parameters)
{
	double a[4] = {2, 0, 0, 1}, values[2];
	int32_t info = 7;
	const struct emu_work valid = eigenvalues(a, values, &info);
	struct emu_work bad[7];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = valid;
	bad[0].lapack.l.routine = 200;
	bad[1].lapack.l.n = -2;
	bad[2].lapack.l.m = -2;
	bad[3].lapack.l.m = 1;
	bad[4].lapack.batch = -1;
	bad[5].lapack.l.matrix[EMU_LAPACK_A].type = (enum emu_type)200;
	bad[6].lapack.l.matrix[EMU_LAPACK_A].column = 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(emu_work_run(&bad[i]), -EINVAL);
		if (i != 4)
			ck_assert_int_eq(emu_lapack_run(&bad[i].lapack.l, &info), -EINVAL);
	}
	ck_assert_int_eq(info, 7);
}

/* Only the triangle that is read counts. */
TEST(lapack_of_undefined_values)
{
	double a[4] = {2, 0, NAN, 1}, values[2] = {0};
	int32_t info = 7;
	struct emu_work w = eigenvalues(a, values, &info);

	if (emu_lapack_load() == 0) {
		ck_assert_int_eq(emu_work_run(&w), 0);
		ck_assert(info == 0 && values[0] == 1 && values[1] == 2);
	}
	a[1] = INFINITY;
	info = 7;
	ck_assert_int_eq(emu_work_run(&w), 1);
	ck_assert_int_eq(info, 0);
}
