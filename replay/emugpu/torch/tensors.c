/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels on lists of tensors (optimizers, GradScaler), and kernels that decide what a program does
 * next: ranges, concatenation, counting and finding non-zero elements, sorting of few elements. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of tensors: multi_tensor_apply_kernel(TensorListMetadata<n>, functor, ...) ---- */

enum { CHUNK = 65536 };

enum { UNARY, BY_SCALAR, BY_LIST, POINTWISE, UNSCALE };

static const struct {
	const char *functor, *function;
	uint8_t form, op;
} lists[] = {
	{"UnaryOpFunctor<", "_amp_foreach_non_finite_check_and_unscale_cuda_", UNSCALE, 0},
	{"UnaryOpFunctor<", "::Sqrt<", UNARY, EMU_OP_SQRT},
	{"BinaryOpScalarFunctor<", "multiplies<", BY_SCALAR, EMU_OP_MUL},
	{"BinaryOpScalarFunctor<", "plus<", BY_SCALAR, EMU_OP_ADD},
	{"BinaryOpScalarFunctor<", "divides<", BY_SCALAR, EMU_OP_DIV},
	{"BinaryOpListAlphaFunctor<", "plus<", BY_LIST, EMU_OP_ADD},
	{"PointwiseOpScalarFunctor<", "multiplies<", POINTWISE, EMU_OP_ADDCMUL},
	{"PointwiseOpScalarFunctor<", "divides<", POINTWISE, EMU_OP_ADDCDIV},
	{"TernaryOpScalarFunctor<", "LerpFunctor<", BY_LIST, EMU_OP_LERP},
};

/* The layout of TensorListMetadata<n> in a parameter of `bytes`: it holds `tensors` tensors and
 * `blocks` blocks. PyTorch has small lists, and large ones for GPUs with large parameters. */
struct layout {
	size_t tensors, blocks, block_bytes;
};

static int layout_of(int depth, size_t bytes, struct layout *ret)
{
	static const size_t tensors[][5] = {{110, 64, 48, 36, 30}, {770, 448, 336, 252, 210}};
	static const struct {
		size_t blocks, block_bytes;
	} of[] = {{320, 1}, {2240, 2}};

	for (int i = 0; i < 2; i++) {
		size_t n = tensors[i][depth - 1], at = 8 * n * (size_t)(depth + 1);

		at += of[i].blocks * of[i].block_bytes;
		at = (at + 3) / 4 * 4 + of[i].blocks * 4 + 4;
		if ((at + 7) / 8 * 8 == bytes) {
			*ret = (struct layout){n, of[i].blocks, of[i].block_bytes};
			return 0;
		}
	}
	return -ENOTSUP;
}

/* Elements [from, from + n) of the tensors at `data`. */
static void apply(const struct emu_torch *t, char *const data[4], int64_t from, int64_t n,
		  double scalar, float *found_inf)
{
	enum emu_type type = t->in[0];
	double s[3] = {scalar}, in[3] = {0}, v;

	for (int64_t i = from; i < from + n; i++) {
		for (int k = 0; k < t->depth && k < 3; k++)
			in[k] = emu_load(type, data[k], i);
		if (t->form == BY_SCALAR) {
			in[1] = scalar;
			s[0] = 1;
		}
		if (t->form == UNSCALE) {
			if (!isfinite(in[0]))
				*found_inf = 1;
			v = scalar == 1 ? in[0] : in[0] * scalar;
		} else {
			v = emu_torch_apply((enum emu_torch_op)t->op, in, s);
		}
		emu_store(type, data[t->result], i, v);
	}
}

static double scalar_of(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	enum emu_type type = emu_torch_computes(t->in[0]);

	if (t->form == UNARY || !l->arg_bytes(l, 3))
		return 0;
	return emu_load(l->arg_bytes(l, 3) == 8 ? EMU_F64 : type, args[3], 0);
}

