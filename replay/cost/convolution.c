/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions as cuDNN computes them: as one matrix product whose operand is not stored (implicit
 * GEMM), or by Winograd's transformation if the filter is 3 x 3 and the stride 1: in one kernel
 * with tiles of 2 x 2, or in 36 products between two transformations, with tiles of 4 x 4. With few
 * channels in a group, tiles of a product are mostly padding, and a thread for each result is
 * faster. */
#include "replay/cost/kernel.h"
#include "replay/cost/product.h"

#include <math.h>

/* The share of the FP32 peak that a thread for each result reaches: it reads an operand from the L1
 * cache for each multiplication, and the cache delivers half as many as there are FP32 lanes. */
#define DIRECT_EFFICIENCY 0.25

/* Number of parts of the sum over all pixels of a filter gradient, which has few results: enough to
 * fill any GPU. */
#define MOST_PARTS 1024

/* Winograd in 36 products pads the batch to a multiple of this. */
#define IMAGES 16

/* Kernels for tensor cores use rows of shared memory: the channels of one tap at one pixel. Hopper
 * has longer rows if the sum is over channels. */
#define ROW_BYTES 64
#define HOPPER_ROW_BYTES 128

/* The part of a stream's rate that kernels reach which change the order of channels. Chosen after
 * the times of an H200 had been seen. */
#define REORDER_PART 0.85

/* The sum of a filter gradient is over pixels, of which neighbours are far apart. Instructions that
 * transpose while they load (ldmatrix, wgmma) have no form for elements of 4 bytes: TF32 reaches
 * this part of the rate of other convolutions in a published profile of AlexNet on an A100 (Kempner
 * Institute, GPU profiling), and from Hopper on needs the instructions of one warp. */
#define TRANSPOSED_PART 0.8

/* cuDNN's FP32 kernels in machine code are for GPUs up to compute capability 8.9, among them
 * Winograd's in one kernel. Later GPUs use compiled kernels (sm80_xmma_fprop_implicit_gemm...ffma):
 * the parts of the other kernels' rates that they reach, the steps of k that they load first, and
 * the multiple to which they pad channels, were chosen after the times of an H200 had been seen
 * (doc/durations.md). Their heuristics use products, not Winograd, for images of less than
 * WINOGRAD_PIXELS, and forward for less than WINOGRAD_CHANNELS. */
#define COMPILED_PART 0.88
#define COMPILED_DATA_PART 0.62 /* 1 x 1 */
#define COMPILED_FILTER_PART 0.5
#define COMPILED_PROLOGUE 32
#define COMPILED_CHANNELS 4
#define WINOGRAD_PIXELS 64
#define WINOGRAD_CHANNELS 128

static double volume(const double v[3])
{
	return v[0] * v[1] * v[2];
}

struct job {
	const struct cost_gpu *g;
	enum gpuemu_math math;
	double busy_ns, element;
	double images, groups, in, out; /* channels of a group */
	double height, width, pixels;	/* of the result */
	double taps;
	double operations, bytes; /* bytes of the operands and the result */
	double reordered;	  /* size of tensors that must be transposed to channels-last */
	double filled;		  /* bytes of a result that is zero where no tap reaches it */
	enum gpuemu_direction direction;
};

static int is_filter_gradient(const struct job *j)
{
	return j->direction == GPUEMU_FILTER_GRADIENT;
}

static int is_compiled(const struct job *j)
{
	return j->g->compute >= 9 && !cost_uses_tensor(j->g, j->math);
}

/* With a stride, a gradient of the data falls into one product for each remainder of a position
 * divided by the stride; each has a part of the taps. A remainder without taps is zero: another
 * kernel fills the result before. */
static void divide_by_stride(struct job *j, double stride)
{
	double parts = fmin(j->taps, stride);

	if (parts < stride) {
		j->filled = j->element * j->pixels * j->out * j->groups;
		j->bytes -= j->filled * (1 - parts / stride);
	}
	j->pixels *= parts / stride;
	j->taps /= parts;
}

