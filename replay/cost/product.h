/* SPDX-License-Identifier: Apache-2.0 */

/* Parts of the model of matrix products, for the models of other kernels. */
#pragma once

#include "replay/cost/cost.h"

/* The part of the peak that tensor cores reach by instructions of one warp. On Hopper and B200,
 * only those of four warps reach all (Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU
 * Architecture); others have none. */
static inline double cost_warp_part(const struct cost_gpu *g)
{
	return g->compute >= 9 && g->compute < 12 ? 0.63 : 1;
}

/* The tiles that a library chooses from. */
enum cost_tiles {
	COST_TILES_CUBLAS,
	COST_TILES_IMPLICIT, /* of cuDNN's convolutions: 128 rows */
	COST_TILES_WINOGRAD, /* of cuDNN's batched products */
};

/* The division of a product into tiles by a kernel. */
struct cost_tiling {
	double m, n; /* 0: the fastest of `tiles` */
	enum cost_tiles tiles;
	int sliced;
	double splits;	    /* parts of k */
	double most_splits; /* with the fastest tile: at most so many parts; 0: as cuBLAS */
	double reuse;	    /* uses of each element of A in memory; 0: 1 */
	double filled;	    /* part of A that is not padding, which is not read; 0: all */
	double efficiency;  /* beside that of the tile; 0: 1 */
};

/* `t` may be NULL: the fastest. */
struct cost cost_of_tiled_product(const struct cost_gpu *gpu, const struct gpuemu_product *p,
				  enum gpuemu_math math, double busy_ns,
				  const struct cost_tiling *t);

/* Of a convolution. */
enum cost_algorithm {
	COST_IMPLICIT,
	COST_DIRECT,
	COST_WINOGRAD_FUSED,
	COST_WINOGRAD,
	COST_ALGORITHMS
};

/* COST_ALGORITHMS: the fastest. */
struct cost cost_of_convolution_by(const struct cost_gpu *gpu, const struct gpuemu_convolution *c,
				   enum gpuemu_math math, double busy_ns,
				   enum cost_algorithm algorithm);

double cost_element_bytes(enum gpuemu_math math);

/* The arithmetic with which the model computes: FP32 where tensor cores do not have TF32. */
enum gpuemu_math cost_math_on(const struct cost_gpu *gpu, enum gpuemu_math math);

/* The clock, as a part of the boost clock, of arithmetic that runs for so long. */
double cost_clock(const struct cost_gpu *gpu, double ns);
