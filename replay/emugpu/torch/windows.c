/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels of PyTorch that work on images: batch norm, and those that slide a window over them:
 * pooling and depthwise convolutions. The latter's instructions, most of them for addresses and
 * bounds, usually take longer than the memory. The numbers of instructions are those of the machine
 * code of PyTorch 2.15 for compute capability 9.0, with the channels first; a warp takes as many as
 * its thread with the largest window. */
#include "replay/emugpu/torch/torch.h"
#include "replay/emugpu/torch/work.h"

#include <math.h>

#define WARP 32

/* Bytes of the position of a maximum. */
#define INDEX_BYTES 8

/* Elements that a thread of a filter gradient loads before it waits for them. */
#define UNROLLED 4

enum { ACCESSOR_BYTES = 40 };

/* Integer parameters from `first` on, all positive. Returns whether they are. */
static int read_sizes(const struct gpuemu_launch *l, void *const *args, unsigned first, unsigned n,
		      double *ret)
{
	for (unsigned i = 0; i < n; i++) {
		size_t bytes = l->arg_bytes(l, first + i);

		ret[i] = bytes == 4 || bytes == 8 ? (double)emu_int_of(l, args, first + i) : 0;
		if (ret[i] < 1)
			return 0;
	}
	return 1;
}

/* ---- pooling ---- */

static double threads_of(const struct gpuemu_launch *l)
{
	return (double)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] *
	       l->block[2];
}

/* The parameters have, from `first` on: channels, height and width of the input, height and width
 * of the result, of the window and of its stride. The number of images precedes them; in the
 * forward kernel with the channels first, the number of results is the first parameter. */
static void max_pool(const struct cost_name *kind, const struct gpuemu_launch *l, void *const *args,
		     struct cost_launch *ret)
{
	int last = kind->kernel == COST_KERNEL_POOL_LAST ||
		   kind->kernel == COST_KERNEL_POOL_LAST_GRADIENT;
	int gradient = kind->kernel == COST_KERNEL_POOL_GRADIENT ||
		       kind->kernel == COST_KERNEL_POOL_LAST_GRADIENT;
	unsigned first = gradient ? 3 : 2;
	double element = kind->bytes ? kind->bytes : 4, v[9], images, in, out;

	/* Older versions of PyTorch have other parameters. */
	if (!last && l->arg_bytes(l, first - 1) != l->arg_bytes(l, first))
		return;
	if (!read_sizes(l, args, first, 9, v) ||
	    !read_sizes(l, args, kind->kernel == COST_KERNEL_POOL ? 0 : first - 1, 1, &images))
		return;
	if (kind->kernel == COST_KERNEL_POOL)
		images /= v[0] * v[3] * v[4];
	in = images * v[0] * v[1] * v[2];
	out = images * v[0] * v[3] * v[4];
	ret->bytes = in * element + out * (element + INDEX_BYTES);
	ret->read_bytes = gradient ? ret->bytes - in * element : in * element;
	if (gradient) /* the windows that contain an element: rows, and the most of a row */
		ret->instructions =
			(kind->kernel == COST_KERNEL_POOL_GRADIENT ? threads_of(l) : in) *
			(220 + v[5] / v[7] * (30 + 35 * ceil(v[6] / v[8])));
	else
		ret->instructions = out * (220 + v[5] * (16 + 19 * v[6]));
}

/* Means: an adaptive kernel has a plane for each x of the grid, and the height and width of the
 * input and the result from parameter 2 on; with the channels last, images and channels precede
 * them. Others have the number of threads that work, the input, channels, and these sizes. */
static void mean_pool(const struct cost_name *kind, const struct gpuemu_launch *l,
		      void *const *args, struct cost_launch *ret)
{
	double element = kind->bytes ? kind->bytes : 4, planes = l->grid[0], v[4], of[2] = {0};
	int adaptive = kind->kernel == COST_KERNEL_POOL_ADAPTIVE;
	int last = kind->kernel == COST_KERNEL_POOL_ADAPTIVE_LAST;
	unsigned first = adaptive ? 2 : last ? 4 : 3;
	double in, out;

	if (!read_sizes(l, args, first, 4, v) ||
	    !read_sizes(l, args, last ? 2 : 0, last ? 2 : !adaptive, of))
		return;
	in = v[0] * v[1];
	out = v[2] * v[3];
	if (last)
		planes = of[0] * of[1];
	else if (!adaptive)
		planes = of[0] / (kind->kernel == COST_KERNEL_POOL_MEAN ? out : in);
	ret->bytes = planes * (in + out) * element;
	ret->read_bytes = ret->bytes / 2;
}

