/* SPDX-License-Identifier: Apache-2.0 */

/* Matrix products: the fastest of cuBLAS's tiles. One block computes a tile; the blocks run in
 * waves over the multiprocessors. */
#include "replay/cost/product.h"

#include "replay/cost/kernel.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* A tile, its warps, and its share of the peak. */
struct tile {
	double m, n, warps;
	int sliced; /* four groups of warps share the tile's sum over k */
	double efficiency;
};

/* The rate of FP8, limited by power, as a part of that of FP16: the products of an H200 server and
 * of an H100, which has the same chip. */
#define FP8_PART 0.875

/* Warps of 128 registers a thread on a multiprocessor. */
#define WARPS 16

/* Elements along k of a tile's step; those of four groups of warps are side by side. */
#define SLICE 8

enum { TILES = 12, MOST_SPLITS = 16 };

/* Factor between numbers of parts that are tried: all up to 10, then fewer. */
#define SPLIT_STEP 1.1

/* A TLB of two multiprocessors contains the addresses of this many pages (P100: Karnagel et al.,
 * Big Data Causing Big (TLB) Problems, DaMoN 2017). */
#define TLB_PAGES 16
#define PAGE_BYTES 2097152.0

/* With dimensions that are multiples of this, any kernel can be chosen. */
#define ALIGNED 8

/* Kernels for tensor cores copy 16 bytes of an operand at once, if its rows begin at multiples of
 * 16 bytes; otherwise they load units of the actual alignment and store them in shared memory. This
 * is the number of such loads per cycle and multiprocessor: nanoGPT's step on an A100 is 1.25 times
 * as long with 50257 words as with 50304 (github.com/karpathy/nanoGPT). */
#define LOADS_PER_CYCLE 2.3

enum gpuemu_math cost_math_on(const struct cost_gpu *g, enum gpuemu_math math)
{
	return math == GPUEMU_TF32 && g->compute < 8 ? GPUEMU_FP32 : math;
}

int cost_uses_tensor(const struct cost_gpu *g, enum gpuemu_math math)
{
	return math != GPUEMU_FP32 && math != GPUEMU_FP64 && g->compute >= 7;
}

/* From Hopper on, cuBLAS has tiles of more sizes for tensor cores, as the names of its kernels tell
 * (nvjet_tst_256x160_64x4). Returns how many there are. */
static int tiles_of(const struct cost_gpu *g, enum gpuemu_math math, struct tile ret[TILES])
{
	const struct tile plain[] = {
		{128, 128, 8, 0, g->tile_128x128},    {128, 64, 4, 0, g->tile_128x64},
		{64, 64, 2, 0, g->tile_64x64},	      {128, 32, 8, 0, g->tile_128x32},
		{32, 128, 8, 0, g->tile_32x128},      {64, 32, 8, 1, g->tile_64x32_sliced},
		{32, 32, 4, 1, g->tile_32x32_sliced}, {128, 32, 8, 1, g->tile_128x32_sliced},
	};
	const double e = g->tensor_efficiency * (math == GPUEMU_FP8 ? FP8_PART : 1);
	const struct tile tensor[] = {
		{256, 128, 8, 0, e},	   {128, 256, 8, 0, e},	      {128, 128, 4, 0, e * 0.97},
		{256, 64, 4, 0, e * 0.92}, {64, 256, 4, 0, e * 0.92}, {128, 64, 4, 0, e * 0.9},
		{64, 128, 4, 0, e * 0.9},  {64, 64, 4, 0, e * 0.8},   {256, 160, 8, 0, e},
		{160, 256, 8, 0, e},	   {256, 192, 8, 0, e},	      {192, 192, 8, 0, e},
	};
	int n = cost_uses_tensor(g, math) && g->compute >= 9 ? 12 : 8;

	memcpy(ret, cost_uses_tensor(g, math) ? tensor : plain, (size_t)n * sizeof(ret[0]));
	return n;
}

/* Returns 1 if multiprocessors have 128 FP32 lanes instead of 64. Then shared memory limits FP32
 * products, and twice the warps are needed to keep the lanes busy. */
