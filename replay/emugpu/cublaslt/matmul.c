/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublaslt/calls.h"

/* The first words of an algorithm: its number, and the major compute capability for which it was
 * made. Number 1, the only one, supports all arguments that cublasLtMatmul() supports. */
struct algo {
	uint64_t number, major;
};

static struct algo algo_here(void)
{
	static int major; /* relaxed; of all GPUs */
	int here = __atomic_load_n(&major, __ATOMIC_RELAXED);
	const struct emu_gpu *g = here ? NULL : emu_gpu();

	if (g && g->cuDeviceGetAttribute(&here, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ==
			 CUDA_SUCCESS)
		__atomic_store_n(&major, here, __ATOMIC_RELAXED);
	return (struct algo){1, (uint64_t)here};
}

static void set_algo(cublasLtMatmulAlgo_t *ret)
{
	const struct algo here = algo_here();

	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &here, sizeof(here));
}

static int is_of_this_gpu(const cublasLtMatmulAlgo_t *a)
{
	const struct algo here = algo_here();

	return memcmp(a, &here, sizeof(here)) == 0;
}

/* Describes an operand with the strides of op(m); returns 0 for an unknown layout. */
static int operand(const struct emu_lt_layout *l, const void *data, int op, struct emu_operand *ret)
{
	enum emu_type type;

	if (emu_type_of((cudaDataType)l->type, &type) < 0 || l->mode != 0 || l->plane != 0 ||
	    (l->order != CUBLASLT_ORDER_COL && l->order != CUBLASLT_ORDER_ROW))
		return 0;
	*ret = (struct emu_operand){emu_matrix_of(data, type, l->ld, (cublasOperation_t)op),
				    l->stride, 0, 0, 0};
	if (l->order == CUBLASLT_ORDER_ROW) {
		int64_t row = ret->m.row;

		ret->m.row = ret->m.column;
		ret->m.column = row;
	}
	return 1;
}

/* A scale of 8-bit floats: one float on the device. */
static struct emu_scalar scale(const void *at)
{
	return (struct emu_scalar){at, EMU_F32, {1, 0}};
}

static int epilogue(const struct emu_lt_matmul *d, enum emu_type d_type, struct emu_gemm_work *w)
{
	uint32_t kind = d->epilogue;
	struct emu_epilogue *e = &w->epilogue;
	enum emu_type bias_type = d_type, aux_type = d_type;

	if (kind == CUBLASLT_EPILOGUE_DEFAULT)
		return 1;
	if (d_type == EMU_E4M3 || d_type == EMU_E5M2)
		bias_type = EMU_BF16;
	if ((d->bias_type >= 0 && emu_type_of((cudaDataType)d->bias_type, &bias_type) < 0) ||
	    (d->aux_type >= 0 && emu_type_of((cudaDataType)d->aux_type, &aux_type) < 0))
		return 0;
	w->has_epilogue = 1;
	e->bias_type = (uint8_t)bias_type;
	e->aux_type = (uint8_t)aux_type;
	if (kind & (CUBLASLT_EPILOGUE_RELU | 8))
		e->activation = EMU_RELU;
	if (kind & (CUBLASLT_EPILOGUE_GELU | 64))
		e->activation = EMU_GELU;
	e->backward = (kind & (8 | 64)) != 0;
	if (kind & CUBLASLT_EPILOGUE_BIAS)
		e->bias = d->bias;
	if (kind & (16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB))
		e->bias_grad = d->bias;
	if (kind & CUBLASLT_EPILOGUE_BGRADA)
		w->sum_of = 'A';
	if (kind & CUBLASLT_EPILOGUE_BGRADB)
		w->sum_of = 'B';
	if (kind & 128) {
		e->aux = d->aux;
		e->aux_stride = d->aux_ld;
		w->aux_batch = d->aux_stride;
	}
	w->bias_batch = d->bias_stride;
	return (!(kind & 128) || e->aux) && (!(kind & CUBLASLT_EPILOGUE_BIAS) || e->bias);
}

