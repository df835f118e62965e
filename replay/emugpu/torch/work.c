/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/torch/work.h"

#include "replay/emugpu/torch/offsets.h"
#include "replay/emugpu/torch/torch.h"

#include <math.h>

enum { MOST_OPERANDS = 4, WARP = 32, SECTOR_BYTES = 32 };

/* Elements that a thread of most kernels loads before waiting for them. */
#define UNROLLED 4

/* Rows that a thread of a layer norm's weight gradients loads. */
#define ROWS_AT_ONCE 8

static double threads_of(const struct gpuemu_launch *l)
{
	return (double)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] *
	       l->block[2];
}

/* Returns a positive integer parameter; 0: not an integer. */
static double count_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	size_t bytes = l->arg_bytes(l, i);
	int64_t v = bytes == 4 || bytes == 8 ? emu_int_of(l, args, i) : 0;

	return v > 0 ? (double)v : 0;
}

static double element_of(const struct cost_name *kind)
{
	return kind->bytes ? kind->bytes : 4;
}

/* `arrays` arrays of `elements` elements, one of which is written, unless there is only one. */
static void arrays_of(const struct cost_name *kind, double elements, unsigned arrays,
		      struct cost_launch *ret)
{
	ret->elements = elements;
	ret->bytes = elements * arrays * element_of(kind);
	ret->read_bytes = ret->bytes * (arrays - 1) / arrays;
}

/* ---- element-wise ---- */

struct operand {
	const char *data;
	double bytes, sector_bytes;
};

/* Operand 0 is the result. An operand that is read twice is read from memory once; an operand that
 * is read and written uses cache space once. */
static void operands_of(const struct operand *o, int n, struct cost_launch *ret)
{
	ret->bytes = ret->held_bytes = o[0].bytes;
	ret->read_bytes = 0;
	ret->sector_bytes = fmax(0, o[0].sector_bytes - o[0].bytes);
	for (int i = 1; i < n; i++) {
		int again = 0;

		for (int k = 1; k < i; k++)
			again |= o[k].data == o[i].data;
		ret->sector_bytes += fmax(0, o[i].sector_bytes - o[i].bytes);
		if (again)
			continue;
		ret->bytes += o[i].bytes;
		ret->read_bytes += o[i].bytes;
		if (o[i].data != o[0].data)
			ret->held_bytes += o[i].bytes;
	}
}

/* (elements, functor, addresses, ...). With casts, parameters 5 and 6 begin with the numbers of the
 * types of the inputs and the output, and end with the bytes of an element of each. */
static void contiguous(const struct cost_name *kind, const struct gpuemu_launch *l,
		       void *const *args, struct cost_launch *ret)
{
	struct operand o[MOST_OPERANDS] = {{0}};
	double n = count_of(l, args, 0);
	size_t arrays = kind->arrays, numbers = (arrays + 2) / 4 * 4;

	ret->elements = n;
	if (!n || arrays < 1 || arrays > MOST_OPERANDS || l->arg_bytes(l, 2) != 8 * arrays)
		return;
	for (size_t i = 0; i < arrays; i++) {
		uint32_t bytes = kind->operand_bytes[i] ? kind->operand_bytes[i] : kind->bytes;

		if (i > 0 && l->arg_bytes(l, 5) == numbers + 4 * (arrays - 1))
			memcpy(&bytes, (const char *)args[5] + numbers + 4 * (i - 1), 4);
		if (i == 0 && l->arg_bytes(l, 6) == 8)
			memcpy(&bytes, (const char *)args[6] + 4, 4);
		if (bytes < 1 || bytes > 16)
			return;
		memcpy(&o[i].data, (const char *)args[2] + 8 * i, sizeof(char *));
		o[i].bytes = o[i].sector_bytes = n * bytes;
	}
	operands_of(o, (int)arrays, ret);
}

/* Returns the number of operands of a lambda that begins with an OffsetCalculator and addresses. */
static int operands_in(size_t lambda_bytes)
{
	int n = 0;

	while (n < MOST_OPERANDS &&
	       (emu_offsets_bytes(n + 1) + 7) / 8 * 8 + 8 * ((size_t)n + 1) < lambda_bytes)
		n++;
	return n;
}