static int is_wide(const struct cost_gpu *g, enum gpuemu_math math)
{
	return math == GPUEMU_FP32 && g->fp32 / (2 * g->sms * g->clock_khz * 1e3) > 96;
}

static double clock_of(const struct cost_gpu *g, double sustained, double ns)
{
	return sustained + (1 - sustained) / (1 + ns / g->sustained_ns);
}

double cost_clock(const struct cost_gpu *g, double ns)
{
	return clock_of(g, g->sustained_clock, ns);
}

double cost_element_bytes(enum gpuemu_math math)
{
	static const double bytes[GPUEMU_MATHS] = {4, 8, 4, 2, 1, 1};

	return bytes[math];
}

/* A product on a model: values that do not depend on the tile. */
struct job {
	const struct cost_gpu *g;
	const struct gpuemu_product *p;
	enum gpuemu_math math;
	double element, stored; /* bytes */
	double reuse, filled;	/* of A */
	double efficiency, prologue;
	double busy_ns;	    /* since the last pause; 0: the boost clock */
	double most_splits; /* 0: as cuBLAS */
	enum cost_tiles tiles;
};

static struct job job_of(const struct cost_gpu *g, const struct gpuemu_product *p,
			 enum gpuemu_math math)
{
	double element = p->a_bytes ? p->a_bytes : cost_element_bytes(math);

	return (struct job){.g = g,
			    .p = p,
			    .math = math,
			    .element = element,
			    .stored = p->d_bytes ? p->d_bytes : element,
			    .reuse = 1,
			    .filled = 1,
			    .efficiency = 1,
			    .prologue = cost_uses_tensor(g, math) ? g->tensor_prologue
								  : g->product_prologue,
			    .tiles = COST_TILES_CUBLAS};
}

static int is_aligned(const struct gpuemu_product *p)
{
	return fmod(p->m, ALIGNED) == 0 && fmod(p->n, ALIGNED) == 0 && fmod(p->k, ALIGNED) == 0;
}

/* The most elements, a power of 2 up to a vector, that begin at multiples of their size in the rows
 * of both operands and the result. Rows of a convolution are channels: those of the result are not
 * padded. */
static double aligned_elements(const struct job *j)
{
	const struct gpuemu_product *p = j->p;
	int plain = j->tiles == COST_TILES_CUBLAS;
	double a = p->a_transposed ? p->k : p->m, b = p->b_transposed ? p->n : p->k;
	double n = COST_VECTOR_BYTES / j->element;

	while (n > 1 && (fmod(b, n) != 0 || (plain && (fmod(a, n) != 0 || fmod(p->m, n) != 0))))
		n /= 2;
	return n;
}

/* Computes how often each operand is read from memory. The blocks of a wave start together and read
 * each element once. A wave covers either several whole columns of tiles, or a part of one column.
 * Later waves read from memory only what the L2 cache no longer holds. */
static void count_reads(const struct job *j, const struct tile *t, double splits, double *a,
			double *b)
{
	const struct cost_gpu *g = j->g;
	const struct gpuemu_product *p = j->p;
	double rows = ceil(p->m / t->m), columns = ceil(p->n / t->n);
	double slots = fmax(1, g->sms * WARPS / t->warps / splits);
	double part = fmin(1, slots / rows), whole = fmin(columns, fmax(1, slots / rows));

	*a = 1 + (columns / whole - 1) *
			 (1 - cost_cache_hits(g, p->m * p->k * j->element * j->filled / j->reuse));
	*b = 1 + (1 / part - 1) * (1 - cost_cache_hits(g, whole * t->n * p->k * j->element));
}

/* Returns 1 if blocks share loads. On GPUs with clusters, pairs of cuBLAS's blocks read the larger
 * of their tiles once (nvjet_tst_128x256_64x4_2x1), by copies that need alignment. */
static int shares_loads(const struct job *j, const struct tile *t)
{
	double others = t->m >= t->n ? ceil(j->p->n / t->n) : ceil(j->p->m / t->m);

	return j->tiles == COST_TILES_CUBLAS && others > 1 && cost_uses_tensor(j->g, j->math) &&
	       cost_has_clusters(j->g) && aligned_elements(j) * j->element >= COST_VECTOR_BYTES;
}

