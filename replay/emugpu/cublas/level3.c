/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

static cublasStatus_t launch(cublasHandle_t handle, struct emu_work *work, const void *alpha,
			     const void *beta, enum emu_type scale)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (work->gemm.m < 0 || work->gemm.n < 0 || work->gemm.k < 0 || !alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (work->gemm.m == 0 || work->gemm.n == 0)
		return CUBLAS_STATUS_SUCCESS;
	work->gemm.batch = 1;
	work->gemm.alpha = emu_scalar_of(alpha, scale, emu_on_device(handle));
	work->gemm.beta = emu_scalar_of(beta, scale, emu_on_device(handle));
	return emu_blas_launch(handle->stream, work);
}

/* One triangle of C = alpha op(A) op(B)^T + beta C, where B may be A, conjugated or not. */
static cublasStatus_t rank_k(cublasHandle_t handle, enum emu_type type, enum emu_type scale,
			     cublasFillMode_t uplo, cublasOperation_t trans, int64_t n, int64_t k,
			     const void *alpha, const void *a, int64_t lda, const void *b,
			     int64_t ldb, const void *beta, void *c, int64_t ldc, int hermitian)
{
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;
	int whole = trans == CUBLAS_OP_N;

	w->m = w->n = n;
	w->k = k;
	w->compute = type;
	w->fill = emu_fill_letter(uplo);
	w->a = emu_operand_matrix(type, a, lda, whole ? CUBLAS_OP_N : CUBLAS_OP_T);
	w->b = emu_operand_matrix(type, b, ldb, whole ? CUBLAS_OP_T : CUBLAS_OP_N);
	w->a.m.conjugate = (uint8_t)(hermitian && !whole);
	w->b.m.conjugate = (uint8_t)(hermitian && whole);
	w->c = w->d = emu_operand_matrix(type, c, ldc, CUBLAS_OP_N);
	return launch(handle, &work, alpha, beta, scale);
}

#define SYRK(name, type, x, scalar, s, hermitian, suffix, I)                                       \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(                                          \
		cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k,   \
		const scalar *alpha, const type *A, I lda, const scalar *beta, type *C, I ldc)     \
	{                                                                                          \
		return rank_k(handle, x, s, uplo, trans, n, k, alpha, A, lda, A, lda, beta, C,     \
			      ldc, hermitian);                                                     \
	}

#define SYRKX(name, type, x, scalar, s, hermitian, suffix, I)                                      \
	EMU_API cublasStatus_t cublas##name##suffix(                                               \
		cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k,   \
		const type *alpha, const type *A, I lda, const type *B, I ldb, const scalar *beta, \
		type *C, I ldc)                                                                    \
	{                                                                                          \
		(void)sizeof(s);                                                                   \
		if (hermitian)                                                                     \
			return CUBLAS_STATUS_NOT_SUPPORTED;                                        \
		return rank_k(handle, x, s, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C,     \
			      ldc, hermitian);                                                     \
	}

#define RANK_K(suffix, I)                                                                          \
	SYRK(Ssyrk, float, EMU_F32, float, EMU_F32, 0, suffix, I)                                  \
	SYRK(Dsyrk, double, EMU_F64, double, EMU_F64, 0, suffix, I)                                \
	SYRK(Csyrk, cuComplex, EMU_C32, cuComplex, EMU_C32, 0, suffix, I)                          \
	SYRK(Zsyrk, cuDoubleComplex, EMU_C64, cuDoubleComplex, EMU_C64, 0, suffix, I)              \
	SYRK(Cherk, cuComplex, EMU_C32, float, EMU_F32, 1, suffix, I)                              \
	SYRK(Zherk, cuDoubleComplex, EMU_C64, double, EMU_F64, 1, suffix, I)                       \
	SYRKX(Ssyrkx, float, EMU_F32, float, EMU_F32, 0, suffix, I)                                \
	SYRKX(Dsyrkx, double, EMU_F64, double, EMU_F64, 0, suffix, I)                              \
	SYRKX(Csyrkx, cuComplex, EMU_C32, cuComplex, EMU_C32, 0, suffix, I)                        \
	SYRKX(Zsyrkx, cuDoubleComplex, EMU_C64, cuDoubleComplex, EMU_C64, 0, suffix, I)

