/* SPDX-License-Identifier: Apache-2.0 */

/* Recognises attention in a graph as cuDNN's front end builds it: forward as one operation, or
 * forward and backward as products of matrices with element-wise operations between them. */
#include "replay/emugpu/cudnn/backend.h"
#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/cudnn/work.h"

#include <errno.h>

typedef cudnnBackendAttributeName_t attribute;
typedef const struct emu_dnn_descriptor descriptor;

/* Types and attributes of cuDNN 9.13 to 9.21; missing in older headers. */
enum {
	BAND_MASK = 44,
	SOFTMAX = 45,
	SDPA_SUBGRAPH = 2811,
	SDPA_SOFTMAX = 2814,
	SDPA_DROPOUT = 2815,
	MASK_KEY_COUNTS = 3001,
	MASK_QUERY_COUNTS,
	MASK_LEFT,
	MASK_RIGHT,
	SOFTMAX_STATS = 3102,
	SOFTMAX_SINK = 3105,
};

struct search {
	descriptor *graph, *pack;
	descriptor *q, *k, *v, *out, *sums, *bias, *out_grad, *q_grad, *k_grad, *v_grad;
	descriptor *scores; /* Q K^T */
	int products;
	struct emu_dnn_attention *ret;
};

static int64_t size_of(descriptor *tensor, int64_t i)
{
	return emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, i, 0);
}

static int is_flag(descriptor *tensor, attribute name)
{
	return (int)emu_dnn_integer(tensor, name, 0, 0);
}

/* Returns 1 if the tensor is in device memory. */
static int is_real(descriptor *tensor)
{
	return tensor && !is_flag(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
	       !is_flag(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}

static int is_same(descriptor *a, descriptor *b)
{
	return a && b &&
	       emu_dnn_integer(a, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0, -1) ==
		       emu_dnn_integer(b, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0, -2);
}

/* An operation that copies a tensor: its attributes of the input and the output. */
static int is_copy(descriptor *op, attribute *x, attribute *y)
{
	descriptor *how = emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);

	switch (op->type) {
	case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
		*x = CUDNN_ATTR_OPERATION_RESHAPE_XDESC;
		*y = CUDNN_ATTR_OPERATION_RESHAPE_YDESC;
		return 1;
	case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
		*x = CUDNN_ATTR_OPERATION_REDUCTION_XDESC;
		*y = CUDNN_ATTR_OPERATION_REDUCTION_YDESC;
		return 1;
	case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
		*x = CUDNN_ATTR_OPERATION_POINTWISE_XDESC;
		*y = CUDNN_ATTR_OPERATION_POINTWISE_YDESC;
		return emu_dnn_integer(how, CUDNN_ATTR_POINTWISE_MODE, 0, -1) ==
		       CUDNN_POINTWISE_IDENTITY;
	default:
		return 0;
	}
}

/* Follows copies of a tensor to the last one or, with `back`, to the first. */
static descriptor *follow(const struct search *s, descriptor *tensor, int back)
{
	descriptor *op;
	attribute x, y;

	for (int64_t i = 0; (op = emu_dnn_child(s->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, i)); i++)
		if (is_copy(op, &x, &y) && is_same(emu_dnn_child(op, back ? y : x, 0), tensor)) {
			tensor = emu_dnn_child(op, back ? x : y, 0);
			i = -1;
		}
	return tensor;
}

static int product(struct search *s, descriptor *op)
{
	descriptor *a = emu_dnn_child(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 0);
	descriptor *b = emu_dnn_child(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 0);
	descriptor *c = emu_dnn_child(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0);

	s->products++;
	b = follow(s, b, 1);
	if (is_real(a) && !s->q) {
		s->q = a;
		s->k = b;
		s->scores = c;
	} else if (is_real(a)) {
		s->out_grad = a;
		s->v = b;
	} else if (is_same(b, s->q)) {
		s->k_grad = follow(s, c, 0);
	} else if (is_same(b, s->k)) {
		s->q_grad = follow(s, c, 0);
	} else { /* forward: the result */
		s->v = s->v ? s->v : b;
		s->v_grad = follow(s, c, 0);
	}
	return 0;
}

static double value_of(const struct search *s, descriptor *tensor)
{
	const float *at = emu_dnn_address(s->pack, tensor);

	return at ? *at : 0;
}

static int pointwise(struct search *s, descriptor *op)
{
	descriptor *how = emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
	descriptor *a = emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0);
	descriptor *b = emu_dnn_child(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0);

	switch (emu_dnn_integer(how, CUDNN_ATTR_POINTWISE_MODE, 0, -1)) {
	case CUDNN_POINTWISE_MUL:
		if (is_same(a, s->scores))
			s->ret->attention.scale = value_of(s, b);
		else if (is_real(a) && is_real(b)) /* the gradient and the result */
			s->out = b;
		return 0;
	case CUDNN_POINTWISE_ADD:
		s->bias = b;
		return is_real(b) ? 0 : -ENOTSUP;
	case CUDNN_POINTWISE_SUB:
		s->sums = s->sums ? s->sums : b;
		return 0;
	case CUDNN_POINTWISE_EXP:
	case CUDNN_POINTWISE_IDENTITY:
		return 0;
	default:
		return -ENOTSUP;
	}
}

