/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cudnn/descriptor.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int emu_dnn_type(cudnnDataType_t type, enum emu_type *ret)
{
	static const int types[] = {
		[CUDNN_DATA_FLOAT] = EMU_F32 + 1,  [CUDNN_DATA_DOUBLE] = EMU_F64 + 1,
		[CUDNN_DATA_HALF] = EMU_F16 + 1,   [CUDNN_DATA_BFLOAT16] = EMU_BF16 + 1,
		[CUDNN_DATA_INT8] = EMU_I8 + 1,	   [CUDNN_DATA_UINT8] = EMU_U8 + 1,
		[CUDNN_DATA_INT32] = EMU_I32 + 1,  [CUDNN_DATA_INT64] = EMU_I64 + 1,
		[CUDNN_DATA_BOOLEAN] = EMU_U8 + 1, [CUDNN_DATA_FP8_E4M3] = EMU_E4M3 + 1,
		[CUDNN_DATA_UINT32] = EMU_U32 + 1, [CUDNN_DATA_FP8_E5M2] = EMU_E5M2 + 1,
	};

	if ((size_t)type >= sizeof(types) / sizeof(types[0]) || types[type] == 0)
		return -ENOTSUP;
	*ret = types[type] - 1;
	return 0;
}

double emu_dnn_scale(cudnnDataType_t type, const void *factor)
{
	return type == CUDNN_DATA_DOUBLE ? *(const double *)factor : *(const float *)factor;
}

cudnnStatus_t emu_dnn_tensor(const struct cudnnTensorStruct *d, const void *data,
			     struct emu_tensor5 *ret)
{
	struct emu_tensor5 t = {(void *)(uintptr_t)data, 0, {1, 1, 1, 1, 1}, {0}};

	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (d->n < 2 || d->n > 5 || emu_dnn_type(d->type, &t.type) < 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	for (int i = 0; i < d->n; i++) {
		int to = i < 2 ? i : 5 - d->n + i;

		t.size[to] = d->size[i];
		t.stride[to] = d->stride[i];
	}
	*ret = t;
	return CUDNN_STATUS_SUCCESS;
}

void emu_dnn_pack(struct cudnnTensorStruct *d, cudnnTensorFormat_t format)
{
	int next = 1;

	if (format == CUDNN_TENSOR_NHWC && d->n > 1) {
		d->stride[1] = 1;
		next = d->size[1];
	}
	for (int i = d->n - 1; i >= 0; i--) {
		if (format == CUDNN_TENSOR_NHWC && i == 1)
			continue;
		d->stride[i] = next;
		next *= d->size[i];
	}
}

/* ---- tensors ---- */

cudnnStatus_t emu_dnn_set(struct cudnnTensorStruct *d, cudnnDataType_t type, int n,
			  const int *sizes, const int *strides)
{
	struct cudnnTensorStruct new = {.type = type, .n = n};

	if (!d || !sizes)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (n < 1 || n > CUDNN_DIM_MAX)
		return CUDNN_STATUS_NOT_SUPPORTED;
	for (int i = 0; i < n; i++) {
		new.size[i] = sizes[i];
		new.stride[i] = strides ? strides[i] : 0;
		if (sizes[i] < 1)
			return CUDNN_STATUS_BAD_PARAM;
	}
	*d = new;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t emu_dnn_set_packed(struct cudnnTensorStruct *d, cudnnTensorFormat_t format,
				 cudnnDataType_t type, int n, const int *sizes)
{
	cudnnStatus_t r = emu_dnn_set(d, type, n, sizes, NULL);

	if (r == CUDNN_STATUS_SUCCESS && format > CUDNN_TENSOR_NHWC)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (r == CUDNN_STATUS_SUCCESS)
		emu_dnn_pack(d, format);
	return r;
}

EMU_API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int most,
						 cudnnDataType_t *type, int *n, int sizes[],
						 int strides[])
{
	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*type = d->type;
	*n = d->n;
	for (int i = 0; i < d->n && i < most; i++) {
		sizes[i] = d->size[i];
		strides[i] = d->stride[i];
	}
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t d,
						 cudnnDataType_t *type, int *n, int *c, int *h,
						 int *w, int *ns, int *cs, int *hs, int *ws)
{
	int *sizes[] = {n, c, h, w}, *strides[] = {ns, cs, hs, ws};

	if (!d || d->n != 4)
		return CUDNN_STATUS_BAD_PARAM;
	*type = d->type;
	for (int i = 0; i < 4; i++) {
		*sizes[i] = d->size[i];
		*strides[i] = d->stride[i];
	}
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t d, size_t *ret)
{
	enum emu_type type;
	size_t last = 0;

	if (!d || !ret || emu_dnn_type(d->type, &type) < 0)
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < d->n; i++)
		last += (size_t)(d->size[i] - 1) * (size_t)d->stride[i];
	*ret = (last + 1) * emu_type_bytes(type);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- filters ---- */

EMU_API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
						 cudnnTensorFormat_t format, int n,
						 const int sizes[])
{
	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	d->format = format;
	return emu_dnn_set_packed(&d->tensor, format, type, n, sizes);
}

EMU_API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t d, int most,
						 cudnnDataType_t *type, cudnnTensorFormat_t *format,
						 int *n, int sizes[])
{
	int strides[CUDNN_DIM_MAX];

	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*format = d->format;
	return cudnnGetTensorNdDescriptor(&d->tensor, most > CUDNN_DIM_MAX ? CUDNN_DIM_MAX : most,
					  type, n, sizes, strides);
}

/* ---- activations and dropout ---- */

EMU_API cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *ret)
{
	size_t count = 1;

	if (!x || !ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	for (int i = 0; i < x->n; i++)
		count *= (size_t)x->size[i];
	*ret = (count + 7) / 8;
	return CUDNN_STATUS_SUCCESS;
}
