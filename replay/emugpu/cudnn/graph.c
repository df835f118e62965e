/* SPDX-License-Identifier: Apache-2.0 */

/* Executes plans of the backend API. A graph with one convolution runs as a convolution; any other
 * graph runs as one kernel, with the operations of its convolutions, products and attentions, and
 * the bytes of its tensors in memory. Of those, only attention computes results. */
#include "replay/emugpu/cudnn/backend.h"
#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/cudnn/work.h"

typedef cudnnBackendAttributeName_t attribute;

static const struct convolution_op {
	cudnnBackendDescriptorType_t type;
	enum emu_convolution_kind kind;
	attribute description, alpha, beta, x, w, y;
} convolutions[] = {
#define CONVOLUTION(type, kind, prefix, x, w, y)                                                   \
	{                                                                                          \
		CUDNN_BACKEND_OPERATION_CONVOLUTION_##type##_DESCRIPTOR, kind,                     \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC,                     \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA,                         \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA,                          \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##x,                           \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##w,                           \
			CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##y,                           \
	}
	CONVOLUTION(FORWARD, EMU_CONVOLUTION_FORWARD, FORWARD, X, W, Y),
	CONVOLUTION(BACKWARD_DATA, EMU_CONVOLUTION_DATA, BWD_DATA, DX, W, DY),
	CONVOLUTION(BACKWARD_FILTER, EMU_CONVOLUTION_FILTER, BWD_FILTER, X, DW, DY),
};

static const struct convolution_op *convolution_of(const struct emu_dnn_descriptor *op)
{
	for (size_t i = 0; i < sizeof(convolutions) / sizeof(convolutions[0]); i++)
		if (op->type == convolutions[i].type)
			return &convolutions[i];
	return NULL;
}

const void *emu_dnn_address(const struct emu_dnn_descriptor *pack,
			    const struct emu_dnn_descriptor *tensor)
{
	int64_t id = emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0, -1), n;
	const struct emu_dnn_attribute *ids =
		emu_dnn_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);

	n = ids ? ids->n : 0;
	for (int64_t i = 0; i < n; i++)
		if (((const int64_t *)ids->values)[i] == id)
			return (const void *)(uintptr_t)emu_dnn_integer(
				pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i, 0);
	return NULL;
}

static cudnnStatus_t tensor_of(const struct emu_dnn_descriptor *d, const void *data,
			       struct emu_tensor5 *ret)
{
	const struct emu_dnn_attribute *sizes = emu_dnn_attribute(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
	struct cudnnTensorStruct t = {
		.type = (cudnnDataType_t)emu_dnn_integer(d, CUDNN_ATTR_TENSOR_DATA_TYPE, 0, -1),
		.n = sizes ? (int)sizes->n : 0};

	for (int i = 0; i < t.n && i < CUDNN_DIM_MAX; i++) {
		t.size[i] = (int)emu_dnn_integer(d, CUDNN_ATTR_TENSOR_DIMENSIONS, i, 1);
		t.stride[i] = (int)emu_dnn_integer(d, CUDNN_ATTR_TENSOR_STRIDES, i, 1);
	}
	return emu_dnn_tensor(&t, data, ret);
}

/* Describes a convolution; `pack` may be NULL: without addresses. */
static cudnnStatus_t describe(const struct emu_dnn_descriptor *op, const struct convolution_op *a,
			      const struct emu_dnn_descriptor *pack, int tensor,
			      struct emu_convolution *ret)
{
	const struct emu_dnn_descriptor *d = emu_dnn_child(op, a->description, 0);
	const struct emu_dnn_attribute *pads =
		emu_dnn_attribute(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
	struct emu_convolution c = {.kind = (uint8_t)a->kind, .tensor = tensor};
	struct {
		attribute name;
		struct emu_tensor5 *to;
	} operands[] = {{a->x, &c.x}, {a->w, &c.w}, {a->y, &c.y}};
	int n = pads ? (int)pads->n : 0;

	if (n < 1 || n > 3)
		return CUDNN_STATUS_NOT_SUPPORTED;
	c.flip = emu_dnn_integer(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 0, 0) == CUDNN_CONVOLUTION;
	for (int i = 0; i < 3; i++)
		c.step[i] = c.dilation[i] = 1;
	for (int i = 0; i < n; i++) {
		int to = 3 - n + i;

		c.pad[to] = emu_dnn_integer(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i, 0);
		c.step[to] = emu_dnn_integer(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i, 1);
		c.dilation[to] = emu_dnn_integer(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, i, 1);
	}
	c.alpha = emu_dnn_number(op, a->alpha, 1);
	c.beta = emu_dnn_number(op, a->beta, 0);
	for (int i = 0; i < 3; i++) {
		const struct emu_dnn_descriptor *t = emu_dnn_child(op, operands[i].name, 0);
		cudnnStatus_t r = tensor_of(t, emu_dnn_address(pack, t), operands[i].to);

		if (r != CUDNN_STATUS_SUCCESS)
			return r;
	}
	*ret = c;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- the cost of other graphs ---- */

static double count_of(const struct emu_dnn_descriptor *tensor)
{
	const struct emu_dnn_attribute *sizes =
		emu_dnn_attribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
	double n = sizes ? 1 : 0;

	for (int64_t i = 0; sizes && i < sizes->n; i++)
		n *= (double)emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, i, 1);
	return n;
}

static int64_t last_size(const struct emu_dnn_descriptor *tensor, int from_end)
{
	const struct emu_dnn_attribute *sizes =
		emu_dnn_attribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);