/* Converts the descriptors; CUBLAS_STATUS_NOT_SUPPORTED for unsupported ones. */
static cublasStatus_t describe(const struct emu_lt_matmul *d, const struct emu_lt_layout *a,
			       const struct emu_lt_layout *b, const struct emu_lt_layout *c,
			       const struct emu_lt_layout *out, struct emu_gemm_work *w)
{
	enum emu_type type;

	if (emu_type_of((cudaDataType)out->type, &type) < 0 ||
	    emu_compute_of((cublasComputeType_t)d->compute, type >= EMU_C32, &w->compute) < 0 ||
	    d->op_c != CUBLAS_OP_N || d->fill != CUBLAS_FILL_MODE_FULL ||
	    d->pointers > CUBLASLT_POINTER_MODE_DEVICE ||
	    (d->a_mode | d->b_mode | d->c_mode | d->d_mode | d->aux_mode | d->d_out_mode) != 0 ||
	    d->d_out_scale || d->aux_scale || d->aux_amax)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!operand(a, NULL, d->op_a, &w->a) || !operand(b, NULL, d->op_b, &w->b) ||
	    !operand(c, NULL, CUBLAS_OP_N, &w->c) || !operand(out, NULL, CUBLAS_OP_N, &w->d))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (w->compute == EMU_I32 && (type == EMU_F32 || d->scale == CUDA_R_32F))
		w->compute = EMU_F64; /* sums of 8-bit products are exact in it */
	w->m = (int64_t)out->rows;
	w->n = (int64_t)out->columns;
	w->k = (int64_t)(d->op_a == CUBLAS_OP_N ? a->columns : a->rows);
	w->batch = out->batch;
	w->tensor = (uint8_t)emu_uses_tensor((cublasComputeType_t)d->compute, CUBLAS_DEFAULT_MATH,
					     w->a.m.type);
	if ((int64_t)(d->op_a == CUBLAS_OP_N ? a->rows : a->columns) != w->m ||
	    (int64_t)(d->op_b == CUBLAS_OP_N ? b->columns : b->rows) != w->n ||
	    (int64_t)(d->op_b == CUBLAS_OP_N ? b->rows : b->columns) != w->k)
		return CUBLAS_STATUS_INVALID_VALUE;
	return epilogue(d, type, w) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

EMU_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle,
				      cublasLtMatmulDesc_t computeDesc, const void *alpha,
				      const void *A, cublasLtMatrixLayout_t Adesc, const void *B,
				      cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
				      cublasLtMatrixLayout_t Cdesc, void *D,
				      cublasLtMatrixLayout_t Ddesc,
				      const cublasLtMatmulAlgo_t *algo, void *workspace,
				      size_t workspaceSizeInBytes, cudaStream_t stream)
{
	const struct emu_lt_matmul *d = (const void *)computeDesc;
	struct emu_work work = {.kind = EMU_WORK_GEMM};
	struct emu_gemm_work *w = &work.gemm;
	enum emu_type scale_type;
	cublasStatus_t r;

	if (!lightHandle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!d || !Adesc || !Bdesc || !Ddesc || !alpha || !beta || !A || !B || !D)
		return CUBLAS_STATUS_INVALID_VALUE;
	r = describe(d, (const void *)Adesc, (const void *)Bdesc,
		     (const void *)(Cdesc ? Cdesc : Ddesc), (const void *)Ddesc, w);
	if (r == CUBLAS_STATUS_SUCCESS && algo && !is_of_this_gpu(algo))
		r = CUBLAS_STATUS_ARCH_MISMATCH;
	if (r == CUBLAS_STATUS_SUCCESS && emu_type_of((cudaDataType)d->scale, &scale_type) < 0)
		r = CUBLAS_STATUS_NOT_SUPPORTED;
	if (r != CUBLAS_STATUS_SUCCESS)
		return r;
	if (w->m == 0 || w->n == 0)
		return CUBLAS_STATUS_SUCCESS;
	w->a.m.data = A;
	w->b.m.data = B;
	w->c.m.data = C;
	w->d.m.data = D;
	w->alpha = emu_scalar_of(alpha, scale_type, d->pointers == CUBLASLT_POINTER_MODE_DEVICE);
	w->beta = emu_scalar_of(beta, scale_type, d->pointers == CUBLASLT_POINTER_MODE_DEVICE);
	w->a_scale = scale(d->a_scale);
	w->b_scale = scale(d->b_scale);
	w->c_scale = scale(d->c_scale);
	w->d_scale = scale(d->d_scale);
	w->d_amax = d->d_amax;
	if (!C && (w->beta.address || w->beta.value[0] != 0))
		return CUBLAS_STATUS_INVALID_VALUE;
	return emu_blas_launch(stream, &work);
}

