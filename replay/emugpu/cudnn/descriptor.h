/* SPDX-License-Identifier: Apache-2.0 */

/* The handle and the descriptors of cuDNN. A descriptor is used by one thread at a time. */
#pragma once

#include "replay/emugpu/math/convolution.h"
#include "replay/emugpu/refuse.h"

#include <cuda.h>
#include <cudnn.h>

struct cudnnContext {
	CUstream stream;
};

struct cudnnTensorStruct {
	cudnnDataType_t type;
	int n; /* dimensions; 0: not set */
	int size[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
	struct cudnnTensorStruct tensor;
	cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct {
	int n; /* spatial dimensions */
	int pad[CUDNN_DIM_MAX], step[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX];
	cudnnConvolutionMode_t mode;
	cudnnDataType_t compute;
	cudnnMathType_t math;
	cudnnReorderType_t reorder;
	int groups;
};

struct cudnnActivationStruct {
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;
	double coefficient, swish_beta;
};

struct cudnnDropoutStruct {
	float dropout;
	void *states;
	unsigned long long seed;
};

struct cudnnRNNStruct {
	cudnnRNNAlgo_t algo;
	cudnnRNNMode_t mode;
	cudnnRNNBiasMode_t bias;
	cudnnDirectionMode_t direction;
	cudnnRNNInputMode_t input;
	cudnnDataType_t type, compute;
	cudnnMathType_t math;
	int32_t inputs, hidden, projected, layers;
	cudnnDropoutDescriptor_t dropout;
	uint32_t flags;
	cudnnRNNClipMode_t clip;
	double clip_low, clip_high;
};

struct cudnnRNNDataStruct {
	cudnnDataType_t type;
	cudnnRNNDataLayout_t layout;
	int steps, batch, width;
	int64_t items; /* the sum of the lengths of the sequences */
};

/* Returns 0, or -ENOTSUP for an unsupported type. */
int emu_dnn_type(cudnnDataType_t type, enum emu_type *ret);

/* Makes a tensor with batch, channels and up to three spatial dimensions;
 * CUDNN_STATUS_NOT_SUPPORTED for others. */
cudnnStatus_t emu_dnn_tensor(const struct cudnnTensorStruct *d, const void *data,
			     struct emu_tensor5 *ret);

/* Sets the strides of contiguous memory: channels last with CUDNN_TENSOR_NHWC. */
void emu_dnn_pack(struct cudnnTensorStruct *d, cudnnTensorFormat_t format);

/* Returns a scaling factor of an operation on elements of `type`: double for double, else float. */
double emu_dnn_scale(cudnnDataType_t type, const void *factor);

/* Allocates a handle or descriptor of zeros. */
cudnnStatus_t emu_dnn_create(void **ret, size_t bytes);

/* Set the sizes and strides of a tensor; strides are 0 if NULL, or those of contiguous memory. */
cudnnStatus_t emu_dnn_set(struct cudnnTensorStruct *d, cudnnDataType_t type, int n,
			  const int *sizes, const int *strides);
cudnnStatus_t emu_dnn_set_packed(struct cudnnTensorStruct *d, cudnnTensorFormat_t format,
				 cudnnDataType_t type, int n, const int *sizes);
