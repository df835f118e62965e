/* SPDX-License-Identifier: Apache-2.0 */

/* The functions behind the entry points of cuSOLVER, and the macros with which forward.txt calls
 * them. LAPACK allocates its own workspace. Tolerances and numbers of sweeps have no effect:
 * results are exact up to rounding. */
#pragma once

#include "replay/emugpu/lib/blas.h"

#include <cusolverDn.h>

struct cusolverDnContext {
	cudaStream_t stream;
};

/* The macros of forward.txt. */
#define NO_WORKSPACE(size)                                                                         \
	(size) ? (*(size) = 1, CUSOLVER_STATUS_SUCCESS) : CUSOLVER_STATUS_INVALID_VALUE
#define NO_WORKSPACES                                                                              \
	workspaceInBytesOnDevice &&workspaceInBytesOnHost                                          \
		? (*workspaceInBytesOnDevice = *workspaceInBytesOnHost = 1,                        \
		   CUSOLVER_STATUS_SUCCESS)                                                        \
		: CUSOLVER_STATUS_INVALID_VALUE
#define MATRIX(a, ld) ((struct emu_matrix){a, TYPE(a), 0, 1, ld})
/* V, stored as the conjugate transpose of LAPACK's V^T. */
#define TRANSPOSED(v, ld) ((struct emu_matrix){v, TYPE(v), 1, ld, 1})
/* With the type in the parameter dataType<a>. */
#define X_MATRIX(a, ld) ((struct emu_matrix){a, emu_type_or_none(dataType##a), 0, 1, ld})
#define OPERAND(matrix) ((struct emu_operand){.m = matrix})
#define BY_POINTERS(a, ld) ((struct emu_operand){.m = {a, TYPE(*(a)), 0, 1, ld}, .pointers = 1})
#define JOB(mode, vectors) ((mode) == CUSOLVER_EIG_MODE_VECTOR ? (vectors) : 'N')
#define STRIDES(...) ((const int64_t[EMU_LAPACK_MATRICES]){__VA_ARGS__})

static inline uint8_t emu_fill_letter(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
}

static inline uint8_t emu_op_letter(cublasOperation_t op)
{
	return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C';
}

/* Cholesky factors (fill 'L' or 'U'), or LU factors with pivots (fill 0), of a batch. */
cusolverStatus_t emu_cusolver_factor(cusolverDnHandle_t handle, int64_t m, int64_t n, uint8_t fill,
				     struct emu_operand a, int *pivots, int *info, int64_t batch);

/* Solves op(A) X = B with the factors. */
cusolverStatus_t emu_cusolver_solve(cusolverDnHandle_t handle, int64_t n, int64_t columns,
				    uint8_t fill, uint8_t op, struct emu_operand a,
				    const int *pivots, struct emu_operand b, int *info,
				    int64_t batch);

/* Q R factors, or the matrix Q (EMU_ORGQR) of them. */
cusolverStatus_t emu_cusolver_qr(cusolverDnHandle_t handle, enum emu_lapack_routine routine,
				 int64_t m, int64_t n, int64_t k, struct emu_matrix a,
				 const void *tau, int *info);

/* op(Q) C or C op(Q). */
cusolverStatus_t emu_cusolver_multiply_q(cusolverDnHandle_t handle, cublasSideMode_t side,
					 cublasOperation_t trans, int64_t m, int64_t n, int64_t k,
					 struct emu_matrix a, const void *tau, struct emu_matrix c,
					 int *info);

/* `strides`: elements to the next matrix of a batch; NULL for one matrix. */
cusolverStatus_t emu_cusolver_svd(cusolverDnHandle_t handle, int u_job, int v_job, int64_t m,
				  int64_t n, struct emu_matrix a, const void *s,
				  struct emu_matrix u, struct emu_matrix v,
				  const int64_t strides[EMU_LAPACK_MATRICES], int *info,
				  int64_t batch);

/* The approximation of full rank, whose residuals are 0. */
cusolverStatus_t emu_cusolver_svda(cusolverDnHandle_t handle, int all_job, int rank, int64_t m,
				   int64_t n, struct emu_matrix a, const void *s,
				   struct emu_matrix u, struct emu_matrix v,
				   const int64_t strides[EMU_LAPACK_MATRICES], int *info,
				   double *residuals, int64_t batch);

cusolverStatus_t emu_cusolver_eigen(cusolverDnHandle_t handle, cusolverEigMode_t mode,
				    cublasFillMode_t uplo, int64_t n, struct emu_matrix a,
				    struct emu_matrix w, int *info, int64_t batch);
