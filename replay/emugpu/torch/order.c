/* SPDX-License-Identifier: Apache-2.0 */

/* Sorting, the largest elements, and gradients of indexing. */
#include "replay/emugpu/torch/order.h"

#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/data.h"
#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- slices of tensors: one element of the tensor's sizes is the first of a slice ---- */

/* ...SortKVInPlace(keys, slices, elements of a slice, their stride, values, their stride, order):
 * sorts keys and values of each slice. in[0] and in[1] are their types; t->swapped: from the
 * largest on. */
static int run_sort_slices(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	const struct emu_tensor_info *keys = args[0], *values = args[4];
	int64_t slices = emu_int_of(l, args, 1), n = emu_int_of(l, args, 2);
	int64_t stride = emu_int_of(l, args, 3), value_stride = emu_int_of(l, args, 5);
	size_t bytes = emu_type_bytes(t->in[1]), key_bytes = emu_type_bytes(t->in[0]);
	int down = t->depth ? *(const uint8_t *)args[6] : t->swapped;
	scoped(free_ptr) struct emu_item *items = NULL;
	scoped(free_ptr) char *old = NULL;

	if (l->arg_bytes(l, 0) != sizeof(*keys) || l->arg_bytes(l, 4) != sizeof(*values) || n < 1 ||
	    !emu_torch_computes_work((double)slices * (double)n))
		return -ENOTSUP;
	items = calloc((size_t)n, sizeof(*items));
	old = malloc((size_t)n * (bytes + key_bytes));
	if (!items || !old)
		return -ENOMEM;
	for (int64_t s = 0; s < slices; s++) {
		char *key = keys->data + emu_tensor_offset(keys, s) * (int64_t)key_bytes;
		char *value = values->data + emu_tensor_offset(values, s) * (int64_t)bytes;
		char *old_keys = old + (size_t)n * bytes;

		for (int64_t i = 0; i < n; i++) {
			items[i] = emu_item_of(t->in[0], key, i * stride, i);
			memcpy(old + (size_t)i * bytes, value + i * value_stride * (int64_t)bytes,
			       bytes);
			memcpy(old_keys + (size_t)i * key_bytes,
			       key + i * stride * (int64_t)key_bytes, key_bytes);
		}
		qsort(items, (size_t)n, sizeof(*items),
		      down ? emu_item_descending : emu_item_ascending);
		for (int64_t i = 0; i < n; i++) {
			memcpy(key + i * stride * (int64_t)key_bytes,
			       old_keys + (size_t)items[i].at * key_bytes, key_bytes);
			memcpy(value + i * value_stride * (int64_t)bytes,
			       old + (size_t)items[i].at * bytes, bytes);
		}
	}
	return 0;
}

/* sbtopk::gatherTopK(from, elements of a slice, k, largest, slices, stride, values, stride,
 * indices, stride, ...): first those that are better than the k-th, then those that are equal, both
 * in their order */
