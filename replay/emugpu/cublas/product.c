/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/product.h"

static int is_complex(enum emu_type type)
{
	return type == EMU_C32 || type == EMU_C64;
}

cublasStatus_t emu_product_types(cublasHandle_t handle, struct emu_product *p, cudaDataType a,
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

cublasStatus_t emu_product_launch(cublasHandle_t handle, const struct emu_product *p)
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
