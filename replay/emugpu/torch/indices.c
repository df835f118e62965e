/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that read or write elements by their indices: embeddings, gather, scatter. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"
#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* embedding_backward_feature_kernel(indices, gradients, weight gradients, n, columns, padding) */
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

/* The lambda of _scatter_gather_elementwise_kernel(n, lambda): a calculator of the offsets in the
 * result, the source and the indices; then this. */
struct gather {
	const char *indices;
	int64_t size;
	uint64_t function;
	char *to;
	int64_t stride, elements; /* the stride in elements */
	const char *from;
};

/* Adds an element to another one. */
static void add_element(enum emu_type type, void *to, const void *from)
{
	if (emu_torch_is_integer(type))
		emu_torch_store_integer(type, to,
					(int64_t)((uint64_t)emu_torch_load_integer(type, to) +
						  (uint64_t)emu_torch_load_integer(type, from)));
	else
		emu_store(type, to, 0, emu_load(type, to, 0) + emu_load(type, from, 0));
}

static void gather_one(const struct emu_torch *t, char *to, const char *from)
{
	if (t->adds)
		add_element(t->in[0], to, from);
	else
		memcpy(to, from, t->raw_bytes);
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
		gather_one(t, g.to + offsets[0] + (t->op ? index : 0),
			   g.from + offsets[1] + (t->op ? 0 : index));
	}
	return 0;
}

/* _cuda_scatter_gather_internal_kernel<scatters, element, index type> and TensorAssign or
 * ReduceAdd */
static int parse_gather(struct emu_torch *t, struct emu_part name)
{
	struct emu_part kernel = emu_part_after(name, "_cuda_scatter_gather_internal_kernel");
	struct emu_part element = emu_part_argument(kernel, 1);
	struct emu_part function = emu_part_after(kernel, "operator()<");

	t->op = emu_part_has(emu_part_argument(kernel, 0), "true");
	t->adds = emu_part_has(function, "at::native::ReduceAdd>");
	if (emu_part_has(element, "OpaqueType<"))
		t->raw_bytes = (uint8_t)atoi(emu_part_argument(element, 0).at);
	else if (emu_part_type(element, &t->in[0]) == 0)
		t->raw_bytes = (uint8_t)emu_type_bytes(t->in[0]);
	if (!t->raw_bytes || (!t->adds && !emu_part_has(function, "at::native::TensorAssign>")))
		return -ENOTSUP;
	t->run = run_gather;
	return emu_part_type(emu_part_argument(kernel, 2), &t->in[1]);
}

/* indexSelect...Index<T, index type, ...>(to, from, indices, selected dimension of `to`, of `from`,
 * [elements,] elements of an index, size of the dimension); the tensors' sizes are 1 there */
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

/* The lambda of index_elementwise_kernel(n, lambda): a calculator of the offsets in the result, the
 * source and the indices; then this. */
struct indexed {
	char *to;
	const char *from;
	int64_t n;
	const char *indices[EMU_OFFSETS_DIMS];
	int64_t sizes[EMU_OFFSETS_DIMS], strides[EMU_OFFSETS_DIMS];
	uint64_t function;
};

/* Returns the offset that the indices of an element select, or -ENOTSUP if they are invalid. */
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
		return parse_gather(t, name);
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