static int run_top(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct emu_tensor_info *from = args[0], *to = args[6], *indices = args[8];
	int64_t n = emu_int_of(l, args, 1), k = emu_int_of(l, args, 2);
	int64_t slices = emu_int_of(l, args, 4), stride = emu_int_of(l, args, 5);
	int64_t to_stride = emu_int_of(l, args, 7), index_stride = emu_int_of(l, args, 9);
	int sign = *(const uint8_t *)args[3] ? -1 : 1;
	size_t bytes = emu_type_bytes(t->in[0]);
	scoped(free_ptr) struct emu_item *items = NULL;

	if (l->arg_bytes(l, 0) != sizeof(*from) || l->arg_bytes(l, 6) != sizeof(*to) ||
	    l->arg_bytes(l, 8) != sizeof(*indices) || n < 1 || k < 1 || k > n ||
	    !emu_torch_computes_work((double)slices * (double)n))
		return -ENOTSUP;
	items = calloc((size_t)n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (int64_t s = 0; s < slices; s++) {
		char *in = from->data + emu_tensor_offset(from, s) * (int64_t)bytes;
		char *out = to->data + emu_tensor_offset(to, s) * (int64_t)bytes;
		int64_t *at = (int64_t *)(void *)indices->data + emu_tensor_offset(indices, s);
		int64_t written = 0;
		struct emu_item last;

		for (int64_t i = 0; i < n; i++)
			items[i] = emu_item_of(t->in[0], in, i * stride, i);
		qsort(items, (size_t)n, sizeof(*items),
		      sign < 0 ? emu_item_descending : emu_item_ascending);
		last = items[k - 1];
		for (int equal = 0; equal < 2; equal++)
			for (int64_t i = 0; i < n && written < k; i++) {
				struct emu_item v = emu_item_of(t->in[0], in, i * stride, i);
				int order = sign * emu_item_compare(&v, &last);

				if (equal ? order != 0 : order >= 0)
					continue;
				memcpy(out + written * to_stride * (int64_t)bytes,
				       in + i * stride * (int64_t)bytes, bytes);
				at[written++ * index_stride] = i;
			}
	}
	return 0;
}

/* ---- one pass of a radix sort: DeviceRadixSortOnesweepKernel(state, counters, bins, bins, sorted
 * keys, keys, sorted values, values, n, first bit, bits, ...) ---- */

/* The bits of a key, in the order of unsigned numbers. */
static uint64_t bits_of(const struct emu_torch *t, const char *at)
{
	size_t bytes = emu_type_bytes(t->in[0]);
	uint64_t v = 0, sign = UINT64_C(1) << (8 * bytes - 1);
	int is_float = t->in[0] <= EMU_F64;

	memcpy(&v, at, bytes);
	if (is_float)
		v = v == sign ? sign : v & sign ? ~v & (sign | (sign - 1)) : v | sign;
	else if (t->in[0] == EMU_I8 || t->in[0] == EMU_I16 || t->in[0] == EMU_I32 ||
		 t->in[0] == EMU_I64)
		v ^= sign;
	return t->swapped ? ~v : v;
}

static int run_radix_pass(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	char *keys = emu_pointer_of(args, 4), *values = emu_pointer_of(args, 6);
	const char *old_keys = emu_pointer_of(args, 5), *old = emu_pointer_of(args, 7);
	int64_t n = emu_int_of(l, args, 8), first = emu_int_of(l, args, 9),
		bits = emu_int_of(l, args, 10);
	size_t bytes = emu_type_bytes(t->in[0]);
	int64_t starts[257] = {0};

	/* With data, of any size. */
	if (!emu_torch_computes_work(emu_has_data() ? 1 : (double)n) || bits < 1 || bits > 8)
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++)
		starts[1 +
		       (bits_of(t, old_keys + (size_t)i * bytes) >> first & ((1u << bits) - 1))]++;
	for (int i = 1; i < 257; i++)
		starts[i] += starts[i - 1];
	for (int64_t i = 0; i < n; i++) {
		const char *key = old_keys + (size_t)i * bytes;
		int64_t to = starts[bits_of(t, key) >> first & ((1u << bits) - 1)]++;

		memcpy(keys + (size_t)to * bytes, key, bytes);
		if (t->raw_bytes)
			memcpy(values + to * t->raw_bytes, old + i * t->raw_bytes, t->raw_bytes);
	}
	return 0;
}

/* ---- what surrounds a radix sort of several rows ---- */

/* fill_index_and_segment_kernel(pairs {row, column}, n, {columns, ...}); t->op:
 * fill_reverse_indices_kernel(columns, n, {columns, ...}) */
static int run_fill_indices(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	int32_t columns = *(const int32_t *)args[2], *pairs = emu_pointer_of(args, 0);
	int64_t n = emu_int_of(l, args, 1), *numbers = emu_pointer_of(args, 0);

	if (columns < 1 || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		if (t->op) {
			numbers[i] = i % columns;
		} else {
			pairs[2 * i] = (int32_t)(i / columns);
			pairs[2 * i + 1] = (int32_t)(i % columns);
		}
	}
	return 0;
}

/* sort_postprocess_kernel(from, to, indices, sorted pairs {row, column}, rows, columns) */
static int run_sorted_rows(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	const int32_t *pairs = emu_pointer_of(args, 3);
	int64_t rows = emu_int_of(l, args, 4), columns = emu_int_of(l, args, 5);
	int64_t *indices = emu_pointer_of(args, 2);
	size_t bytes = emu_type_bytes(t->in[0]);

	if (!emu_torch_computes_work((double)rows * (double)columns))
		return -ENOTSUP;
	for (int64_t i = 0; i < rows * columns; i++) {
		int64_t column = pairs[2 * i + 1];

		if (column < 0 || column >= columns)
			return -ENOTSUP;
		memcpy((char *)emu_pointer_of(args, 1) + (size_t)i * bytes,
		       (const char *)emu_pointer_of(args, 0) +
			       (size_t)(i / columns * columns + column) * bytes,
		       bytes);
		indices[i] = column;
	}
	return 0;
}

/* index_elementwise_kernel(n, {offsets of the result and the source, their addresses}) of
 * flip_kernel_impl<OpaqueType<bytes> >; strides may be negative */
