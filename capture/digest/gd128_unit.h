/* SPDX-License-Identifier: Apache-2.0 */

/* The arithmetic of gd128 (doc/design/digest.md), shared by CPU and GPU. C and CUDA C++. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define GD128_FN static __host__ __device__ __forceinline__
#else
#define GD128_FN static inline
#endif

#define GD128_UNIT_BYTES 16u
#define GD128_PAGE_BYTES 65536u
#define GD128_PAGE_UNITS (GD128_PAGE_BYTES / GD128_UNIT_BYTES)

/* Numbers of the first keys of units, pages and the length. */
#define GD128_KEYS_OF_UNITS 0
#define GD128_KEYS_OF_PAGES (1ull << 32)
#define GD128_KEYS_OF_LENGTH (1ull << 63)

/* Two lanes: the sums of low and of high halves of products, each modulo 2^64. */
struct gd128 {
	uint64_t lo, hi;
};

/* Returns the n-th number of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) started at 0. */
GD128_FN uint64_t gd128_key(uint64_t n)
{
	uint64_t z = (n + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Adds the unit (a, b), whose keys are k and l. */
GD128_FN void gd128_unit(struct gd128 *sum, uint64_t a, uint64_t b, uint64_t k, uint64_t l)
{
#ifdef __CUDA_ARCH__
	sum->lo += (a + k) * (b + l);
	sum->hi += __umul64hi(a + k, b + l);
#else
	unsigned __int128 product = (unsigned __int128)(a + k) * (b + l);

	sum->lo += (uint64_t)product;
	sum->hi += (uint64_t)(product >> 64);
#endif
}

/* Returns the number of pages of a buffer; the last may be short. */
GD128_FN uint64_t gd128_pages(uint64_t bytes)
{
	return bytes / GD128_PAGE_BYTES + (bytes % GD128_PAGE_BYTES != 0);
}
