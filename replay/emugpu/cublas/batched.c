/* SPDX-License-Identifier: Apache-2.0 */

/* LU and QR factorisation of batches of small matrices, and solving with the factors. */
#include "replay/emugpu/cublas/handle.h"

static cublasStatus_t launch(cublasHandle_t handle, uint32_t kind, struct emu_factor_work w)
{
	struct emu_work work = {.kind = kind, .factor = w};

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (w.n < 0 || w.columns < 0 || w.batch < 0 || w.a.m.column < w.n)
		return CUBLAS_STATUS_INVALID_VALUE;
	return emu_blas_launch(handle->stream, &work);
}

static cublasStatus_t launch_lapack(cublasHandle_t handle, const struct emu_lapack *l,
				    int32_t *info, int64_t batch)
{
	struct emu_work work = {
		.kind = EMU_WORK_LAPACK,
		.lapack = {.l = *l, .batch = batch, .info = info, .pointers = 1},
	};

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (batch < 0 || !emu_lapack_valid(l))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (emu_lapack_load() < 0) {
		emu_refuse_use("libcublas.so.13", "geqrf and gels (need liblapack.so.3)");
		return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return emu_blas_launch(handle->stream, &work);
}

static struct emu_operand operand(const void *data, enum emu_type type, int ld)
{
	return (struct emu_operand){.m = {data, type, 0, 1, ld}, .pointers = 1};
}

static struct emu_matrix matrix(const void *data, enum emu_type type, int ld)
{
	return (struct emu_matrix){data, type, 0, 1, ld};
}

/* `info` of the functions except getrfBatched is in host memory and reports invalid arguments
 * only. */
#define FUNCTIONS(x, c_type, type)                                                                 \
	EMU_API cublasStatus_t cublas##x##getrfBatched(cublasHandle_t handle, int n,               \
						       c_type *const A[], int lda, int *P,         \
						       int *info, int batchSize)                   \
	{                                                                                          \
		return launch(handle, EMU_WORK_FACTOR,                                             \
			      (struct emu_factor_work){.m = n,                                     \
						       .n = n,                                     \
						       .batch = batchSize,                         \
						       .a = operand(A, type, lda),                 \
						       .pivots = P,                                \
						       .info = info});                             \
	}                                                                                          \
	EMU_API cublasStatus_t cublas##x##getrsBatched(                                            \
		cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,                   \
		const c_type *const Aarray[], int lda, const int *devIpiv, c_type *const Barray[], \
		int ldb, int *info, int batchSize)                                                 \
	{                                                                                          \
		if (info)                                                                          \
			*info = 0;                                                                 \
		return launch(handle, EMU_WORK_SOLVE,                                              \
			      (struct emu_factor_work){.m = n,                                     \
						       .n = n,                                     \
						       .columns = nrhs,                            \
						       .batch = batchSize,                         \
						       .a = operand(Aarray, type, lda),            \
						       .b = operand(Barray, type, ldb),            \
						       .op = trans == CUBLAS_OP_N   ? 'N'          \
							     : trans == CUBLAS_OP_T ? 'T'          \
										    : 'C',         \
						       .pivots = (int32_t *)(uintptr_t)devIpiv});  \
	}                                                                                          \
	EMU_API cublasStatus_t cublas##x##geqrfBatched(                                            \
		cublasHandle_t handle, int m, int n, c_type *const Aarray[], int lda,              \
		c_type *const TauArray[], int *info, int batchSize)                                \
	{                                                                                          \
		struct emu_lapack l = {.routine = EMU_GEQRF, .m = m, .n = n};                      \
                                                                                                   \
		l.matrix[EMU_LAPACK_A] = matrix(Aarray, type, lda);                                \
		l.matrix[EMU_VALUES] = matrix(TauArray, type, 1);                                  \
		if (info)                                                                          \
			*info = 0;                                                                 \
		return launch_lapack(handle, &l, NULL, batchSize);                                 \
	}                                                                                          \
	EMU_API cublasStatus_t cublas##x##gelsBatched(                                             \
		cublasHandle_t handle, cublasOperation_t trans, int m, int n, int nrhs,            \
		c_type *const Aarray[], int lda, c_type *const Carray[], int ldc, int *info,       \
		int *devInfoArray, int batchSize)                                                  \
	{                                                                                          \
		struct emu_lapack l = {.routine = EMU_GELS, .m = m, .n = n, .k = nrhs};            \
                                                                                                   \
		l.first = trans == CUBLAS_OP_N ? 'N' : 'C';                                        \
		l.matrix[EMU_LAPACK_A] = matrix(Aarray, type, lda);                                \
		l.matrix[EMU_LAPACK_U] = matrix(Carray, type, ldc);                                \
		if (info)                                                                          \
			*info = 0;                                                                 \
		return launch_lapack(handle, &l, devInfoArray, batchSize);                         \
	}

FUNCTIONS(S, float, EMU_F32)
FUNCTIONS(D, double, EMU_F64)
FUNCTIONS(C, cuComplex, EMU_C32)
FUNCTIONS(Z, cuDoubleComplex, EMU_C64)
