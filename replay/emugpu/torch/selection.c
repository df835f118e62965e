/* SPDX-License-Identifier: Apache-2.0 */

/* Elements at a rank (median, k-th value), the most frequent one, positions in sorted rows, and
 * histograms. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/data.h"
#include "replay/emugpu/torch/offsets.h"
#include "replay/emugpu/torch/order.h"

#include <errno.h>
#include <stdlib.h>

enum { MEDIAN, KTH, MODE };

/* Returns the element of a sorted slice that a kernel selects. A mode is the smallest of the most
 * frequent elements, and the last of these. */
static struct emu_item selected(int op, const struct emu_item *sorted, int64_t n, int64_t rank,
				int ignores_nan)
{
	int64_t numbers = n, most = 0;
	struct emu_item best = sorted[0];

	if (op == KTH)
		return sorted[rank - 1];
	if (op == MEDIAN) {
		while (numbers > 0 && isnan(sorted[numbers - 1].key))
			numbers--;
		if (numbers < n && (!ignores_nan || numbers == 0))
			return sorted[n - 1];
		return sorted[(numbers - 1) / 2];
	}
	for (int64_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && emu_item_compare(&sorted[i], &sorted[end]) == 0;)
			end++;
		if (end - i > most) {
			most = end - i;
			best = sorted[end - 1];
		}
	}
	return best;
}

/* gatherMedian(values, indices, from, elements of a slice, slices, their stride, ignores NaN),
 * gatherKthValue(from, elements, rank, slices, stride, values, indices) and
 * compute_mode(from, values, indices, elements, slices), of contiguous slices */
static int run_select(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int op = t->op;
	unsigned values_at = op == MEDIAN ? 0 : op == KTH ? 5 : 1;
	unsigned from_at = op == MEDIAN ? 2 : 0, n_at = op == KTH ? 1 : 3;
	const struct emu_tensor_info *values = args[values_at], *indices = args[values_at + 1];
	const struct emu_tensor_info *from = args[from_at];
	int64_t n = emu_int_of(l, args, n_at), rank = op == KTH ? emu_int_of(l, args, 2) : 1;
	int64_t slices = emu_int_of(l, args, op == KTH ? 3 : 4);
	int64_t stride = op == MODE ? 1 : emu_int_of(l, args, op == KTH ? 4 : 5);
	int64_t bytes = (int64_t)emu_type_bytes(t->in[0]);
	scoped(free_ptr) struct emu_item *items = NULL;

	if (l->arg_bytes(l, values_at) != sizeof(*values) ||
	    l->arg_bytes(l, values_at + 1) != sizeof(*indices) ||
	    (op != MODE && l->arg_bytes(l, from_at) != sizeof(*from)) || n < 1 || rank < 1 ||
	    rank > n || !emu_torch_computes_work((double)slices * (double)n))
		return -ENOTSUP;
	items = calloc((size_t)n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (int64_t s = 0; s < slices; s++) {
		const char *slice = op == MODE
					    ? (const char *)emu_pointer_of(args, 0) + s * n * bytes
					    : from->data + emu_tensor_offset(from, s) * bytes;
		struct emu_item item;

		for (int64_t i = 0; i < n; i++)
			items[i] = emu_item_of(t->in[0], slice, i * stride, i);
		qsort(items, (size_t)n, sizeof(*items), emu_item_ascending);
		item = selected(op, items, n, rank, op == MEDIAN && *(const uint8_t *)args[6]);
		memcpy(values->data + emu_tensor_offset(values, s) * bytes,
		       slice + item.at * stride * bytes, (size_t)bytes);
		((int64_t *)(void *)indices->data)[emu_tensor_offset(indices, s)] = item.at;
	}
	return 0;
}

/* searchsorted_cuda_kernel<T, index type>(to, from, bounds, order of the bounds, elements of a row,
 * bounds of a row, elements, after equal bounds, the same bounds for all rows) */
static int run_search(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *from = emu_pointer_of(args, 1), *bounds = emu_pointer_of(args, 2);
	const int64_t *order = emu_pointer_of(args, 3);
	int64_t row = emu_int_of(l, args, 4), row_bounds = emu_int_of(l, args, 5);
	int64_t n = emu_int_of(l, args, 6);
	int after = *(const uint8_t *)args[7], one_row = *(const uint8_t *)args[8];

	if (row < 1 || !emu_has_data() || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t first = one_row ? 0 : i / row * row_bounds, low = 0, high = row_bounds;
		struct emu_item x = emu_item_of(t->in[0], from, i, 0);

		while (low < high) {
			int64_t middle = low + (high - low) / 2, at = middle;
			struct emu_item bound;

			if (order)
				at = order[first + middle];
			if (at < 0 || at >= row_bounds)
				return -ENOTSUP;
			bound = emu_item_of(t->in[0], bounds, first + at, 0);
			if (emu_item_compare(&bound, &x) < (after ? 1 : 0))
				low = middle + 1;
			else
				high = middle;
		}
		emu_store(t->in[1], emu_pointer_of(args, 0), i, (double)low);
	}
	return 0;
}

/* PyTorch's TensorInfo<T, long>. */
struct long_info {
	char *data;
	int64_t sizes[EMU_OFFSETS_DIMS], strides[EMU_OFFSETS_DIMS];
	int32_t dims;
};

static int64_t long_offset(const struct long_info *t, int64_t number)
{
	int64_t offset = 0;

	for (int i = t->dims - 1; i >= 0; i--) {
		offset += number % t->sizes[i] * t->strides[i];
		number /= t->sizes[i];
	}
	return offset;
}

/* Returns the bin of an element; -1: none. */
static int64_t bin_of(const struct emu_torch *t, const void *x, void *const *args, int64_t bins)
{
	double v = emu_load(t->in[0], x, 0), from = emu_load(t->in[1], args[4], 0);
	double to = emu_load(t->in[1], args[5], 0), bin;

	if (!(v >= from && v <= to))
		return -1;
	if (t->in[0] == EMU_F32) /* rounded as PyTorch does */
		bin = (float)((float)((float)(v - from) * (float)bins) / (float)(to - from));
	else
		bin = (v - from) * (double)bins / (to - from);
	return (int64_t)bin == bins ? bins - 1 : (int64_t)bin;
}

/* kernelHistogram1D<result, T, ...>(to, part of a block, from, bins, first, last, elements,
 * weights); `to` is zero before */
static int run_histogram(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args)
{
	const struct long_info *to = args[0], *from = args[2], *weights = args[7];
	int64_t bins = emu_int_of(l, args, 3), n = emu_int_of(l, args, 6), bin;
	size_t bytes = emu_type_bytes(t->in[0]), to_bytes = emu_type_bytes(t->out);

	if (l->arg_bytes(l, 0) != sizeof(*to) || l->arg_bytes(l, 2) != sizeof(*from) ||
	    l->arg_bytes(l, 4) != emu_type_bytes(t->in[1]) || to->dims != 1 || from->dims < 0 ||
	    from->dims > EMU_OFFSETS_DIMS || l->arg_bytes(l, 7) != (t->op ? sizeof(*weights) : 1) ||
	    (t->op && weights->dims != 1) || bins < 1 || bins > to->sizes[0] || !emu_has_data() ||
	    !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int i = 0; i < from->dims; i++)
		if (from->sizes[i] < 1)
			return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		char *at = to->data;

		bin = bin_of(t, from->data + long_offset(from, i) * (int64_t)bytes, args, bins);
		if (bin < 0 || bin >= bins)
			continue;
		at += bin * to->strides[0] * (int64_t)to_bytes;
		emu_store(t->out, at, 0,
			  emu_load(t->out, at, 0) +
				  (t->op ? emu_load(t->out, weights->data, i * weights->strides[0])
					 : 1));
	}
	return 0;
}