	return sizes ? emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, sizes->n - from_end, 1)
		     : 0;
}

static void add_convolution(struct emu_dnn_work *w, const struct emu_dnn_descriptor *op)
{
	struct emu_convolution c;

	if (describe(op, convolution_of(op), NULL, 1, &c) != CUDNN_STATUS_SUCCESS ||
	    emu_convolution_check(&c) < 0)
		return;
	w->cost.flops += emu_convolution_operations(&c);
	w->cost.convolution = emu_dnn_shape(&c);
	w->tile = EMU_DNN_TILE;
}

/* Two products of a graph with a softmax in between are attention; more products are its
 * gradients. */
static void add_product(struct emu_dnn_work *w, const struct emu_dnn_descriptor *op)
{
	const struct emu_dnn_descriptor *d =
		emu_dnn_child(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0);
	const struct emu_dnn_descriptor *a =
		emu_dnn_child(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 0);
	struct gpuemu_product p = {.m = (double)last_size(d, 1),
				   .n = (double)last_size(d, 2),
				   .k = (double)last_size(a, 1)};

	if (p.m <= 0 || p.n <= 0)
		return;
	p.batch = count_of(d) / (p.m * p.n);
	w->cost.flops += 2 * count_of(d) * p.k;
	w->tile = EMU_DNN_TILE;
	if (w->cost.product.m > 0)
		w->cost.attention = w->cost.attention ? 2 : 1;
	else
		w->cost.product = p;
}

static void add_attention(struct emu_dnn_work *w, const struct emu_dnn_descriptor *q,
			  const struct emu_dnn_descriptor *k, int kind)
{
	double queries = (double)last_size(q, 2), width = (double)last_size(q, 1);

	if (queries <= 0 || width <= 0)
		return;
	w->cost.attention = kind;
	w->cost.product = (struct gpuemu_product){.m = (double)last_size(k, 2),
						  .n = queries,
						  .k = width,
						  .batch = count_of(q) / (queries * width)};
	w->tile = 128 * width;
}

/* cuDNN 9.20 and 9.21; missing in older headers. */
enum { DIAGONAL_BAND_MASK = 44, SDPA_FWD_SUBGRAPH = 2811 };

/* Returns 1 if the operation masks scores above the diagonal: as one operation, among the
 * operations that attention applies to its scores, or as a comparison of row and column numbers. */
