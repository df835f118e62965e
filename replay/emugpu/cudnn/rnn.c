/* SPDX-License-Identifier: Apache-2.0 */

/* Recurrent networks: for each layer and direction, one kernel for the independent products of its
 * input, and one for each step. The first one computes all results, unless sequences have different
 * lengths or results are projected. */
#include "replay/emugpu/cudnn/calls.h"

#include <string.h>

EMU_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
						cudnnRNNDataLayout_t layout, int steps, int batch,
						int width, const int lengths[], void *padding)
{
	if (!d || !lengths)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*d = (struct cudnnRNNDataStruct){type, layout, steps, batch, width, 0};
	for (int i = 0; i < batch; i++)
		d->items += lengths[i];
	return CUDNN_STATUS_SUCCESS;
}

/* ---- shapes ---- */

static int gates(const struct cudnnRNNStruct *d)
{
	return d->mode == CUDNN_LSTM ? 4 : d->mode == CUDNN_GRU ? 3 : 1;
}

static int directions(const struct cudnnRNNStruct *d)
{
	return d->direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
}

static int32_t output_width(const struct cudnnRNNStruct *d)
{
	return d->projected > 0 ? d->projected : d->hidden;
}

static int32_t input_width(const struct cudnnRNNStruct *d, int32_t layer)
{
	return layer == 0 ? d->inputs : output_width(d) * directions(d);
}

static int is_projected(const struct cudnnRNNStruct *d)
{
	return d->projected > 0 && d->projected != d->hidden;
}

static size_t element_bytes(const struct cudnnRNNStruct *d)
{
	enum emu_type type;

	return emu_dnn_type(d->type, &type) < 0 ? 0 : emu_type_bytes(type);
}

/* Rows and columns of matrix `id` of a layer: the gates' of the input, the gates' of the last step,
 * the projection. */
static void matrix_of(const struct cudnnRNNStruct *d, int32_t layer, int id, int64_t ret[2])
{
	int n = gates(d);

	ret[0] = id < 2 * n ? d->hidden : d->projected;
	ret[1] = id < n ? input_width(d, layer) : id < 2 * n ? output_width(d) : d->hidden;
}

static int matrices(const struct cudnnRNNStruct *d)
{
	return 2 * gates(d) + is_projected(d);
}

static int biases(const struct cudnnRNNStruct *d, int id)
{
	if (id >= 2 * gates(d) || d->bias == CUDNN_RNN_NO_BIAS)
		return 0;
	return d->bias == CUDNN_RNN_DOUBLE_BIAS ||
	       (id < gates(d)) == (d->bias == CUDNN_RNN_SINGLE_INP_BIAS);
}

/* Returns the number of elements before matrix or bias `id` of a pseudo layer (layer x directions +
 * direction): all matrices come first, then all biases. */
static int64_t offset_of(const struct cudnnRNNStruct *d, int32_t pseudo, int id, int of_bias)
{
	int32_t all = d->layers * directions(d);
	int64_t at = 0, m[2];

	for (int32_t p = 0; p < (of_bias ? all : pseudo + 1); p++)
		for (int i = 0; i < (of_bias || p < pseudo ? matrices(d) : id); i++) {
			matrix_of(d, p / directions(d), i, m);
			at += m[0] * m[1];
		}
	for (int32_t p = 0; of_bias && p <= pseudo; p++)
		for (int i = 0; i < (p < pseudo ? matrices(d) : id); i++)
			at += biases(d, i) * d->hidden;
	return at;
}

EMU_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d,
						 size_t *ret)
{
	if (!d || !ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = (size_t)offset_of(d, d->layers * directions(d), 0, 1) * element_bytes(d);
	return CUDNN_STATUS_SUCCESS;
}

/* Sets the outputs, which may be NULL; rows is 0 if there is no such matrix or bias. */
static void set_parameter(cudnnTensorDescriptor_t t, void **at, cudnnDataType_t type, void *address,
			  int64_t rows, int64_t columns)
{
	if (at)
		*at = rows ? address : NULL;
	if (!t)
		return;
	*t = (struct cudnnTensorStruct){type, rows ? 3 : 0, {1, (int)rows, (int)columns}, {0}};
	emu_dnn_pack(t, CUDNN_TENSOR_NCHW);
}

EMU_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t d,
					      int32_t pseudo, size_t bytes, const void *weights,
					      int32_t id, cudnnTensorDescriptor_t matrix,
					      void **matrix_at, cudnnTensorDescriptor_t bias,
					      void **bias_at)
{
	char *base = (char *)(uintptr_t)weights;
	size_t size = d ? element_bytes(d) : 0;
	int64_t m[2] = {0};

	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (pseudo < 0 || pseudo >= d->layers * directions(d) || id < 0)
		return CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
	if (id < matrices(d))
		matrix_of(d, pseudo / directions(d), id, m);
	set_parameter(matrix, matrix_at, d->type, base + (size_t)offset_of(d, pseudo, id, 0) * size,
		      m[0], m[1]);
	set_parameter(bias, bias_at, d->type, base + (size_t)offset_of(d, pseudo, id, 1) * size,
		      id < matrices(d) && biases(d, id) ? d->hidden : 0, 1);
	return CUDNN_STATUS_SUCCESS;
}

