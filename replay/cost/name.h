/* SPDX-License-Identifier: Apache-2.0 */

/* The kind of work of a kernel, from its name. */
#pragma once

#include "replay/cost/cost.h"

/* Kernels of PyTorch whose work follows from their parameters. */
enum cost_kernel {
	COST_KERNEL_OTHER,
	COST_KERNEL_CONTIGUOUS, /* element-wise */
	COST_KERNEL_STRIDED,	/* element-wise, with an index calculation for each element */
	COST_KERNEL_REDUCE,
	COST_KERNEL_LISTS, /* lists of tensors: optimizers */
	COST_KERNEL_SOFTMAX_WARP,
	COST_KERNEL_SOFTMAX_WARP_GRADIENT,
	COST_KERNEL_SOFTMAX,
	COST_KERNEL_SOFTMAX_GRADIENT,
	COST_KERNEL_SOFTMAX_SPATIAL,
	COST_KERNEL_LAYER_NORM,
	COST_KERNEL_LAYER_NORM_GRADIENT,
	COST_KERNEL_MOMENTS, /* of rows */
	COST_KERNEL_GROUP_MOMENTS,
	COST_KERNEL_GROUP_MOMENTS_LAST, /* channels last */
	COST_KERNEL_NORMALISE,		/* rows, by their moments */
	COST_KERNEL_NORM_WEIGHTS,	/* gradients of the weights of a layer norm */
	COST_KERNEL_IMAGES,		/* batch norm of PyTorch */
	COST_KERNEL_IMAGES_LAST,	/* channels last */
	COST_KERNEL_GATHER_ROWS,
	COST_KERNEL_SELECT_ROWS,
	COST_KERNEL_ADD_ROWS, /* gradient of an embedding */
	COST_KERNEL_SUM_ROWS, /* the same for many indices, which are sorted */
	COST_KERNEL_SORT,     /* by 8 bits of the keys */
	COST_KERNEL_SORT_COUNTS,
	COST_KERNEL_INDEX,
	COST_KERNEL_GATHER,
	COST_KERNEL_CONCATENATE,
	COST_KERNEL_TRANSPOSE,
	COST_KERNEL_DROPOUT,
	COST_KERNEL_RANDOM,
	COST_KERNEL_POOL, /* maximum, channels first */
	COST_KERNEL_POOL_GRADIENT,
	COST_KERNEL_POOL_LAST, /* channels last */
	COST_KERNEL_POOL_LAST_GRADIENT,
	COST_KERNEL_POOL_MEAN, /* and its gradient */
	COST_KERNEL_POOL_MEAN_GRADIENT,
	COST_KERNEL_POOL_ADAPTIVE,
	COST_KERNEL_POOL_ADAPTIVE_LAST,
	COST_KERNEL_DEPTHWISE, /* convolutions */
	COST_KERNEL_DEPTHWISE_GRADIENT,
	COST_KERNEL_DEPTHWISE_FILTER,
	COST_KERNEL_FLASH, /* attention */
	COST_KERNEL_FLASH_GRADIENT,
	COST_KERNEL_FLASH_ROWS, /* kernels before and after the gradient */
	COST_KERNEL_EFFICIENT,	/* attention in little memory */
	COST_KERNEL_EFFICIENT_GRADIENT,
};

struct cost_name {
	enum cost_class class;
	enum cost_kernel kernel;
	unsigned items;		   /* element-wise: elements per thread; 0: not in the name */
	unsigned arrays;	   /* arrays read or written; 0: not in the name */
	unsigned bytes;		   /* per element; 0: not in the name */
	unsigned operand_bytes[4]; /* element-wise: size of an element of the output and of each
				      input */
	unsigned lists;		   /* lists of tensors in the parameter */
	unsigned entry_bytes; /* size of such a list's entry for each tensor, without the tensor's
				 size; of a value that is sorted with its key */
	double instructions;  /* per element; set if arithmetic may be the limit */
	unsigned tile_m, tile_n; /* matrix products */
	int sliced;
	enum gpuemu_math math;
	int causal;	/* attention */
	int persistent; /* softmax: one warp keeps its rows in registers */
	int reads_once; /* softmax: a block keeps its row in registers or shared memory */
};

/* Takes some microseconds. */
struct cost_name cost_name_of(const char *demangled);
