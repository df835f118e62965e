/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions as cuDNN computes them: as one matrix product whose operand is not formed (implicit
 * GEMM), or by Winograd's transformation where the filter is 3 x 3 and the stride 1: in one kernel
 * with tiles of 2 x 2, or in 36 products between two transformations, with tiles of 4 x 4. */
#include "replay/cost/kernel.h"
#include "replay/cost/product.h"

#include <math.h>

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
};

/* A gradient is a convolution too: of the data, with channels exchanged; of the filter, summed over
 * all pixels. */
static struct job job_of(const struct cost_gpu *g, const struct gpuemu_convolution *c,
			 enum gpuemu_math math, double busy_ns)
{
	int data = c->direction == GPUEMU_DATA_GRADIENT;
	const double *size = data ? c->in : c->out;
	struct job j = {.g = g,
			.math = math,
			.busy_ns = busy_ns,
			.element = c->element_bytes ? c->element_bytes : cost_element_bytes(math),
			.images = c->batch * size[0],
			.groups = c->groups,
			.height = size[1],
			.width = size[2],
			.taps = volume(c->kernel)};

	j.in = (data ? c->out_channels : c->in_channels) / c->groups;
	j.out = (data ? c->in_channels : c->out_channels) / c->groups;
	j.pixels = j.images * j.height * j.width;
	if (data) /* with a stride, each tap meets only some of the results */
		j.taps *= volume(c->out) / volume(c->in);
	return j;
}

static struct cost implicit(const struct job *j, int filter_gradient)
{
	struct gpuemu_product p = {.m = j->pixels,
				   .n = j->out,
				   .k = j->in * j->taps,
				   .batch = j->groups,
				   .a_bytes = j->element,
				   .b_transposed = 1};
	struct cost_tiling t = {.reuse = j->taps, .efficiency = j->g->convolution_efficiency};

	if (filter_gradient) {
		p.m = j->in * j->taps;
		p.k = j->pixels;
	}
	return cost_of_tiled_product(j->g, &p, j->math, j->busy_ns, &t);
}

/* A kernel before the others transforms the filters: numbers read and written for each. */
static double filters_ns(const struct job *j, double numbers)
{
	double bytes = j->groups * j->in * j->out * numbers * j->element;

	return j->g->kernel_ns + j->g->gap_ns +
	       j->g->winograd_filter * cost_stream_ns(j->g, bytes, 9 / numbers);
}

/* A block computes 4 x 8 tiles of 2 x 2 for 32 channels of the result: as many multiplications as
 * for 128 x 128 of a product. */
static struct cost winograd_fused(const struct job *j)
{
	struct gpuemu_product p = {.m = 128 * ceil(j->height / 8) * ceil(j->width / 16),
				   .n = 128 * ceil(j->out / 32),
				   .k = j->in,
				   .batch = j->images * j->groups,
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
	double tiles = j->images * ceil(j->height / 4) * ceil(j->width / 4);
	double plain = j->pixels * (j->in + j->out), transformed = 36 * tiles * (j->in + j->out);
	struct gpuemu_product p = {.m = tiles,
				   .n = j->out,
				   .k = j->in,
				   .batch = 36 * j->groups,
				   .a_bytes = j->element,
				   .b_transposed = 1};
	struct cost_tiling t = {.reuse = 1, .efficiency = 1};
	struct cost c = cost_of_tiled_product(j->g, &p, j->math, j->busy_ns, &t);
	double bytes = j->groups * j->element * (plain + transformed);

	c.ns += cost_stream_ns(j->g, bytes, 0.5) * j->g->winograd_transform +
		filters_ns(j, 9 + 36) + 2 * (j->g->kernel_ns + j->g->gap_ns);
	c.bytes += bytes;
	return c;
}

struct cost cost_of_convolution(const struct cost_gpu *g, const struct gpuemu_convolution *c,
				enum gpuemu_math math, double busy_ns)
{
	struct cost_gpu cooler = *g; /* convolutions draw less power than products */
	struct job j = job_of(&cooler, c, math, busy_ns);
	struct cost best, other;
	int can_transform = math == GPUEMU_FP32 && c->kernel[0] == 1 && c->kernel[1] == 3 &&
			    c->kernel[2] == 3 && volume(c->stride) == 1 && volume(c->dilation) == 1;

	cooler.sustained_clock = g->convolution_clock;
	best = implicit(&j, c->direction == GPUEMU_FILTER_GRADIENT);
	if (can_transform) {
		other = winograd_fused(&j);
		best = other.ns < best.ns ? other : best;
		other = winograd(&j);
		best = other.ns < best.ns ? other : best;
	}
	best.class = COST_CLASS_CONVOLUTION;
	return best;
}