/* Returns 1 if tiles are computed from slices of rows that are SLICE elements long. */
static int has_slices(const struct job *j)
{
	return !cost_uses_tensor(j->g, j->math) && j->tiles == COST_TILES_CUBLAS;
}

/* Returns the number of elements along k in a step of a tile. */
static double step_of(const struct tile *t)
{
	return t->sliced ? 4 * SLICE : SLICE;
}

/* Bytes of the operands: from memory for each wave, and from the L2 cache once for each tile. */
struct traffic {
	double memory, written, cache;
};

static struct traffic traffic_of(const struct job *j, const struct tile *t, double splits)
{
	const struct cost_gpu *g = j->g;
	const struct gpuemu_product *p = j->p;
	double a = 1, b = 1, times_a, times_b, d = p->m * p->n * j->stored;

	/* Runs along k are as short as a step of the tile: of odd dimensions, sectors are read and
	 * written in parts. */
	if (!is_aligned(p) && !cost_uses_tensor(g, j->math)) {
		a = p->a_transposed ? g->product_rows : 1;
		b = p->b_transposed ? 1 : p->a_transposed ? g->product_rows : g->product_columns;
		d *= g->product_store;
	}
	double partial = splits > 1 ? p->m * p->n * 4 * splits : 0; /* each written and read */
	double tile_a = t->m * a * j->filled, tile_b = t->n * b;

	if (shares_loads(j, t))
		*(t->m >= t->n ? &tile_a : &tile_b) /= 2;
	count_reads(j, t, splits, &times_a, &times_b);
	double slow = p->a_transposed && has_slices(j)
			      ? fmin(1, g->product_slice * step_of(t) / SLICE)
			      : 1;
	double memory = (p->m * a * j->filled / j->reuse * times_a + p->n * b * times_b) * p->k *
				j->element / slow +
			d * (p->adds ? 2 : 1) + 2 * partial;
	return (struct traffic){.memory = p->batch * memory,
				.written = p->batch * (d + partial),
				.cache = p->batch * ceil(p->m / t->m) * ceil(p->n / t->n) *
					 (tile_a + tile_b) * p->k * j->element};
}

/* Returns the size of the operands and the result. */
static double held_bytes(const struct job *j)
{
	const struct gpuemu_product *p = j->p;

	return p->batch *
	       ((p->m * j->filled / j->reuse + p->n) * p->k * j->element + p->m * p->n * j->stored);
}

/* Returns the clock at which arithmetic and the memory share the power of the board:
 * sustained_clock if the memory is idle. */
static double clock_in(const struct job *j, double operations, double bytes)
{
	const struct cost_gpu *g = j->g;
	double per_joule = g->sustained_clock * cost_peak(g, j->math) / cost_gpu_watts(g);
	double sustained = g->sustained_clock;

	if (sustained < 1)
		sustained /= 1 + g->memory_joules_per_byte * per_joule * bytes / operations;
	return clock_of(g, sustained, j->busy_ns);
}

/* Returns the time in which the multiprocessors look up pages that their TLBs do not contain: for
 * each slice, the page of its row. `blocks`: of a multiprocessor. */
static double lookups_s(const struct job *j, const struct tile *t, double blocks, double depth)
{
	const struct cost_gpu *g = j->g;
	const struct gpuemu_product *p = j->p;
	double a = p->a_transposed ? t->m : 0, b = p->b_transposed ? 0 : t->n;
	double resident = 2 * fmin(WARPS / t->warps, blocks);
	double rows = a * fmin(resident, ceil(p->m / t->m)) + b * fmin(resident, ceil(p->n / t->n));
	double pages = rows * p->k * j->element / PAGE_BYTES, missed = pages / (pages + TLB_PAGES);

	return blocks * depth / step_of(t) * (a + b) * missed * g->product_lookup /
	       (g->clock_khz * 1e3);
}

