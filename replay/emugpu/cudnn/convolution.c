/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions by the functions of cudnn_cnn.h, with one algorithm for each direction, which needs
 * no workspace. */
#include "replay/emugpu/cudnn/calls.h"

EMU_API cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int n,
						      const int pad[], const int step[],
						      const int dilation[],
						      cudnnConvolutionMode_t mode,
						      cudnnDataType_t compute)
{
	if (!d || !pad || !step || !dilation)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (n < 1 || n > 3)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*d = (struct cudnnConvolutionStruct){.n = n, .mode = mode, .compute = compute, .groups = 1};
	for (int i = 0; i < n; i++) {
		d->pad[i] = pad[i];
		d->step[i] = step[i];
		d->dilation[i] = dilation[i];
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Describes a convolution by its descriptors; data pointers may be NULL. */
static cudnnStatus_t describe(cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t x,
			      const void *x_data, cudnnFilterDescriptor_t w, const void *w_data,
			      cudnnTensorDescriptor_t y, const void *y_data,
			      struct emu_convolution *ret)
{
	cudnnStatus_t r;

	if (!d || !w || !d->n)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = (struct emu_convolution){.flip = d->mode == CUDNN_CONVOLUTION,
					.tensor = d->math != CUDNN_FMA_MATH};
	for (int i = 0; i < 3; i++)
		ret->step[i] = ret->dilation[i] = 1;
	for (int i = 0; i < d->n; i++) {
		ret->pad[3 - d->n + i] = d->pad[i];
		ret->step[3 - d->n + i] = d->step[i];
		ret->dilation[3 - d->n + i] = d->dilation[i];
	}
	r = emu_dnn_tensor(x, x_data, &ret->x);
	if (r == CUDNN_STATUS_SUCCESS)
		r = emu_dnn_tensor(&w->tensor, w_data, &ret->w);
	if (r == CUDNN_STATUS_SUCCESS && y)
		r = emu_dnn_tensor(y, y_data, &ret->y);
	return r;
}

EMU_API cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t d,
							    const cudnnTensorDescriptor_t x,
							    const cudnnFilterDescriptor_t w, int n,
							    int sizes[])
{
	struct emu_convolution c;
	cudnnStatus_t r = describe(d, x, NULL, w, NULL, NULL, NULL, &c);

	if (r != CUDNN_STATUS_SUCCESS || n != x->n)
		return r == CUDNN_STATUS_SUCCESS ? CUDNN_STATUS_BAD_PARAM : r;
	sizes[0] = x->size[0];
	sizes[1] = w->tensor.size[0];
	for (int i = 2; i < n; i++)
		sizes[i] = (int)emu_convolution_output(&c, 3 - n + i);
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t d,
							    const cudnnTensorDescriptor_t x,
							    const cudnnFilterDescriptor_t filter,
							    int *n, int *c, int *h, int *w)
{
	int sizes[4];
	cudnnStatus_t r = cudnnGetConvolutionNdForwardOutputDim(d, x, filter, 4, sizes);

	if (r != CUDNN_STATUS_SUCCESS)
		return r;
	*n = sizes[0];
	*c = sizes[1];
	*h = sizes[2];
	*w = sizes[3];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t emu_dnn_convolution(cudnnHandle_t handle, enum emu_convolution_kind kind,
				  const void *alpha, const void *beta,
				  cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t x,
				  const void *x_data, cudnnFilterDescriptor_t w, const void *w_data,
				  cudnnTensorDescriptor_t y, const void *y_data)
{
	struct emu_convolution c;
	cudnnStatus_t r = describe(d, x, x_data, w, w_data, y, y_data, &c);

	if (r != CUDNN_STATUS_SUCCESS)
		return r;
	if (!alpha || !beta || !x_data || !w_data || !y_data)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	c.kind = kind;
	c.alpha = emu_dnn_scale(x->type, alpha);
	c.beta = emu_dnn_scale(x->type, beta);
	return emu_dnn_convolve(handle, &c);
}
