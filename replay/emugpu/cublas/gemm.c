/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/handle.h"

/* ---- a product, as passed from the entry points to the GPU */

struct product {
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

/* The operands of single, ...StridedBatched and ...Batched calls. */
#define EMU_ONE .a = A, .b = B, .c = C, .batch = 1
#define EMU_STRIDED                                                                                \
	.a = A, .b = B, .c = C, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC,     \
	.batch = batchCount
#define EMU_BY_POINTERS                                                                            \
	.a = Aarray, .b = Barray, .c = (void *)(uintptr_t)Carray, .batch = batchCount, .pointers = 1

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

/* Sets the types of a ...Ex call; CUBLAS_STATUS_NOT_SUPPORTED for unsupported combinations. */
static cublasStatus_t set_types(cublasHandle_t handle, struct product *p, cudaDataType a,
				cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (emu_type_of(a, &p->a_type) < 0 || emu_type_of(b, &p->b_type) < 0 ||
	    emu_type_of(c, &p->c_type) < 0 ||
	    emu_compute_of(compute, is_complex(p->c_type), &p->compute) < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (is_complex(p->a_type) != is_complex(p->c_type) ||
	    is_complex(p->b_type) != is_complex(p->c_type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	p->scale = p->compute;
	if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC)
		p->scale = EMU_F16;
	p->tensor = (uint8_t)emu_uses_tensor(compute, handle->math, p->a_type);
	return CUBLAS_STATUS_SUCCESS;
}

static int leading_dimensions_fit(const struct product *p)
{
	int64_t rows_a = p->op_a == CUBLAS_OP_N ? p->m : p->k;
	int64_t rows_b = p->op_b == CUBLAS_OP_N ? p->k : p->n;

	return p->lda >= (rows_a > 1 ? rows_a : 1) && p->ldb >= (rows_b > 1 ? rows_b : 1) &&
	       p->ldc >= (p->m > 1 ? p->m : 1);
}

static struct emu_operand operand(const struct product *p, struct emu_matrix m, int64_t stride)
{
	return (struct emu_operand){m, stride, p->pointers, 0, 0};
}

/* Checks arguments as cuBLAS does, and launches the product on the handle's stream. */
static cublasStatus_t launch(cublasHandle_t handle, const struct product *p)
{
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0 || (unsigned)p->op_a > CUBLAS_OP_C ||
	    (unsigned)p->op_b > CUBLAS_OP_C || !leading_dimensions_fit(p) || !p->alpha || !p->beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (p->m == 0 || p->n == 0 || p->batch == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->m = p->m;
	w->n = p->n;
	w->k = p->k;
	w->batch = p->batch;
	w->compute = p->compute;
	w->tensor = p->tensor;
	w->alpha = emu_scalar_of(p->alpha, p->scale, emu_on_device(handle));
	w->beta = emu_scalar_of(p->beta, p->scale, emu_on_device(handle));
	w->a = operand(p, emu_matrix_of(p->a, p->a_type, p->lda, p->op_a), p->stride_a);
	w->b = operand(p, emu_matrix_of(p->b, p->b_type, p->ldb, p->op_b), p->stride_b);
	w->c = operand(p, emu_matrix_of(p->c, p->c_type, p->ldc, CUBLAS_OP_N), p->stride_c);
	w->d = w->c;
	return emu_blas_launch(handle->stream, &work);
}

/* ---- entry points */

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
		struct product p = {SIMPLE, TYPED(x), __VA_ARGS__};                                \
                                                                                                   \
		return launch(handle, &p);                                                         \
	}

#define SHAPE(I)                                                                                   \
	cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k

#define GEMM(name, type, x, I)                                                                     \
	DEFINE(name,                                                                               \
	       (SHAPE(I), const type *alpha, const type *A, I lda, const type *B, I ldb,           \
		const type *beta, type *C, I ldc),                                                 \
	       x, EMU_ONE)

#define STRIDED(name, type, x, I)                                                                  \
	DEFINE(name,                                                                               \
	       (SHAPE(I), const type *alpha, const type *A, I lda, long long int strideA,          \
		const type *B, I ldb, long long int strideB, const type *beta, type *C, I ldc,     \
		long long int strideC, I batchCount),                                              \
	       x, EMU_STRIDED)

#define BATCHED(name, type, x, I)                                                                  \
	DEFINE(name,                                                                               \
	       (SHAPE(I), const type *alpha, const type *const Aarray[], I lda,                    \
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
#define DEFINE_EX(name, parameters, compute_type, ...)                                             \
	EMU_API cublasStatus_t name parameters                                                     \
	{                                                                                          \
		struct product p = {SIMPLE, __VA_ARGS__};                                          \
		cublasStatus_t r = set_types(handle, &p, Atype, Btype, Ctype, compute_type);       \
                                                                                                   \
		return r == CUBLAS_STATUS_SUCCESS ? launch(handle, &p) : r;                        \
	}

#define EX(suffix, I)                                                                              \
	DEFINE_EX(cublasGemmEx##suffix,                                                            \
		  (SHAPE(I), const void *alpha, const void *A, cudaDataType Atype, I lda,          \
		   const void *B, cudaDataType Btype, I ldb, const void *beta, void *C,            \
		   cudaDataType Ctype, I ldc, cublasComputeType_t type, cublasGemmAlgo_t algo),    \
		  type, EMU_ONE)                                                                   \
	DEFINE_EX(cublasGemmStridedBatchedEx##suffix,                                              \
		  (SHAPE(I), const void *alpha, const void *A, cudaDataType Atype, I lda,          \
		   long long int strideA, const void *B, cudaDataType Btype, I ldb,                \
		   long long int strideB, const void *beta, void *C, cudaDataType Ctype, I ldc,    \
		   long long int strideC, I batchCount, cublasComputeType_t type,                  \
		   cublasGemmAlgo_t algo),                                                         \
		  type, EMU_STRIDED)                                                               \
	DEFINE_EX(cublasGemmBatchedEx##suffix,                                                     \
		  (SHAPE(I), const void *alpha, const void *const Aarray[], cudaDataType Atype,    \
		   I lda, const void *const Barray[], cudaDataType Btype, I ldb, const void *beta, \
		   void *const Carray[], cudaDataType Ctype, I ldc, I batchCount,                  \
		   cublasComputeType_t type, cublasGemmAlgo_t algo),                               \
		  type, EMU_BY_POINTERS)                                                           \
	DEFINE_EX(cublasSgemmEx##suffix,                                                           \
		  (SHAPE(I), const float *alpha, const void *A, cudaDataType Atype, I lda,         \
		   const void *B, cudaDataType Btype, I ldb, const float *beta, void *C,           \
		   cudaDataType Ctype, I ldc),                                                     \
		  CUBLAS_COMPUTE_32F, EMU_ONE)

EMU_SIZES(EX)