/* Returns the size of an operand's elements, without those repeated by a stride of 0. The smallest
 * stride is an element's size, unless the tensor has gaps, which are part of a sector, too. */
static double distinct_bytes(const char *calculator, int n, int operand)
{
	uint32_t size, stride, least = 0;
	double elements = 1;
	int32_t dims;

	memcpy(&dims, calculator, sizeof(dims));
	for (int i = 0; i < dims && i < EMU_OFFSETS_DIMS; i++) {
		memcpy(&size, calculator + 4 + 12 * i, sizeof(size));
		memcpy(&stride,
		       calculator + 4 + EMU_OFFSETS_DIMS * 12 + 4 * (size_t)(i * n + operand),
		       sizeof(stride));
		if (stride == 0)
			continue;
		elements *= size;
		least = least && least < stride ? least : stride;
	}
	return elements * (least < SECTOR_BYTES ? least : SECTOR_BYTES);
}

/* Counts the sectors that the first warp accesses, as representative of all warps. */
static void count_sectors(const char *calculator, int n, uint32_t lanes, int ret[MOST_OPERANDS])
{
	uint64_t seen[MOST_OPERANDS][WARP];

	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint64_t at[MOST_OPERANDS];

		emu_offsets_of(calculator, n, lane, at);
		for (int k = 0; k < n; k++) {
			int i = 0;

			at[k] /= SECTOR_BYTES;
			while (i < ret[k] && seen[k][i] != at[k])
				i++;
			seen[k][i] = at[k];
			ret[k] += i == ret[k];
		}
	}
}

/* elementwise_kernel(elements, {offset calculator, addresses, functor}) */
static void strided(const struct gpuemu_launch *l, void *const *args, struct cost_launch *ret)
{
	struct operand o[MOST_OPERANDS] = {{0}};
	double n = count_of(l, args, 0);
	int operands = operands_in(l->arg_bytes(l, 1)), sectors[MOST_OPERANDS] = {0};
	size_t at = (emu_offsets_bytes(operands) + 7) / 8 * 8;
	const char *lambda = args[1];

	ret->elements = n;
	if (!n || operands < 1)
		return;
	count_sectors(lambda, operands, n < WARP ? (uint32_t)n : WARP, sectors);
	for (int i = 0; i < operands; i++) {
		memcpy(&o[i].data, lambda + at + 8 * (size_t)i, sizeof(char *));
		o[i].bytes = distinct_bytes(lambda, operands, i);
		o[i].sector_bytes = ceil(n / WARP) * sectors[i] * SECTOR_BYTES;
	}
	operands_of(o, operands, ret);
}

/* fused_dropout_kernel(from, to, mask, elements, ...): a loop over vectors of four */
static void dropout(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		    struct cost_launch *ret)
{
	double n = count_of(l, args, 3);

	ret->elements = n;
	ret->bytes = n * (2 * element_of(kind) + 1);
	ret->read_bytes = n * element_of(kind);
	ret->steps = ceil(n / UNROLLED / threads_of(l));
}

/* ---- reductions ---- */

/* ReduceConfig: size of an element, inputs of an output, outputs; threads between two inputs of a
 * thread; parts of the sum of an output; division of the inputs among threads and blocks. */
struct reduce_config {
	int32_t element_bytes, inputs, outputs, step, output_step, parts;
	int32_t input_multiples[3], output_multiples[2], block[2], threads;
};

static int is_config(const struct reduce_config *c, const struct gpuemu_launch *l)
{
	return c->element_bytes > 0 && c->element_bytes <= 16 && c->inputs > 0 && c->outputs > 0 &&
	       c->step > 0 && c->parts > 0 && c->block[0] == (int32_t)l->block[0] &&
	       c->block[1] == (int32_t)l->block[1] && c->threads == c->block[0] * c->block[1];
}

