/* SPDX-License-Identifier: Apache-2.0 */

/* Recorded kernels on another GPU: the recorded duration, times the ratio of the two models. */
#include "replay/cost/name.h"
#include "replay/cost/product.h"

#include <math.h>

/* Returns the sum dimension k of a product, which its launch does not contain: the value with which
 * the recorded GPU's model yields the recorded time. */
static double depth_of(const struct cost_gpu *from, struct gpuemu_product *p, enum gpuemu_math math,
		       const struct cost_tiling *t, double recorded_ns)
{
	double low = 1, high = 1e7;

	for (int i = 0; i < 40; i++) {
		p->k = sqrt(low * high);
		if (cost_of_tiled_product(from, p, math, 0, t).ns < recorded_ns)
			low = p->k;
		else
			high = p->k;
	}
	return sqrt(low * high);
}

static struct cost product_elsewhere(const struct cost_gpu *from, const struct cost_gpu *to,
				     const struct cost_launch *l, const struct cost_name *n,
				     double recorded_ns)
{
	struct cost_tiling t = {n->tile_m, n->tile_n, n->sliced, 1};
	/* Grids are columns or rows first; the third number is the batch, or parts of k. */
	struct gpuemu_product p = {.m = l->grid[0] * (double)n->tile_m,
				   .n = l->grid[1] * (double)n->tile_n,
				   .batch = l->grid[2],
				   .a_transposed = 1};
	double shortest_ns;

	p.k = 1;
	shortest_ns = cost_of_tiled_product(from, &p, n->math, 0, &t).ns;
	if (recorded_ns <= shortest_ns)
		return (struct cost){.ns = recorded_ns * to->kernel_ns / from->kernel_ns,
				     .class = n->class,
				     .source = COST_MEASURED};
	p.k = depth_of(from, &p, n->math, &t, recorded_ns);

	/* The other GPU uses different tiles. */
	struct cost c = cost_of_product(to, &p, n->math, COST_BUSY_NS);

	c.ns *= recorded_ns / cost_of_product(from, &p, n->math, COST_BUSY_NS).ns;
	return c;
}

struct cost cost_on_other_gpu(const struct cost_gpu *from, const struct cost_gpu *to,
			      const struct cost_launch *l, double recorded_ns)
{
	struct cost_name n = l->parsed ? *l->parsed : cost_name_of(l->name ? l->name : "");
	struct cost c, was;

	if (n.class == COST_CLASS_PRODUCT && n.tile_m && l->grid[0])
		return product_elsewhere(from, to, l, &n, recorded_ns);
	if (n.class == COST_CLASS_PRODUCT || n.class == COST_CLASS_CONVOLUTION ||
	    n.class == COST_CLASS_ATTENTION) {
		double ratio = cost_peak(from, n.math) * cost_clock(from, recorded_ns) /
			       (cost_peak(to, n.math) * cost_clock(to, recorded_ns));

		return (struct cost){
			.ns = recorded_ns * ratio, .class = n.class, .source = COST_ROOFLINE};
	}
	was = cost_of_kernel(from, l);
	c = cost_of_kernel(to, l);
	if (c.source == COST_UNKNOWN)
		c.ns = from->memory_bytes_per_s * from->memory_efficiency /
		       (to->memory_bytes_per_s * to->memory_efficiency) * recorded_ns;
	else
		c.ns *= recorded_ns / was.ns;
	return c;
}
