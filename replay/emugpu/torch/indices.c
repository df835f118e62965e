/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that read or write elements by their indices: embeddings, gather,
 * scatter. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"
#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* embedding_backward_feature_kernel(indices, gradients, weight gradients, n,
 * columns, padding) */
static int run_embedding_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
				  void *const *args)
{
	const void *indices = emu_pointer_of(args, 0), *from = emu_pointer_of(args, 1);
	int64_t n = emu_int_of(l, args, 3), columns = emu_int_of(l, args, 4),
		padding = emu_int_of(l, args, 5);
	void *to = emu_pointer_of(args, 2);

	/* Without data, indices may be anything. */
	if (!emu_has_data() || !emu_torch_computes_work((double)n * (double)columns))
		return -ENOTSUP;
	for (int64_t row = 0; row < n; row++) {
		int64_t index = (int64_t)emu_load(t->in[1], indices, row);

		int64_t bytes = columns * (int64_t)emu_type_bytes(t->in[0]);

		if (index < 0 || !emu_torch_reaches(l, (char *)to + index * bytes, bytes))
			return -ENOTSUP;
		for (int64_t i = 0; index != padding && i < columns; i++)
			emu_store(t->in[0], to, index * columns + i,
				  emu_load(t->in[0], to, index * columns + i) +
					  emu_load(t->in[0], from, row * columns + i));
	}
	return 0;
}

/* The lambda of _scatter_gather_elementwise_kernel(n, lambda): a calculator of
 * the offsets in the result, the source and the indices; then this. */
struct gather {
	const char *indices;
	int64_t size;
	uint64_t function;
	char *to;
	int64_t stride, elements; /* the stride in elements */
	const char *from;
};

/* Changes an element, by t->adds. */
static void combine(const struct emu_torch *t, void *to, const void *from)
{
	enum emu_torch_op op = (enum emu_torch_op)t->adds;
	enum emu_type type = t->in[0];

	if (op == EMU_OP_COPY) {
		memcpy(to, from, t->raw_bytes);
	} else if (emu_torch_is_integer(type)) {
		int64_t in[EMU_TORCH_INPUTS] = {emu_torch_load_integer(type, to),
						emu_torch_load_integer(type, from)};
		int64_t s[4] = {1}, v = 0;

		emu_torch_apply_integers(op, in, s, &v);
		emu_torch_store_integer(type, to, t->is_bool ? v != 0 : v);
	} else {
		double in[EMU_TORCH_INPUTS] = {emu_load(type, to, 0), emu_load(type, from, 0)};

		emu_store(type, to, 0, emu_torch_apply(op, in, (const double[4]){1}));
	}
}

/* Finds the function of a scatter, and its elements: OpaqueType<bytes> or a
 * type. */
