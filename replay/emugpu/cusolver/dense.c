/* SPDX-License-Identifier: Apache-2.0 */

/* cuSOLVER: Cholesky and LU factorisation of dense matrices, and solving with the factors. They
 * need no workspace. */
#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

#include <cusolverDn.h>

#include <stdlib.h>

struct cusolverDnContext {
	cudaStream_t stream;
};

EMU_API cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
	if (!handle)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

EMU_API cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
	free(handle);
	return CUSOLVER_STATUS_SUCCESS;
}

EMU_API cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream)
{
	if (!handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	handle->stream = stream;
	return CUSOLVER_STATUS_SUCCESS;
}

EMU_API cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream)
{
	if (!handle || !stream)
		return handle ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_NOT_INITIALIZED;
	*stream = handle->stream;
	return CUSOLVER_STATUS_SUCCESS;
}

/* Options of algorithms, which have no effect. */
EMU_API cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
	if (!params)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*params = malloc(1);
	return *params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

EMU_API cusolverStatus_t cusolverGetVersion(int *version)
{
	if (!version)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*version = CUSOLVER_VERSION;
	return CUSOLVER_STATUS_SUCCESS;
}

EMU_API cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
	static const int values[] = {CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH};

	if (!value || (unsigned)type > PATCH_LEVEL)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*value = values[type];
	return CUSOLVER_STATUS_SUCCESS;
}

static uint8_t letter_of(cublasOperation_t op)
{
	return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C';
}

static uint8_t fill_of(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
}

static struct emu_operand operand(const void *data, enum emu_type type, int64_t ld, int pointers)
{
	return (struct emu_operand){.m = {data, type, 0, 1, ld}, .pointers = (uint8_t)pointers};
}