/* A mask from the top left, without limits by the lengths of sequences. */
static int mask(struct search *s, descriptor *op)
{
	for (int i = MASK_KEY_COUNTS; i <= MASK_RIGHT; i++)
		if (emu_dnn_attribute(op, (attribute)i))
			return -ENOTSUP;
	s->ret->attention.after = 0;
	return emu_dnn_integer(op, (attribute)3007, 0, -1) == CUDNN_POINTWISE_CMP_GE ? 0 : -ENOTSUP;
}

static int dropout(struct search *s, descriptor *op)
{
	descriptor *how = emu_dnn_child(op, CUDNN_ATTR_OPERATION_RNG_DESC, 0);

	s->ret->attention.dropout =
		1 - emu_dnn_number(how, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 1);
	s->ret->seed =
		emu_dnn_address(s->pack, emu_dnn_child(op, CUDNN_ATTR_OPERATION_RNG_SEED, 0));
	s->ret->offset = emu_dnn_address(
		s->pack, emu_dnn_child(op, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, 0));
	return s->ret->seed && s->ret->offset ? 0 : -ENOTSUP;
}

static int softmax(struct search *s, descriptor *op)
{
	s->sums = emu_dnn_child(op, (attribute)SOFTMAX_STATS, 0);
	return emu_dnn_attribute(op, (attribute)SOFTMAX_SINK) ? -ENOTSUP : 0;
}

static int operation(struct search *s, descriptor *op);

static int operations(struct search *s, descriptor *graph)
{
	descriptor *op;
	int r = 0;

	for (int64_t i = 0; r == 0 && (op = emu_dnn_child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, i));
	     i++)
		r = operation(s, op);
	return r;
}

/* Attention as one operation. */
static int whole(struct search *s, descriptor *op)
{
	for (size_t i = 0; i < op->n; i++) {
		int name = (int)op->attributes[i].name;

		if ((name > CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC && name < SDPA_SUBGRAPH) ||
		    name >= SDPA_DROPOUT)
			return -ENOTSUP;
	}
	s->q = emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 0);
	s->k = emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 0);
	s->v = emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, 0);
	s->out = emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 0);
	s->ret->attention.scale =
		value_of(s, emu_dnn_child(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, 0));
	if (softmax(s, emu_dnn_child(op, (attribute)SDPA_SOFTMAX, 0)) < 0)
		return -ENOTSUP;
	return operations(s, emu_dnn_child(op, (attribute)SDPA_SUBGRAPH, 0));
}

static int operation(struct search *s, descriptor *op)
{
	switch ((int)op->type) {
	case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
		return whole(s, op);
	case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
		return product(s, op);
	case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
		return pointwise(s, op);
	case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
		return dropout(s, op);
	case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
		return 0;
	case BAND_MASK:
		return mask(s, op);
	case SOFTMAX:
		return softmax(s, op);
	default:
		return -ENOTSUP;
	}
}