static int parse_function(struct emu_torch *t, struct emu_part function, struct emu_part element)
{
	static const struct {
		const char *name;
		uint8_t op;
	} functions[] = {
		{"::TensorAssign", EMU_OP_COPY}, {"::ReduceAdd", EMU_OP_ADD},
		{"::ReduceMean", EMU_OP_ADD},	 {"::ReduceMultiply", EMU_OP_MUL},
		{"::ReduceMinimum", EMU_OP_MIN}, {"::ReduceMaximum", EMU_OP_MAX},
	};

	for (size_t i = 0; !t->adds && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (emu_part_has(function, functions[i].name))
			t->adds = functions[i].op;
	t->is_bool = (uint8_t)emu_part_is(element, "bool");
	if (t->adds == EMU_OP_COPY && emu_part_has(element, "OpaqueType<"))
		t->raw_bytes = (uint8_t)atoi(emu_part_argument(element, 0).at);
	else if (emu_part_type(element, &t->in[0]) == 0)
		t->raw_bytes = (uint8_t)emu_type_bytes(t->in[0]);
	return t->adds && t->raw_bytes ? 0 : -ENOTSUP;
}

static int run_gather(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	size_t at = (emu_offsets_bytes(3) + 7) / 8 * 8;
	int64_t n = emu_int_of(l, args, 0);
	struct gather g;

	if (l->arg_bytes(l, 1) != at + sizeof(g) || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	memcpy(&g, (const char *)args[1] + at, sizeof(g));
	for (int64_t i = 0; i < n; i++) {
		uint64_t offsets[3];
		int64_t index;

		emu_offsets_of(args[1], 3, (uint32_t)i, offsets);
		index = (int64_t)emu_load(t->in[1], g.indices + offsets[2], 0);
		if (index < 0 || index >= g.size)
			return -ENOTSUP;
		index *= g.stride * t->raw_bytes;
		combine(t, g.to + offsets[0] + (t->op ? index : 0),
			g.from + offsets[1] + (t->op ? 0 : index));
	}
	return 0;
}

/* _cuda_scatter_gather_internal_kernel<scatters, element, index type> and its
 * function */
static int parse_gather(struct emu_torch *t, struct emu_part name)
{
	struct emu_part kernel = emu_part_after(name, "_cuda_scatter_gather_internal_kernel");

	t->op = emu_part_has(emu_part_argument(kernel, 0), "true");
	t->run = run_gather;
	if (parse_function(t, emu_part_after(kernel, "operator()<"), emu_part_argument(kernel, 1)) <
	    0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(kernel, 2), &t->in[1]);
}

/* ---- kernels with 64-bit indices of one dimension: scatter of a number,
 * index_fill, index_copy, take and put. Their lambdas begin with a calculator
 * of the offsets in the iterated tensors and the indices, and, in another
 * order, these. ---- */

enum { FILL, INDEX_FILL, INDEX_COPY, TAKE, PUT };

struct dimension {
	char *data; /* the indexed tensor */
	const char *indices, *from;
	int64_t size, stride; /* the stride in elements */
	const char *value;    /* of FILL */
	const char *flat;     /* calculator of the offset of an element by its number */
};

/* Reads the lambda at `p`, after the calculator. */
static struct dimension dimension_of(const struct emu_torch *t, const char *p)
{
	const int64_t *words = (const int64_t *)(const void *)p;
	struct dimension d = {.data = (char *)words[0], .indices = (const char *)words[1]};

	switch (t->op) {
	case FILL:
		return (struct dimension){.indices = (const char *)words[0],
					  .size = words[1],
					  .data = (char *)words[3],
					  .stride = words[4],
					  .value = p + 48};
	case INDEX_FILL:
		d.size = words[2];
		d.stride = words[3];
		d.value = p + 32;
		return d;
	case INDEX_COPY:
		d.from = (const char *)words[2];
		d.size = words[3];
		d.stride = words[4];
		return d;
	default: /* the iterated tensor, indices, elements, whether contiguous,
		    calculator, ... */
		d.from = d.data;
		d.size = words[2];
		d.stride = 1;
		d.flat = p[24] ? NULL : p + 28;
		memcpy(&d.data, p + 432 + (t->adds == EMU_OP_ADD ? 8 : 0), sizeof(d.data));
		return d;
	}
}

static int run_dimension(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args)
{
	int tensors = t->op == INDEX_COPY ? 3 : 2;
	size_t at = (emu_offsets_bytes(tensors) + 7) / 8 * 8, bytes = l->arg_bytes(l, 1);
	size_t padded = (t->raw_bytes + 7u) / 8 * 8;
	size_t expected[] = {48 + padded, 32 + padded, 40, 440, t->adds == EMU_OP_ADD ? 448 : 440};
	int64_t n = emu_int_of(l, args, 0);
	struct dimension d;

	if (bytes != at + expected[t->op] || !emu_has_data() || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	d = dimension_of(t, (const char *)args[1] + at);
	for (int64_t i = 0; i < n; i++) {
		uint64_t offsets[3], flat = 0;
		int64_t index;
		char *to;

		emu_offsets_of(args[1], tensors, (uint32_t)i, offsets);
		memcpy(&index, d.indices + offsets[1], sizeof(index));
		index += index < 0 && t->op != FILL ? d.size : 0;
		if (index < 0 || index >= d.size)
			return -ENOTSUP;
		if (d.flat) {
			emu_offsets_of(d.flat, 1, (uint32_t)index, &flat);
			index = (int64_t)flat;
		}
		to = d.data + (t->op >= TAKE ? 0 : offsets[0]) + index * d.stride * t->raw_bytes;
		if (!emu_torch_reaches(l, to, t->raw_bytes))
			return -ENOTSUP;
		if (t->op == TAKE)
			memcpy((char *)(uintptr_t)d.from + offsets[0], to, t->raw_bytes);
		else
			combine(t, to,
				d.value		      ? d.value
				: t->op == INDEX_COPY ? d.from + offsets[2]
						      : d.from + offsets[0]);
	}
	return 0;
}

/* Kernels by parts of their names, and what follows the part: the element's
 * type, then the type of the index. */
static int parse_dimension(struct emu_torch *t, struct emu_part name)
{
	static const struct {
		const char *name;
		uint8_t op;
	} kernels[] = {
		{"_cuda_scatter_fill_internal_kernel<", FILL},
		{"::index_fill_kernel_impl<", INDEX_FILL},
		{"::index_copy_kernel_impl<", INDEX_COPY},
		{"::cuda_take_put_kernel<", TAKE},
	};
	struct emu_part rest = {0};

	for (size_t i = 0; !rest.len && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		rest = emu_part_after(name, kernels[i].name);
		t->op = kernels[i].op;
	}
	if (!rest.len)
		return -ENOTSUP;
	rest = (struct emu_part){rest.at - 1, rest.len + 1};
	t->run = run_dimension;
	t->adds = t->op == FILL ? 0 : EMU_OP_COPY;
	if (t->op == TAKE && emu_part_has(rest, "::put_kernel(")) {
		t->op = PUT;
		t->adds = emu_part_has(rest, "int)#1}>(") ? EMU_OP_ADD : EMU_OP_COPY;
	}
	if (t->op >= TAKE && !emu_part_is(emu_part_argument(rest, 1), "int"))
		return -ENOTSUP;
	return parse_function(t, emu_part_after(rest, "operator()<"), emu_part_argument(rest, 0));
}

/* indexFunc...Index<T, index type, ..., function>(to, from, indices, selected
 * dimension of `to`, of `from`, [elements,] elements of an index, size of the
 * dimension, elements of `to`, function, scale) */
static int run_index_function(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	const struct emu_tensor_info *to = args[0], *from = args[1], *indices = args[2];
	int64_t to_dim = emu_int_of(l, args, 3), from_dim = emu_int_of(l, args, 4);
	unsigned more = t->depth ? 1 : 0;
	int64_t each = emu_int_of(l, args, 5 + more), size = emu_int_of(l, args, 6 + more);
	int64_t n = indices->sizes[0];
	size_t bytes = t->raw_bytes;

	if (l->arg_bytes(l, 0) != sizeof(*to) || indices->dims != 1 || !emu_has_data() ||
	    l->arg_bytes(l, 9 + more) != bytes ||
	    !emu_torch_computes_work((double)n * (double)each))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t index = (int64_t)emu_load(t->in[1], indices->data, i * indices->strides[0]);

		if (index < 0 || index >= size)
			return -ENOTSUP;
		for (int64_t k = 0; k < each; k++) {
			char *a = to->data +
				  (emu_tensor_offset(to, k) + index * to->strides[to_dim]) *
					  (int64_t)bytes;
			const char *b = from->data +
					(emu_tensor_offset(from, k) + i * from->strides[from_dim]) *
						(int64_t)bytes;
			char scaled[8];

			memcpy(scaled, b, bytes);
			if (emu_torch_is_integer(t->in[0]))
				emu_torch_store_integer(
					t->in[0], scaled,
					(int64_t)((uint64_t)emu_torch_load_integer(t->in[0], b) *
						  (uint64_t)emu_torch_load_integer(
							  t->in[0], args[9 + more])));
			else
				emu_store(t->in[0], scaled, 0,
					  emu_load(t->in[0], b, 0) *
						  emu_load(t->in[0], args[9 + more], 0));
			combine(t, a, scaled);
		}
	}
	return 0;
}

static int parse_index_function(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest = emu_part_after(name, "::indexFunc");

	t->depth = emu_part_has(name, "::indexFuncLargeIndex<");
	t->params = t->depth ? 11 : 10;
	t->run = run_index_function;
	if (!emu_part_is(emu_part_argument(rest, 2), "unsigned int") ||
	    parse_function(t, emu_part_argument(rest, t->depth ? 7 : 6),
			   emu_part_argument(rest, 0)) < 0 ||
	    t->adds == EMU_OP_COPY) /* of elements of any size, which cannot be scaled */
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(rest, 1), &t->in[1]);
}

/* indexSelect...Index<T, index type, ...>(to, from, indices, selected dimension
 * of `to`, of `from`, [elements,] elements of an index, size of the dimension);
 * the tensors' sizes are 1 there */
static int run_select_index(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	const struct emu_tensor_info *to = args[0], *from = args[1], *indices = args[2];
	int64_t to_dim = emu_int_of(l, args, 3), from_dim = emu_int_of(l, args, 4);
	int64_t each = emu_int_of(l, args, t->op ? 6 : 5);
	int64_t size = emu_int_of(l, args, t->op ? 7 : 6), n = indices->sizes[0];

	if (l->arg_bytes(l, 0) != sizeof(*to) || indices->dims != 1 ||
	    !emu_torch_computes_work((double)n * (double)each))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t index = (int64_t)emu_load(t->in[1], indices->data, i * indices->strides[0]);

		if (index < 0 || index >= size)
			return -ENOTSUP;
		for (int64_t k = 0; k < each; k++)
			memcpy(to->data + (emu_tensor_offset(to, k) + i * to->strides[to_dim]) *
						  t->raw_bytes,
			       from->data + (emu_tensor_offset(from, k) +
					     index * from->strides[from_dim]) *
						    t->raw_bytes,
			       t->raw_bytes);
	}
	return 0;
}