static int run_list(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const char *meta = args[0], *numels, *to_tensor, *to_chunk;
	float *found_inf = NULL, *scale = NULL;
	double total = 0, scalar;
	struct layout y;

	if (layout_of(t->depth, l->arg_bytes(l, 0), &y) < 0)
		return -ENOTSUP;
	numels = meta + 8 * y.tensors * (size_t)t->depth;
	to_tensor = numels + 8 * y.tensors;
	to_chunk = to_tensor + (y.blocks * y.block_bytes + 3) / 4 * 4;
	if (t->form == UNSCALE) { /* the lambda holds the two addresses */
		memcpy(&found_inf, args[2], sizeof(found_inf));
		memcpy(&scale, (const char *)args[2] + 8, sizeof(scale));
		scalar = *scale;
	} else {
		scalar = scalar_of(t, l, args);
	}
	for (int applies = 0; applies < 2; applies++) {
		for (uint32_t b = 0; b < l->grid[0] && b < y.blocks; b++) {
			size_t tensor = y.block_bytes == 1
						? ((const uint8_t *)to_tensor)[b]
						: ((const uint16_t *)(const void *)to_tensor)[b];
			int64_t n, from = (int64_t)((const int32_t *)(const void *)to_chunk)[b] *
					  CHUNK;
			char *data[4] = {0};

			memcpy(&n, numels + 8 * tensor, sizeof(n));
			n = n - from < CHUNK ? n - from : CHUNK;
			total += (double)n;
			for (int k = 0; k < t->depth && k < 4; k++)
				memcpy(&data[k], meta + 8 * ((size_t)k * y.tensors + tensor),
				       sizeof(char *));
			if (applies)
				apply(t, data, from, n, scalar, found_inf);
		}
		if (!emu_torch_computes_work(applies ? 0 : total))
			return -ENOTSUP;
	}
	return 0;
}

static int parse_list(struct emu_torch *t, struct emu_part name)
{
	struct emu_part meta = emu_part_argument(name, 0), functor = emu_part_argument(name, 1);
	struct emu_part depth = emu_part_argument(meta, 0), result = emu_part_argument(functor, 3);

	if (!emu_part_has(meta, "::TensorListMetadata<"))
		return -ENOTSUP;
	for (size_t i = 0; !t->run && i < sizeof(lists) / sizeof(lists[0]); i++)
		if (emu_part_has(functor, lists[i].functor) &&
		    emu_part_has(emu_part_after(name, lists[i].functor), lists[i].function)) {
			t->form = lists[i].form;
			t->op = lists[i].op;
			t->run = run_list;
		}
	t->depth = depth.len ? depth.at[0] - '0' : 0;
	t->result = result.len ? result.at[0] - '0' : 0;
	if (!t->run || t->depth < 1 || t->depth > 4 || t->result < 0 || t->result >= t->depth)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(functor, 0), &t->in[0]);
}

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
	double start, step;

	if (t->in[0] >= EMU_I8 && t->in[0] <= EMU_U64)
		computes = EMU_I64;
	/* nvcc adds an address to what the lambda holds. */
	if (l->arg_bytes(l, 1) != 2 * emu_type_bytes(computes) + 8 ||
	    !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	start = emu_load(computes, args[1], 0);
	step = emu_load(computes, args[1], 1);
	for (int64_t i = 0; i < n; i++)
		emu_store(t->in[0], *(void **)args[2], i, start + step * (double)i);
	return 0;
}

/* ---- non-zero elements ---- */

/* The type T of NonZeroOp<T>, and where its iterator begins in a parameter. */
static int parse_nonzero(struct emu_torch *t, struct emu_part name)
{
	struct emu_part op = emu_part_after(name, "NonZeroOp");

	return emu_part_type(emu_part_argument(op, 0), &t->in[0]);
}

/* DeviceReduceSingleTileKernel(in, out, n, ...) */
static int run_count(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const void *in = *(const void **)args[0];
	int64_t n = l->arg_bytes(l, 2) == 4 ? *(const int32_t *)args[2] : *(const int64_t *)args[2];
	int64_t count = 0;

	for (int64_t i = 0; i < n; i++)
		count += emu_load(t->in[0], in, i) != 0;
	**(int32_t **)args[1] = (int32_t)count;
	return 0;
}

