/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

/* Triangular solves and products, of matrices and vectors. */
struct side {
	cublasSideMode_t side;
	cublasFillMode_t uplo;
	cublasOperation_t trans;
	cublasDiagType_t diag;
};

static cublasStatus_t launch(cublasHandle_t handle, enum emu_work_kind kind, enum emu_type type,
			     const struct side *s, int64_t m, int64_t n, const void *alpha,
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
	w->t.a = emu_matrix_of(a, type, lda, s->trans);
	w->t.upper = (s->uplo == CUBLAS_FILL_MODE_UPPER) == (s->trans == CUBLAS_OP_N);
	w->t.unit = s->diag == CUBLAS_DIAG_UNIT;
	w->t.right = s->side == CUBLAS_SIDE_RIGHT;
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

#define M(type, data, ld) emu_matrix_of(data, type, ld, CUBLAS_OP_N)

#define TRSM(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##trsm_v2##suffix(                                    \
		cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,               \
		cublasOperation_t trans, cublasDiagType_t diag, I m, I n, const type *alpha,       \
		const type *A, I lda, type *B, I ldb)                                              \
	{                                                                                          \
		struct side s = {side, uplo, trans, diag};                                         \
                                                                                                   \
		return launch(handle, EMU_WORK_TRSM, x, &s, m, n, alpha, A, lda, M(x, B, ldb),     \
			      M(x, B, ldb), 1, 0);                                                 \
	}

#define TRSM_BATCHED(letter, type, x, suffix, I)                                                   \
	EMU_API cublasStatus_t cublas##letter##trsmBatched##suffix(                                \
		cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,               \
		cublasOperation_t trans, cublasDiagType_t diag, I m, I n, const type *alpha,       \
		const type *const A[], I lda, type *const B[], I ldb, I batchCount)                \
	{                                                                                          \
		struct side s = {side, uplo, trans, diag};                                         \
                                                                                                   \
		return launch(handle, EMU_WORK_TRSM, x, &s, m, n, alpha, A, lda, M(x, B, ldb),     \
			      M(x, B, ldb), batchCount, 1);                                        \
	}

#define TRMM(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##trmm_v2##suffix(                                    \
		cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,               \
		cublasOperation_t trans, cublasDiagType_t diag, I m, I n, const type *alpha,       \
		const type *A, I lda, const type *B, I ldb, type *C, I ldc)                        \
	{                                                                                          \
		struct side s = {side, uplo, trans, diag};                                         \
                                                                                                   \
		return launch(handle, EMU_WORK_TRMM, x, &s, m, n, alpha, A, lda, M(x, B, ldb),     \
			      M(x, C, ldc), 1, 0);                                                 \
	}

EMU_ALL(TRSM)
EMU_ALL(TRSM_BATCHED)
EMU_ALL(TRMM)

/* Returns a vector as a matrix of one column. */
static struct emu_matrix column(enum emu_type type, const void *x, int64_t n, int64_t increment)
{
	return (struct emu_matrix){emu_vector_of(type, x, n, increment).data, type, 0, increment,
				   0};
}

#define VECTOR(name, kind, letter, type, x_, suffix, I)                                            \
	EMU_API cublasStatus_t cublas##letter##name##_v2##suffix(                                  \
		cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,             \
		cublasDiagType_t diag, I n, const type *A, I lda, type *x, I incx)                 \
	{                                                                                          \
		struct side s = {CUBLAS_SIDE_LEFT, uplo, trans, diag};                             \
		struct emu_matrix v = column(x_, x, n, incx);                                      \
                                                                                                   \
		return launch(handle, kind, x_, &s, n, 1, NULL, A, lda, v, v, 1, 0);               \
	}

#define TRSV(letter, type, x, suffix, I) VECTOR(trsv, EMU_WORK_TRSM, letter, type, x, suffix, I)
#define TRMV(letter, type, x, suffix, I) VECTOR(trmv, EMU_WORK_TRMM, letter, type, x, suffix, I)

EMU_ALL(TRSV)
EMU_ALL(TRMV)