/* at::native::reduce_kernel(ReduceOp): the function, of any size, precedes the configuration. */
static void reduction(const struct gpuemu_launch *l, void *const *args, struct cost_launch *ret)
{
	struct reduce_config c;
	size_t bytes = l->arg_bytes(l, 0);

	for (size_t at = 0; at + sizeof(c) <= bytes; at += 4) {
		memcpy(&c, (const char *)args[0] + at, sizeof(c));
		if (!is_config(&c, l))
			continue;
		ret->read_bytes = (double)c.element_bytes * c.outputs * c.inputs;
		ret->bytes = ret->read_bytes + (double)c.element_bytes * c.outputs;
		ret->steps = ceil((double)c.inputs / c.step / UNROLLED);
		if (c.parts > 1) /* x or y threads combine the parts of a column, in this order */
			ret->final_steps =
				2 + ceil((double)c.parts /
					 (c.input_multiples[0] ? c.threads : c.block[1]));
		return;
	}
}

/* ---- lists of tensors ---- */

/* multi_tensor_apply_kernel(list, functor, ...). Threads of a block load four elements of each list
 * at once, until the end of the block's part of a tensor. */
static void lists(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		  struct cost_launch *ret)
{
	/* All lists except one are written, or only one. */
	unsigned reads = kind->arrays > kind->lists + 1 ? kind->lists
			 : kind->arrays > 1		? kind->arrays - 1
							: 1;
	struct emu_torch_list_work work;
	double element = element_of(kind);

	if (emu_torch_list_work((int)kind->lists, kind->entry_bytes, l, args[0], &work) < 0)
		return;
	ret->elements = work.elements;
	ret->bytes = work.elements * element * (kind->arrays - work.repeated);
	ret->held_bytes = work.elements * element * (kind->lists - work.repeated);
	ret->read_bytes = work.elements * element * (reads - work.repeated);
	ret->steps = ceil(work.most / UNROLLED / l->block[0]);
}

/* ---- rows ---- */

static void softmax(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		    struct cost_launch *ret)
{
	/* The number of rows or, if a block has one row, of columns follows the addresses. */
	unsigned at = kind->arrays;

	switch (kind->kernel) {
	case COST_KERNEL_SOFTMAX_WARP: /* (to, from, rows, stride, columns, ...) */
	case COST_KERNEL_SOFTMAX_WARP_GRADIENT:
		ret->columns = count_of(l, args, at + 2);
		ret->elements = count_of(l, args, at) * ret->columns;
		break;
	case COST_KERNEL_SOFTMAX_SPATIAL: /* (to, from, outer, columns, inner) */
		arrays_of(kind,
			  count_of(l, args, at) * count_of(l, args, at + 1) *
				  count_of(l, args, at + 2),
			  kind->arrays, ret);
		break;
	default:
		ret->columns = count_of(l, args, at);
	}
}

static void layer_norm(const struct cost_name *kind, const struct gpuemu_launch *l,
		       void *const *args, struct cost_launch *ret)
{
	double n;

	switch (kind->kernel) {
	case COST_KERNEL_LAYER_NORM: /* (columns, epsilon, ...) */
		ret->columns = count_of(l, args, 0);
		break;
	case COST_KERNEL_LAYER_NORM_GRADIENT: /* (dy, x, mean, rstd, gamma, dx, columns) */
		ret->columns = count_of(l, args, 6);
		break;
	default: /* (rows, columns, ...) */
		n = count_of(l, args, 0);
		if (kind->kernel == COST_KERNEL_GROUP_MOMENTS) /* (columns, epsilon, ...) */
			n *= l->grid[0];
		else
			n *= count_of(l, args, 1);
		if (kind->kernel == COST_KERNEL_GROUP_MOMENTS_LAST) /* (images, channels, pixels) */
			n *= count_of(l, args, 2);
		arrays_of(kind, n, kind->arrays, ret);
		if (kind->kernel != COST_KERNEL_NORMALISE)
			ret->read_bytes = ret->bytes;
		/* A thread loads elements sequentially, or those of several rows at once. */
		ret->steps = ceil(ret->elements / threads_of(l) /
				  (kind->kernel == COST_KERNEL_NORM_WEIGHTS ? ROWS_AT_ONCE : 1));
	}
}