/* The lambda of index_elementwise_kernel(n, lambda): a calculator of the
 * offsets in the result, the source and the indices; then this. */
struct indexed {
	char *to;
	const char *from;
	int64_t n;
	const char *indices[EMU_OFFSETS_DIMS];
	int64_t sizes[EMU_OFFSETS_DIMS], strides[EMU_OFFSETS_DIMS];
	uint64_t function;
};

/* Returns the offset that the indices of an element select, or -ENOTSUP if they
 * are invalid. */
static int64_t indexed_offset(const struct indexed *x, uint64_t at)
{
	int64_t offset = 0;

	for (int64_t i = 0; i < x->n; i++) {
		int64_t index;

		memcpy(&index, x->indices[i] + at, sizeof(index));
		index += index < 0 ? x->sizes[i] : 0;
		if (index < 0 || index >= x->sizes[i])
			return -ENOTSUP;
		offset += index * x->strides[i];
	}
	return offset;
}

static int run_index(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	size_t at = (emu_offsets_bytes(3) + 7) / 8 * 8;
	int64_t n = emu_int_of(l, args, 0);
	struct indexed x;

	if (l->arg_bytes(l, 1) != at + sizeof(x) || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	memcpy(&x, (const char *)args[1] + at, sizeof(x));
	if (x.n < 1 || x.n > EMU_OFFSETS_DIMS)
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		uint64_t offsets[3];
		int64_t selected;

		emu_offsets_of(args[1], 3, (uint32_t)i, offsets);
		selected = indexed_offset(&x, offsets[2]);
		if (selected < 0)
			return -ENOTSUP;
		memcpy(x.to + offsets[0] + (t->op ? selected : 0),
		       x.from + offsets[1] + (t->op ? 0 : selected), t->raw_bytes);
	}
	return 0;
}