/* ---- batch norm ---- */

/* Elements of a tensor of three dimensions: an address, three sizes and three strides, of 4 or 8
 * bytes each. 0: another parameter. */
static double elements_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	size_t each = (l->arg_bytes(l, i) - 8) / 6;
	double n = 1;

	if ((each != 4 && each != 8) || l->arg_bytes(l, i) != 8 + 6 * each)
		return 0;
	for (size_t k = 0; k < 3; k++) {
		int64_t size = 0;

		memcpy(&size, (const char *)args[i] + 8 + k * each, each);
		n *= (double)size;
	}
	return n;
}

/* With the channels last, images are addresses; the numbers of pixels and channels are the first
 * two parameters of 4 bytes, or the last two of the kernel with three images. */
static void batch_norm(const struct cost_name *kind, const struct gpuemu_launch *l,
		       void *const *args, struct cost_launch *ret)
{
	double elements = 0, sizes[2];

	for (unsigned i = 0; l->arg_bytes(l, i); i++) {
		if (kind->kernel == COST_KERNEL_IMAGES)
			elements += elements_of(l, args, i);
		else if (l->arg_bytes(l, i) == 4 && l->arg_bytes(l, i + 1) == 4 &&
			 read_sizes(l, args, i, 2, sizes) && (!elements || kind->arrays == 3))
			elements = sizes[0] * sizes[1] * kind->arrays;
	}
	ret->bytes = elements * (kind->bytes ? kind->bytes : 4);
}

/* ---- depthwise convolutions ---- */

/* A tensor: an address, four sizes and four strides. Returns its elements, or 0. */
static double accessor(const struct gpuemu_launch *l, void *const *args, unsigned i, int32_t ret[4])
{
	if (l->arg_bytes(l, i) != ACCESSOR_BYTES)
		return 0;
	memcpy(ret, (const char *)args[i] + 8, 4 * sizeof(ret[0]));
	for (int k = 0; k < 4; k++)
		if (ret[k] < 1)
			return 0;
	return (double)ret[0] * ret[1] * ret[2] * ret[3];
}

/* (input, result, filter, ...), (gradient, result, filter, ...), (gradient, input, result, ...). A
 * block of a filter gradient sums one tap of one channel: a warp for each image. */
static void depthwise(const struct cost_name *kind, const struct gpuemu_launch *l,
		      void *const *args, struct cost_launch *ret)
{
	int32_t a[4], b[4], w[4];
	double of_a = accessor(l, args, 0, a), of_b = accessor(l, args, 1, b);
	double of_w = accessor(l, args, 2, w), element = kind->bytes ? kind->bytes : 4;
	double taps = (double)w[2] * w[3], pixels, warps = l->block[0] / WARP;

	if (!of_a || !of_b || !of_w)
		return;
	ret->bytes = element * (of_a + of_b + of_w);
	ret->read_bytes = ret->bytes - element * of_b;
	switch (kind->kernel) {
	case COST_KERNEL_DEPTHWISE:
		ret->instructions = of_b * (100 + 18 * taps);
		break;
	case COST_KERNEL_DEPTHWISE_GRADIENT:
		ret->instructions = of_b * (250 + 28 * taps);
		break;
	default:
		pixels = ceil((double)a[2] * a[3] / WARP);
		ret->read_bytes = ret->bytes;
		ret->instructions = 33 * taps * a[0] * a[1] * pixels * WARP;
		ret->steps = ceil(a[0] / fmax(1, warps)) * ceil(pixels / UNROLLED);
		/* Blocks of the same channel read it from memory once. */
		ret->sector_bytes = (taps - 1) * 2 * of_a * element;
	}
}

void emu_torch_image_work(const struct cost_name *kind, const struct gpuemu_launch *l,
			  void *const *args, struct cost_launch *ret)
{
	if (kind->kernel >= COST_KERNEL_POOL_MEAN && kind->kernel <= COST_KERNEL_POOL_ADAPTIVE_LAST)
		mean_pool(kind, l, args, ret);
	else if (kind->class == COST_CLASS_BATCH_NORM)
		batch_norm(kind, l, args, ret);
	else if (kind->class == COST_CLASS_POOLING)
		max_pool(kind, l, args, ret);
	else
		depthwise(kind, l, args, ret);
}