/* ---- attention ---- */

/* The beginning of Flash_fwd_params and Flash_bwd_params: of queries, keys, values; results. */
struct flash {
	const void *qkv[3];
	int64_t strides[9];
	int32_t heads, key_heads, ratio;
	const void *results[2];
	int64_t result_strides[3];
	const void *sums[3];
	int32_t batch, queries, keys, new_keys, width;
};

static int flash_of(const struct gpuemu_launch *l, void *const *args, struct flash *ret)
{
	if (!args || !l->arg_bytes || l->arg_bytes(l, 0) < sizeof(*ret))
		return 0;
	memcpy(ret, args[0], sizeof(*ret));
	return ret->heads > 0 && ret->batch > 0 && ret->queries > 0 && ret->keys > 0 &&
	       ret->width > 0 && ret->width <= 512;
}

/* AttentionKernel and AttentionBackwardKernel of PyTorch's memory-efficient attention: addresses;
 * then the width of keys and values, the numbers of queries and keys, and later the mask. A block
 * has a part of the queries or keys of a head and a sequence. */
static int efficient(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		     struct cost_attention *ret)
{
	int backward = kind->kernel == COST_KERNEL_EFFICIENT_GRADIENT;
	size_t at = backward ? 144 : 96, mask_at = backward ? 168 : 116;
	int32_t v[4];

	if (!args || !l->arg_bytes || l->arg_bytes(l, 0) <= mask_at)
		return 0;
	memcpy(v, (const char *)args[0] + at, sizeof(v));
	for (int i = 0; i < 4; i++)
		if (v[i] < 1)
			return 0;
	*ret = (struct cost_attention){.scores = {.m = v[3],
						  .n = v[2],
						  .k = v[0],
						  .batch = (double)l->grid[1] * l->grid[2]},
				       .backward = backward,
				       .causal = ((const uint8_t *)args[0])[mask_at] != 0,
				       .by_warps = 1,
				       .small_tiles = 1};
	return 1;
}

int emu_torch_attention(const struct cost_name *kind, const struct gpuemu_launch *l,
			void *const *args, struct cost_attention *ret)
{
	int backward = kind->kernel == COST_KERNEL_FLASH_GRADIENT;
	struct flash f;

	if (kind->kernel == COST_KERNEL_EFFICIENT || kind->kernel == COST_KERNEL_EFFICIENT_GRADIENT)
		return efficient(kind, l, args, ret);
	if ((!backward && kind->kernel != COST_KERNEL_FLASH) || !flash_of(l, args, &f))
		return 0;
	*ret = (struct cost_attention){.scores = {.m = f.keys,
						  .n = f.queries,
						  .k = f.width,
						  .batch = (double)f.batch * f.heads},
				       .backward = backward,
				       .causal = kind->causal,
				       .by_warps = 1};
	return 1;
}

/* Elements of two bytes. */
static void flash_rows(const struct cost_name *kind, const struct gpuemu_launch *l,
		       void *const *args, struct cost_launch *ret)
{
	struct flash f;

	if (flash_of(l, args, &f))
		ret->bytes = 2.0 * kind->arrays * f.batch * f.heads * f.queries * f.width;
}

/* ---- moving elements ---- */

/* CatArrayBatchedCopy(out, {addresses, offsets, sizes, elements of each input, ...}, ...) */
static void concatenation(const struct cost_name *kind, const struct gpuemu_launch *l,
			  void *const *args, struct cost_launch *ret)
{
	size_t inputs = kind->lists, each = kind->entry_bytes;
	double n = 0;

	if (!inputs || l->grid[1] > inputs || l->arg_bytes(l, 1) < inputs * (8 + 3 * each))
		return;
	for (size_t i = 0; i < l->grid[1]; i++) {
		const char *at = (const char *)args[1] + inputs * (8 + 2 * each) + each * i;
		uint64_t count = 0;

		memcpy(&count, at, each);
		n += (double)count;
	}
	arrays_of(kind, n, 2, ret);
}