/* index_kernel_impl or index_put_kernel_impl<OpaqueType<bytes> > */
static int parse_index(struct emu_torch *t, struct emu_part name)
{
	struct emu_part get = emu_part_after(name, "::index_kernel_impl");
	struct emu_part put = emu_part_after(name, "::index_put_kernel_impl");
	struct emu_part element = emu_part_argument(get.len ? get : put, 0);

	t->op = put.len != 0;
	if ((!get.len && !put.len) || !emu_part_has(element, "OpaqueType<"))
		return -ENOTSUP;
	t->raw_bytes = (uint8_t)atoi(emu_part_argument(element, 0).at);
	t->run = run_index;
	return 0;
}

int emu_torch_indices(struct emu_torch *t, struct emu_part name)
{
	struct emu_part select = emu_part_after(name, "::indexSelect");
	struct emu_part embedding = emu_part_after(name, "::embedding_backward_feature_kernel");

	if (emu_part_has(name, "_scatter_gather_elementwise_kernel<"))
		return emu_part_has(name, "_cuda_scatter_fill_internal_kernel<")
			       ? parse_dimension(t, name)
			       : parse_gather(t, name);
	if (emu_part_has(name, "index_elementwise_kernel<") &&
	    !emu_part_has(name, "gpu_index_kernel<"))
		return parse_dimension(t, name);
	if (emu_part_has(name, "::indexFunc"))
		return parse_index_function(t, name);
	if (emu_part_has(name, "index_elementwise_kernel<") &&
	    emu_part_has(name, "gpu_index_kernel<"))
		return parse_index(t, name);
	if (embedding.len) {
		t->run = run_embedding_backward;
		return emu_part_type(emu_part_argument(embedding, 0), &t->in[0]) < 0
			       ? -ENOTSUP
			       : emu_part_type(emu_part_argument(embedding, 2), &t->in[1]);
	}
	t->op = emu_part_has(name, "::indexSelectLargeIndex<");
	if ((!t->op && !emu_part_has(name, "::indexSelectSmallIndex<")) ||
	    emu_part_type(emu_part_argument(select, 0), &t->in[0]) < 0 ||
	    !emu_part_has(emu_part_argument(select, 2), "unsigned int"))
		return -ENOTSUP;
	t->raw_bytes = (uint8_t)emu_type_bytes(t->in[0]);
	t->run = run_select_index;
	return emu_part_type(emu_part_argument(select, 1), &t->in[1]);
}