/* ---- torch.unique: runs of equal elements ---- */

static int is_equal(enum emu_type type, const void *data, int64_t i, int64_t k)
{
	struct emu_item a = emu_item_of(type, data, i, 0), b = emu_item_of(type, data, k, 0);

	return a.key == b.key && a.low == b.low;
}

/* DeviceSelectSweepKernel(from, flags, first of each run, number of runs, ..., elements: 7, ...)
 * and DeviceReduceByKeyKernel(from, first of each run, ones, lengths of runs, number of runs, ...,
 * elements: 9, ...). Without data, there is no run. */
static int run_runs(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *from = emu_pointer_of(args, 0);
	char *to = emu_pointer_of(args, t->op ? 1 : 2);
	int64_t *lengths = t->op ? emu_pointer_of(args, 3) : NULL, runs = 0;
	int64_t n = emu_int_of(l, args, t->op ? 9 : 7);
	size_t bytes = emu_type_bytes(t->in[0]);

	if (t->op && (l->arg_bytes(l, 2) != 16 || ((const int64_t *)args[2])[1] != 1))
		return -ENOTSUP;
	if (!emu_has_data() && !emu_torch_computes_work((double)n))
		n = 0;
	for (int64_t i = 0; i < n; i++) {
		if (i == 0 || !is_equal(t->in[0], from, i - 1, i)) {
			memcpy(to + (size_t)runs * bytes, from + (size_t)i * bytes, bytes);
			if (lengths)
				lengths[runs] = 0;
			runs++;
		}
		if (lengths)
			lengths[runs - 1]++;
	}
	*(int64_t *)emu_pointer_of(args, t->op ? 4 : 3) = runs;
	return 0;
}

