/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels limited by memory: element-wise, reductions, softmax, layer norm; others by their
 * name. */
#include "replay/cost/kernel.h"

#include "replay/cost/name.h"

#include <math.h>

/* Assumed work of a thread of an unknown kernel: reads two 32-bit numbers, writes one. */
#define UNKNOWN_BYTES 12

#define BATCH_NORM_READ 0.7

/* Threads with so many registers keep a second block from the multiprocessor. */
#define BATCH_NORM_REGISTERS 128

#define WARP 32

/* The part of the cycles of a scheduler in which it issues an instruction, in kernels that no other
 * part of the GPU limits: by max pooling in a published profile of AlexNet on an A100 (Kempner
 * Institute, GPU profiling). */
#define ISSUE_EFFICIENCY 0.84

/* Bytes that a thread of a batch norm loads before it waits. */
#define VECTOR_BYTES 16

/* Number of threads whose instructions a scheduler issues in the cycles of a row of a layer
 * norm. */
#define ROW_THREADS 512

/* Share of the multiprocessors whose blocks saturate the memory. */
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
	[COST_CLASS_BATCH_NORM] = "batch norm",
	[COST_CLASS_INDEX] = "index",
	[COST_CLASS_COPY] = "copy",
	[COST_CLASS_OPTIMIZER] = "optimizer",
	[COST_CLASS_PRODUCT] = "product",
	[COST_CLASS_CONVOLUTION] = "convolution",
	[COST_CLASS_POOLING] = "pooling",
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

static double cache_rate(const struct cost_gpu *g)
{
	return fmax(g->memory_bytes_per_s * g->memory_efficiency,
		    g->cache_bytes_per_cycle * g->sms * g->clock_khz * 1e3);
}

/* Returns the time of `bytes` bytes at `held` addresses, of which read_part is read and the rest
 * written. */
static double stream_ns(const struct cost_gpu *g, double bytes, double held, double read_part,
			double blocks)
{
	double hits = cost_cache_hits(g, held);
	double saturated = fmin(1, blocks / g->sms / SATURATING_PART);

	return 1e9 * bytes * (hits / cache_rate(g) + (1 - hits) / cost_memory_rate(g, read_part)) /
	       saturated;
}

double cost_stream_ns(const struct cost_gpu *g, double bytes, double read_part)
{
	return stream_ns(g, bytes, bytes, read_part, g->sms);
}

struct cost cost_of_bytes(const struct cost_gpu *g, enum cost_class class, enum cost_source source,
			  double ns, double bytes)
{
	double sustained = g->memory_bytes_per_s * g->memory_efficiency;

	return (struct cost){.ns = ns,
			     .class = class,
			     .source = source,
			     .bytes = bytes,
			     .memory = fmin(1, 1e9 * bytes / ns / sustained)};
}

/* At least the time at the memory's peak, for bytes that cannot be in the cache: of `bytes` at
 * `held` addresses. */
static struct cost memory_cost(const struct cost_gpu *g, enum cost_class class,
			       enum cost_source source, double ns, double bytes, double held)
{
	double missed = held > g->l2_bytes ? bytes * (1 - g->l2_bytes / held) : 0;

	ns = g->kernel_ns + fmax(ns, 1e9 * missed / g->memory_bytes_per_s);
	return cost_of_bytes(g, class, source, ns, bytes);
}

static double held_of(const struct cost_launch *l)
{
	return l->held_bytes > 0 ? l->held_bytes : l->bytes;
}

double cost_load_ns(const struct cost_gpu *g, double hits)
{
	return 1e6 * g->load_cycles / g->clock_khz + (1 - hits) * g->load_ns;
}

/* Returns the larger of two times that overlap; more if both are similar, the less, the larger
 * `norm` is. */
static double norm_of(double a, double b, double norm)
{
	return pow(pow(a, norm) + pow(b, norm), 1 / norm);
}

/* Blocks run in waves. Those of a wave share the memory; each of the loads that a thread waits for
 * takes the memory's latency, however few blocks are left. */
static double waves_ns(const struct cost_gpu *g, const struct cost_launch *l, double stream)
{
	double blocks = product_of(l->grid);
	double load_ns = cost_load_ns(g, cost_cache_hits(g, held_of(l)));
	double held = cost_occupancy(g, product_of(l->block), l->registers, l->shared_bytes);
	double slots = g->sms * fmax(1, held), full = floor(blocks / slots);
	double rest = blocks - full * slots, waits_ns = l->steps * load_ns;
	double ns = l->final_steps * cost_load_ns(g, 1);

	ns += full * (norm_of(stream * slots / blocks, waits_ns, g->row_norm) + load_ns);
	if (rest > 0)
		ns += norm_of(stream * rest / blocks, waits_ns, g->row_norm) + load_ns;
	return ns;
}