static cusolverStatus_t launch(cusolverDnHandle_t handle, uint32_t kind, struct emu_factor_work w)
{
	struct emu_work work = {.kind = kind};

	if (!handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (w.m < 0 || w.n < 0 || w.columns < 0 || w.batch < 0 || w.a.m.column < w.m ||
	    (kind == EMU_WORK_SOLVE && w.b.m.column < w.n))
		return CUSOLVER_STATUS_INVALID_VALUE;
	work.factor = w;
	return emu_blas_launch(handle->stream, &work) == CUBLAS_STATUS_SUCCESS
		       ? CUSOLVER_STATUS_SUCCESS
		       : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static cusolverStatus_t no_workspace(int *Lwork)
{
	if (!Lwork)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*Lwork = 1;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t factor(cusolverDnHandle_t handle, int64_t m, int64_t n, uint8_t fill,
			       struct emu_operand a, int32_t *pivots, int *info, int64_t batch)
{
	return launch(handle, EMU_WORK_FACTOR,
		      (struct emu_factor_work){.m = m,
					       .n = n,
					       .batch = batch,
					       .a = a,
					       .fill = fill,
					       .pivots = pivots,
					       .info = info});
}

static cusolverStatus_t solve(cusolverDnHandle_t handle, int64_t n, int64_t columns, uint8_t fill,
			      uint8_t op, struct emu_operand a, const int32_t *pivots,
			      struct emu_operand b, int *info, int64_t batch)
{
	return launch(handle, EMU_WORK_SOLVE,
		      (struct emu_factor_work){.m = n,
					       .n = n,
					       .columns = columns,
					       .batch = batch,
					       .a = a,
					       .b = b,
					       .fill = fill,
					       .op = op,
					       .pivots = (int32_t *)(uintptr_t)pivots,
					       .info = info});
}

/* The functions of one element type. */
#define FUNCTIONS(x, c_type, type)                                                                 \
	EMU_API cusolverStatus_t cusolverDn##x##potrf_bufferSize(cusolverDnHandle_t handle,        \
								 cublasFillMode_t uplo, int n,     \
								 c_type *A, int lda, int *Lwork)   \
	{                                                                                          \
		return no_workspace(Lwork);                                                        \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##potrf(                                             \
		cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, c_type *A, int lda,       \
		c_type *Workspace, int Lwork, int *devInfo)                                        \
	{                                                                                          \
		return factor(handle, n, n, fill_of(uplo), operand(A, type, lda, 0), NULL,         \
			      devInfo, 1);                                                         \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##potrfBatched(                                      \
		cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, c_type *Aarray[],         \
		int lda, int *infoArray, int batchSize)                                            \
	{                                                                                          \
		return factor(handle, n, n, fill_of(uplo), operand(Aarray, type, lda, 1), NULL,    \
			      infoArray, batchSize);                                               \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##potrs(                                             \
		cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,                 \
		const c_type *A, int lda, c_type *B, int ldb, int *devInfo)                        \
	{                                                                                          \
		return solve(handle, n, nrhs, fill_of(uplo), 'N', operand(A, type, lda, 0), NULL,  \
			     operand(B, type, ldb, 0), devInfo, 1);                                \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##potrsBatched(                                      \
		cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs, c_type *A[],    \
		int lda, c_type *B[], int ldb, int *d_info, int batchSize)                         \
	{                                                                                          \
		return solve(handle, n, nrhs, fill_of(uplo), 'N', operand(A, type, lda, 1), NULL,  \
			     operand(B, type, ldb, 1), d_info, batchSize);                         \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##getrf_bufferSize(                                  \
		cusolverDnHandle_t handle, int m, int n, c_type *A, int lda, int *Lwork)           \
	{                                                                                          \
		return no_workspace(Lwork);                                                        \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##getrf(cusolverDnHandle_t handle, int m, int n,     \
						      c_type *A, int lda, c_type *Workspace,       \
						      int *devIpiv, int *devInfo)                  \
	{                                                                                          \
		return factor(handle, m, n, 0, operand(A, type, lda, 0), devIpiv, devInfo, 1);     \
	}                                                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##getrs(                                             \
		cusolverDnHandle_t handle, cublasOperation_t trans, int n, int nrhs,               \
		const c_type *A, int lda, const int *devIpiv, c_type *B, int ldb, int *devInfo)    \
	{                                                                                          \
		return solve(handle, n, nrhs, 0, letter_of(trans), operand(A, type, lda, 0),       \
			     devIpiv, operand(B, type, ldb, 0), devInfo, 1);                       \
	}

FUNCTIONS(S, float, EMU_F32)
FUNCTIONS(D, double, EMU_F64)
FUNCTIONS(C, cuComplex, EMU_C32)
FUNCTIONS(Z, cuDoubleComplex, EMU_C64)

/* ---- of any type ---- */

EMU_API cusolverStatus_t cusolverDnXpotrf_bufferSize(
	cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo, int64_t n,
	cudaDataType dataTypeA, const void *A, int64_t lda, cudaDataType computeType,
	size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
	if (!workspaceInBytesOnDevice || !workspaceInBytesOnHost)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*workspaceInBytesOnDevice = 1;
	*workspaceInBytesOnHost = 1;
	return CUSOLVER_STATUS_SUCCESS;
}

EMU_API cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
					  cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA,
					  void *A, int64_t lda, cudaDataType computeType,
					  void *bufferOnDevice, size_t workspaceInBytesOnDevice,
					  void *bufferOnHost, size_t workspaceInBytesOnHost,
					  int *info)
{
	enum emu_type type;

	if (emu_type_of(dataTypeA, &type) < 0)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return factor(handle, n, n, fill_of(uplo), operand(A, type, lda, 0), NULL, info, 1);
}

EMU_API cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
					  cublasFillMode_t uplo, int64_t n, int64_t nrhs,
					  cudaDataType dataTypeA, const void *A, int64_t lda,
					  cudaDataType dataTypeB, void *B, int64_t ldb, int *info)
{
	enum emu_type a, b;

	if (emu_type_of(dataTypeA, &a) < 0 || emu_type_of(dataTypeB, &b) < 0)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return solve(handle, n, nrhs, fill_of(uplo), 'N', operand(A, a, lda, 0), NULL,
		     operand(B, b, ldb, 0), info, 1);
}
