/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

/* Matrix-vector operations, as products in which one dimension is 1. */
static struct emu_operand transposed(struct emu_operand o, int conjugate)
{
	int64_t row = o.m.row;

	o.m.row = o.m.column;
	o.m.column = row;
	o.m.conjugate = (uint8_t)conjugate;
	return o;
}

/* y = alpha A x + beta y, where op(A) is m x n. */
static cublasStatus_t times_vector(cublasHandle_t handle, enum emu_type type, int64_t m, int64_t n,
				   const void *alpha, struct emu_operand a, struct emu_operand x,
				   const void *beta, struct emu_operand y)
{
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;

	if (m == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->m = m;
	w->n = 1;
	w->k = n;
	w->batch = 1;
	w->compute = type;
	w->alpha = emu_scalar_of(alpha, type, emu_on_device(handle));
	w->beta = emu_scalar_of(beta, type, emu_on_device(handle));
	w->a = a;
	w->b = x;
	w->c = w->d = y;
	return emu_blas_launch(handle->stream, &work);
}

#define GEMV(letter, type, x_, suffix, I)                                                          \
	EMU_API cublasStatus_t cublas##letter##gemv_v2##suffix(                                    \
		cublasHandle_t handle, cublasOperation_t trans, I m, I n, const type *alpha,       \
		const type *A, I lda, const type *x, I incx, const type *beta, type *y, I incy)    \
	{                                                                                          \
		int64_t rows = trans == CUBLAS_OP_N ? m : n,                                       \
			columns = trans == CUBLAS_OP_N ? n : m;                                    \
                                                                                                   \
		if (!handle)                                                                       \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                      \
		if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || incx == 0 || incy == 0)             \
			return CUBLAS_STATUS_INVALID_VALUE;                                        \
		if (m == 0 || n == 0)                                                              \
			return CUBLAS_STATUS_SUCCESS;                                              \
		return times_vector(handle, x_, rows, columns, alpha,                              \
				    emu_operand_matrix(x_, A, lda, trans),                         \
				    emu_operand_column(x_, x, columns, incx), beta,                \
				    emu_operand_column(x_, y, rows, incy));                        \
	}

EMU_ALL(GEMV)

/* For symmetric or Hermitian matrices, of which one triangle is stored. */
#define MIRRORED(name, type, x_, hermitian_, suffix, I)                                            \
	EMU_API cublasStatus_t cublas##name##v_v2##suffix(                                         \
		cublasHandle_t handle, cublasFillMode_t uplo, I n, const type *alpha,              \
		const type *A, I lda, const type *x, I incx, const type *beta, type *y, I incy)    \
	{                                                                                          \
		struct emu_operand a = emu_operand_matrix(x_, A, lda, CUBLAS_OP_N);                \
                                                                                                   \
		if (!handle)                                                                       \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                      \
		if (n < 0 || lda < (n > 1 ? n : 1) || incx == 0 || incy == 0)                      \
			return CUBLAS_STATUS_INVALID_VALUE;                                        \
		a.fill = emu_fill_letter(uplo);                                                    \
		a.hermitian = hermitian_;                                                          \
		return times_vector(handle, x_, n, n, alpha, a,                                    \
				    emu_operand_column(x_, x, n, incx), beta,                      \
				    emu_operand_column(x_, y, n, incy));                           \
	}

#define MIRROREDS(suffix, I) EMU_SYMMETRIC(MIRRORED, suffix, I)
EMU_SIZES(MIRROREDS)

/* A += alpha x y^T, in the whole of A or in one triangle. */
static cublasStatus_t outer(cublasHandle_t handle, enum emu_type type, int64_t m, int64_t n,
			    const void *alpha, struct emu_operand x, struct emu_operand y,
			    int conjugate, const void *a, int64_t lda, uint8_t fill)
{
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || x.m.row == 0 || y.m.row == 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (m == 0 || n == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->m = m;
	w->n = n;
	w->k = 1;
	w->batch = 1;
	w->compute = type;
	w->fill = fill;
	w->alpha = emu_scalar_of(alpha, type, emu_on_device(handle));
	w->beta.value[0] = 1;
	w->a = x;
	w->b = transposed(y, conjugate);
	w->c = w->d = emu_operand_matrix(type, a, lda, CUBLAS_OP_N);
	return emu_blas_launch(handle->stream, &work);
}

#define GER(name, type, x_, conjugate, suffix, I)                                                  \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, I m, I n,          \
							 const type *alpha, const type *x, I incx, \
							 const type *y, I incy, type *A, I lda)    \
	{                                                                                          \
		return outer(handle, x_, m, n, alpha, emu_operand_column(x_, x, m, incx),          \
			     emu_operand_column(x_, y, n, incy), conjugate, A, lda, 0);            \
	}

#define GERS(suffix, I)                                                                            \
	GER(Sger, float, EMU_F32, 0, suffix, I)                                                    \
	GER(Dger, double, EMU_F64, 0, suffix, I)                                                   \
	GER(Cgeru, cuComplex, EMU_C32, 0, suffix, I)                                               \
	GER(Cgerc, cuComplex, EMU_C32, 1, suffix, I)                                               \
	GER(Zgeru, cuDoubleComplex, EMU_C64, 0, suffix, I)                                         \
	GER(Zgerc, cuDoubleComplex, EMU_C64, 1, suffix, I)

EMU_SIZES(GERS)

#define SYR(letter, type, x_, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##syr_v2##suffix(                                     \
		cublasHandle_t handle, cublasFillMode_t uplo, I n, const type *alpha,              \
		const type *x, I incx, type *A, I lda)                                             \
	{                                                                                          \
		struct emu_operand v = emu_operand_column(x_, x, n, incx);                         \
                                                                                                   \
		return outer(handle, x_, n, n, alpha, v, v, 0, A, lda, emu_fill_letter(uplo));     \
	}

EMU_ALL(SYR)
