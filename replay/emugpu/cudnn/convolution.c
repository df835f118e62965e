/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions by the functions of cudnn_cnn.h, with one algorithm for each direction, which needs
 * no workspace. */
#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/cudnn/work.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Defines the functions that set and get a field of the descriptor. */
#define FIELD(field, type, name)                                                                   \
	EMU_API cudnnStatus_t cudnnSetConvolution##name(cudnnConvolutionDescriptor_t d,            \
							type value)                                \
	{                                                                                          \
		if (!d)                                                                            \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                \
		d->field = value;                                                                  \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnGetConvolution##name(cudnnConvolutionDescriptor_t d, type *ret) \
	{                                                                                          \
		if (!d || !ret)                                                                    \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                \
		*ret = d->field;                                                                   \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}

FIELD(math, cudnnMathType_t, MathType)
FIELD(groups, int, GroupCount)
FIELD(reorder, cudnnReorderType_t, ReorderType)

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

EMU_API cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h,
						      int pad_w, int step_h, int step_w,
						      int dilation_h, int dilation_w,
						      cudnnConvolutionMode_t mode,
						      cudnnDataType_t compute)
{
	return cudnnSetConvolutionNdDescriptor(d, 2, (int[]){pad_h, pad_w}, (int[]){step_h, step_w},
					       (int[]){dilation_h, dilation_w}, mode, compute);
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

static cudnnStatus_t convolve(cudnnHandle_t handle, enum emu_convolution_kind kind,
			      const void *alpha, const void *beta, cudnnConvolutionDescriptor_t d,
			      cudnnTensorDescriptor_t x, const void *x_data,
			      cudnnFilterDescriptor_t w, const void *w_data,
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

EMU_API cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
					      const cudnnTensorDescriptor_t xDesc, const void *x,
					      const cudnnFilterDescriptor_t wDesc, const void *w,
					      const cudnnConvolutionDescriptor_t d,
					      cudnnConvolutionFwdAlgo_t algo, void *workspace,
					      size_t workspace_bytes, const void *beta,
					      const cudnnTensorDescriptor_t yDesc, void *y)
{
	return convolve(handle, EMU_CONVOLUTION_FORWARD, alpha, beta, d, xDesc, x, wDesc, w, yDesc,
			y);
}

EMU_API cudnnStatus_t cudnnConvolutionBackwardData(
	cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t wDesc, const void *w,
	const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnConvolutionDescriptor_t d,
	cudnnConvolutionBwdDataAlgo_t algo, void *workspace, size_t workspace_bytes,
	const void *beta, const cudnnTensorDescriptor_t xDesc, void *x)
{
	return convolve(handle, EMU_CONVOLUTION_DATA, alpha, beta, d, xDesc, x, wDesc, w, yDesc, y);
}

EMU_API cudnnStatus_t cudnnConvolutionBackwardFilter(
	cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnConvolutionDescriptor_t d,
	cudnnConvolutionBwdFilterAlgo_t algo, void *workspace, size_t workspace_bytes,
	const void *beta, const cudnnFilterDescriptor_t wDesc, void *w)
{
	return convolve(handle, EMU_CONVOLUTION_FILTER, alpha, beta, d, xDesc, x, wDesc, w, yDesc,
			y);
}

/* ---- algorithms ---- */

/* Defines the functions that choose an algorithm for one direction. `first` and `second` are the
 * types of the parameters before and after the convolution descriptor. */
#define ALGORITHMS(Direction, Algo, chosen, A, B, C)                                               \
	static cudnnStatus_t choose_##Algo(cudnnConvolutionDescriptor_t d, int most, int *n,       \
					   cudnnConvolution##Algo##Perf_t *ret)                    \
	{                                                                                          \
		if (!d || !n || !ret)                                                              \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                \
		*n = most > 0;                                                                     \
		if (*n)                                                                            \
			*ret = (cudnnConvolution##Algo##Perf_t){.algo = chosen,                    \
								.status = CUDNN_STATUS_SUCCESS,    \
								.determinism =                     \
									CUDNN_DETERMINISTIC,       \
								.mathType = d->math};              \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnGetConvolution##Direction##AlgorithmMaxCount(                   \
		cudnnHandle_t handle, int *count)                                                  \
	{                                                                                          \
		*count = 1;                                                                        \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnGetConvolution##Direction##Algorithm_v7(                        \
		cudnnHandle_t handle, A a, B b, const cudnnConvolutionDescriptor_t d, C c,         \
		const int most, int *n, cudnnConvolution##Algo##Perf_t *ret)                       \
	{                                                                                          \
		return choose_##Algo(d, most, n, ret);                                             \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnFindConvolution##Direction##Algorithm(                          \
		cudnnHandle_t handle, A a, B b, const cudnnConvolutionDescriptor_t d, C c,         \
		const int most, int *n, cudnnConvolution##Algo##Perf_t *ret)                       \
	{                                                                                          \
		return choose_##Algo(d, most, n, ret);                                             \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnFindConvolution##Direction##AlgorithmEx(                        \
		cudnnHandle_t handle, A a, const void *a_data, B b, const void *b_data,            \
		const cudnnConvolutionDescriptor_t d, C c, void *c_data, const int most, int *n,   \
		cudnnConvolution##Algo##Perf_t *ret, void *workspace, size_t bytes)                \
	{                                                                                          \
		return choose_##Algo(d, most, n, ret);                                             \
	}                                                                                          \
	EMU_API cudnnStatus_t cudnnGetConvolution##Direction##WorkspaceSize(                       \
		cudnnHandle_t handle, A a, B b, const cudnnConvolutionDescriptor_t d, C c,         \
		cudnnConvolution##Algo##_t algo, size_t *ret)                                      \
	{                                                                                          \
		*ret = 0;                                                                          \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}

#define TENSOR const cudnnTensorDescriptor_t
#define FILTER const cudnnFilterDescriptor_t

ALGORITHMS(Forward, FwdAlgo, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, TENSOR, FILTER,
	   TENSOR)
ALGORITHMS(BackwardData, BwdDataAlgo, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, FILTER, TENSOR, TENSOR)
ALGORITHMS(BackwardFilter, BwdFilterAlgo, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, TENSOR, TENSOR,
	   FILTER)