/* A gradient is also a convolution: of the data, with exchanged channels; of the filter, summed
 * over all pixels. */
static struct job job_of(const struct cost_gpu *g, const struct gpuemu_convolution *c,
			 enum gpuemu_math math, double busy_ns)
{
	int data = c->direction == GPUEMU_DATA_GRADIENT;
	const double *size = data ? c->in : c->out;
	double filters = c->in_channels * c->out_channels / c->groups * volume(c->kernel);
	struct job j = {.g = g,
			.math = math,
			.busy_ns = busy_ns,
			.element = c->element_bytes ? c->element_bytes : cost_element_bytes(math),
			.images = c->batch * size[0],
			.groups = c->groups,
			.height = size[1],
			.width = size[2],
			.taps = volume(c->kernel),
			.operations = 2 * c->batch * volume(c->out) * filters,
			.direction = c->direction};

	j.in = (data ? c->out_channels : c->in_channels) / c->groups;
	j.out = (data ? c->in_channels : c->out_channels) / c->groups;
	j.pixels = j.images * j.height * j.width;
	/* A stride longer than the filter skips a part of the input. */
	j.bytes = j.element * (c->batch * c->in_channels * volume(c->in) *
				       (data ? 1 : fmin(1, j.taps / volume(c->stride))) +
			       c->batch * c->out_channels * volume(c->out) + filters);
	/* Without taps and steps, a convolution is a product of transposed matrices, if the rows of
	 * pixels begin at vectors. */
	if (!c->channels_last && (j.taps > 1 || volume(c->stride) > 1 ||
				  fmod(j.height * j.width * j.element, COST_VECTOR_BYTES) != 0))
		j.reordered = j.element * (c->batch * c->in_channels * volume(c->in) +
					   c->batch * c->out_channels * volume(c->out) + filters);
	if (data)
		divide_by_stride(&j, volume(c->stride));
	return j;
}

/* Kernels before and after the convolution convert all three tensors to channels-last and back. */
static void reorder(const struct job *j, struct cost *c)
{
	double bytes = 2 * j->reordered;

	c->ns += cost_stream_ns(j->g, bytes, 0.5) / REORDER_PART +
		 3 * (j->g->kernel_ns + j->g->gap_ns);
	c->bytes += bytes;
}

/* The number of channels with padding. Without taps, padding only completes vectors. */
static double padded(const struct job *j, double channels)
{
	if (is_compiled(j))
		return ceil(channels / COMPILED_CHANNELS) * COMPILED_CHANNELS;
	double row = j->g->compute >= 9 && !is_filter_gradient(j) ? HOPPER_ROW_BYTES : ROW_BYTES;
	double step = (j->taps == 1 ? COST_VECTOR_BYTES : row) / j->element;

	return cost_uses_tensor(j->g, j->math) ? ceil(channels / step) * step : channels;
}

/* Returns the share of a tile's peak rate that is reached. Without tensor cores, it was measured;
 * with tensor cores it is 1, except if operands of TF32 must be transposed. */
static double efficiency_of(const struct job *j)
{
	if (is_compiled(j))
		return is_filter_gradient(j)				      ? COMPILED_FILTER_PART
		       : j->direction == GPUEMU_DATA_GRADIENT && j->taps == 1 ? COMPILED_DATA_PART
									      : COMPILED_PART;
	if (!cost_uses_tensor(j->g, j->math))
		return j->g->convolution_efficiency;
	/* Few channels are loaded one by one in any case. */
	if (j->math != GPUEMU_TF32 || !is_filter_gradient(j) || padded(j, j->in) > j->in)
		return 1;
	return TRANSPOSED_PART * cost_warp_part(j->g);
}

