/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/product.h"

/* cublas_api.h declares these for C++ only; __half is 16 bits there as here. */
#define HALF(suffix, I)                                                                            \
	EMU_API cublasStatus_t cublasHgemm##suffix(                                                \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *A, I lda, const uint16_t *B,      \
		I ldb, const uint16_t *beta, uint16_t *C, I ldc);                                  \
	EMU_API cublasStatus_t cublasHgemmStridedBatched##suffix(                                  \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *A, I lda, long long int strideA,  \
		const uint16_t *B, I ldb, long long int strideB, const uint16_t *beta,             \
		uint16_t *C, I ldc, long long int strideC, I batchCount);                          \
	EMU_API cublasStatus_t cublasHgemmBatched##suffix(                                         \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *const Aarray[], I lda,            \
		const uint16_t *const Barray[], I ldb, const uint16_t *beta,                       \
		uint16_t *const Carray[], I ldc, I batchCount);

EMU_SIZES(HALF)

#define PRODUCT                                                                                    \
	.op_a = transa, .op_b = transb, .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta,      \
	.lda = lda, .ldb = ldb, .ldc = ldc, .a_type = EMU_F16, .b_type = EMU_F16,                  \
	.c_type = EMU_F16, .scale = EMU_F16, .compute = EMU_F32, .tensor = 1

#define HGEMM(suffix, I)                                                                           \
	EMU_API cublasStatus_t cublasHgemm##suffix(                                                \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *A, I lda, const uint16_t *B,      \
		I ldb, const uint16_t *beta, uint16_t *C, I ldc)                                   \
	{                                                                                          \
		struct emu_product p = {PRODUCT, .a = A, .b = B, .c = C, .batch = 1};              \
                                                                                                   \
		return emu_product_launch(handle, &p);                                             \
	}

EMU_SIZES(HGEMM)

#define STRIDED(suffix, I)                                                                         \
	EMU_API cublasStatus_t cublasHgemmStridedBatched##suffix(                                  \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *A, I lda, long long int strideA,  \
		const uint16_t *B, I ldb, long long int strideB, const uint16_t *beta,             \
		uint16_t *C, I ldc, long long int strideC, I batchCount)                           \
	{                                                                                          \
		struct emu_product p = {PRODUCT, EMU_STRIDED};                                     \
                                                                                                   \
		return emu_product_launch(handle, &p);                                             \
	}

EMU_SIZES(STRIDED)

#define BATCHED(suffix, I)                                                                         \
	EMU_API cublasStatus_t cublasHgemmBatched##suffix(                                         \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m,    \
		I n, I k, const uint16_t *alpha, const uint16_t *const Aarray[], I lda,            \
		const uint16_t *const Barray[], I ldb, const uint16_t *beta,                       \
		uint16_t *const Carray[], I ldc, I batchCount)                                     \
	{                                                                                          \
		struct emu_product p = {PRODUCT, EMU_BY_POINTERS};                                 \
                                                                                                   \
		return emu_product_launch(handle, &p);                                             \
	}

EMU_SIZES(BATCHED)