/* adjacent_difference_kernel(elements, from, 1 at the first of each run but that of the first) */
static int run_differences(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	int64_t n = emu_int_of(l, args, 0);
	int32_t *to = emu_pointer_of(args, 2);

	if (!emu_has_data() && !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++)
		to[i] = i > 0 && !is_equal(t->in[0], emu_pointer_of(args, 1), i - 1, i);
	return 0;
}

/* scatter_kernel(elements, from, indices, to) */
static int run_scatter(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const int64_t *from = emu_pointer_of(args, 1), *indices = emu_pointer_of(args, 2);
	int64_t n = emu_int_of(l, args, 0), *to = emu_pointer_of(args, 3);

	if (!emu_has_data())
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		if (indices[i] < 0 || indices[i] >= n)
			return -ENOTSUP;
		to[indices[i]] = from[i];
	}
	return 0;
}

/* unique_bool_write_output(elements, number of those that are true, values, numbers) */
static int run_bools(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int32_t n = *(const int32_t *)args[0], trues = *(const int32_t *)emu_pointer_of(args, 1);
	uint8_t *values = emu_pointer_of(args, 2);
	int64_t *numbers = emu_pointer_of(args, 3);
	int at = n > trues;

	if (n > trues) {
		values[0] = 0;
		numbers[0] = n - trues;
	}
	if (trues > 0) {
		values[at] = 1;
		numbers[at] = trues;
	}
	return 0;
}

/* unique_bool_write_inverse_indices(elements, number of those that are true, elements, positions)
 */
static int run_bool_positions(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	int32_t n = *(const int32_t *)args[0], trues = *(const int32_t *)emu_pointer_of(args, 1);
	const uint8_t *from = emu_pointer_of(args, 2);
	int64_t *to = emu_pointer_of(args, 3);

	if (!emu_torch_computes_work(n))
		return -ENOTSUP;
	for (int32_t i = 0; i < n; i++)
		to[i] = n > trues && from[i];
	return 0;
}

static const struct {
	const char *name;
	uint8_t op, params;
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
} kernels[] = {
	{"::gatherMedian<", MEDIAN, 7, run_select},
	{"::gatherKthValue<", KTH, 7, run_select},
	{"::compute_mode<", MODE, 5, run_select},
	{"::searchsorted_cuda_kernel<", 0, 9, run_search},
	{"::kernelHistogram1D<", 0, 8, run_histogram},
	{"::adjacent_difference_kernel<", 0, 3, run_differences},
	{"internal::(anonymous namespace)::scatter_kernel", 0, 4, run_scatter},
	{"::unique_bool_write_output", 0, 4, run_bools},
	{"::unique_bool_write_inverse_indices", 0, 4, run_bool_positions},
};

static int parse_histogram(struct emu_torch *t, struct emu_part name)
{
	t->op = emu_part_has(name, ", true>(");
	if (emu_part_type(emu_part_argument(name, 0), &t->out) < 0 ||
	    emu_part_type(emu_part_argument(name, 1), &t->in[0]) < 0)
		return -ENOTSUP;
	t->in[1] = emu_torch_is_integer(t->in[0]) ? EMU_I64 : t->in[0];
	return 0;
}

/* Kernels of CUB with equal_to: the type is that of policy_hub's argument `number`. */
static int parse_runs(struct emu_torch *t, struct emu_part name, const char *hub, int number)
{
	struct emu_part rest = emu_part_after(name, hub);

	t->run = run_runs;
	return emu_part_has(name, "equal_to<void>")
		       ? emu_part_type(
				 emu_part_argument((struct emu_part){rest.at - 1, rest.len + 1},
						   number),
				 &t->in[0])
		       : -ENOTSUP;
}

int emu_torch_selection(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	t->op = emu_part_has(name, "::DeviceReduceByKeyKernel<");
	t->params = t->op ? 12 : 11;
	if (t->op)
		return parse_runs(t, name, "::rle::encode::policy_hub<", 1);
	if (emu_part_has(name, "::DeviceSelectSweepKernel<"))
		return parse_runs(t, name, "::select::policy_hub<", 0);
	t->params = 0;
	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	t->params = kernels[i].params;
	t->run = kernels[i].run;
	if (t->run == run_histogram)
		return parse_histogram(t, rest);
	if (t->run == run_scatter || t->run == run_bools || t->run == run_bool_positions)
		return 0;
	if (t->run == run_differences) { /* const T* */
		struct emu_part type = emu_part_argument(rest, 0);

		type.len = (size_t)(strcspn(type.at, " *>"));
		return emu_part_type(type, &t->in[0]);
	}
	if (t->run == run_search && emu_part_type(emu_part_argument(rest, 1), &t->in[1]) < 0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(rest, 0), &t->in[0]);
}