static int is_causal(const struct emu_dnn_descriptor *op)
{
	const struct emu_dnn_descriptor *child =
		op->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR
			? emu_dnn_child(op, (cudnnBackendAttributeName_t)SDPA_FWD_SUBGRAPH, 0)
			: NULL;
	int causal = (int)op->type == DIAGONAL_BAND_MASK;

	for (int64_t i = 0; child && !causal; i++) {
		const struct emu_dnn_descriptor *of =
			emu_dnn_child(child, CUDNN_ATTR_OPERATIONGRAPH_OPS, i);

		if (!of)
			break;
		causal = (int)of->type == DIAGONAL_BAND_MASK;
	}
	if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
	    (child = emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0)))
		causal = emu_dnn_integer(child, CUDNN_ATTR_POINTWISE_MODE, 0, -1) ==
			 CUDNN_POINTWISE_CMP_GE;
	return causal;
}

static void add_operations(struct emu_dnn_work *w, const struct emu_dnn_descriptor *op)
{
	switch (op->type) {
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
		add_convolution(w, op);
		break;
	case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
		add_product(w, op);
		break;
	case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
		add_attention(w, emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 0),
			      emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 0), 1);
		break;
	case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
		add_attention(w, emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, 0),
			      emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, 0), 2);
		break;
	default:
		w->cost.flops +=
			count_of(emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0));
	}
}

/* Adds a tensor in memory to the cost, unless another operation already did. */
static void add_tensor(struct emu_dnn_work *w, const struct emu_dnn_descriptor *tensor,
		       const struct emu_dnn_descriptor *pack)
{
	const void *at = emu_dnn_address(pack, tensor);
	enum emu_type type = EMU_F32;
	int i = 0;

	if (!at || emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0, 0) ||
	    emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0, 0))
		return;
	while (i < EMU_DNN_POINTERS && w->pointers[i] && w->pointers[i] != at)
		i++;
	if (i == EMU_DNN_POINTERS || w->pointers[i])
		return;
	w->pointers[i] = at;
	emu_dnn_type((cudnnDataType_t)emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, 0, 0),
		     &type);
	w->cost.bytes += count_of(tensor) * (double)emu_type_bytes(type);
	w->elements = count_of(tensor) > w->elements ? count_of(tensor) : w->elements;
	if (type == EMU_F16 || type == EMU_BF16)
		w->cost.math = GPUEMU_FP16;
}

static cudnnStatus_t run_fused(cudnnHandle_t handle, const struct emu_dnn_descriptor *graph,
			       const struct emu_dnn_descriptor *pack, int tensor)
{
	struct emu_dnn_work w = {.kind = EMU_DNN_FUSED,
				 .cost.math = tensor ? GPUEMU_TF32 : GPUEMU_FP32};
	const struct emu_dnn_descriptor *op;
	struct emu_dnn_attention attention;

	for (int64_t i = 0; (op = emu_dnn_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, i)); i++) {
		add_operations(&w, op);
		w.cost.causal |= is_causal(op);
		for (size_t k = 0; k < op->n; k++) {
			const struct emu_dnn_descriptor *t =
				emu_dnn_child(op, op->attributes[k].name, 0);

			if (t && t->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
				add_tensor(&w, t, pack);
		}
	}
	if (emu_dnn_find_attention(graph, pack, &attention) == 0) {
		w.kind = EMU_DNN_ATTENTION;
		w.attention = attention;
	}
	return emu_dnn_launch(handle, &w);
}

EMU_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
					  cudnnBackendDescriptor_t pack)
{
	const struct emu_dnn_descriptor *config =
		emu_dnn_child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
	const struct emu_dnn_descriptor *engine =
		emu_dnn_child(config, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
	const struct emu_dnn_descriptor *graph =
		emu_dnn_child(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
	const struct emu_dnn_descriptor *op =
		emu_dnn_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, 0);
	int tensor = emu_dnn_integer(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0, 0) == 0;
	struct emu_convolution c;
	cudnnStatus_t r;

	if (!op || !pack)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!convolution_of(op) || emu_dnn_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, 1))
		return run_fused(handle, graph, pack, tensor);
	r = describe(op, convolution_of(op), pack, tensor, &c);
	return r == CUDNN_STATUS_SUCCESS ? emu_dnn_convolve(handle, &c) : r;
}