/* Schedulers of a multiprocessor, which issue instructions of warps. */
static double schedulers_of(const struct cost_gpu *g)
{
	return g->compute < 7 ? 2 : 4;
}

static double issue_ns(const struct cost_gpu *g, double instructions)
{
	double lanes = WARP * schedulers_of(g);

	return 1e6 * instructions / (ISSUE_EFFICIENCY * lanes * g->sms * g->clock_khz);
}

/* The time of the work of a launch, of which `bytes` are known. */
static double work_ns(const struct cost_gpu *g, const struct cost_launch *l, double read_part)
{
	double blocks = product_of(l->grid);
	double part = l->read_bytes > 0 ? l->read_bytes / l->bytes : read_part;
	double ns = stream_ns(g, l->bytes, held_of(l), part, l->steps > 0 ? g->sms : blocks);

	ns += 1e9 * l->sector_bytes / cache_rate(g);
	if (l->steps > 0)
		ns = waves_ns(g, l, ns);
	if (l->operations > 0)
		ns = fmax(ns, 1e9 * l->operations /
				      (cost_peak(g, l->math) * g->math_efficiency *
				       fmin(1, blocks / g->sms)));
	return fmax(ns, issue_ns(g, l->instructions));
}

static struct cost elementwise(const struct cost_gpu *g, struct cost_launch l,
			       const struct cost_name *n)
{
	double blocks = product_of(l.grid);
	double elements = l.elements ? l.elements : blocks * product_of(l.block) * n->items;
	double arrays = n->arrays ? n->arrays : 2, ns;
	int known = n->arrays || l.bytes;

	if (!l.bytes) {
		l.bytes = elements * arrays * (n->bytes ? n->bytes : 4);
		l.read_bytes = l.bytes * (arrays - 1) / arrays;
	}
	l.operations += 2 * n->instructions * elements;
	ns = work_ns(g, &l, 0);
	if (n->kernel == COST_KERNEL_STRIDED)
		ns = fmax(ns, 1e6 * elements / (g->indexed_elements * g->sms * g->clock_khz));
	return memory_cost(g, n->class, known ? COST_MEASURED : COST_ROOFLINE, ns, l.bytes,
			   held_of(&l));
}

/* Returns the norm of the memory time and the time of the waves of blocks, each of which takes some
 * cycles. */
static double rows_ns(const struct cost_gpu *g, double memory_ns, double waves, double cycles,
		      double norm)
{
	double latency_ns = fmax(1, waves) * cycles / (g->clock_khz * 1e-6);

	return norm_of(memory_ns, latency_ns, norm);
}

/* Returns the time to read current rows again, `held` of them on a multiprocessor: from its L1
 * cache, else from the L2 cache, else from memory. */
static double reread_ns(const struct cost_gpu *g, double bytes, double held, double row_bytes)
{
	double all = held * row_bytes;
	double beyond_l1 = fmin(1, fmax(0, 1 - g->l1_share * g->shared_per_sm / all));
	double beyond_l2 = fmin(1, fmax(0, 1 - g->l2_share * g->l2_bytes / (g->sms * all)));
	double memory = g->memory_bytes_per_s * g->memory_efficiency;

	return 1e9 * bytes * beyond_l1 * (beyond_l2 / memory + (1 - beyond_l2) / cache_rate(g));
}

/* Returns the cycles of a block that reads a row in vectors of four. */
static double row_cycles(double fixed, double item, double row, double threads)
{
	return fixed + item * ceil(row / (4 * threads));
}

/* Rows of unknown length. */
static struct cost unknown_rows(const struct cost_gpu *g, const struct cost_launch *l,
				const struct cost_name *n)
{
	double blocks = product_of(l->grid), bytes = blocks * product_of(l->block) * UNKNOWN_BYTES;

	return memory_cost(g, n->class, COST_UNKNOWN, stream_ns(g, bytes, bytes, 0.5, blocks),
			   bytes, bytes);
}