static double tile_ns(const struct job *j, const struct tile *t, double splits)
{
	const struct cost_gpu *g = j->g;
	const struct gpuemu_product *p = j->p;
	double q = ceil(p->m / t->m) * ceil(p->n / t->n) * p->batch * splits / g->sms;
	double depth = ceil(p->k / splits) + j->prologue;
	struct traffic x = traffic_of(j, t, splits);
	/* Other operations may have left the operands in the cache. */
	double missed = 1 - cost_cache_hits(g, held_bytes(j));
	double clock = clock_in(j, q * g->sms * t->m * t->n * 2 * depth, missed * x.memory);
	double rate = cost_peak(g, j->math) / g->sms * t->efficiency * j->efficiency * clock *
		      (is_wide(g, j->math) ? g->wide_efficiency : 1);
	double waves = g->product_wave * ceil(q) + (1 - g->product_wave) * fmax(q, 1);
	double most_warps = g->product_warps * (is_wide(g, j->math) ? 2 : 1);
	double busy = fmin(1, ceil(q) * t->warps / most_warps);
	double math_s = waves * t->m * t->n * 2 * depth / (rate * busy);
	double per_cycle = g->product_l2;

	if (cost_uses_tensor(g, j->math)) {
		double n = j->element * aligned_elements(j);

		per_cycle = n < COST_VECTOR_BYTES ? n * LOADS_PER_CYCLE
						  : g->tensor_cache_bytes_per_cycle;
	}
	double cache_rate = per_cycle * g->sms * g->clock_khz * 1e3;
	double memory_s = fmax(missed * x.memory / cost_memory_rate(g, 1 - x.written / x.memory),
			       x.cache / cache_rate);
	double power = g->product_norm;

	if (has_slices(j))
		memory_s = fmax(memory_s, lookups_s(j, t, fmax(q, 1), depth));

	return 1e9 * pow(pow(math_s, power) + pow(memory_s, power), 1 / power) +
	       (splits > 1 ? g->kernel_ns : 0);
}

/* Returns 1 if cuDNN's compiled FP32 kernels use the tile: smaller ones, as in the names
 * (tilesize64x64x8), if the others fill less than half of the GPU. */
static int is_compiled_tile(const struct job *j, const struct tile *t)
{
	double n = j->p->n <= 64 ? 64 : 128;
	double blocks = ceil(j->p->m / 128) * ceil(j->p->n / n) * j->p->batch;

	return (t->m == 128 && t->n == n && !t->sliced) ||
	       (j->most_splits <= 1 && t->m == t->n && t->m <= 64 && 2 * blocks < j->g->sms);
}

/* Returns 1 if the library uses the tile. cuBLAS: for non-transposed FP32 batches there is one tile
 * from Ampere and one before Volta, and small tiles in between; before Volta, small tiles for
 * transposed operands. */
static int is_used(const struct job *j, const struct tile *t)
{
	double compute = j->g->compute;

	if (cost_uses_tensor(j->g, j->math))
		return 1;
	if (j->tiles == COST_TILES_IMPLICIT && compute >= 9)
		return is_compiled_tile(j, t);
	if (j->tiles == COST_TILES_IMPLICIT)
		return t->m == 128 && !t->sliced;
	if (j->tiles == COST_TILES_WINOGRAD)
		return t->m * t->n <= 128 * 64 && !t->sliced;
	if (compute < 7 && j->math == GPUEMU_FP32 && j->p->a_transposed)
		return !t->sliced && t->m * t->n <= 64 * 64;
	if (j->p->batch == 1 || j->math != GPUEMU_FP32 || j->p->a_transposed || j->p->b_transposed)
		return 1;
	if (compute >= 8)
		return t->m == 128 && t->n == 128;
	if (compute < 7)
		return t->m == 128 && t->n == 64;
	return !t->sliced && t->m * t->n <= (compute >= 7.5 ? 128 * 64 : 64 * 64);
}

/* Returns the maximum number of parts into which cuBLAS splits the sum over k: from Ampere, only if
 * the tiles alone do not fill the multiprocessors. */
static double most_splits(const struct job *j, const struct tile *t)
{
	double blocks = ceil(j->p->m / t->m) * ceil(j->p->n / t->n);

	if (j->most_splits)
		return j->most_splits;
	if (j->p->batch > 1 || (j->g->compute >= 8 && blocks > j->g->split_blocks * j->g->sms))
		return 1;
	return MOST_SPLITS;
}

