/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of operations on a GPU model, from data known at their launch. No duration implies more
 * than the model's peaks: memory_bytes_per_s, and operations per second by type. doc/gpuemu.md has
 * the formulas. Thread-safe: functions have no state. */
#pragma once

#include "replay/cost/gpu.h"

#include <gpuemu.h>

/* The source of a duration. */
enum cost_source {
	COST_RECORDED, /* by a recording or the program, for this operation */
	COST_MEASURED, /* coefficients of its class were fitted to measurements */
	COST_ROOFLINE, /* known work; peaks of the model and a general efficiency */
	COST_UNKNOWN,  /* assumed work: only the number of threads is known */
	COST_SOURCES
};

extern const char *const cost_source_names[COST_SOURCES];

enum cost_class {
	COST_CLASS_UNKNOWN,
	COST_CLASS_ELEMENTWISE,
	COST_CLASS_REDUCTION,
	COST_CLASS_SOFTMAX,
	COST_CLASS_LAYER_NORM,
	COST_CLASS_BATCH_NORM,
	COST_CLASS_INDEX,
	COST_CLASS_COPY,
	COST_CLASS_OPTIMIZER,
	COST_CLASS_PRODUCT,
	COST_CLASS_CONVOLUTION,
	COST_CLASS_POOLING,
	COST_CLASS_ATTENTION,
	COST_CLASSES
};

extern const char *const cost_class_names[COST_CLASSES];

struct cost {
	double ns;
	enum cost_class class;
	enum cost_source source;
	double bytes;  /* read from and written to the memory of the GPU */
	double memory; /* share of the memory's sustained bandwidth over `ns`, 0 to 1 */
};

struct cost_name;

/* A launch of a kernel. Members that are 0 are unknown. */
struct cost_launch {
	const char *name;		/* demangled */
	const struct cost_name *parsed; /* cost_name_of(name), which takes long; or NULL */
	uint32_t grid[3], block[3];
	double registers;    /* per thread */
	double shared_bytes; /* per block */
	double elements;     /* element-wise kernels: number of elements */
	double bytes, operations;
	double read_bytes;   /* of `bytes` */
	double held_bytes;   /* size of the memory accessed; less than `bytes` if data is read and
				written */
	double sector_bytes; /* between L2 cache and multiprocessors, of strided accesses */
	double instructions; /* of all threads */
	double steps;	     /* dependent loads of a thread */
	double final_steps;  /* dependent loads of the last block, which combines the results of
				others */
	double columns;	     /* softmax and layer norm: length of a row */
	enum gpuemu_math math;
};

struct cost cost_of_kernel(const struct cost_gpu *gpu, const struct cost_launch *launch);

/* Value of busy_ns for products in a computation that keeps the GPU busy. */
#define COST_BUSY_NS 1e6

/* Returns the cost of a product. The power limit lowers the clock the longer the GPU multiplies
 * without a pause: for busy_ns, or 0 for this operation only. Uses tensor cores for TF32 and below,
 * on models that have them. */
struct cost cost_of_product(const struct cost_gpu *gpu, const struct gpuemu_product *p,
			    enum gpuemu_math math, double busy_ns);

/* Returns the cost of the fastest of cuDNN's algorithms, with unlimited workspace. */
struct cost cost_of_convolution(const struct cost_gpu *gpu, const struct gpuemu_convolution *c,
				enum gpuemu_math math, double busy_ns);

/* Attention in one kernel. */
struct cost_attention {
	struct gpuemu_product scores; /* keys x queries x width of a vector, for each head */
	int backward;		      /* all gradients */
	int causal;		      /* a query ignores keys with greater numbers */
	int by_warps;		      /* products by a warp's instructions (mma.sync) */
	int small_tiles;	      /* of 64 queries and keys; TF32: three for each product */
};

struct cost cost_of_attention(const struct cost_gpu *gpu, const struct cost_attention *a,
			      enum gpuemu_math math);

/* Returns the duration on `to` of a kernel that took recorded_ns on `from`. `source` is
 * COST_UNKNOWN if only the ratio of memory bandwidths is known. */
struct cost cost_on_other_gpu(const struct cost_gpu *from, const struct cost_gpu *to,
			      const struct cost_launch *launch, double recorded_ns);

/* Returns the number of blocks that fit on a multiprocessor at once. `registers` (per thread) and
 * shared_bytes (per block) may be 0. */
int cost_occupancy(const struct cost_gpu *gpu, double block_threads, double registers,
		   double shared_bytes);

/* Returns peak operations per second. */
double cost_peak(const struct cost_gpu *gpu, enum gpuemu_math math);
