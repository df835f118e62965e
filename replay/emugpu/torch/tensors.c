/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that move elements or control later operations: ranges, triangles, concatenation,
 * counting and finding non-zero elements, sorting of few elements, GradScaler's update. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/data.h"
#include "replay/emugpu/torch/offsets.h"
#include "replay/emugpu/torch/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* amp_update_scale_cuda_kernel(scale, growth tracker, found inf, growth, backoff, interval) */
static int run_amp_update(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	float *scale = *(float **)args[0], found = **(const float **)args[2];
	int32_t *tracker = *(int32_t **)args[1], interval = *(const int32_t *)args[5];
	double growth = *(const double *)args[3], backoff = *(const double *)args[4];

	if (l->arg_bytes(l, 3) != 8 || l->arg_bytes(l, 5) != 4)
		return -ENOTSUP;
	if (found != 0) {
		*scale = (float)(*scale * backoff);
		*tracker = 0;
	} else if (++*tracker == interval) {
		float grown = (float)(*scale * growth);

		if (isfinite(grown))
			*scale = grown;
		*tracker = 0;
	}
	return 0;
}

/* ---- ranges: elementwise_kernel_with_index(n, lambda {start, step}, result) ---- */

static int run_range(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t n = l->arg_bytes(l, 0) == 4 ? *(const int32_t *)args[0] : *(const int64_t *)args[0];
	enum emu_type computes = t->in[0] == EMU_F64 ? EMU_F64 : EMU_F32;
	const int64_t *range = args[1];
	char *to = emu_pointer_of(args, 2);
	double start, step;

	if (emu_torch_is_integer(t->in[0]) || t->in[0] == EMU_U64)
		computes = EMU_I64;
	/* nvcc adds an address to the lambda's contents. */
	if (l->arg_bytes(l, 1) != 2 * emu_type_bytes(computes) + 8 ||
	    !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	start = emu_load(computes, args[1], 0);
	step = emu_load(computes, args[1], 1);
	for (int64_t i = 0; i < n; i++)
		if (computes == EMU_I64)
			emu_torch_store_integer(
				t->in[0], to + (size_t)i * emu_type_bytes(t->in[0]),
				(int64_t)((uint64_t)range[0] + (uint64_t)range[1] * (uint64_t)i));
		else
			emu_store(t->in[0], to, i, start + step * (double)i);
	return 0;
}

/* The same with a lambda {start, end, number, step, half of the number}. */
static int run_linspace(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t n = emu_int_of(l, args, 0), steps, half;
	size_t bytes = emu_type_bytes(t->in[0]);
	const char *p = args[1];
	double start, step, end;

	/* nvcc adds an address to the lambda's contents. */
	if (l->arg_bytes(l, 1) != 2 * bytes + 32 || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	start = emu_load(t->in[0], p, 0);
	end = emu_load(t->in[0], p, 1);
	step = emu_load(t->in[0], p + 2 * bytes + 8, 0);
	memcpy(&steps, p + 2 * bytes, sizeof(steps));
	memcpy(&half, p + 2 * bytes + 16, sizeof(half));
	if (steps != n || half != n / 2)
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++)
		emu_store(t->in[0], emu_pointer_of(args, 2), i,
			  i < half ? start + step * (double)i : end - step * (double)(n - i - 1));
	return 0;
}

/* ---- non-zero elements ---- */

/* The type T of NonZeroOp<T>, and the offset of its iterator in a parameter. */
static int parse_nonzero(struct emu_torch *t, struct emu_part name)
{
	struct emu_part op = emu_part_after(name, "NonZeroOp");

	return emu_part_type(emu_part_argument(op, 0), &t->in[0]);
}

static int parse_bytes(struct emu_torch *t, struct emu_part name)
{
	t->in[0] = EMU_U8;
	return 0;
}

/* DeviceReduceSingleTileKernel(in, out, n, ...) */
static int run_count(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const void *in = *(const void **)args[0];
	int64_t n = l->arg_bytes(l, 2) == 4 ? *(const int32_t *)args[2] : *(const int64_t *)args[2];
	int64_t count = 0;

	/* Without data, none. */
	for (int64_t i = 0; (emu_has_data() || emu_torch_computes_work((double)n)) && i < n; i++)
		count += emu_load(t->in[0], in, i) != 0;
	**(int32_t **)args[1] = (int32_t)count;
	return 0;
}

/* DeviceReduceKernel(in, parts, n, ...): the number of one part for each block */
static int run_count_parts(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	memset(*(void **)args[1], 0, l->grid[0] * sizeof(int32_t));
	return run_count(t, l, args);
}

/* DeviceReduceSingleTileKernel(parts, out, n, ...) */
static int run_add_parts(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args)
{
	const int32_t *parts = *(const int32_t **)args[0];
	int32_t sum = 0;

	for (int64_t i = 0; i < emu_int_of(l, args, 2); i++)
		sum += parts[i];
	**(int32_t **)args[1] = sum;
	return 0;
}

/* write_indices(numbers, sizes of up to 25 dimensions, dimensions, n, ...): numbers of elements
 * into indices, all those of a dimension adjacent */
static int run_indices(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t *in = *(int64_t **)args[0], n = emu_int_of(l, args, 3);
	const int64_t *sizes = args[1];
	int32_t dims = *(const int32_t *)args[2];

	if (l->arg_bytes(l, 1) != EMU_OFFSETS_DIMS * sizeof(*sizes) || *(void **)args[4] ||
	    dims < 1 || dims > EMU_OFFSETS_DIMS)
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t number = in[i];

		for (int d = dims - 1; d >= 0; d--) {
			in[i + d * n] = number % sizes[d];
			number /= sizes[d];
		}
	}
	return 0;
}