/* Returns the time with the best number of parts: the first one that more parts do not improve. */
static double split_ns(const struct job *j, const struct tile *t)
{
	double ns = tile_ns(j, t, 1), most = most_splits(j, t);

	for (double z = 2, next = 0; z <= most && next < 1.1 * ns; z = ceil(z * SPLIT_STEP)) {
		next = tile_ns(j, t, z);
		ns = fmin(ns, next);
	}
	return ns;
}

/* Returns the time with the tile that cuBLAS chooses, which is not always the fastest: the mean
 * over the tiles, weighted by their distance from the fastest. */
static double best_ns(const struct job *j)
{
	struct tile tiles[TILES];
	double ns[TILES], fastest = INFINITY, sum = 0, weights = 0;
	int n;

	n = tiles_of(j->g, j->math, tiles);
	for (int i = 0; i < n; i++) {
		ns[i] = is_used(j, &tiles[i]) ? split_ns(j, &tiles[i]) : INFINITY;
		fastest = fmin(fastest, ns[i]);
	}
	if (j->tiles != COST_TILES_CUBLAS || is_aligned(j->p))
		return fastest;
	for (int i = 0; i < n; i++) {
		double weight = pow(fastest / ns[i], j->g->product_choice);

		sum += weight > 0 ? weight * ns[i] : 0;
		weights += weight;
	}
	return sum / weights;
}

static double with_tile_ns(const struct job *j, const struct cost_tiling *t)
{
	struct tile tiles[TILES];
	int n = tiles_of(j->g, j->math, tiles);

	for (int i = 0; t && i < n; i++)
		if (tiles[i].m == t->m && tiles[i].n == t->n && tiles[i].sliced == t->sliced)
			return tile_ns(j, &tiles[i], t->splits);
	/* With a vector instead of a matrix, cuBLAS reads the other matrix once. */
	if (!t && (j->p->m == 1 || j->p->n == 1))
		return fmin(best_ns(j), cost_stream_ns(j->g, held_bytes(j), 1));
	return best_ns(j);
}

struct cost cost_of_tiled_product(const struct cost_gpu *g, const struct gpuemu_product *p,
				  enum gpuemu_math math, double busy_ns,
				  const struct cost_tiling *t)
{
	struct job j = job_of(g, p, cost_math_on(g, math));
	double bytes;

	if (t) {
		j.reuse = t->reuse ? t->reuse : 1;
		j.filled = t->filled ? t->filled : 1;
		j.most_splits = t->most_splits;
		j.tiles = t->tiles;
		j.efficiency = t->efficiency ? t->efficiency : 1;
		j.prologue = t->prologue ? t->prologue : j.prologue;
	}
	bytes = held_bytes(&j);
	/* Never less than the peaks allow. Small operands may be in the cache. */
	double math_ns = 1e9 * 2 * p->m * p->n * p->k * p->batch / cost_peak(g, j.math);
	double memory_ns = 1e9 * fmax(0, bytes - g->l2_bytes) / g->memory_bytes_per_s;

	j.busy_ns = busy_ns > 0 ? busy_ns : with_tile_ns(&j, t);
	double ns = g->kernel_ns + fmax(with_tile_ns(&j, t), fmax(math_ns, memory_ns));

	return cost_of_bytes(g, COST_CLASS_PRODUCT,
			     j.math == GPUEMU_FP32 ? COST_MEASURED : COST_ROOFLINE, ns, bytes);
}

/* Small products of half precision are faster without tensor cores. */
struct cost cost_of_product(const struct cost_gpu *g, const struct gpuemu_product *p,
			    enum gpuemu_math math, double busy_ns)
{
	struct cost c = cost_of_tiled_product(g, p, math, busy_ns, NULL);
	struct gpuemu_product plain = *p;

	if (math != GPUEMU_FP16 && math != GPUEMU_TF32)
		return c;
	plain.a_bytes = p->a_bytes ? p->a_bytes : cost_element_bytes(math);
	c.ns = fmin(c.ns, cost_of_tiled_product(g, &plain, GPUEMU_FP32, busy_ns, NULL).ns);
	return c;
}