static struct cost softmax(const struct cost_gpu *g, const struct cost_launch *l,
			   const struct cost_name *n)
{
	double blocks = product_of(l->grid), threads = product_of(l->block);
	double element = n->bytes ? n->bytes : 4, row = l->columns;
	double rows = l->elements && row ? l->elements / row : blocks;
	double arrays = n->arrays ? n->arrays : 2, bytes = arrays * rows * row * element;
	double stream = stream_ns(g, bytes, bytes, (arrays - 1) / arrays, blocks), ns;

	if (!row)
		return unknown_rows(g, l, n);
	if (n->persistent) {
		double items = exp2(ceil(log2(row))) / 32;

		ns = rows_ns(g, stream / g->warp_efficiency, blocks / g->sms / 8,
			     g->warp_cycles + g->warp_item_cycles * items, g->row_norm);
	} else {
		double held = fmax(1, cost_occupancy(g, threads, l->registers, l->shared_bytes));
		double cycles = row_cycles(g->block_cycles, g->block_item_cycles, row, threads);

		/* The row is read for its maximum, its sum and its result, or only once; for
		 * gradients, for its sum and its result. */
		if (n->reads_once)
			cycles = row_cycles(g->block_cycles * 2 / 3, g->block_item_cycles / 3, row,
					    threads);
		else
			stream += g->block_reread *
				  reread_ns(g, (arrays == 2 ? 2 : 1) * rows * row * element, held,
					    row * element);
		ns = rows_ns(g, stream, ceil(blocks / g->sms / held), cycles, g->row_norm);
	}
	return memory_cost(g, n->class, COST_MEASURED, ns, bytes, bytes);
}

static struct cost layer_norm(const struct cost_gpu *g, const struct cost_launch *l,
			      const struct cost_name *n)
{
	double blocks = product_of(l->grid), threads = product_of(l->block), row = l->columns;
	double arrays = n->arrays ? n->arrays : 2;
	double element = n->bytes ? n->bytes : 4, bytes = arrays * blocks * row * element;

	if (!row)
		return unknown_rows(g, l, n);
	double held = fmax(1, fmin(16, cost_occupancy(g, threads, l->registers, l->shared_bytes)));
	double cycles = row_cycles(g->layer_norm_cycles, g->layer_norm_item_cycles, row, threads);
	double stream = stream_ns(g, bytes, bytes, (arrays - 1) / arrays, blocks) +
			g->layer_norm_reread * reread_ns(g, bytes / 2, held, row * element);
	double waves = blocks * threads / (ROW_THREADS * schedulers_of(g) * g->sms);

	return memory_cost(g, n->class, COST_MEASURED,
			   rows_ns(g, stream, waves, cycles, g->layer_norm_norm), bytes, bytes);
}

static struct cost cost_of_other(const struct cost_gpu *g, struct cost_launch l,
				 const struct cost_name *n)
{
	double read = n->class == COST_CLASS_REDUCTION	 ? 1
		      : n->class == COST_CLASS_OPTIMIZER ? 0.6
							 : 0.5;
	int known = l.bytes > 0;

	if (!known)
		l.bytes = product_of(l.grid) * product_of(l.block) * UNKNOWN_BYTES;
	return memory_cost(g, n->class, known ? COST_ROOFLINE : COST_UNKNOWN, work_ns(g, &l, read),
			   l.bytes, held_of(&l));
}

/* In training, with the channels first: a block reads a channel for its statistics, and again for
 * its result. Forward, two of three arrays are read; backward, four of five. */
static struct cost batch_norm(const struct cost_gpu *g, struct cost_launch l,
			      const struct cost_name *n)
{
	double threads = product_of(l.grid) * product_of(l.block);

	l.registers = fmax(l.registers, BATCH_NORM_REGISTERS);
	l.read_bytes = BATCH_NORM_READ * l.bytes;
	l.steps = ceil(l.read_bytes / threads / VECTOR_BYTES);
	return cost_of_other(g, l, n);
}

struct cost cost_of_kernel(const struct cost_gpu *g, const struct cost_launch *l)
{
	struct cost_name n = l->parsed ? *l->parsed : cost_name_of(l->name ? l->name : "");

	if (l->bytes > 0 && n.class == COST_CLASS_BATCH_NORM)
		return batch_norm(g, *l, &n);
	if (l->bytes > 0 && n.class != COST_CLASS_ELEMENTWISE)
		return cost_of_other(g, *l, &n);
	switch (n.class) {
	case COST_CLASS_ELEMENTWISE:
		return elementwise(g, *l, &n);
	case COST_CLASS_SOFTMAX:
		return softmax(g, l, &n);
	case COST_CLASS_LAYER_NORM:
		return layer_norm(g, l, &n);
	default:
		return cost_of_other(g, *l, &n);
	}
}
