/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/calls.h"

static cublasStatus_t launch(cublasHandle_t handle, enum emu_work_kind kind, enum emu_type type,
			     struct emu_side s, int64_t m, int64_t n, const void *alpha,
			     const void *a, int64_t lda, struct emu_matrix b, struct emu_matrix x,
			     int64_t batch, int pointers)
{
	struct emu_work work = {.kind = kind};
	struct emu_triangle_work *w = &work.triangle;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || batch < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (m == 0 || n == 0 || batch == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->t.a = emu_matrix_of(a, type, lda, s.trans);
	w->t.upper = (s.uplo == CUBLAS_FILL_MODE_UPPER) == (s.trans == CUBLAS_OP_N);
	w->t.unit = s.diag == CUBLAS_DIAG_UNIT;
	w->t.right = s.side == CUBLAS_SIDE_RIGHT;
	w->t.m = m;
	w->t.n = n;
	w->t.b = b;
	w->t.x = x;
	w->alpha.value[0] = 1;
	if (alpha)
		w->alpha = emu_scalar_of(alpha, type, emu_on_device(handle));
	w->batch = batch;
	w->pointers = (uint8_t)pointers;
	return emu_blas_launch(handle->stream, &work);
}

cublasStatus_t emu_cublas_triangle(cublasHandle_t handle, enum emu_work_kind kind,
				   enum emu_type type, struct emu_side s, int64_t m, int64_t n,
				   const void *alpha, const void *a, int64_t lda, const void *b,
				   int64_t ldb, const void *x, int64_t ldx, int64_t batch,
				   int pointers)
{
	return launch(handle, kind, type, s, m, n, alpha, a, lda,
		      emu_matrix_of(b, type, ldb, CUBLAS_OP_N),
		      emu_matrix_of(x, type, ldx, CUBLAS_OP_N), batch, pointers);
}

cublasStatus_t emu_cublas_triangle_vector(cublasHandle_t handle, enum emu_work_kind kind,
					  enum emu_type type, cublasFillMode_t uplo,
					  cublasOperation_t trans, cublasDiagType_t diag, int64_t n,
					  const void *a, int64_t lda, const void *x, int64_t incx)
{
	struct emu_side s = {CUBLAS_SIDE_LEFT, uplo, trans, diag};
	struct emu_matrix column = {emu_vector_of(type, x, n, incx).data, type, 0, incx, 0};

	return launch(handle, kind, type, s, n, 1, NULL, a, lda, column, column, 1, 0);
}
