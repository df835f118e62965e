/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that memory limits: element-wise, reductions, softmax, layer norm; and others by their
 * name. */
#include "replay/cost/kernel.h"

#include "replay/cost/name.h"
#include "replay/cost/product.h"

#include <math.h>

/* Assumed work of a thread of an unknown kernel: two 32-bit numbers read, one written. */
#define UNKNOWN_BYTES 12

/* Blocks on this part of the multiprocessors saturate the memory. */
#define SATURATING_PART 0.25

const char *const cost_source_names[COST_SOURCES] = {
	[COST_RECORDED] = "recorded",
	[COST_MEASURED] = "measured class",
	[COST_ROOFLINE] = "roofline",
	[COST_UNKNOWN] = "unknown",
};

const char *const cost_class_names[COST_CLASSES] = {
	[COST_CLASS_UNKNOWN] = "unknown",
	[COST_CLASS_ELEMENTWISE] = "element-wise",
	[COST_CLASS_REDUCTION] = "reduction",
	[COST_CLASS_SOFTMAX] = "softmax",
	[COST_CLASS_LAYER_NORM] = "layer norm",
	[COST_CLASS_INDEX] = "index",
	[COST_CLASS_COPY] = "copy",
	[COST_CLASS_OPTIMIZER] = "optimizer",
	[COST_CLASS_PRODUCT] = "product",
	[COST_CLASS_CONVOLUTION] = "convolution",
	[COST_CLASS_ATTENTION] = "attention",
};

double cost_peak(const struct cost_gpu *g, enum gpuemu_math math)
{
	const double peaks[GPUEMU_MATHS] = {
		[GPUEMU_FP32] = g->fp32, [GPUEMU_FP64] = g->fp64, [GPUEMU_TF32] = g->tf32,
		[GPUEMU_FP16] = g->fp16, [GPUEMU_FP8] = g->fp8,	  [GPUEMU_INT8] = g->int8};

	return peaks[math];
}

int cost_occupancy(const struct cost_gpu *g, double block_threads, double registers,
		   double shared_bytes)
{
	double warps = ceil(block_threads / 32);
	double blocks = fmin(g->blocks_per_sm, floor(g->threads_per_sm / 32 / warps));

	if (registers > 0)
		blocks = fmin(blocks, floor(g->registers_per_sm / (registers * 32 * warps)));
	if (shared_bytes > 0)
		blocks = fmin(blocks, floor(g->shared_per_sm / shared_bytes));
	return (int)blocks;
}

static double product_of(const uint32_t v[3])
{
	return (double)v[0] * v[1] * v[2];
}

/* Time of `bytes` that are read (a part of them) and written once. Data that fit in the L2 cache
 * come from there, since the operation before left them there. */
static double stream_ns(const struct cost_gpu *g, double bytes, double read_part, double blocks)
{
	double memory = g->memory_bytes_per_s * g->memory_efficiency *
			(1 - g->write_penalty * (2.0 / 3 - read_part));
	double cache = fmax(memory, g->cache_bytes_per_cycle * g->sms * g->clock_khz * 1e3);
	double used = bytes / g->l2_bytes;
	double hits = (g->cache_end - used) / (g->cache_end - g->cache_begin);
	double saturated = fmin(1, blocks / g->sms / SATURATING_PART);

	hits = fmin(1, fmax(0, hits));
	return 1e9 * bytes * (hits / cache + (1 - hits) / memory) / saturated;
}

double cost_stream_ns(const struct cost_gpu *g, double bytes, double read_part)
{
	return stream_ns(g, bytes, read_part, g->sms);
}

/* Never less than the memory's peak allows, for what cannot be in the cache. */
static struct cost memory_cost(const struct cost_gpu *g, enum cost_class class,
			       enum cost_source source, double ns, double bytes)
{
	ns = g->kernel_ns + fmax(ns, 1e9 * fmax(0, bytes - g->l2_bytes) / g->memory_bytes_per_s);
	return (struct cost){
		.ns = ns,
		.class = class,
		.source = source,
		.bytes = bytes,
		.memory =
			fmin(1, 1e9 * bytes / ns / (g->memory_bytes_per_s * g->memory_efficiency))};
}

static struct cost elementwise(const struct cost_gpu *g, const struct cost_launch *l,
			       const struct cost_name *n)
{
	double blocks = product_of(l->grid);
	double elements = l->elements ? l->elements : blocks * product_of(l->block) * n->items;
	double arrays = n->arrays ? n->arrays : 2;
	double bytes = l->bytes ? l->bytes : elements * arrays * (n->bytes ? n->bytes : 4);

	return memory_cost(g, n->class, n->arrays || l->bytes ? COST_MEASURED : COST_ROOFLINE,
			   stream_ns(g, bytes, (arrays - 1) / arrays, blocks), bytes);
}

/* The slower of memory and of the waves of blocks, each of which takes some cycles. */
static double rows_ns(const struct cost_gpu *g, double memory_ns, double waves, double cycles)
{
	double latency_ns = fmax(1, waves) * cycles / (g->clock_khz * 1e-6);

	return pow(pow(memory_ns, g->row_norm) + pow(latency_ns, g->row_norm), 1 / g->row_norm);
}