/* DeviceSelectSweepKernel(counting iterator, flags, out, number of selected, state, ...) */
static int run_select(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t first = *(const int64_t *)args[0], *out = *(int64_t **)args[2];
	const void *flags = *(const void **)args[1];
	int64_t n = l->arg_bytes(l, 7) == 4 ? *(const int32_t *)args[7] : *(const int64_t *)args[7];
	int32_t selected = 0;

	for (int64_t i = 0; i < n; i++)
		if (emu_load(t->in[0], flags, i) != 0)
			out[selected++] = first + i;
	**(int32_t **)args[3] = selected;
	return 0;
}

/* ---- sorting: DeviceRadixSortSingleTileKernel(keys, sorted keys, values, sorted values, n, ...)
 */

struct item {
	double key;
	int64_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->at > y->at) - (x->at < y->at);
}

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
	scoped(free_ptr) struct item *items = calloc((size_t)n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++) {
		double key = emu_load(t->in[0], *(void **)args[0], i);

		items[i] = (struct item){t->swapped ? -key : key, i};
	}
	qsort(items, (size_t)n, sizeof(*items), by_key);
	for (int64_t i = 0; i < n; i++) {
		emu_store(t->in[0], sorted_keys, i, t->swapped ? -items[i].key : items[i].key);
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
	if (!emu_part_has(type, "OpaqueType<") || !t->raw_bytes || t->depth < 1 || t->depth > 4 ||
	    emu_part_has(name, "CatArrayBatchedCopy_vectorized<") ||
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
	int dim = *(const int32_t *)args[3];
	uint64_t stride = *(const uint32_t *)args[4];
	char *out = *(char **)args[0];

	if (l->arg_bytes(l, 4) != 4 || l->grid[1] > t->inputs)
		return -ENOTSUP;
	for (uint32_t k = 0; k < l->grid[1]; k++)
		if (!contiguous[k] || !emu_torch_computes_work(counts[k]))
			return -ENOTSUP;
	for (uint32_t k = 0; k < l->grid[1]; k++) {
		const char *from = ((char *const *)(const void *)meta)[k];

		for (uint64_t i = 0; i < counts[k]; i++) {
			uint64_t at = offsets[k] * stride +
				      offset_in(args[2], t->depth, dim, sizes[k], i);

			memcpy(out + at * t->raw_bytes, from + i * t->raw_bytes, t->raw_bytes);
		}
	}
	return 0;
}

/* ---- by name ---- */

static const struct {
	const char *prefix, *part;
	int (*parse)(struct emu_torch *t, struct emu_part name);
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
} kernels[] = {
	{"at::native::amp_update_scale_cuda_kernel", "", NULL, run_amp_update},
	{"at::native::(anonymous namespace)::CatArrayBatchedCopy", "", parse_cat, run_cat},
	{"at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<", "",
	 parse_sort, run_sort},
	{"at_cuda_detail::cub::detail::reduce::DeviceReduceSingleTileKernel<", "NonZeroOp<",
	 parse_nonzero, run_count},
	{"at_cuda_detail::cub::detail::select::DeviceSelectSweepKernel<", "NonZeroOp<",
	 parse_nonzero, run_select},
};

int emu_torch_tensors(struct emu_torch *t, struct emu_part name)
{
	if (emu_part_has(name, "multi_tensor_apply_kernel<"))
		return parse_list(t, name);
	if (emu_part_has(name, "elementwise_kernel_with_index<") &&
	    emu_part_has(name, "arange_cuda_out(")) {
		struct emu_part rest = name, last = {0};

		while ((rest = emu_part_after(rest, "::operator()() const::{lambda()#")).len)
			last = rest;
		/* The order of AT_DISPATCH_ALL_TYPES_AND2. */
		static const enum emu_type types[] = {EMU_U8,  EMU_I8,	EMU_I32, EMU_I64, EMU_I32,
						      EMU_F64, EMU_F32, EMU_F16, EMU_BF16};
		int number = last.len ? last.at[0] - '1' : -1;

		if (number < 0 || number > 8 || number == 4)
			return -ENOTSUP;
		t->in[0] = types[number];
		t->run = run_range;
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
