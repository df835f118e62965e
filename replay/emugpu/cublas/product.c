/* SPDX-License-Identifier: Apache-2.0 */

/* Products of matrices, and of matrices and vectors: a vector is a matrix of one column. */
#include "replay/emugpu/cublas/calls.h"

static struct emu_operand matrix(enum emu_type type, const void *data, int64_t ld,
				 cublasOperation_t op)
{
	return (struct emu_operand){emu_matrix_of(data, type, ld, op), 0, 0, 0, 0};
}

static struct emu_operand column(enum emu_type type, const void *data, int64_t n, int64_t increment)
{
	struct emu_vector v = emu_vector_of(type, data, n, increment);

	return (struct emu_operand){{v.data, type, 0, v.step, 0}, 0, 0, 0, 0};
}

static struct emu_operand transposed(struct emu_operand o, int conjugate)
{
	int64_t row = o.m.row;

	o.m.row = o.m.column;
	o.m.column = row;
	o.m.conjugate = (uint8_t)conjugate;
	return o;
}

/* Launches one product; `beta` NULL: 1. */
static cublasStatus_t launch(cublasHandle_t handle, struct emu_work *work, const void *alpha,
			     const void *beta, enum emu_type scale)
{
	struct emu_gemm_work *w = &work->gemm;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (w->m < 0 || w->n < 0 || w->k < 0 || !alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (w->m == 0 || w->n == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->batch = 1;
	w->alpha = emu_scalar_of(alpha, scale, emu_on_device(handle));
	w->beta = (struct emu_scalar){NULL, scale, {1, 0}};
	if (beta)
		w->beta = emu_scalar_of(beta, scale, emu_on_device(handle));
	return emu_blas_launch(handle->stream, work);
}

/* ---- a matrix and vectors ---- */

static cublasStatus_t times_vector(cublasHandle_t handle, struct emu_operand a, int64_t m,
				   int64_t n, const void *alpha, const void *x, int64_t incx,
				   const void *beta, const void *y, int64_t incy)
{
	enum emu_type type = a.m.type;
	struct emu_work work = {.kind = EMU_WORK_GEMM,
				.gemm = {.m = m, .n = 1, .k = n, .compute = type, .a = a}};

	if (incx == 0 || incy == 0 || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	work.gemm.b = column(type, x, n, incx);
	work.gemm.c = work.gemm.d = column(type, y, m, incy);
	return launch(handle, &work, alpha, beta, type);
}

cublasStatus_t emu_cublas_gemv(cublasHandle_t handle, enum emu_type type, cublasOperation_t trans,
			       int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda,
			       const void *x, int64_t incx, const void *beta, const void *y,
			       int64_t incy)
{
	int whole = trans == CUBLAS_OP_N;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || incx == 0 || incy == 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (m == 0 || n == 0)
		return CUBLAS_STATUS_SUCCESS;
	return times_vector(handle, matrix(type, a, lda, trans), whole ? m : n, whole ? n : m,
			    alpha, x, incx, beta, y, incy);
}

cublasStatus_t emu_cublas_symv(cublasHandle_t handle, enum emu_type type, int hermitian,
			       cublasFillMode_t uplo, int64_t n, const void *alpha, const void *a,
			       int64_t lda, const void *x, int64_t incx, const void *beta,
			       const void *y, int64_t incy)
{
	struct emu_operand o = matrix(type, a, lda, CUBLAS_OP_N);

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (n < 0 || lda < (n > 1 ? n : 1))
		return CUBLAS_STATUS_INVALID_VALUE;
	o.fill = emu_fill_letter(uplo);
	o.hermitian = (uint8_t)hermitian;
	return times_vector(handle, o, n, n, alpha, x, incx, beta, y, incy);
}

cublasStatus_t emu_cublas_ger(cublasHandle_t handle, enum emu_type type, int64_t m, int64_t n,
			      const void *alpha, const void *x, int64_t incx, const void *y,
			      int64_t incy, int conjugate, const void *a, int64_t lda, uint8_t fill)
{
	struct emu_work work = {
		.kind = EMU_WORK_GEMM,
		.gemm = {.m = m, .n = n, .k = 1, .compute = type, .fill = fill},
	};

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (lda < (m > 1 ? m : 1) || incx == 0 || incy == 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	work.gemm.a = column(type, x, m, incx);
	work.gemm.b = transposed(column(type, y, n, incy), conjugate);
	work.gemm.c = work.gemm.d = matrix(type, a, lda, CUBLAS_OP_N);
	return launch(handle, &work, alpha, NULL, type);
}

/* ---- general matrices ---- */

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

static int leading_dimensions_fit(const struct emu_product *p)
{
	int64_t rows_a = p->op_a == CUBLAS_OP_N ? p->m : p->k;
	int64_t rows_b = p->op_b == CUBLAS_OP_N ? p->k : p->n;

	return p->lda >= (rows_a > 1 ? rows_a : 1) && p->ldb >= (rows_b > 1 ? rows_b : 1) &&
	       p->ldc >= (p->m > 1 ? p->m : 1);
}

static struct emu_operand operand(const struct emu_product *p, struct emu_matrix m, int64_t stride)
{
	return (struct emu_operand){m, stride, p->pointers, 0, 0};
}

/* Checks arguments as cuBLAS does, and launches the product on the handle's stream. */
static cublasStatus_t launch_product(cublasHandle_t handle, const struct emu_product *p)
{
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;

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

cublasStatus_t emu_cublas_gemm(cublasHandle_t handle, enum emu_type type, struct emu_product *p)
{
	cublasComputeType_t native =
		type == EMU_F64 || type == EMU_C64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	p->a_type = p->b_type = p->c_type = p->scale = type;
	p->compute = type == EMU_F16 ? EMU_F32 : type; /* half precision is summed in single */
	p->tensor = (uint8_t)emu_uses_tensor(native, handle->math, type);
	return launch_product(handle, p);
}

cublasStatus_t emu_cublas_gemm_ex(cublasHandle_t handle, cudaDataType a, cudaDataType b,
				  cudaDataType c, cublasComputeType_t compute,
				  struct emu_product *p)
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
	return launch_product(handle, p);
}

/* ---- symmetric, Hermitian and diagonal matrices; sums ---- */

cublasStatus_t emu_cublas_rank_k(cublasHandle_t handle, enum emu_type type, cublasFillMode_t uplo,
				 cublasOperation_t trans, int64_t n, int64_t k,
				 struct emu_strided alpha, const void *a, int64_t lda,
				 const void *b, int64_t ldb, const void *beta, const void *c,
				 int64_t ldc, int hermitian)
{
	int whole = trans == CUBLAS_OP_N;
	struct emu_work work = {
		.kind = EMU_WORK_GEMM,
		.gemm = {.m = n, .n = n, .k = k, .compute = type, .fill = emu_fill_letter(uplo)},
	};
	struct emu_gemm_work *w = &work.gemm;

	if (!beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	w->a = matrix(type, a, lda, whole ? CUBLAS_OP_N : CUBLAS_OP_T);
	w->b = matrix(type, b, ldb, whole ? CUBLAS_OP_T : CUBLAS_OP_N);
	w->a.m.conjugate = (uint8_t)(hermitian && !whole);
	w->b.m.conjugate = (uint8_t)(hermitian && whole);
	w->c = w->d = matrix(type, c, ldc, CUBLAS_OP_N);
	return launch(handle, &work, alpha.data, beta, alpha.type);
}

cublasStatus_t emu_cublas_symm(cublasHandle_t handle, enum emu_type type, int hermitian,
			       cublasSideMode_t side, cublasFillMode_t uplo, int64_t m, int64_t n,
			       const void *alpha, const void *a, int64_t lda, const void *b,
			       int64_t ldb, const void *beta, const void *c, int64_t ldc)
{
	int left = side == CUBLAS_SIDE_LEFT;
	struct emu_work work = {
		.kind = EMU_WORK_GEMM,
		.gemm = {.m = m, .n = n, .k = left ? m : n, .compute = type},
	};
	struct emu_operand symmetric = matrix(type, a, lda, CUBLAS_OP_N);
	struct emu_operand other = matrix(type, b, ldb, CUBLAS_OP_N);

	if (!beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	symmetric.fill = emu_fill_letter(uplo);
	symmetric.hermitian = (uint8_t)hermitian;
	work.gemm.a = left ? symmetric : other;
	work.gemm.b = left ? other : symmetric;
	work.gemm.c = work.gemm.d = matrix(type, c, ldc, CUBLAS_OP_N);
	return launch(handle, &work, alpha, beta, type);
}

cublasStatus_t emu_cublas_geam(cublasHandle_t handle, enum emu_type type, cublasOperation_t transa,
			       cublasOperation_t transb, int64_t m, int64_t n, const void *alpha,
			       const void *a, int64_t lda, const void *beta, const void *b,
			       int64_t ldb, const void *c, int64_t ldc)
{
	struct emu_work work = {.kind = EMU_WORK_GEAM, .gemm = {.m = m, .n = n, .compute = type}};

	if (!beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	work.gemm.a = matrix(type, a, lda, transa);
	work.gemm.b = matrix(type, b, ldb, transb);
	work.gemm.d = matrix(type, c, ldc, CUBLAS_OP_N);
	return launch(handle, &work, alpha, beta, type);
}

cublasStatus_t emu_cublas_dgmm(cublasHandle_t handle, enum emu_type type, cublasSideMode_t mode,
			       int64_t m, int64_t n, const void *a, int64_t lda, const void *x,
			       int64_t incx, const void *c, int64_t ldc)
{
	struct emu_work work = {.kind = EMU_WORK_DGMM,
				.gemm = {.m = m, .n = n, .batch = 1, .compute = type}};
	int64_t length = mode == CUBLAS_SIDE_LEFT ? m : n;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	work.gemm.right = mode == CUBLAS_SIDE_RIGHT;
	work.gemm.a = matrix(type, a, lda, CUBLAS_OP_N);
	work.gemm.b = column(type, x, length, incx);
	work.gemm.d = matrix(type, c, ldc, CUBLAS_OP_N);
	return emu_blas_launch(handle->stream, &work);
}
