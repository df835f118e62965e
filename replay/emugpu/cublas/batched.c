/* SPDX-License-Identifier: Apache-2.0 */

/* LU and QR factorisation of batches of small matrices, and solving with the factors. */
#include "replay/emugpu/cublas/calls.h"

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

cublasStatus_t emu_cublas_getrf(cublasHandle_t handle, enum emu_type type, int n, const void *a,
				int lda, int *pivots, int *info, int batch)
{
	return launch(handle, EMU_WORK_FACTOR,
		      (struct emu_factor_work){.m = n,
					       .n = n,
					       .batch = batch,
					       .a = operand(a, type, lda),
					       .pivots = pivots,
					       .info = info});
}

cublasStatus_t emu_cublas_getrs(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
				int n, int columns, const void *a, int lda, const int *pivots,
				const void *b, int ldb, int *info, int batch)
{
	if (info)
		*info = 0;
	return launch(handle, EMU_WORK_SOLVE,
		      (struct emu_factor_work){.m = n,
					       .n = n,
					       .columns = columns,
					       .batch = batch,
					       .a = operand(a, type, lda),
					       .b = operand(b, type, ldb),
					       .op = trans == CUBLAS_OP_N   ? 'N'
						     : trans == CUBLAS_OP_T ? 'T'
									    : 'C',
					       .pivots = (int32_t *)(uintptr_t)pivots});
}

cublasStatus_t emu_cublas_geqrf(cublasHandle_t handle, enum emu_type type, int m, int n,
				const void *a, int lda, const void *tau, int *info, int batch)
{
	struct emu_lapack l = {.routine = EMU_GEQRF, .m = m, .n = n};

	l.matrix[EMU_LAPACK_A] = matrix(a, type, lda);
	l.matrix[EMU_VALUES] = matrix(tau, type, 1);
	if (info)
		*info = 0;
	return launch_lapack(handle, &l, NULL, batch);
}

cublasStatus_t emu_cublas_gels(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
			       int m, int n, int columns, const void *a, int lda, const void *c,
			       int ldc, int *info, int *device_info, int batch)
{
	struct emu_lapack l = {.routine = EMU_GELS, .m = m, .n = n, .k = columns};

	l.first = trans == CUBLAS_OP_N ? 'N' : 'C';
	l.matrix[EMU_LAPACK_A] = matrix(a, type, lda);
	l.matrix[EMU_LAPACK_U] = matrix(c, type, ldc);
	if (info)
		*info = 0;
	return launch_lapack(handle, &l, device_info, batch);
}
