/* SPDX-License-Identifier: Apache-2.0 */

/* The functions behind the entry points of cuBLAS, and the macros with which forward.txt calls
 * them. */
#pragma once

#include "replay/emugpu/cublas/handle.h"

/* A scalar (increment 0) or vector as the caller describes it. */
struct emu_strided {
	const void *data;
	int64_t increment;
	enum emu_type type; /* EMU_TYPES: not supported */
};

/* A product as the caller describes it. */
struct emu_product {
	cublasOperation_t op_a, op_b;
	int64_t m, n, k;
	const void *alpha, *beta;
	const void *a, *b, *c;
	enum emu_type a_type, b_type, c_type;
	int64_t lda, ldb, ldc;
	int64_t stride_a, stride_b, stride_c;
	int64_t batch;
	uint8_t pointers;    /* a, b and c are arrays of pointers on the device */
	enum emu_type scale; /* of alpha and beta */
	enum emu_type compute;
	uint8_t tensor;
};

/* Options of a triangular matrix, as cuBLAS names them. */
struct emu_side {
	cublasSideMode_t side;
	cublasFillMode_t uplo;
	cublasOperation_t trans;
	cublasDiagType_t diag;
};

/* The macros of forward.txt. They use the parameters of the functions by their names. */
#define SET(field, value)                                                                          \
	!handle ? CUBLAS_STATUS_NOT_INITIALIZED : (handle->field = (value), CUBLAS_STATUS_SUCCESS)
#define GET(field, at)                                                                             \
	!handle ? CUBLAS_STATUS_NOT_INITIALIZED                                                    \
	: !(at) ? CUBLAS_STATUS_INVALID_VALUE                                                      \
		: (*(at) = handle->field, CUBLAS_STATUS_SUCCESS)
#define V(data, increment) ((struct emu_strided){data, increment, TYPE(data)})
#define EX(data, increment) ((struct emu_strided){data, increment, emu_type_or_none(data##Type)})
#define NONE ((struct emu_strided){NULL, 0, EMU_F32})
#define COPY_VECTOR(to_device, from, to, stream, waits)                                            \
	emu_cublas_copy(to_device, elemSize, n, (int64_t)incx *elemSize, (int64_t)incy *elemSize,  \
			from, to, stream, waits)
#define COPY_MATRIX(to_device, stream, waits)                                                      \
	emu_cublas_copy(to_device, (int64_t)rows *elemSize, cols, (int64_t)lda *elemSize,          \
			(int64_t)ldb *elemSize, A, B, stream, waits)
#define SIDE ((struct emu_side){side, uplo, trans, diag})
#define PRODUCT(...)                                                                               \
	&(struct emu_product)                                                                      \
	{                                                                                          \
		.op_a = transa, .op_b = transb, .m = m, .n = n, .k = k, .alpha = alpha,            \
		.beta = beta, .lda = lda, .ldb = ldb, .ldc = ldc, __VA_ARGS__                      \
	}
#define ONE .a = A, .b = B, .c = C, .batch = 1
#define STRIDED                                                                                    \
	.a = A, .b = B, .c = C, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC,     \
	.batch = batchCount
#define BY_POINTERS .a = Aarray, .b = Barray, .c = Carray, .batch = batchCount, .pointers = 1

/* Copies `n` columns of `bytes` bytes between host and device; *_step: bytes from one column to the
 * next. `waits`: returns after the copy. */
cublasStatus_t emu_cublas_copy(int to_device, int64_t bytes, int64_t n, int64_t from_step,
			       int64_t to_step, const void *from, void *to, CUstream stream,
			       int waits);

/* AXPY, SCAL, COPY, SWAP, ROT. The scalars `a` and `b` may be NONE if the map does not use them. */
cublasStatus_t emu_cublas_map(cublasHandle_t handle, enum emu_map map, int64_t n,
			      struct emu_strided a, struct emu_strided b, struct emu_strided x,
			      struct emu_strided y);
/* Reductions such as DOT. Writes the result to the device, or to host memory after waiting for
 * it. */
cublasStatus_t emu_cublas_fold(cublasHandle_t handle, enum emu_fold fold, int64_t n,
			       struct emu_strided x, struct emu_strided y,
			       struct emu_strided result);