/* Time of reading rows again that are in work, `held` of them on a multiprocessor: from its L1
 * cache, else from the L2 cache, else from memory. */
static double reread_ns(const struct cost_gpu *g, double bytes, double held, double row_bytes)
{
	double all = held * row_bytes;
	double beyond_l1 = fmin(1, fmax(0, 1 - g->l1_share * g->shared_per_sm / all));
	double beyond_l2 = fmin(1, fmax(0, 1 - g->l2_share * g->l2_bytes / (g->sms * all)));
	double memory = g->memory_bytes_per_s * g->memory_efficiency;
	double cache = fmax(memory, g->cache_bytes_per_cycle * g->sms * g->clock_khz * 1e3);

	return 1e9 * bytes * beyond_l1 * (beyond_l2 / memory + (1 - beyond_l2) / cache);
}

/* The cycles of a block that reads a row in vectors of four. */
static double row_cycles(double fixed, double item, double row, double threads)
{
	return fixed + item * ceil(row / (4 * threads));
}

static struct cost softmax(const struct cost_gpu *g, const struct cost_launch *l,
			   const struct cost_name *n)
{
	double blocks = product_of(l->grid), threads = product_of(l->block);
	double element = n->bytes ? n->bytes : 4, row = l->columns;
	double rows = l->elements && row ? l->elements / row : blocks;
	double ns, bytes = 2 * rows * row * element;

	if (!row)
		return memory_cost(g, n->class, COST_UNKNOWN,
				   stream_ns(g, blocks * threads * UNKNOWN_BYTES, 0.5, blocks),
				   blocks * threads * UNKNOWN_BYTES);
	if (n->persistent) {
		double items = exp2(ceil(log2(row))) / 32;

		ns = rows_ns(g, stream_ns(g, bytes, 0.5, blocks) / g->warp_efficiency,
			     blocks / g->sms / 8, g->warp_cycles + g->warp_item_cycles * items);
	} else {
		double held = fmax(1, cost_occupancy(g, threads, l->registers, l->shared_bytes));

		ns = rows_ns(g,
			     stream_ns(g, bytes, 0.5, blocks) +
				     g->block_reread * reread_ns(g, bytes, held, row * element),
			     blocks / g->sms / held,
			     row_cycles(g->block_cycles, g->block_item_cycles, row, threads));
	}
	return memory_cost(g, n->class, COST_MEASURED, ns, bytes);
}

static struct cost layer_norm(const struct cost_gpu *g, const struct cost_launch *l,
			      const struct cost_name *n)
{
	double blocks = product_of(l->grid), threads = product_of(l->block), row = l->columns;
	double element = n->bytes ? n->bytes : 4, bytes = 2 * blocks * row * element;

	if (!row)
		return memory_cost(g, n->class, COST_UNKNOWN,
				   stream_ns(g, blocks * threads * UNKNOWN_BYTES, 0.5, blocks),
				   blocks * threads * UNKNOWN_BYTES);
	double held = fmax(1, fmin(16, cost_occupancy(g, threads, l->registers, l->shared_bytes)));
	double ns =
		rows_ns(g,
			stream_ns(g, bytes, 0.5, blocks) +
				g->layer_norm_reread * reread_ns(g, bytes / 2, held, row * element),
			blocks / g->sms / held,
			row_cycles(g->layer_norm_cycles, g->layer_norm_item_cycles, row, threads));

	return memory_cost(g, n->class, COST_MEASURED, ns, bytes);
}

static struct cost other(const struct cost_gpu *g, const struct cost_launch *l,
			 const struct cost_name *n)
{
	double blocks = product_of(l->grid), threads = blocks * product_of(l->block);
	double bytes = l->bytes ? l->bytes : threads * UNKNOWN_BYTES;
	double read = n->class == COST_CLASS_REDUCTION	 ? 1
		      : n->class == COST_CLASS_OPTIMIZER ? 0.6
							 : 0.5;
	double ns = stream_ns(g, bytes, read, blocks);

	if (l->operations > 0)
		ns = fmax(ns, 1e9 * l->operations /
				      (cost_peak(g, l->math) * g->math_efficiency *
				       fmin(1, blocks / g->sms)));
	return memory_cost(g, n->class, l->bytes ? COST_ROOFLINE : COST_UNKNOWN, ns, bytes);
}

struct cost cost_of_kernel(const struct cost_gpu *g, const struct cost_launch *l)
{
	struct cost_name n = l->parsed ? *l->parsed : cost_name_of(l->name ? l->name : "");

	switch (n.class) {
	case COST_CLASS_ELEMENTWISE:
		return elementwise(g, l, &n);
	case COST_CLASS_SOFTMAX:
		return softmax(g, l, &n);
	case COST_CLASS_LAYER_NORM:
		return layer_norm(g, l, &n);
	default:
		return other(g, l, &n);
	}
}