EMU_API cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle,
					       cublasLtMatrixTransformDesc_t transformDesc,
					       const void *alpha, const void *A,
					       cublasLtMatrixLayout_t Adesc, const void *beta,
					       const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
					       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const struct emu_lt_transform *t = (const void *)transformDesc;
	const struct emu_lt_layout *out = (const void *)Cdesc;
	struct emu_work work = {.kind = EMU_WORK_GEAM};
	struct emu_gemm_work *w = &work.gemm;
	enum emu_type scale_type;

	if (!lightHandle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!t || !Adesc || !out || !alpha || !A || !C)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (emu_type_of((cudaDataType)t->scale, &scale_type) < 0 || out->batch > 1 ||
	    t->pointers > CUBLASLT_POINTER_MODE_DEVICE ||
	    !operand((const void *)Adesc, A, t->op_a, &w->a) ||
	    !operand(out, C, CUBLAS_OP_N, &w->d) ||
	    (B && Bdesc && !operand((const void *)Bdesc, B, t->op_b, &w->b)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	w->m = (int64_t)out->rows;
	w->n = (int64_t)out->columns;
	w->batch = 1;
	w->compute = scale_type;
	w->alpha = emu_scalar_of(alpha, scale_type, t->pointers == CUBLASLT_POINTER_MODE_DEVICE);
	w->beta = emu_scalar_of(B ? beta : NULL, scale_type,
				B && t->pointers == CUBLASLT_POINTER_MODE_DEVICE);
	return emu_blas_launch(stream, &work);
}

EMU_API cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
			cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
			cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
			const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result)
{
	struct emu_gemm_work w = {0};
	cublasStatus_t r;

	if (!lightHandle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!operationDesc || !Adesc || !Bdesc || !Cdesc || !Ddesc || !result)
		return CUBLAS_STATUS_INVALID_VALUE;
	r = describe((const void *)operationDesc, (const void *)Adesc, (const void *)Bdesc,
		     (const void *)Cdesc, (const void *)Ddesc, &w);
	memset(result, 0, sizeof(*result));
	if (algo)
		result->algo = *algo;
	else
		set_algo(&result->algo);
	result->state = r;
	result->wavesCount = 1;
	return r;
}

EMU_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
	cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
	cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc,
	cublasLtMatrixLayout_t Ddesc, cublasLtMatmulPreference_t preference, int requestedAlgoCount,
	cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int *returnAlgoCount)
{
	cublasStatus_t r;

	if (!returnAlgoCount || !heuristicResultsArray || requestedAlgoCount < 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	*returnAlgoCount = 0;
	r = cublasLtMatmulAlgoCheck(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, NULL,
				    &heuristicResultsArray[0]);
	if (r == CUBLAS_STATUS_SUCCESS)
		*returnAlgoCount = 1;
	return r;
}

EMU_API cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle,
						cublasComputeType_t computeType,
						cudaDataType_t scaleType, cudaDataType_t Atype,
						cudaDataType_t Btype, cudaDataType_t Ctype,
						cudaDataType_t Dtype, int requestedAlgoCount,
						int algoIdsArray[], int *returnAlgoCount)
{
	if (!lightHandle || !algoIdsArray || !returnAlgoCount || requestedAlgoCount < 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	algoIdsArray[0] = 1;
	*returnAlgoCount = 1;
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle,
					      cublasComputeType_t computeType,
					      cudaDataType_t scaleType, cudaDataType_t Atype,
					      cudaDataType_t Btype, cudaDataType_t Ctype,
					      cudaDataType_t Dtype, int algoId,
					      cublasLtMatmulAlgo_t *algo)
{
	if (!lightHandle || !algo || algoId != 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	set_algo(algo);
	return CUBLAS_STATUS_SUCCESS;
}
