/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/product.h"

/* Products of one type: single, strided batch and batch of pointers. */
#define SIMPLE                                                                                     \
	.op_a = transa, .op_b = transb, .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta,      \
	.lda = lda, .ldb = ldb, .ldc = ldc

#define NATIVE(x) ((x) == EMU_F64 || (x) == EMU_C64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F)

/* Half precision is summed in single. */
#define TYPED(x)                                                                                   \
	.a_type = (x), .b_type = (x), .c_type = (x), .scale = (x),                                 \
	.compute = (x) == EMU_F16 ? EMU_F32 : (x),                                                 \
	.tensor = (uint8_t)(handle && emu_uses_tensor(NATIVE(x), handle->math, x))

/* cublas_api.h declares the functions of half precision for C++ only. */
#define DEFINE(name, parameters, x, ...)                                                           \
	cublasStatus_t name parameters;                                                            \
	EMU_API cublasStatus_t name parameters                                                     \
	{                                                                                          \
		struct emu_product p = {SIMPLE, TYPED(x), __VA_ARGS__};                            \
                                                                                                   \
		return emu_product_launch(handle, &p);                                             \
	}

#define GEMM(name, type, x, I)                                                                     \
	DEFINE(name,                                                                               \
	       (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const type *alpha, const type *A, I lda, const type *B, I ldb,           \
		const type *beta, type *C, I ldc),                                                 \
	       x, .a = A, .b = B, .c = C, .batch = 1)

#define STRIDED(name, type, x, I)                                                                  \
	DEFINE(name,                                                                               \
	       (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const type *alpha, const type *A, I lda, long long int strideA,          \
		const type *B, I ldb, long long int strideB, const type *beta, type *C, I ldc,     \
		long long int strideC, I batchCount),                                              \
	       x, EMU_STRIDED)

#define BATCHED(name, type, x, I)                                                                  \
	DEFINE(name,                                                                               \
	       (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const type *alpha, const type *const Aarray[], I lda,                    \
		const type *const Barray[], I ldb, const type *beta, type *const Carray[], I ldc,  \
		I batchCount),                                                                     \
	       x, EMU_BY_POINTERS)

#define EACH(letter, type, x, suffix, I)                                                           \
	GEMM(cublas##letter##gemm_v2##suffix, type, x, I)                                          \
	STRIDED(cublas##letter##gemmStridedBatched##suffix, type, x, I)                            \
	BATCHED(cublas##letter##gemmBatched##suffix, type, x, I)

EMU_ALL(EACH)

/* __half is 16 bits there as here. */
#define HALF(suffix, I)                                                                            \
	GEMM(cublasHgemm##suffix, uint16_t, EMU_F16, I)                                            \
	STRIDED(cublasHgemmStridedBatched##suffix, uint16_t, EMU_F16, I)                           \
	BATCHED(cublasHgemmBatched##suffix, uint16_t, EMU_F16, I)

EMU_SIZES(HALF)

/* Products with separate types of operands and computation. */
#define EX(suffix, I)                                                                              \
	EMU_API cublasStatus_t cublasGemmEx##suffix(                                               \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const void *alpha, const void *A, cudaDataType Atype, I lda,             \
		const void *B, cudaDataType Btype, I ldb, const void *beta, void *C,               \
		cudaDataType Ctype, I ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo) \
	{                                                                                          \
		struct emu_product p = {SIMPLE, .a = A, .b = B, .c = C, .batch = 1};               \
		cublasStatus_t r =                                                                 \
			emu_product_types(handle, &p, Atype, Btype, Ctype, computeType);           \
                                                                                                   \
		(void)algo;                                                                        \
		return r == CUBLAS_STATUS_SUCCESS ? emu_product_launch(handle, &p) : r;            \
	}

EMU_SIZES(EX)

#define STRIDED_EX(suffix, I)                                                                      \
	EMU_API cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                 \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const void *alpha, const void *A, cudaDataType Atype, I lda,             \
		long long int strideA, const void *B, cudaDataType Btype, I ldb,                   \
		long long int strideB, const void *beta, void *C, cudaDataType Ctype, I ldc,       \
		long long int strideC, I batchCount, cublasComputeType_t computeType,              \
		cublasGemmAlgo_t algo)                                                             \
	{                                                                                          \
		struct emu_product p = {SIMPLE, EMU_STRIDED};                                      \
		cublasStatus_t r =                                                                 \
			emu_product_types(handle, &p, Atype, Btype, Ctype, computeType);           \
                                                                                                   \
		(void)algo;                                                                        \
		return r == CUBLAS_STATUS_SUCCESS ? emu_product_launch(handle, &p) : r;            \
	}

EMU_SIZES(STRIDED_EX)

#define BATCHED_EX(suffix, I)                                                                      \
	EMU_API cublasStatus_t cublasGemmBatchedEx##suffix(                                        \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const void *alpha, const void *const Aarray[], cudaDataType Atype,       \
		I lda, const void *const Barray[], cudaDataType Btype, I ldb, const void *beta,    \
		void *const Carray[], cudaDataType Ctype, I ldc, I batchCount,                     \
		cublasComputeType_t computeType, cublasGemmAlgo_t algo)                            \
	{                                                                                          \
		struct emu_product p = {SIMPLE, EMU_BY_POINTERS};                                  \
		cublasStatus_t r =                                                                 \
			emu_product_types(handle, &p, Atype, Btype, Ctype, computeType);           \
                                                                                                   \
		(void)algo;                                                                        \
		return r == CUBLAS_STATUS_SUCCESS ? emu_product_launch(handle, &p) : r;            \
	}

EMU_SIZES(BATCHED_EX)

#define SGEMM_EX(suffix, I)                                                                        \
	EMU_API cublasStatus_t cublasSgemmEx##suffix(                                              \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const float *alpha, const void *A, cudaDataType Atype, I lda,            \
		const void *B, cudaDataType Btype, I ldb, const float *beta, void *C,              \
		cudaDataType Ctype, I ldc)                                                         \
	{                                                                                          \
		struct emu_product p = {SIMPLE, .a = A, .b = B, .c = C, .batch = 1};               \
		cublasStatus_t r =                                                                 \
			emu_product_types(handle, &p, Atype, Btype, Ctype, CUBLAS_COMPUTE_32F);    \
                                                                                                   \
		return r == CUBLAS_STATUS_SUCCESS ? emu_product_launch(handle, &p) : r;            \
	}

EMU_SIZES(SGEMM_EX)