static void moved(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		  struct cost_launch *ret)
{
	double n;

	switch (kind->kernel) {
	case COST_KERNEL_GATHER_ROWS: /* (to, from, indices, rows, bytes of a row, ...) */
		ret->bytes = 2 * count_of(l, args, 3) * count_of(l, args, 4);
		ret->read_bytes = ret->bytes / 2;
		break;
	case COST_KERNEL_SELECT_ROWS: /* (to, from, indices, ..., elements of a row, ...) */
		if (l->arg_bytes(l, 2) != sizeof(struct emu_tensor_info))
			break;
		n = ((const struct emu_tensor_info *)args[2])->sizes[0];
		arrays_of(kind, n * count_of(l, args, l->arg_bytes(l, 7) ? 6 : 5), 2, ret);
		break;
	case COST_KERNEL_ADD_ROWS: /* (indices, from, to, rows, columns, ...) */
		arrays_of(kind, count_of(l, args, 3) * count_of(l, args, 4), 3, ret);
		break;
	case COST_KERNEL_SUM_ROWS: /* (indices, from, counts, rows, columns, ...): into sums of
				      32 bits, mostly of one row */
		n = count_of(l, args, 3) * count_of(l, args, 4);
		ret->bytes = n * (element_of(kind) + 4);
		ret->read_bytes = n * element_of(kind);
		break;
	case COST_KERNEL_SORT: /* (state, counters, bins, bins, keys, from, values, from, n) */
		n = count_of(l, args, 8);
		ret->bytes = 2 * n * (element_of(kind) + kind->entry_bytes);
		ret->read_bytes = ret->bytes / 2;
		ret->sector_bytes = ret->bytes; /* writes in pieces */
		break;
	case COST_KERNEL_SORT_COUNTS: /* (bins, keys, n, ...) */
		ret->bytes = ret->read_bytes = count_of(l, args, 2) * element_of(kind);
		break;
	case COST_KERNEL_TRANSPOSE: /* (from, to, rows, columns, strides), for each z */
		arrays_of(kind, count_of(l, args, 2) * count_of(l, args, 3) * l->grid[2], 2, ret);
		break;
	default: /* (elements, ...): and an index of 8 bytes for each */
		ret->elements = count_of(l, args, 0);
		ret->bytes = ret->elements * (2 * element_of(kind) + 8);
		ret->read_bytes = ret->elements * (element_of(kind) + 8);
	}
}

void emu_torch_work(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		    struct cost_launch *ret)
{
	if (kind->kernel == COST_KERNEL_OTHER || !args || !l->arg_bytes || !l->arg_bytes(l, 0))
		return;
	switch (kind->kernel) {
	case COST_KERNEL_CONTIGUOUS:
		contiguous(kind, l, args, ret);
		break;
	case COST_KERNEL_STRIDED:
		strided(l, args, ret);
		break;
	case COST_KERNEL_DROPOUT:
		dropout(kind, l, args, ret);
		break;
	case COST_KERNEL_RANDOM: /* (elements, ...): a loop */
		arrays_of(kind, count_of(l, args, 0), 1, ret);
		ret->steps = ceil(ret->elements / UNROLLED / threads_of(l));
		break;
	case COST_KERNEL_REDUCE:
		reduction(l, args, ret);
		break;
	case COST_KERNEL_LISTS:
		lists(kind, l, args, ret);
		break;
	case COST_KERNEL_FLASH_ROWS:
		flash_rows(kind, l, args, ret);
		break;
	case COST_KERNEL_CONCATENATE:
		concatenation(kind, l, args, ret);
		break;
	default:
		if (kind->class == COST_CLASS_SOFTMAX)
			softmax(kind, l, args, ret);
		else if (kind->class == COST_CLASS_LAYER_NORM)
			layer_norm(kind, l, args, ret);
		else if (kind->class == COST_CLASS_POOLING ||
			 kind->class == COST_CLASS_CONVOLUTION ||
			 kind->class == COST_CLASS_BATCH_NORM)
			emu_torch_image_work(kind, l, args, ret);
		else
			moved(kind, l, args, ret);
	}
}