static int run_flip(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	size_t at = (emu_offsets_bytes(2) + 7) / 8 * 8;
	int64_t n = emu_int_of(l, args, 0);
	char *to;
	const char *from;

	if (l->arg_bytes(l, 1) < at + 16 || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	memcpy(&to, (const char *)args[1] + at, sizeof(to));
	memcpy(&from, (const char *)args[1] + at + 8, sizeof(from));
	for (int64_t i = 0; i < n; i++) {
		uint64_t offsets[2];

		emu_offsets_of(args[1], 2, (uint32_t)i, offsets);
		memcpy(to + (int32_t)offsets[0], from + (int32_t)offsets[1], t->raw_bytes);
	}
	return 0;
}

/* ---- gradients of indexing: sums of the rows with the same index, which are adjacent ---- */

struct rows {
	const int64_t *sorted, *from; /* numbers of rows of `to` and `grad` */
	const void *grad;
	void *to;
	int64_t n, columns;
	int accumulates;
};

/* Adds the rows [first, end) of a column. Without accumulation the last row replaces it. */
static void add_column(const struct emu_torch *t, const struct rows *r, char *to, int64_t column,
		       int64_t first, int64_t end)
{
	int64_t whole = 0, bytes = (int64_t)emu_type_bytes(t->in[0]);
	int integers = emu_torch_is_integer(t->in[0]);
	double sum = 0;

	to += column * bytes;
	if (r->accumulates && integers)
		whole = emu_torch_load_integer(t->in[0], to);
	else if (r->accumulates)
		sum = emu_load(t->in[0], to, 0);
	for (int64_t k = r->accumulates ? first : end - 1; k < end; k++) {
		const char *from =
			(const char *)r->grad + (r->from[k] * r->columns + column) * bytes;

		if (integers)
			whole = (int64_t)((uint64_t)whole +
					  (uint64_t)emu_torch_load_integer(t->in[0], from));
		else
			sum += emu_load(t->in[0], from, 0);
	}
	if (integers)
		emu_torch_store_integer(t->in[0], to, whole);
	else
		emu_store(t->in[0], to, 0, sum);
}

static int add_rows(const struct emu_torch *t, const struct gpuemu_launch *l, const struct rows *r,
		    int64_t padding)
{
	int64_t bytes = r->columns * (int64_t)emu_type_bytes(t->in[0]), end;

	for (int64_t i = 0; i < r->n; i = end) {
		char *to = (char *)r->to + r->sorted[i] * bytes;

		for (end = i + 1; end < r->n && r->sorted[end] == r->sorted[i];)
			end++;
		if (r->sorted[i] == padding)
			continue;
		if (!emu_torch_reaches(l, to, bytes))
			return -ENOTSUP;
		for (int64_t c = 0; c < r->columns; c++)
			add_column(t, r, to, c, i, end);
	}
	return 0;
}

/* indexing_backward_kernel...(sorted indices, rows, gradients, to, n, columns, elements of an outer
 * row of `to`, outer rows, accumulates) */
static int run_indexing_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
				 void *const *args)
{
	struct rows r = {emu_pointer_of(args, 0),  emu_pointer_of(args, 1), emu_pointer_of(args, 2),
			 emu_pointer_of(args, 3),  emu_int_of(l, args, 4),  emu_int_of(l, args, 5),
			 *(const uint8_t *)args[8]};

	int64_t outer = emu_int_of(l, args, 7), bytes = (int64_t)emu_type_bytes(t->in[0]);

	if (!emu_has_data() ||
	    !emu_torch_computes_work((double)r.n * (double)r.columns * (double)outer))
		return -ENOTSUP;
	for (int64_t i = 0; i < outer; i++) {
		if (add_rows(t, l, &r, -1) < 0)
			return -ENOTSUP;
		r.grad = (const char *)r.grad + r.n * r.columns * bytes;
		r.to = (char *)r.to + emu_int_of(l, args, 6) * bytes;
	}
	return 0;
}

/* compute_grad_weight_atomic_accumulate(rows, gradients, counts, n, columns, offsets, segments,
 * sorted indices, segments, offsets, to, padding, ...): of an embedding */
static int run_embedding_sums(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	struct rows r = {emu_pointer_of(args, 7),
			 emu_pointer_of(args, 0),
			 emu_pointer_of(args, 1),
			 emu_pointer_of(args, 10),
			 emu_int_of(l, args, 3),
			 emu_int_of(l, args, 4),
			 1};

	if (!emu_has_data() || emu_pointer_of(args, 2) ||
	    !emu_torch_computes_work((double)r.n * (double)r.columns))
		return -ENOTSUP;
	return add_rows(t, l, &r, emu_int_of(l, args, 11));
}

/* ---- roll_cuda_kernel(from, to, n, dimension, start, size, stride, dimensions) ---- */

