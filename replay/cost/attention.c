/* SPDX-License-Identifier: Apache-2.0 */

/* Attention in one kernel, which keeps the scores on the multiprocessor: a block computes 128
 * queries of a head, over all keys. Products and exponentials of a tile are sequential. */
#include "replay/cost/kernel.h"
#include "replay/cost/product.h"

#include <math.h>

#define TILE 128

/* Exponentials per cycle of a multiprocessor, from Pascal to Blackwell. */
#define EXPONENTIALS 16

/* The gradient of softmax, in exponentials: from published rates of FlashAttention 2 and 3 and
 * cuDNN. */
#define BACKWARD 3

/* A block begins by loading queries and keys, and ends by storing its result, with nothing else to
 * do: latencies of loads. Short sequences are slower by them. */
#define BLOCK_LOADS 4

/* With few queries, several blocks share the keys of a head; minimum number of keys of a block. */
#define PART_KEYS 256

/* The part of the peak that PyTorch's memory-efficient kernels reach, forward and backward: by a
 * published profile of them on an RTX 5060 Ti (candle-fused-attn, devlog FA1 and FA5). They compute
 * FP32 as three products of TF32. */
static const double small_tiles_part[] = {0.42, 0.24};

/* Operations per second. */
static double rate_of(const struct cost_gpu *g, const struct cost_attention *a,
		      enum gpuemu_math math)
{
	double rate = cost_peak(g, math);

	if (a->by_warps)
		rate *= cost_warp_part(g);
	if (!a->small_tiles)
		return rate * g->math_efficiency;
	return rate * small_tiles_part[a->backward] / (math == GPUEMU_TF32 ? 3 : 1);
}

static double blocks_of(const struct cost_gpu *g, const struct gpuemu_product *p, int backward)
{
	double rows = backward ? p->m : p->n;
	double blocks = p->batch * ceil(rows / TILE);

	if (!backward && p->n <= TILE && blocks < g->sms)
		blocks *= fmax(1, fmin(floor(g->sms / blocks), ceil(p->m / PART_KEYS)));
	return blocks;
}

struct cost cost_of_attention(const struct cost_gpu *g, const struct cost_attention *a,
			      enum gpuemu_math math)
{
	const struct gpuemu_product *p = &a->scores;
	int backward = a->backward;

	math = cost_math_on(g, math);

	double element = cost_element_bytes(math);
	/* The tiles on the diagonal are computed as a whole. */
	double keys = a->causal ? fmin(p->m, p->m - fmin(p->m, p->n) / 2 + TILE / 2) : p->m;
	double pairs = p->batch * p->n * keys;
	double operations = (backward ? 5 : 2) * 2 * pairs * p->k;
	/* Read: queries, keys, values; backward also the result and its gradient. Written: the
	 * result, or three gradients. */
	double bytes =
		element * p->batch * p->k * (backward ? 4 * (p->n + p->m) : 2 * (p->n + p->m));
	double waves = blocks_of(g, p, backward) / g->sms;
	double busy_s =
		operations / rate_of(g, a, math) +
		(backward ? BACKWARD : 1) * pairs / (EXPONENTIALS * g->sms * g->clock_khz * 1e3);
	if (!a->small_tiles)
		busy_s += waves * (backward ? BACKWARD : 1) * BLOCK_LOADS * cost_load_ns(g, 0.5) /
			  1e9;
	/* Blocks with few keys fill the gaps of a causal mask's last wave. */
	double slots = a->causal ? fmax(1, waves) : ceil(waves);
	double ns = fmax(1e9 * busy_s * slots / waves, cost_stream_ns(g, bytes, 0.6));

	return cost_of_bytes(g, COST_CLASS_ATTENTION, COST_ROOFLINE, g->kernel_ns + ns, bytes);
}
