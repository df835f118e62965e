/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of operations on a GPU model, from what is known at their launch. A duration never
 * claims more than the model's peaks: memory_bytes_per_s, and operations per second by type.
 * doc/gpuemu.md has the formulas. Functions have no state; any thread may call them.
 */
#pragma once

#include "replay/cost/gpu.h"

#include <gpuemu.h>

/* The source of a duration. */
enum cost_source {
	COST_RECORDED, /* of this operation, by a recording or the program */
	COST_MEASURED, /* a class of operations whose coefficients were fitted to measurements */
	COST_ROOFLINE, /* known work; the peaks of the model and a general efficiency */
	COST_UNKNOWN,  /* assumed work: nothing is known of the kernel but its threads */
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
	const struct cost_name *parsed; /* or cost_name_of() that name: reading it takes long */
	uint32_t grid[3], block[3];
	double registers;    /* of a thread */
	double shared_bytes; /* of a block */
	double elements;     /* of an element-wise kernel: its number of elements */
	double bytes, operations;
	double read_bytes;   /* of `bytes` */
	double held_bytes;   /* addresses of `bytes`: fewer if they are read and written */
	double sector_bytes; /* between L2 cache and multiprocessors, of strided accesses */
	double instructions; /* of all threads */
	double steps;	     /* loads of a thread, each of which waits for the one before */
	double final_steps;  /* and those of the last block, which combines the results of others */
	double columns;	     /* of softmax and layer norm: length of a row */
	enum gpuemu_math math;
};

struct cost cost_of_kernel(const struct cost_gpu *gpu, const struct cost_launch *launch);

/* busy_ns of products in a computation that keeps the GPU busy, other kernels among them. */
#define COST_BUSY_NS 1e6

/* Power limits the clock the longer the GPU multiplies without pause: for busy_ns, 0 meaning for
 * this operation only. Tensor cores are used for TF32 and below, on models that have them. */
struct cost cost_of_product(const struct cost_gpu *gpu, const struct gpuemu_product *p,
			    enum gpuemu_math math, double busy_ns);

/* As cuDNN computes it: the fastest of its algorithms, with as much workspace as it needs. */
struct cost cost_of_convolution(const struct cost_gpu *gpu, const struct gpuemu_convolution *c,
				enum gpuemu_math math, double busy_ns);

/* Attention in one kernel. */
struct cost_attention {
	struct gpuemu_product scores; /* keys x queries x width of a vector, for each head */
	int backward;		      /* all gradients */
	int causal;		      /* a query has no keys behind its own number */
	int by_warps;		      /* products by a warp's instructions (mma.sync) */
	int small_tiles;	      /* of 64 queries and keys; TF32: three for each product */
};

struct cost cost_of_attention(const struct cost_gpu *gpu, const struct cost_attention *a,
			      enum gpuemu_math math);

/* The duration on `to` of a kernel that took recorded_ns on `from`. `source` is COST_UNKNOWN if
 * only the ratio of memory bandwidths is known. */
struct cost cost_elsewhere(const struct cost_gpu *from, const struct cost_gpu *to,
			   const struct cost_launch *launch, double recorded_ns);

/* Blocks of a shape that fit on a multiprocessor at once; registers of a thread and shared bytes of
 * a block, or 0. */
int cost_occupancy(const struct cost_gpu *gpu, double block_threads, double registers,
		   double shared_bytes);

/* Peak operations per second. */
double cost_peak(const struct cost_gpu *gpu, enum gpuemu_math math);