cublasStatus_t emu_cublas_gemv(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
			       int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda,
			       const void *x, int64_t incx, const void *beta, const void *y,
			       int64_t incy);
/* A symmetric or Hermitian matrix, of which one triangle is stored, and a vector. */
cublasStatus_t emu_cublas_symv(cublasHandle_t handle, enum emu_type type, int hermitian,
			       cublasFillMode_t uplo, int64_t n, const void *alpha, const void *a,
			       int64_t lda, const void *x, int64_t incx, const void *beta,
			       const void *y, int64_t incy);
/* A += alpha x y^T, in the whole of A (fill 0) or in one triangle. */
cublasStatus_t emu_cublas_ger(cublasHandle_t handle, enum emu_type type, int64_t m, int64_t n,
			      const void *alpha, const void *x, int64_t incx, const void *y,
			      int64_t incy, int conjugate, const void *a, int64_t lda,
			      uint8_t fill);

/* Sets the types of `p` and launches it. */
cublasStatus_t emu_cublas_gemm(cublasHandle_t handle, enum emu_type type, struct emu_product *p);
cublasStatus_t emu_cublas_gemm_ex(cublasHandle_t handle, cudaDataType a, cudaDataType b,
				  cudaDataType c, cublasComputeType_t compute,
				  struct emu_product *p);
/* One triangle of C = alpha op(A) op(B)^T + beta C, where B may be A, conjugated or not. `beta` has
 * the type of `alpha`. */
cublasStatus_t emu_cublas_rank_k(cublasHandle_t handle, enum emu_type type, cublasFillMode_t uplo,
				 cublasOperation_t trans, int64_t n, int64_t k,
				 struct emu_strided alpha, const void *a, int64_t lda,
				 const void *b, int64_t ldb, const void *beta, const void *c,
				 int64_t ldc, int hermitian);
cublasStatus_t emu_cublas_symm(cublasHandle_t handle, enum emu_type type, int hermitian,
			       cublasSideMode_t side, cublasFillMode_t uplo, int64_t m, int64_t n,
			       const void *alpha, const void *a, int64_t lda, const void *b,
			       int64_t ldb, const void *beta, const void *c, int64_t ldc);
cublasStatus_t emu_cublas_geam(cublasHandle_t handle, enum emu_type type, cublasOperation_t transa,
			       cublasOperation_t transb, int64_t m, int64_t n, const void *alpha,
			       const void *a, int64_t lda, const void *beta, const void *b,
			       int64_t ldb, const void *c, int64_t ldc);
cublasStatus_t emu_cublas_dgmm(cublasHandle_t handle, enum emu_type type, cublasSideMode_t mode,
			       int64_t m, int64_t n, const void *a, int64_t lda, const void *x,
			       int64_t incx, const void *c, int64_t ldc);

/* Triangular solves (EMU_WORK_TRSM) and products (EMU_WORK_TRMM). */
cublasStatus_t emu_cublas_triangle(cublasHandle_t handle, enum emu_work_kind kind,
				   enum emu_type type, struct emu_side s, int64_t m, int64_t n,
				   const void *alpha, const void *a, int64_t lda, const void *b,
				   int64_t ldb, const void *x, int64_t ldx, int64_t batch,
				   int pointers);
cublasStatus_t emu_cublas_triangle_vector(cublasHandle_t handle, enum emu_work_kind kind,
					  enum emu_type type, cublasFillMode_t uplo,
					  cublasOperation_t trans, cublasDiagType_t diag, int64_t n,
					  const void *a, int64_t lda, const void *x, int64_t incx);

/* Batches of small matrices, given by arrays of pointers. `info` is in host memory and reports
 * invalid arguments only, except that of getrf. */
cublasStatus_t emu_cublas_getrf(cublasHandle_t handle, enum emu_type type, int n, const void *a,
				int lda, int *pivots, int *info, int batch);
cublasStatus_t emu_cublas_getrs(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
				int n, int columns, const void *a, int lda, const int *pivots,
				const void *b, int ldb, int *info, int batch);
cublasStatus_t emu_cublas_geqrf(cublasHandle_t handle, enum emu_type type, int m, int n,
				const void *a, int lda, const void *tau, int *info, int batch);
cublasStatus_t emu_cublas_gels(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
			       int m, int n, int columns, const void *a, int lda, const void *c,
			       int ldc, int *info, int *device_info, int batch);
