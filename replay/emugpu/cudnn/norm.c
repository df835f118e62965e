/* SPDX-License-Identifier: Apache-2.0 */

/* Batch normalisation, forward and backward, with or without an addition and ReLU. */
#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/cudnn/work.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

EMU_API cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t ret,
						    const cudnnTensorDescriptor_t x,
						    cudnnBatchNormMode_t mode)
{
	if (!ret || !x)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = *x;
	ret->type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
	for (int i = 0; i < ret->n; i++)
		if (i != 1 && (i == 0 || mode != CUDNN_BATCHNORM_PER_ACTIVATION))
			ret->size[i] = 1;
	emu_dnn_pack(ret, CUDNN_TENSOR_NCHW);
	return CUDNN_STATUS_SUCCESS;
}

/* Elements of a block with the channels last. */
#define CHANNELS_LAST_TILE 16384

/* A tensor and its address. */
struct operand {
	struct emu_tensor5 *to;
	cudnnTensorDescriptor_t tensor;
	const void *data;
};

/* Launches `b` with the tensors of the first n operands; others have no data. */
static cudnnStatus_t launch(cudnnHandle_t handle, struct emu_dnn_work *w, cudnnBatchNormMode_t mode,
			    cudnnTensorDescriptor_t parameters, const struct operand *operands,
			    int n)
{
	struct emu_batch_norm *b = &w->norm;
	cudnnStatus_t r = CUDNN_STATUS_SUCCESS;

	if (mode == CUDNN_BATCHNORM_PER_ACTIVATION || !parameters ||
	    emu_dnn_type(parameters->type, &b->type) < 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	w->kind = EMU_DNN_BATCH_NORM;
	w->cost.math = emu_gpu_math(b->type, 0);
	for (int i = 0; i < n && r == CUDNN_STATUS_SUCCESS; i++) {
		if (!operands[i].data)
			continue;
		r = emu_dnn_tensor(operands[i].tensor, operands[i].data, operands[i].to);
		w->cost.bytes += emu_dnn_bytes(operands[i].to);
	}
	if (r != CUDNN_STATUS_SUCCESS)
		return r;
	if (!b->x.data)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	/* Statistics need the whole input before it can be normalised, so it is read twice. */
	if (b->kind != EMU_NORM_INFERENCE)
		w->cost.bytes += emu_dnn_bytes(&b->x) + emu_dnn_bytes(&b->y_grad);
	w->elements = (double)emu_tensor5_count(&b->x);
	if (b->kind != EMU_NORM_INFERENCE) /* with the channels first, a block has a channel */
		w->tile = b->x.stride[1] != 1 ? w->elements / (double)b->x.size[1]
					      : CHANNELS_LAST_TILE;
	w->cost.flops = 8 * w->elements;
	return emu_dnn_launch(handle, w);
}

/* Only results that replace the old values are supported. */
static int replaces(cudnnTensorDescriptor_t t, const void *alpha, const void *beta)
{
	return t && alpha && beta && emu_dnn_scale(t->type, alpha) == 1 &&
	       emu_dnn_scale(t->type, beta) == 0;
}

EMU_API cudnnStatus_t cudnnBatchNormalizationForwardInference(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc,
	void *y, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
	const void *mean, const void *variance, double epsilon)
{
	struct emu_dnn_work w = {.norm = {.kind = EMU_NORM_INFERENCE,
					  .epsilon = epsilon,
					  .scale = scale,
					  .bias = bias,
					  .mean = (void *)(uintptr_t)mean,
					  .variance = (void *)(uintptr_t)variance}};
	struct operand all[] = {{&w.norm.x, xDesc, x}, {&w.norm.y, yDesc, y}};

	if (!replaces(xDesc, alpha, beta))
		return CUDNN_STATUS_NOT_SUPPORTED;
	return launch(handle, &w, mode, parameters, all, 2);
}

EMU_API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
	const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t yDesc,
	void *y, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
	double factor, void *mean, void *variance, double epsilon, void *saved_mean,
	void *saved_inverse, cudnnActivationDescriptor_t activation, void *workspace,
	size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
	struct emu_dnn_work w = {.norm = {.kind = EMU_NORM_TRAINING,
					  .relu = ops != CUDNN_BATCHNORM_OPS_BN,
					  .epsilon = epsilon,
					  .factor = factor,
					  .scale = scale,
					  .bias = bias,
					  .mean = mean,
					  .variance = variance,
					  .saved_mean = saved_mean,
					  .saved_inverse = saved_inverse}};
	struct operand all[] = {
		{&w.norm.x, xDesc, x},
		{&w.norm.y, yDesc, y},
		{&w.norm.z, zDesc, ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION ? z : NULL}};

	if (!replaces(xDesc, alpha, beta))
		return CUDNN_STATUS_NOT_SUPPORTED;
	return launch(handle, &w, mode, parameters, all, 3);
}

EMU_API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
	const void *beta, const void *parameter_alpha, const void *parameter_beta,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc,
	const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy,
	const cudnnTensorDescriptor_t dzDesc, void *dz, const cudnnTensorDescriptor_t dxDesc,
	void *dx, const cudnnTensorDescriptor_t parameters, const void *scale, const void *bias,
	void *scale_grad, void *bias_grad, double epsilon, const void *saved_mean,
	const void *saved_inverse, cudnnActivationDescriptor_t activation, void *workspace,
	size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
	struct emu_dnn_work w = {.norm = {.kind = EMU_NORM_BACKWARD,
					  .relu = ops != CUDNN_BATCHNORM_OPS_BN,
					  .epsilon = epsilon,
					  .scale = scale,
					  .bias = bias,
					  .saved_mean = (void *)(uintptr_t)saved_mean,
					  .saved_inverse = (void *)(uintptr_t)saved_inverse,
					  .scale_grad = scale_grad,
					  .bias_grad = bias_grad}};
	struct operand all[] = {
		{&w.norm.x, xDesc, x},
		{&w.norm.y_grad, dyDesc, dy},
		{&w.norm.x_grad, dxDesc, dx},
		{&w.norm.y, yDesc, ops == CUDNN_BATCHNORM_OPS_BN ? NULL : y},
		{&w.norm.z, dzDesc, ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION ? dz : NULL}};

	if (!replaces(xDesc, alpha, beta) || !replaces(xDesc, parameter_alpha, parameter_beta) ||
	    !saved_mean || !saved_inverse)
		return CUDNN_STATUS_NOT_SUPPORTED;
	return launch(handle, &w, mode, parameters, all, 5);
}