static struct cost implicit(const struct job *j)
{
	double in = padded(j, j->in);
	struct gpuemu_product p = {.m = j->pixels,
				   .n = j->out,
				   .k = in * j->taps,
				   .batch = j->groups,
				   .a_bytes = j->element,
				   .b_transposed = 1};
	struct cost_tiling t = {.tiles = COST_TILES_IMPLICIT,
				.most_splits = j->math == GPUEMU_FP32,
				.reuse = j->taps,
				.filled = j->in / in,
				.efficiency = efficiency_of(j),
				.prologue = is_compiled(j) ? COMPILED_PROLOGUE : 0};
	struct cost c;

	if (is_filter_gradient(j)) {
		p.m = in * j->taps;
		p.k = j->pixels;
		t.most_splits = MOST_PARTS;
	}
	c = cost_of_tiled_product(j->g, &p, j->math, j->busy_ns, &t);
	c.ns = fmax(c.ns, 1e9 * j->operations / cost_peak(j->g, j->math));
	if (cost_uses_tensor(j->g, j->math) && j->reordered > 0)
		reorder(j, &c);
	if (j->filled > 0) {
		c.ns += cost_stream_ns(j->g, j->filled, 0) + j->g->kernel_ns + j->g->gap_ns;
		c.bytes += j->filled;
	}
	return c;
}

static struct cost direct_cost(const struct job *j)
{
	const struct cost_gpu *g = j->g;
	enum gpuemu_math math = j->math == GPUEMU_FP64 ? GPUEMU_FP64 : GPUEMU_FP32;
	double math_ns = 1e9 * j->operations / (cost_peak(g, math) * DIRECT_EFFICIENCY);
	double ns = g->kernel_ns + fmax(math_ns, cost_stream_ns(g, j->bytes, 0.5));

	return (struct cost){.ns = ns, .source = COST_ROOFLINE, .bytes = j->bytes};
}

/* A kernel before the others transforms the filters: numbers read and written for each. */
static double filters_ns(const struct job *j, double numbers)
{
	double bytes = j->groups * j->in * j->out * numbers * j->element;

	return j->g->kernel_ns + j->g->gap_ns +
	       j->g->winograd_filter * cost_stream_ns(j->g, bytes, 9 / numbers);
}

/* Returns the minimum number of blocks of 32 tiles of 2 x 2. Kernels of Volta and later arrange the
 * tiles as 4 x 8 of one image; older kernels also have smaller rectangles of several images. */
static double tile_blocks(const struct job *j)
{
	static const double forms[][3] = {{1, 4, 8}, {2, 2, 8}, {2, 4, 4},
					  {4, 1, 8}, {4, 2, 4}, {4, 4, 2}};
	double fewest = INFINITY;

	for (int i = 0; i < (j->g->compute < 7 ? 6 : 1); i++)
		fewest = fmin(fewest, ceil(j->images / forms[i][0]) *
					      ceil(j->height / 2 / forms[i][1]) *
					      ceil(j->width / 2 / forms[i][2]));
	return fewest;
}

/* A block computes 32 tiles for 32 channels of the result: as many multiplications as for 128 x 128
 * of a product. */
static struct cost winograd_fused(const struct job *j)
{
	struct gpuemu_product p = {.m = 128 * tile_blocks(j),
				   .n = 128 * ceil(j->out / 32),
				   .k = j->in,
				   .batch = j->groups,
				   .a_bytes = j->element,
				   .b_transposed = 1};
	struct cost_tiling t = {.m = 128,
				.n = 128,
				.splits = 1,
				.reuse = 1,
				.efficiency = j->g->winograd_efficiency};

	struct cost c = cost_of_tiled_product(j->g, &p, j->math, j->busy_ns, &t);

	c.ns += filters_ns(j, 9 + 16);
	return c;
}

