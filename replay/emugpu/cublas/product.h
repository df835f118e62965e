/* SPDX-License-Identifier: Apache-2.0 */

/* A general product, as passed from the entry points of cuBLAS to the GPU. */
#pragma once

#include "replay/emugpu/cublas/handle.h"

struct emu_product {
	cublasOperation_t op_a, op_b;
	int64_t m, n, k;
	const void *alpha, *beta;
	const void *a, *b;
	void *c;
	enum emu_type a_type, b_type, c_type;
	int64_t lda, ldb, ldc;
	int64_t stride_a, stride_b, stride_c;
	int64_t batch;
	uint8_t pointers;    /* a, b and c are arrays of pointers on the device */
	enum emu_type scale; /* of alpha and beta */
	enum emu_type compute;
	uint8_t tensor;
};

/* Fill in the operands of ...StridedBatched and ...Batched calls. */
#define EMU_STRIDED                                                                                \
	.a = A, .b = B, .c = C, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC,     \
	.batch = batchCount
#define EMU_BY_POINTERS                                                                            \
	.a = Aarray, .b = Barray, .c = (void *)(uintptr_t)Carray, .batch = batchCount, .pointers = 1

/* Checks arguments as cuBLAS does, and launches the product on the handle's stream. */
cublasStatus_t emu_product_launch(cublasHandle_t handle, const struct emu_product *p);

/* Sets the types of a ...Ex call; CUBLAS_STATUS_NOT_SUPPORTED for unsupported combinations. */
cublasStatus_t emu_product_types(cublasHandle_t handle, struct emu_product *p, cudaDataType a,
				 cudaDataType b, cudaDataType c, cublasComputeType_t compute);