static int run_roll(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *from = emu_pointer_of(args, 0);
	char *to = emu_pointer_of(args, 1);
	int64_t n = emu_int_of(l, args, 2), start = emu_int_of(l, args, 4);
	int64_t size = emu_int_of(l, args, 5), stride = emu_int_of(l, args, 6);
	int64_t bytes = (int64_t)emu_type_bytes(t->in[0]);

	if (stride < 1 || size < 1 || start < 0 || start >= size || n % stride != 0 ||
	    n / stride % size != 0 || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t at = i / stride % size,
			source = at >= size - start ? at - size + start : at + start;

		memcpy(to + i * bytes, from + (i + (source - at) * stride) * bytes, (size_t)bytes);
	}
	return 0;
}

/* Kernels that prepare others, which do not need their results here. */
static int run_nothing(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return 0;
}

/* ---- by name ---- */

static int parse_slices(struct emu_torch *t, struct emu_part name)
{
	/* radixSortKVInPlace has a type of indices there, and a parameter for the order. */
	t->depth = emu_part_is(emu_part_argument(name, 6), "unsigned int");
	t->swapped = emu_part_has(emu_part_argument(name, 6), "GTOp<");
	return emu_part_type(emu_part_argument(name, 4), &t->in[0]) < 0
		       ? -ENOTSUP
		       : emu_part_type(emu_part_argument(name, 5), &t->in[1]);
}

static int parse_radix(struct emu_torch *t, struct emu_part name)
{
	struct emu_part value = emu_part_argument(name, 3), bytes = emu_part_argument(value, 0);

	t->swapped = emu_part_has(emu_part_argument(name, 1), ")1");
	if (emu_part_has(value, "OpaqueType<"))
		t->raw_bytes = (uint8_t)atoi(bytes.at);
	else if (emu_part_type(value, &t->out) == 0)
		t->raw_bytes = (uint8_t)emu_type_bytes(t->out);
	return emu_part_type(emu_part_argument(name, 2), &t->in[0]);
}

static int parse_flip(struct emu_torch *t, struct emu_part name)
{
	struct emu_part type = emu_part_argument(name, 0);

	t->raw_bytes = (uint8_t)atoi(emu_part_argument(type, 0).at);
	return emu_part_has(type, "OpaqueType<") && t->raw_bytes ? 0 : -ENOTSUP;
}

static int parse_reverse(struct emu_torch *t, struct emu_part name)
{
	t->op = 1;
	return 0;
}

static int parse_first(struct emu_torch *t, struct emu_part name)
{
	return emu_part_type(emu_part_argument(name, 0), &t->in[0]);
}

static int parse_indexing(struct emu_torch *t, struct emu_part name)
{
	struct emu_part kernel = {name.at, strcspn(name.at, "<")};

	return emu_part_has(kernel, "quantized") ? -ENOTSUP : parse_first(t, name);
}

static const struct {
	const char *name;
	int (*parse)(struct emu_torch *t, struct emu_part name);
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
	uint8_t params;
} kernels[] = {
	{"::bitonicSortKVInPlace<", parse_slices, run_sort_slices, 7},
	{"::warpMergeSortKVInPlace<", parse_slices, run_sort_slices, 8},
	{"::radixSortKVInPlace<", parse_slices, run_sort_slices, 7},
	{"sbtopk::gatherTopK<", parse_first, run_top, 11},
	{"::DeviceRadixSortOnesweepKernel<", parse_radix, run_radix_pass, 12},
	{"::DeviceRadixSortHistogramKernel<", NULL, run_nothing, 0},
	{"::DeviceRadixSortExclusiveSumKernel<", NULL, run_nothing, 0},
	{"::indexing_backward_kernel", parse_indexing, run_indexing_backward, 9},
	{"::compute_grad_weight_atomic_accumulate<", parse_first, run_embedding_sums, 13},
	{"::krn_partial", NULL, run_nothing, 0},
	{"::compute_num_of_partial_segments<", NULL, run_nothing, 0},
	{"::roll_cuda_kernel<", parse_first, run_roll, 8},
	{"::flip_kernel_impl<", parse_flip, run_flip, 0},
	{"::fill_index_and_segment_kernel", NULL, run_fill_indices, 3},
	{"::fill_reverse_indices_kernel", parse_reverse, run_fill_indices, 3},
	{"::sort_postprocess_kernel<", parse_first, run_sorted_rows, 6},
};

int emu_torch_order(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	if (kernels[i].parse && kernels[i].parse(t, rest) < 0)
		return -ENOTSUP;
	t->run = kernels[i].run;
	t->params = kernels[i].params;
	return 0;
}
