/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions as cuDNN computes them: as one matrix product without forming its operand (implicit
 * GEMM), or by Winograd's transformation where the filter is 3 x 3 and the stride 1. */
#include "replay/cost/kernel.h"
#include "replay/cost/product.h"

#include <math.h>

static double volume(const double v[3])
{
	return v[0] * v[1] * v[2];
}

/* The product that the convolution is; `groups` of them. */
static struct gpuemu_product as_product(const struct gpuemu_convolution *c)
{
	double pixels = c->batch * volume(c->out), taps = volume(c->kernel);
	double in = c->in_channels / c->groups, out = c->out_channels / c->groups;
	struct gpuemu_product p = {
		.batch = c->groups, .a_bytes = c->element_bytes, .b_transposed = 1};

	p.m = c->direction == GPUEMU_DATA_GRADIENT ? c->batch * volume(c->in) : pixels;
	p.n = c->direction == GPUEMU_DATA_GRADIENT ? in : out;
	p.k = c->direction == GPUEMU_DATA_GRADIENT ? out * taps * pixels / p.m : in * taps;
	if (c->direction == GPUEMU_FILTER_GRADIENT) {
		p.m = in * taps;
		p.k = pixels;
	}
	return p;
}

struct cost cost_of_convolution(const struct cost_gpu *g, const struct gpuemu_convolution *c,
				enum gpuemu_math math, double busy_ns)
{
	struct gpuemu_product p = as_product(c);
	struct cost best = cost_of_product(g, &p, math, busy_ns);

	best.class = COST_CLASS_CONVOLUTION;
	return best;
}