/* The shape of a network. */
static struct emu_rnn describe(const struct cudnnRNNStruct *d, const struct cudnnRNNDataStruct *x)
{
	struct emu_rnn r = {.type = EMU_F32,
			    .kind = (uint8_t)d->mode,
			    .directions = (uint8_t)directions(d),
			    .input_bias = (uint8_t)biases(d, 0),
			    .hidden_bias = (uint8_t)biases(d, gates(d)),
			    .layers = d->layers,
			    .inputs = d->inputs,
			    .hidden = d->hidden,
			    .steps = x->steps,
			    .batch = x->batch};

	emu_dnn_type(d->type, &r.type);
	return r;
}

EMU_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t d,
						cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
						size_t *work, size_t *reserve)
{
	struct emu_rnn r;
	size_t step;

	if (!d || !x)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	r = describe(d, x);
	/* The results of all gates of one layer at a time. */
	step = (size_t)(x->steps * x->batch) * (size_t)(gates(d) + 2) * (size_t)d->hidden *
	       (size_t)directions(d) * element_bytes(d);
	if (work)
		*work = step;
	if (reserve)
		*reserve = mode == CUDNN_FWD_MODE_TRAINING ? emu_rnn_reserve_bytes(&r) : 0;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- launches ---- */

/* A step has few results, in small tiles. */
#define STEP_TILE (32 * 32)

static cudnnStatus_t launch(const struct emu_dnn_pass *p, enum emu_dnn_kind kind, double items,
			    double inputs, double outputs)
{
	enum emu_type type = EMU_F32;
	struct gpuemu_product of[] = {
		[EMU_DNN_FORWARD] = {.m = outputs, .n = items, .k = inputs},
		[EMU_DNN_DATA_GRADIENT] = {.m = inputs, .n = items, .k = outputs},
		[EMU_DNN_WEIGHT_GRADIENT] = {.m = inputs, .n = outputs, .k = items},
	};
	struct emu_dnn_work w = {.kind = kind,
				 .elements = of[p->direction].m * of[p->direction].n,
				 .tile = kind == EMU_DNN_RNN_STEP ? STEP_TILE : EMU_DNN_TILE};

	emu_dnn_type(p->d->type, &type);
	w.cost.math = emu_gpu_math(type, p->d->math != CUDNN_FMA_MATH);
	w.cost.product = of[p->direction];
	w.cost.product.batch = 1;
	w.cost.product.a_bytes = (double)element_bytes(p->d);
	w.computed = (uint32_t)p->computed;
	if (kind == EMU_DNN_RNN)
		w.rnn = p->results;
	else
		memcpy(w.pointers, p->pointers, sizeof(p->pointers));
	return emu_dnn_launch(p->handle, &w);
}

/* Returns 1 if host kernels compute such networks. */
static int is_computed(const struct emu_dnn_pass *p)
{
	const struct cudnnRNNStruct *d = p->d;

	return !is_projected(d) && d->input == CUDNN_LINEAR_INPUT &&
	       d->clip == CUDNN_RNN_CLIP_NONE &&
	       p->x->layout != CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED &&
	       p->x->items == (int64_t)p->x->steps * p->x->batch &&
	       (p->direction == EMU_DNN_FORWARD || p->results.reserve);
}

static cudnnStatus_t run_layer(const struct emu_dnn_pass *p, int32_t layer, enum emu_dnn_kind first)
{
	const struct cudnnRNNStruct *d = p->d;
	double items = (double)p->x->items, outputs = (double)gates(d) * d->hidden;
	double hidden = output_width(d);
	cudnnStatus_t r = launch(p, first, items, input_width(d, layer), outputs);

	if (p->direction == EMU_DNN_WEIGHT_GRADIENT)
		return r == CUDNN_STATUS_SUCCESS
			       ? launch(p, EMU_DNN_RNN_INPUT, items, hidden, outputs)
			       : r;
	for (int i = 0; i < p->x->steps && r == CUDNN_STATUS_SUCCESS; i++)
		r = launch(p, EMU_DNN_RNN_STEP, items / p->x->steps, hidden, outputs);
	return r;
}

/* Adds the shape to the addresses. */
static void fill_in(struct emu_dnn_pass *p)
{
	struct emu_rnn shape = describe(p->d, p->x), *r = &p->results;

	r->type = shape.type;
	r->kind = shape.kind;
	r->pass = (uint8_t)p->direction;
	r->directions = shape.directions;
	r->input_bias = shape.input_bias;
	r->hidden_bias = shape.hidden_bias;
	r->layers = shape.layers;
	r->inputs = shape.inputs;
	r->hidden = shape.hidden;
	r->steps = shape.steps;
	r->batch = shape.batch;
}

cudnnStatus_t emu_dnn_rnn(struct emu_dnn_pass *p)
{
	cudnnStatus_t r = CUDNN_STATUS_SUCCESS;

	if (!p->d || !p->x)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	p->computed = is_computed(p);
	if (p->computed)
		fill_in(p);
	for (int32_t i = 0; i < p->d->layers * directions(p->d) && r == CUDNN_STATUS_SUCCESS; i++)
		r = run_layer(p, i / directions(p->d),
			      i == 0 && p->computed ? EMU_DNN_RNN : EMU_DNN_RNN_INPUT);
	return r;
}