/* `rows` is the dimension of the rows: 2, or 3 of a transposed tensor. A size of 1 is repeated. */
static struct emu_attention_tensor tensor_of(const struct search *s, descriptor *tensor, int rows)
{
	int64_t strides[4];

	for (int i = 0; i < 4; i++)
		strides[i] = size_of(tensor, i) == 1
				     ? 0
				     : emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_STRIDES, i, 0);
	return (struct emu_attention_tensor){(void *)(uintptr_t)emu_dnn_address(s->pack, tensor),
					     strides[0], strides[1], strides[rows]};
}

/* Returns 1 if the elements of a row are adjacent. */
static int is_packed(descriptor *tensor, int columns)
{
	return !tensor || size_of(tensor, columns) == 1 ||
	       emu_dnn_integer(tensor, CUDNN_ATTR_TENSOR_STRIDES, columns, 0) == 1;
}

int emu_dnn_find_attention(descriptor *graph, descriptor *pack, struct emu_dnn_attention *ret)
{
	struct search s = {.graph = graph, .pack = pack, .ret = ret};
	struct emu_attention *a = &ret->attention;
	int transposed, r;

	*ret = (struct emu_dnn_attention){
		.attention = {.scale = 1, .before = INT32_MAX, .after = INT32_MAX}};
	r = operations(&s, graph);
	if (r < 0 || (s.products != 0 && s.products != 2 && s.products != 5) || !s.q || !s.k ||
	    !s.v)
		return -ENOTSUP;
	transposed = s.products ? 3 : 2; /* K, and V backward */
	ret->backward = s.products == 5;
	if (s.products == 2) {
		s.out = s.v_grad;
		s.v_grad = NULL;
	}
	a->batch = size_of(s.q, 0);
	a->heads = size_of(s.q, 1);
	a->queries = size_of(s.q, 2);
	a->width = size_of(s.q, 3);
	a->keys = size_of(s.k, transposed);
	a->value_width = size_of(s.out, 3);
	a->group = size_of(s.k, 1) ? a->heads / size_of(s.k, 1) : 0;
	a->grad_group = ret->backward ? a->group : 1;
	a->q = tensor_of(&s, s.q, 2);
	a->k = tensor_of(&s, s.k, transposed);
	a->v = tensor_of(&s, s.v, ret->backward ? 3 : 2);
	a->out = tensor_of(&s, s.out, 2);
	a->sums = tensor_of(&s, s.sums, 2);
	a->bias = tensor_of(&s, s.bias, 2);
	a->out_grad = tensor_of(&s, s.out_grad, 2);
	a->q_grad = tensor_of(&s, s.q_grad, 2);
	a->k_grad = tensor_of(&s, s.k_grad, 2);
	a->v_grad = tensor_of(&s, s.v_grad, 2);
	if (emu_dnn_type((cudnnDataType_t)emu_dnn_integer(s.q, CUDNN_ATTR_TENSOR_DATA_TYPE, 0, -1),
			 &a->type) < 0 ||
	    a->group < 1 || size_of(s.k, 1) != size_of(s.v, 1) ||
	    (ret->backward &&
	     (!a->q_grad.data || !a->k_grad.data || !a->v_grad.data || !a->out_grad.data ||
	      !a->sums.data || size_of(s.k_grad, 1) != size_of(s.k, 1))) ||
	    !is_packed(s.q, 3) || !is_packed(s.k, 5 - transposed) ||
	    !is_packed(s.v, ret->backward ? 2 : 3) || !is_packed(s.out, 3) ||
	    !is_packed(s.out_grad, 3) || !is_packed(s.q_grad, 3) || !is_packed(s.k_grad, 3) ||
	    !is_packed(s.v_grad, 3) || !is_packed(s.bias, 3) ||
	    (s.bias && size_of(s.bias, 3) != a->keys))
		return -ENOTSUP;
	return 0;
}
