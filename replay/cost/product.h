/* SPDX-License-Identifier: Apache-2.0 */

/* Parts of the matrix product model that models of other kernels use. */
#pragma once

#include "replay/cost/cost.h"

/* Hopper and B200 have clusters of blocks and instructions of four warps; consumer GPUs have
 * neither.
 */
static inline int cost_has_clusters(const struct cost_gpu *g)
{
	return g->compute >= 9 && g->compute < 12;
}

/* The part of the peak that tensor cores reach by instructions of one warp. On Hopper and B200,
 * only those of four warps reach all (Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU
 * Architecture); others have none. */
static inline double cost_warp_part(const struct cost_gpu *g)
{
	return cost_has_clusters(g) ? 0.63 : 1;
}

/* Sets of tiles that a library chooses from. */
enum cost_tiles {
	COST_TILES_CUBLAS,
	COST_TILES_IMPLICIT, /* of cuDNN's convolutions: 128 rows */
	COST_TILES_WINOGRAD, /* of cuDNN's batched products */
};

/* How a kernel divides a product into tiles. */
struct cost_tiling {
	double m, n; /* 0: the fastest of `tiles` */
	enum cost_tiles tiles;
	int sliced;
	double splits;	    /* number of parts of k */
	double most_splits; /* with the fastest tile: maximum number of parts; 0: as cuBLAS */
	double reuse;	    /* number of uses of each element of A in memory; 0: 1 */
	double filled;	    /* share of A that is not padding and must be read; 0: all */
	double efficiency;  /* multiplied with that of the tile; 0: 1 */
	double prologue;    /* steps of k before the first result; 0: as cuBLAS */
};

/* `t` may be NULL: the fastest tiling. */
struct cost cost_of_tiled_product(const struct cost_gpu *gpu, const struct gpuemu_product *p,
				  enum gpuemu_math math, double busy_ns,
				  const struct cost_tiling *t);

/* Algorithms of convolutions. */
enum cost_algorithm {
	COST_IMPLICIT,
	COST_DIRECT,
	COST_WINOGRAD_FUSED,
	COST_WINOGRAD,
	COST_ALGORITHMS
};

/* `algorithm` COST_ALGORITHMS: the fastest. */
struct cost cost_of_convolution_by(const struct cost_gpu *gpu, const struct gpuemu_convolution *c,
				   enum gpuemu_math math, double busy_ns,
				   enum cost_algorithm algorithm);

/* Vectors that kernels for tensor cores read. */
#define COST_VECTOR_BYTES 16

int cost_uses_tensor(const struct cost_gpu *gpu, enum gpuemu_math math);

double cost_element_bytes(enum gpuemu_math math);

/* Returns the arithmetic that the model uses: FP32 if its tensor cores do not support TF32. */
enum gpuemu_math cost_math_on(const struct cost_gpu *gpu, enum gpuemu_math math);

/* Returns the clock, relative to the boost clock, of arithmetic that runs for `ns`. */
double cost_clock(const struct cost_gpu *gpu, double ns);