/* DeviceSelectSweepKernel(counting iterator, flags, out, number of selected, state, ...) */
static int run_select(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t first = *(const int64_t *)args[0], *out = *(int64_t **)args[2];
	const void *flags = *(const void **)args[1];
	int64_t n = l->arg_bytes(l, 7) == 4 ? *(const int32_t *)args[7] : *(const int64_t *)args[7];
	int32_t selected = 0;

	for (int64_t i = 0; (emu_has_data() || emu_torch_computes_work((double)n)) && i < n; i++)
		if (emu_load(t->in[0], flags, i) != 0)
			out[selected++] = first + i;
	**(int32_t **)args[3] = selected;
	return 0;
}

/* ---- sorting: DeviceRadixSortSingleTileKernel(keys, sorted keys, values, sorted values, n, ...)
 */

static int parse_sort(struct emu_torch *t, struct emu_part name)
{
	struct emu_part value = emu_part_argument(name, 3), bytes = emu_part_argument(value, 0);

	t->swapped = emu_part_has(emu_part_argument(name, 1), ")1"); /* descending */
	t->raw_bytes = emu_part_has(value, "OpaqueType<") ? (uint8_t)atoi(bytes.at) : 0;
	if (!t->raw_bytes && emu_part_type(value, &t->out) == 0)
		t->raw_bytes = (uint8_t)emu_type_bytes(t->out);
	return emu_part_type(emu_part_argument(name, 2), &t->in[0]);
}

