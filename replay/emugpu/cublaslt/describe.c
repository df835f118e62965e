/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublaslt/describe.h"

#include <stdlib.h>

/* Offset and size of an attribute. */
struct field {
	int attribute;
	uint32_t at, bytes;
};

#define FIELD(attribute, type, name)                                                               \
	{                                                                                          \
		attribute, offsetof(struct type, name), sizeof(((struct type *)0)->name)           \
	}
#define LAYOUT(attribute, name) FIELD(CUBLASLT_MATRIX_LAYOUT_##attribute, emu_lt_layout, name)
#define MATMUL(attribute, name) FIELD(CUBLASLT_MATMUL_DESC_##attribute, emu_lt_matmul, name)
#define TRANSFORM(attribute, name)                                                                 \
	FIELD(CUBLASLT_MATRIX_TRANSFORM_DESC_##attribute, emu_lt_transform, name)
#define PREFERENCE(attribute, name) FIELD(CUBLASLT_MATMUL_PREF_##attribute, emu_lt_preference, name)

static const struct field layout_fields[] = {
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

static const struct field matmul_fields[] = {
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

static const struct field transform_fields[] = {
	TRANSFORM(SCALE_TYPE, scale),
	TRANSFORM(POINTER_MODE, pointers),
	TRANSFORM(TRANSA, op_a),
	TRANSFORM(TRANSB, op_b),
	{-1, 0, 0},
};

static const struct field preference_fields[] = {
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

static const struct field *find_field(const struct field *fields, int attribute)
{
	for (; fields->attribute >= 0; fields++)
		if (fields->attribute == attribute)
			return fields;
	return NULL;
}

static cublasStatus_t set_attribute(void *descriptor, const struct field *fields, int attribute,
				    const void *buf, size_t bytes)
{
	const struct field *f = find_field(fields, attribute);

	if (!descriptor || !f || !buf || bytes < f->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)descriptor + f->at, buf, f->bytes);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get_attribute(const void *descriptor, const struct field *fields,
				    int attribute, void *buf, size_t bytes, size_t *written)
{
	const struct field *f = find_field(fields, attribute);

	if (!descriptor || !f || (!buf && bytes > 0) || (bytes == 0 && !written) ||
	    (bytes > 0 && bytes < f->bytes))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes > 0)
		memcpy(buf, (const char *)descriptor + f->at, f->bytes);
	if (written)
		*written = f->bytes;
	return CUBLAS_STATUS_SUCCESS;
}

/* Defines the four functions of every kind of descriptor. */
#define ACCESS(name, handle, attribute, fields)                                                    \
	EMU_API cublasStatus_t cublasLt##name##SetAttribute(handle d, attribute attr,              \
							    const void *buf, size_t sizeInBytes)   \
	{                                                                                          \
		return set_attribute(d, fields, (int)attr, buf, sizeInBytes);                      \
	}                                                                                          \
	EMU_API cublasStatus_t cublasLt##name##GetAttribute(                                       \
		handle d, attribute attr, void *buf, size_t sizeInBytes, size_t *sizeWritten)      \
	{                                                                                          \
		return get_attribute(d, fields, (int)attr, buf, sizeInBytes, sizeWritten);         \
	}                                                                                          \
	EMU_API cublasStatus_t cublasLt##name##Destroy(handle d)                                   \
	{                                                                                          \
		free(d);                                                                           \
		return CUBLAS_STATUS_SUCCESS;                                                      \
	}

ACCESS(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, layout_fields)
ACCESS(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, matmul_fields)
ACCESS(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t,
       transform_fields)
ACCESS(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
       preference_fields)

static cublasStatus_t init_descriptor(void *descriptor, size_t size, const void *value,
				      size_t bytes)
{
	if (!descriptor || size < bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(descriptor, 0, size);
	memcpy(descriptor, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout,
							 size_t size, cudaDataType type,
							 uint64_t rows, uint64_t cols, int64_t ld)
{
	struct emu_lt_layout l = {
		.type = type, .rows = rows, .columns = cols, .ld = ld, .batch = 1};

	return init_descriptor(matLayout, size, &l, sizeof(l));
}

EMU_API cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmulDesc, size_t size,
						       cublasComputeType_t computeType,
						       cudaDataType_t scaleType)
{
	struct emu_lt_matmul d = {.compute = computeType,
				  .scale = scaleType,
				  .fill = CUBLAS_FILL_MODE_FULL,
				  .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
				  .aux_type = -1,
				  .bias_type = -1};

	return init_descriptor(matmulDesc, size, &d, sizeof(d));
}

EMU_API cublasStatus_t cublasLtMatrixTransformDescInit_internal(
	cublasLtMatrixTransformDesc_t transformDesc, size_t size, cudaDataType scaleType)
{
	struct emu_lt_transform t = {.scale = scaleType};

	return init_descriptor(transformDesc, size, &t, sizeof(t));
}

EMU_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref,
							     size_t size)
{
	struct emu_lt_preference p = {.reduction = CUBLASLT_REDUCTION_SCHEME_MASK,
				      .alignment = {256, 256, 256, 256},
				      .impl = UINT32_MAX};

	return init_descriptor(pref, size, &p, sizeof(p));
}

/* Allocated with the size of the public opaque type. */
#define CREATE(name, handle, init, ...)                                                            \
	{                                                                                          \
		handle d;                                                                          \
                                                                                                   \
		if (!name)                                                                         \
			return CUBLAS_STATUS_INVALID_VALUE;                                        \
		d = calloc(1, sizeof(*d));                                                         \
		if (!d)                                                                            \
			return CUBLAS_STATUS_ALLOC_FAILED;                                         \
		*name = d;                                                                         \
		return init(d, sizeof(*d), ##__VA_ARGS__);                                         \
	}

EMU_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout,
						  cudaDataType type, uint64_t rows, uint64_t cols,
						  int64_t ld)
	CREATE(matLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutInit_internal, type, rows,
	       cols, ld)

		EMU_API cublasStatus_t
	cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc, cublasComputeType_t computeType,
				 cudaDataType_t scaleType)
		CREATE(matmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescInit_internal,
		       computeType, scaleType)

			EMU_API cublasStatus_t
	cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *transformDesc,
					  cudaDataType scaleType)
		CREATE(transformDesc, cublasLtMatrixTransformDesc_t,
		       cublasLtMatrixTransformDescInit_internal, scaleType)

			EMU_API cublasStatus_t
	cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
		CREATE(pref, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceInit_internal)
