/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublaslt/calls.h"

#include <stdlib.h>

#define FIELD(attribute, type, name)                                                               \
	{                                                                                          \
		attribute, offsetof(struct type, name), sizeof(((struct type *)0)->name)           \
	}
#define LAYOUT(attribute, name) FIELD(CUBLASLT_MATRIX_LAYOUT_##attribute, emu_lt_layout, name)
#define MATMUL(attribute, name) FIELD(CUBLASLT_MATMUL_DESC_##attribute, emu_lt_matmul, name)
#define TRANSFORM(attribute, name)                                                                 \
	FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_##attribute, emu_lt_transform, name)
#define PREFERENCE(attribute, name) FIELD(CUBLASLT_MATMUL_PREF_##attribute, emu_lt_preference, name)

const struct emu_lt_field emu_lt_layout_fields[] = {
	LAYOUT(TYPE, type),
	LAYOUT(ORDER, order),
	LAYOUT(ROWS, rows),
	LAYOUT(COLS, columns),
	LAYOUT(LD, ld),
	LAYOUT(BATCH_COUNT, batch),
	LAYOUT(BATCH_MODE, mode),
	LAYOUT(STRIDED_BATCH_OFFSET, stride),
	LAYOUT(PLANE_OFFSET, plane),
	{-1, 0, 0},
};

const struct emu_lt_field emu_lt_matmul_fields[] = {
	MATMUL(COMPUTE_TYPE, compute),
	MATMUL(SCALE_TYPE, scale),
	MATMUL(POINTER_MODE, pointers),
	MATMUL(TRANSA, op_a),
	MATMUL(TRANSB, op_b),
	MATMUL(TRANSC, op_c),
	MATMUL(FILL_MODE, fill),
	MATMUL(EPILOGUE, epilogue),
	MATMUL(BIAS_POINTER, bias),
	MATMUL(BIAS_BATCH_STRIDE, bias_stride),
	MATMUL(EPILOGUE_AUX_POINTER, aux),
	MATMUL(EPILOGUE_AUX_LD, aux_ld),
	MATMUL(EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
	MATMUL(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
	MATMUL(SM_COUNT_TARGET, sm_count),
	MATMUL(A_SCALE_POINTER, a_scale),
	MATMUL(B_SCALE_POINTER, b_scale),
	MATMUL(C_SCALE_POINTER, c_scale),
	MATMUL(D_SCALE_POINTER, d_scale),
	MATMUL(AMAX_D_POINTER, d_amax),
	MATMUL(EPILOGUE_AUX_DATA_TYPE, aux_type),
	MATMUL(EPILOGUE_AUX_SCALE_POINTER, aux_scale),
	MATMUL(EPILOGUE_AUX_AMAX_POINTER, aux_amax),
	MATMUL(FAST_ACCUM, fast),
	MATMUL(BIAS_DATA_TYPE, bias_type),
	MATMUL(A_SCALE_MODE, a_mode),
	MATMUL(B_SCALE_MODE, b_mode),
	MATMUL(C_SCALE_MODE, c_mode),
	MATMUL(D_SCALE_MODE, d_mode),
	MATMUL(EPILOGUE_AUX_SCALE_MODE, aux_mode),
	MATMUL(D_OUT_SCALE_POINTER, d_out_scale),
	MATMUL(D_OUT_SCALE_MODE, d_out_mode),
	MATMUL(EMULATION_DESCRIPTOR, emulation),
	{-1, 0, 0},
};

const struct emu_lt_field emu_lt_transform_fields[] = {
	TRANSFORM(SCALE_TYPE, scale),
	TRANSFORM(POINTER_MODE, pointers),
	TRANSFORM(TRANSA, op_a),
	TRANSFORM(TRANSB, op_b),
	{-1, 0, 0},
};

const struct emu_lt_field emu_lt_preference_fields[] = {
	PREFERENCE(SEARCH_MODE, search),
	PREFERENCE(MAX_WORKSPACE_BYTES, workspace),
	PREFERENCE(REDUCTION_SCHEME_MASK, reduction),
	PREFERENCE(MIN_ALIGNMENT_A_BYTES, alignment[0]),
	PREFERENCE(MIN_ALIGNMENT_B_BYTES, alignment[1]),
	PREFERENCE(MIN_ALIGNMENT_C_BYTES, alignment[2]),
	PREFERENCE(MIN_ALIGNMENT_D_BYTES, alignment[3]),
	PREFERENCE(MAX_WAVES_COUNT, waves),
	PREFERENCE(IMPL_MASK, impl),
	{-1, 0, 0},
};

static const struct emu_lt_field *find_field(const struct emu_lt_field *fields, int attribute)
{
	for (; fields->attribute >= 0; fields++)
		if (fields->attribute == attribute)
			return fields;
	return NULL;
}

cublasStatus_t emu_lt_set(void *descriptor, const struct emu_lt_field *fields, int attribute,
			  const void *buf, size_t bytes)
{
	const struct emu_lt_field *f = find_field(fields, attribute);

	if (!descriptor || !f || !buf || bytes < f->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)descriptor + f->at, buf, f->bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t emu_lt_get(const void *descriptor, const struct emu_lt_field *fields, int attribute,
			  void *buf, size_t bytes, size_t *written)
{
	const struct emu_lt_field *f = find_field(fields, attribute);

	if (!descriptor || !f || (!buf && bytes > 0) || (bytes == 0 && !written) ||
	    (bytes > 0 && bytes < f->bytes))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes > 0)
		memcpy(buf, (const char *)descriptor + f->at, f->bytes);
	if (written)
		*written = f->bytes;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t emu_lt_init(void *descriptor, size_t size, const void *value, size_t bytes)
{
	if (!descriptor || size < bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(descriptor, 0, size);
	memcpy(descriptor, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t emu_lt_create(void **ret, size_t size, const void *value, size_t bytes)
{
	if (!ret)
		return CUBLAS_STATUS_INVALID_VALUE;
	*ret = malloc(size);
	return *ret ? emu_lt_init(*ret, size, value, bytes) : CUBLAS_STATUS_ALLOC_FAILED;
}
