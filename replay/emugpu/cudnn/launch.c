/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cudnn/work.h"

#include "replay/emugpu/cudnn/descriptor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Larger operations take their virtual time but compute nothing, unless $GPUEMU_COMPUTE is "all":
 * on a host, an iteration of a real model would take minutes. */
#define MOST_OPERATIONS 2.5e8
#define MOST_ELEMENTS 1e6

static int computes(const struct emu_dnn_work *w)
{
	const char *value = getenv("GPUEMU_COMPUTE");

	if (value && strcmp(value, "all") == 0)
		return 1;
	if (value && strcmp(value, "0") == 0)
		return 0;
	if (w->kind == EMU_DNN_RNN)
		return emu_rnn_operations(&w->rnn) <= MOST_OPERATIONS;
	return w->kind == EMU_DNN_BATCH_NORM ? w->elements <= MOST_ELEMENTS
					     : w->cost.flops <= MOST_OPERATIONS;
}

static int attend(const struct emu_dnn_attention *w)
{
	struct emu_attention a = w->attention;

	a.seed = w->seed ? (uint64_t)*w->seed : 0;
	a.offset = w->offset ? (uint64_t)*w->offset : 0;
	return w->backward ? emu_attention_backward(&a) : emu_attention_forward(&a);
}

static int compute(const struct emu_dnn_work *w)
{
	switch (w->kind) {
	case EMU_DNN_BATCH_NORM:
		emu_batch_norm_run(&w->norm);
		return 0;
	case EMU_DNN_ATTENTION:
		return attend(&w->attention);
	case EMU_DNN_RNN:
		return emu_rnn_run(&w->rnn);
	default:
		return emu_convolution_run(&w->convolution);
	}
}

static void run(struct gpuemu_launch *launch, void *const *args)
{
	const struct emu_dnn_work *w = args[0];

	launch->skipped = !computes(w);
	if (launch->skipped)
		return;
	if (compute(w) < 0)
		launch->error = CUDA_ERROR_OUT_OF_MEMORY;
}

/* Later launches of a recurrent network. */
static void run_part(struct gpuemu_launch *launch, void *const *args)
{
	const struct emu_dnn_work *w = args[0];

	launch->skipped = !w->computed;
}

static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	const struct emu_dnn_work *w = args[0];

	*ret = w->cost;
}

static const size_t param_bytes[] = {sizeof(struct emu_dnn_work)};

#define KERNEL(name, run)                                                                          \
	{                                                                                          \
		name, 0, run, cost, NULL, param_bytes, 1                                           \
	}

/* Convolutions by their kind; then the other kinds of work. */
static const struct gpuemu_kernel kernels[] = {
	[EMU_CONVOLUTION_FORWARD] = KERNEL("gpuemu_conv_fprop", run),
	[EMU_CONVOLUTION_DATA] = KERNEL("gpuemu_conv_dgrad", run),
	[EMU_CONVOLUTION_FILTER] = KERNEL("gpuemu_conv_wgrad", run),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_CONVOLUTION] = KERNEL("gpuemu_conv", NULL),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_BATCH_NORM] = KERNEL("gpuemu_batch_norm", run),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_FUSED] = KERNEL("gpuemu_dnn_fused", NULL),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_ATTENTION] = KERNEL("gpuemu_attention", run),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_RNN] = KERNEL("gpuemu_rnn", run),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_RNN_INPUT] = KERNEL("gpuemu_rnn_input", run_part),
	[EMU_CONVOLUTION_KINDS + EMU_DNN_RNN_STEP] = KERNEL("gpuemu_rnn_step", run_part),
};

enum { N_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static unsigned blocks_of(const struct emu_dnn_work *w)
{
	double tile = w->tile ? w->tile : 1024;
	double blocks = (w->elements + tile - 1) / tile;

	return blocks < 1 ? 1 : blocks > INT32_MAX ? INT32_MAX : (unsigned)blocks;
}

cudnnStatus_t emu_dnn_launch(cudnnHandle_t handle, const struct emu_dnn_work *work)
{
	static CUkernel loaded[N_KERNELS];
	static struct emu_kernels all = {kernels, N_KERNELS, sizeof(struct emu_dnn_work), loaded,
					 0};
	unsigned number = work->kind == EMU_DNN_CONVOLUTION ? work->convolution.kind
							    : EMU_CONVOLUTION_KINDS + work->kind;

	unsigned threads = work->kind == EMU_DNN_BATCH_NORM ? 512 : 256;

	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	return emu_gpu_launch(&all, number, handle->stream, work, blocks_of(work), threads) ==
			       CUDA_SUCCESS
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

double emu_dnn_bytes(const struct emu_tensor5 *t)
{
	return t->data ? (double)emu_tensor5_count(t) * (double)emu_type_bytes(t->type) : 0;
}

static void triple(double ret[3], const int64_t *sizes)
{
	for (int i = 0; i < 3; i++)
		ret[i] = (double)sizes[i];
}

struct gpuemu_convolution emu_dnn_shape(const struct emu_convolution *c)
{
	static const enum gpuemu_direction directions[EMU_CONVOLUTION_KINDS] = {
		[EMU_CONVOLUTION_FORWARD] = GPUEMU_FORWARD,
		[EMU_CONVOLUTION_DATA] = GPUEMU_DATA_GRADIENT,
		[EMU_CONVOLUTION_FILTER] = GPUEMU_FILTER_GRADIENT,
	};
	struct gpuemu_convolution ret = {
		.direction = directions[c->kind],
		.batch = (double)c->x.size[0],
		.in_channels = (double)c->x.size[1],
		.out_channels = (double)c->y.size[1],
		.groups = (double)(c->x.size[1] / c->w.size[1]),
		.element_bytes = (double)emu_type_bytes(c->x.type),
		.channels_last = c->x.size[1] == 1 || c->x.stride[1] == 1,
	};

	triple(ret.in, c->x.size + 2);
	triple(ret.out, c->y.size + 2);
	triple(ret.kernel, c->w.size + 2);
	triple(ret.stride, c->step);
	triple(ret.dilation, c->dilation);
	return ret;
}

/* Pixels of a part of the sum of a filter gradient. */
#define PART_PIXELS 1024

cudnnStatus_t emu_dnn_convolve(cudnnHandle_t handle, const struct emu_convolution *c)
{
	const struct emu_tensor5 *result = c->kind == EMU_CONVOLUTION_FORWARD ? &c->y
					   : c->kind == EMU_CONVOLUTION_DATA  ? &c->x
									      : &c->w;
	struct emu_dnn_work w = {
		.kind = EMU_DNN_CONVOLUTION,
		.elements = (double)emu_tensor5_count(result),
		.tile = EMU_DNN_TILE,
		.convolution = *c,
	};

	if (emu_convolution_check(c) < 0)
		return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
	w.cost = (struct gpuemu_cost){
		.flops = emu_convolution_operations(c),
		.math = emu_gpu_math(c->x.type, c->tensor),
		.convolution = emu_dnn_shape(c),
	};
	if (c->kind == EMU_CONVOLUTION_FILTER)
		w.tile /= ceil(w.cost.flops / (2 * w.elements * PART_PIXELS));
	return emu_dnn_launch(handle, &w);
}