static int run_sort(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *values = *(const char **)args[2];
	char *sorted_keys = *(char **)args[1], *sorted = *(char **)args[3];
	int64_t n = l->arg_bytes(l, 4) == 4 ? *(const int32_t *)args[4] : *(const int64_t *)args[4];
	const char *keys = emu_pointer_of(args, 0);
	size_t bytes = emu_type_bytes(t->in[0]);
	scoped(free_ptr) struct emu_item *items = NULL;

	if (!emu_has_data() && !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	items = calloc((size_t)n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++)
		items[i] = emu_item_of(t->in[0], keys, i, i);
	qsort(items, (size_t)n, sizeof(*items),
	      t->swapped ? emu_item_descending : emu_item_ascending);
	for (int64_t i = 0; i < n; i++) {
		memcpy(sorted_keys + (size_t)i * bytes, keys + (size_t)items[i].at * bytes, bytes);
		if (t->raw_bytes)
			memcpy(sorted + i * t->raw_bytes, values + items[i].at * t->raw_bytes,
			       t->raw_bytes);
	}
	return 0;
}

/* ---- concatenation: CatArrayBatchedCopy<T, uint32_t, dims, inputs, strides>(out, inputs, shape,
 * dimension, stride of the dimension) ---- */

/* The offset of an element of an input in the output. */
static uint64_t offset_in(const uint32_t shape[8], int dims, int dim, uint32_t size,
			  uint64_t number)
{
	uint64_t offset = 0;

	for (int i = dims - 1; i >= 1; i--) {
		uint32_t n = i == dim ? size : shape[i];

		offset += number % n * shape[4 + i];
		number /= n;
	}
	return offset + number * shape[4];
}

static int parse_cat(struct emu_torch *t, struct emu_part name)
{
	struct emu_part type = emu_part_argument(name, 0);

	t->raw_bytes = (uint8_t)atoi(emu_part_argument(type, 0).at);
	t->inputs = (uint8_t)atoi(emu_part_argument(name, 3).at);
	t->depth = atoi(emu_part_argument(name, 2).at);
	t->result = atoi(emu_part_argument(name, 4).at); /* number of inputs with strides */
	if (emu_part_has(name, "CatArrayBatchedCopy_vectorized<")) { /* vectors, and their bytes */
		t->raw_bytes = (uint8_t)atoi(emu_part_argument(name, 5).at);
		t->vector = (uint8_t)atoi(emu_part_argument(name, 6).at);
	}
	if (!emu_part_has(type, "OpaqueType<") || !t->raw_bytes || t->depth < 1 || t->depth > 4 ||
	    !emu_part_has(emu_part_argument(name, 1), "unsigned int"))
		return -ENOTSUP;
	return 0;
}

static int run_cat(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *meta = args[1];
	const uint32_t *offsets = (const void *)(meta + 8 * (size_t)t->inputs);
	const uint32_t *sizes = offsets + t->inputs, *counts = sizes + t->inputs;
	const uint8_t *contiguous = (const void *)(counts + t->inputs);
	const uint32_t(*shapes)[8] = (const void *)(contiguous + (t->inputs + 3) / 4 * 4);
	int dim = *(const int32_t *)args[3];
	uint64_t stride = *(const uint32_t *)args[4];
	char *out = *(char **)args[0];
	uint32_t vector = t->vector ? t->vector : 1;

	if (l->arg_bytes(l, 4) != 4 || l->grid[1] > t->inputs)
		return -ENOTSUP;
	for (uint32_t k = 0; k < l->grid[1]; k++)
		if ((!contiguous[k] && k >= (uint32_t)t->result) ||
		    !emu_torch_computes_work(counts[k]))
			return -ENOTSUP;
	for (uint32_t k = 0; k < l->grid[1]; k++) {
		const char *from = ((char *const *)(const void *)meta)[k];

		for (uint64_t i = 0; i < counts[k] / vector; i++) {
			uint64_t at = offsets[k] * stride / vector +
				      offset_in(args[2], t->depth, dim,
						t->vector ? sizes[k] * (uint32_t)stride / vector
							  : sizes[k],
						i);

			uint64_t in = contiguous[k]
					      ? i
					      : offset_in(shapes[k], t->depth, dim, sizes[k], i);

			memcpy(out + at * t->raw_bytes, from + in * t->raw_bytes, t->raw_bytes);
		}
	}
	return 0;
}

/* ---- triangles: triu_tril_kernel<T, int, upper, ...>(to, from, diagonal, elements with padding,
 * columns with padding) ---- */

static int parse_triangle(struct emu_torch *t, struct emu_part name)
{
	t->op = emu_part_has(emu_part_argument(name, 2), "true");
	return emu_part_has(emu_part_argument(name, 1), "int")
		       ? emu_part_type(emu_part_argument(name, 0), &t->in[0])
		       : -ENOTSUP;
}

static int run_triangle(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct emu_tensor_info *to = args[0], *from = args[1];
	int64_t diagonal = *(const int64_t *)args[2], n = 1;
	size_t bytes = emu_type_bytes(t->in[0]);

	if (l->arg_bytes(l, 0) != sizeof(*to) || to->dims < 2 || to->dims > 25)
		return -ENOTSUP;
	for (int i = 0; i < to->dims; i++)
		n *= to->sizes[i];
	if (!emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int32_t columns = to->sizes[to->dims - 1];
		int64_t above = i % columns - i / columns % to->sizes[to->dims - 2];
		char *at = to->data + emu_tensor_offset(to, i) * (int64_t)bytes;

		if (t->op ? above >= diagonal : above <= diagonal)
			memmove(at, from->data + emu_tensor_offset(from, i) * (int64_t)bytes,
				bytes);
		else
			memset(at, 0, bytes);
	}
	return 0;
}

/* ---- _elementwise_kernel(batch, unpack_pivots_cuda_kernel's lambda): a calculator of two tensors,
 * the permutations, the row exchanges from 1, exchanges in each ---- */

static int run_unpack_pivots(const struct emu_torch *t, const struct gpuemu_launch *l,
			     void *const *args)
{
	const char *lambda = args[1];
	int32_t n = *(const int32_t *)args[0];
	struct {
		char *permutations;
		const char *exchanges;
		int64_t n;
	} f;

	if (l->arg_bytes(l, 1) < emu_offsets_bytes(2) + sizeof(f))
		return -ENOTSUP;
	memcpy(&f, lambda + emu_offsets_bytes(2), sizeof(f));
	if (!emu_torch_computes_work((double)n * (double)f.n))
		return -ENOTSUP;
	for (int32_t i = 0; i < n; i++) {
		uint64_t offsets[2];
		int64_t *permutation;
		const int32_t *exchange;

		emu_offsets_of(lambda, 2, (uint32_t)i, offsets);
		permutation = (int64_t *)(f.permutations + offsets[0]);
		exchange = (const int32_t *)(f.exchanges + offsets[1]);
		for (int64_t k = 0; k < f.n; k++) {
			int64_t kept = permutation[k];

			/* Memory that no host kernel wrote may hold any exchange. */
			if (exchange[k] < 1 || exchange[k] > f.n)
				return -ENOTSUP;
			permutation[k] = permutation[exchange[k] - 1];
			permutation[exchange[k] - 1] = kept;
		}
	}
	return 0;
}

/* ---- by name ---- */

/* Shuffles of values with equal random keys, which are rare: their order is kept. Also kernels that
 * prepare others, and assertions. */
static int run_nothing(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return 0;
}

static const struct {
	const char *prefix, *part;
	int (*parse)(struct emu_torch *t, struct emu_part name);
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
} kernels[] = {
	{"at::native::amp_update_scale_cuda_kernel", "", NULL, run_amp_update},
	{"(anonymous namespace)::randperm_handle_duplicate_keys_kernel<", "", NULL, run_nothing},
	{"at_cuda_detail::cub::detail::scan::DeviceCompactInitKernel<", "", NULL, run_nothing},
	{"at::native::_assert_async_cuda_kernel<", "", NULL, run_nothing},
	{"at::native::(anonymous namespace)::_elementwise_kernel<", "::unpack_pivots_cuda_kernel(",
	 NULL, run_unpack_pivots},
	{"at::native::triu_tril_kernel<", "", parse_triangle, run_triangle},
	{"at::native::(anonymous namespace)::CatArrayBatchedCopy", "", parse_cat, run_cat},
	{"at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<", "",
	 parse_sort, run_sort},
	{"at_cuda_detail::cub::detail::reduce::DeviceReduceSingleTileKernel<", "NonZeroOp<",
	 parse_nonzero, run_count},
	{"at_cuda_detail::cub::detail::reduce::DeviceReduceSingleTileKernel<",
	 "::MapNumberOfTrueValues", parse_bytes, run_count},
	{"at_cuda_detail::cub::detail::reduce::DeviceReduceKernel<", "NonZeroOp<", parse_nonzero,
	 run_count_parts},
	{"at_cuda_detail::cub::detail::reduce::DeviceReduceSingleTileKernel<",
	 "cuda::std::__4::plus<void> >::Policy1000, int*, int*, int, ", NULL, run_add_parts},
	{"at::native::(anonymous namespace)::write_indices<long>", "", NULL, run_indices},
	{"at_cuda_detail::cub::detail::select::DeviceSelectSweepKernel<", "NonZeroOp<",
	 parse_nonzero, run_select},
};

int emu_torch_tensors(struct emu_torch *t, struct emu_part name)
{
	if (emu_part_has(name, "elementwise_kernel_with_index<") &&
	    emu_part_has(name, "arange_cuda_out(")) {
		struct emu_part rest = name, last = {0};

		while ((rest = emu_part_after(rest, "::operator()() const::{lambda()#")).len)
			last = rest;
		/* The order of AT_DISPATCH_ALL_TYPES_AND2. */
		static const enum emu_type types[] = {EMU_U8,  EMU_I8,	EMU_I32, EMU_I64, EMU_I16,
						      EMU_F64, EMU_F32, EMU_F16, EMU_BF16};
		int number = last.len ? last.at[0] - '1' : -1;

		if (number < 0 || number > 8)
			return -ENOTSUP;
		t->in[0] = types[number];
		t->run = run_range;
		return 0;
	}
	/* The second lambda is that of numbers; of these, the second that of float. */
	if (emu_part_has(name, "elementwise_kernel_with_index<") &&
	    emu_part_has(name, "linspace_cuda_out(")) {
		struct emu_part rest =
			emu_part_after(name, "{lambda()#2}::operator()() const::{lambda()#");

		if (!rest.len || (rest.at[0] != '1' && rest.at[0] != '2'))
			return -ENOTSUP;
		t->in[0] = rest.at[0] == '1' ? EMU_F64 : EMU_F32;
		t->run = run_linspace;
		return 0;
	}
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strncmp(name.at, kernels[i].prefix, strlen(kernels[i].prefix)) == 0 &&
		    emu_part_has(name, kernels[i].part)) {
			if (kernels[i].parse && kernels[i].parse(t, name) < 0)
				return -ENOTSUP;
			t->run = kernels[i].run;
			return 0;
		}
	return -ENOTSUP;
}