EMU_SIZES(RANK_K)

#define SYMM(name, type, x, hermitian_, suffix, I)                                                 \
	EMU_API cublasStatus_t cublas##name##m_v2##suffix(                                         \
		cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n,     \
		const type *alpha, const type *A, I lda, const type *B, I ldb, const type *beta,   \
		type *C, I ldc)                                                                    \
	{                                                                                          \
		struct emu_work work = {.kind = EMU_WORK_GEMM};                                    \
		struct emu_operand a = emu_operand_matrix(x, A, lda, CUBLAS_OP_N);                 \
		struct emu_operand b = emu_operand_matrix(x, B, ldb, CUBLAS_OP_N);                 \
                                                                                                   \
		a.fill = emu_fill_letter(uplo);                                                    \
		a.hermitian = hermitian_;                                                          \
		work.gemm.m = m;                                                                   \
		work.gemm.n = n;                                                                   \
		work.gemm.k = side == CUBLAS_SIDE_LEFT ? m : n;                                    \
		work.gemm.compute = x;                                                             \
		work.gemm.a = side == CUBLAS_SIDE_LEFT ? a : b;                                    \
		work.gemm.b = side == CUBLAS_SIDE_LEFT ? b : a;                                    \
		work.gemm.c = work.gemm.d = emu_operand_matrix(x, C, ldc, CUBLAS_OP_N);            \
		return launch(handle, &work, alpha, beta, x);                                      \
	}

#define SYMMS(suffix, I) EMU_SYMMETRIC(SYMM, suffix, I)
EMU_SIZES(SYMMS)

#define GEAM(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##geam##suffix(                                       \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, const type *alpha, const type *A, I lda, const type *beta, const type *B,     \
		I ldb, type *C, I ldc)                                                             \
	{                                                                                          \
		struct emu_work work = {.kind = EMU_WORK_GEAM};                                    \
                                                                                                   \
		work.gemm.m = m;                                                                   \
		work.gemm.n = n;                                                                   \
		work.gemm.compute = x;                                                             \
		work.gemm.a = emu_operand_matrix(x, A, lda, transa);                               \
		work.gemm.b = emu_operand_matrix(x, B, ldb, transb);                               \
		work.gemm.d = emu_operand_matrix(x, C, ldc, CUBLAS_OP_N);                          \
		return launch(handle, &work, alpha, beta, x);                                      \
	}

EMU_ALL(GEAM)

#define DGMM(letter, type, x_, suffix, I)                                                          \
	EMU_API cublasStatus_t cublas##letter##dgmm##suffix(                                       \
		cublasHandle_t handle, cublasSideMode_t mode, I m, I n, const type *A, I lda,      \
		const type *x, I incx, type *C, I ldc)                                             \
	{                                                                                          \
		struct emu_work work = {.kind = EMU_WORK_DGMM};                                    \
		int64_t length = mode == CUBLAS_SIDE_LEFT ? m : n;                                 \
                                                                                                   \
		work.gemm.m = m;                                                                   \
		work.gemm.n = n;                                                                   \
		work.gemm.compute = x_;                                                            \
		work.gemm.right = mode == CUBLAS_SIDE_RIGHT;                                       \
		work.gemm.a = emu_operand_matrix(x_, A, lda, CUBLAS_OP_N);                         \
		work.gemm.b = emu_operand_column(x_, x, length, incx);                             \
		work.gemm.d = emu_operand_matrix(x_, C, ldc, CUBLAS_OP_N);                         \
		if (!handle)                                                                       \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                      \
		if (m < 0 || n < 0)                                                                \
			return CUBLAS_STATUS_INVALID_VALUE;                                        \
		work.gemm.batch = 1;                                                               \
		return emu_blas_launch(handle->stream, &work);                                     \
	}

EMU_ALL(DGMM)