static struct cost winograd(const struct job *j)
{
	double tiles = ceil(j->images / IMAGES) * IMAGES * ceil(j->height / 4) * ceil(j->width / 4);
	double plain = j->pixels * (j->in + j->out), transformed = 36 * tiles * (j->in + j->out);
	struct gpuemu_product p = {.m = tiles,
				   .n = j->out,
				   .k = j->in,
				   .batch = 36 * j->groups,
				   .a_bytes = j->element,
				   .b_transposed = 1};
	struct cost_tiling t = {.tiles = COST_TILES_WINOGRAD,
				.reuse = 1,
				.efficiency = is_compiled(j) ? COMPILED_PART : 1};

	if (is_filter_gradient(j)) {
		p.m = j->in;
		p.k = tiles;
	}
	struct cost c = cost_of_tiled_product(j->g, &p, j->math, j->busy_ns, &t);
	double bytes = j->groups * j->element * (plain + transformed);

	c.ns += cost_stream_ns(j->g, bytes, 0.5) * j->g->winograd_transform +
		filters_ns(j, 9 + 36) + 2 * (j->g->kernel_ns + j->g->gap_ns);
	c.bytes += bytes;
	return c;
}

static struct cost faster_of(struct cost a, struct cost b)
{
	return b.ns < a.ns ? b : a;
}

static struct cost (*const algorithms[COST_ALGORITHMS])(const struct job *) = {
	[COST_IMPLICIT] = implicit,
	[COST_DIRECT] = direct_cost,
	[COST_WINOGRAD_FUSED] = winograd_fused,
	[COST_WINOGRAD] = winograd,
};

static int is_used(const struct job *j, const struct gpuemu_convolution *c,
		   enum cost_algorithm algorithm)
{
	int transforms = j->math == GPUEMU_FP32 && c->kernel[0] == 1 && c->kernel[1] == 3 &&
			 c->kernel[2] == 3 && volume(c->stride) == 1 && volume(c->dilation) == 1;

	switch (algorithm) {
	case COST_DIRECT:
		return c->groups > 1 || c->direction != GPUEMU_FORWARD;
	case COST_WINOGRAD_FUSED:
		return transforms && !is_filter_gradient(j) && !is_compiled(j);
	case COST_WINOGRAD:
		return transforms && (!is_compiled(j) || is_filter_gradient(j) ||
				      (j->height * j->width >= WINOGRAD_PIXELS &&
				       (c->direction != GPUEMU_FORWARD ||
					fmin(j->in, j->out) >= WINOGRAD_CHANNELS)));
	default:
		return 1;
	}
}

struct cost cost_of_convolution_by(const struct cost_gpu *g, const struct gpuemu_convolution *c,
				   enum gpuemu_math math, double busy_ns,
				   enum cost_algorithm algorithm)
{
	struct cost_gpu cooler = *g; /* convolutions take less power than products */
	struct job j = job_of(&cooler, c, cost_math_on(g, math), busy_ns);
	struct cost best = {.ns = INFINITY};

	cooler.sustained_clock = sqrt(g->sustained_clock);
	for (int i = 0; i < COST_ALGORITHMS; i++)
		if (algorithm == COST_ALGORITHMS ? is_used(&j, c, i) : (int)algorithm == i)
			best = faster_of(best, algorithms[i](&j));
	best.class = COST_CLASS_CONVOLUTION;
	best.ns = fmax(best.ns, g->kernel_ns + cost_stream_ns(g, fmax(best.bytes, j.bytes), 0.5));
	return best;
}

/* Kernels without tensor cores need no other order of channels. */
struct cost cost_of_convolution(const struct cost_gpu *g, const struct gpuemu_convolution *c,
				enum gpuemu_math math, double busy_ns)
{
	struct cost best = cost_of_convolution_by(g, c, math, busy_ns, COST_ALGORITHMS);
	struct gpuemu_convolution plain = *c;

	if ((math != GPUEMU_FP16 && math != GPUEMU_TF32) || c->channels_last)
		return best;
	plain.element_bytes = c->element_bytes ? c->element_bytes : cost_element_bytes(math);
	return faster_of(best,
			 cost_of_convolution_by(g, &plain, GPUEMU_FP32, busy_ns, COST_ALGORITHMS));
}
