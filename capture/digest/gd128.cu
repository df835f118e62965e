/* SPDX-License-Identifier: Apache-2.0 */

/* gd128 on the GPU: sums of pages, which the host folds (doc/design/digest.md). A block takes a
 * page at a time; a thread takes the same units of each page, so that their keys stay in its
 * registers. It writes a page's sum once: no atomic operation, nothing to clear before.
 *
 * It is C as well: tests/unit/test_gd128_kernel.c runs it with one thread a block.
 */
#include "capture/digest/gd128_work.h"

#ifndef GD128_THREADS
#define GD128_THREADS 512
#endif
#define UNITS_EACH (GD128_PAGE_UNITS / GD128_THREADS)
#define WARPS ((GD128_THREADS + 31) / 32)

#ifdef __cplusplus
extern "C" {
#endif

/* The unit at any address. */
static __device__ __forceinline__ void load(uint64_t address, uint64_t *a, uint64_t *b)
{
	if (address % 16 == 0) {
		ulonglong2 w = *(const ulonglong2 *)address;

		*a = w.x;
		*b = w.y;
	} else if (address % 4 == 0) {
		const uint32_t *w = (const uint32_t *)address;

		*a = w[0] | (uint64_t)w[1] << 32;
		*b = w[2] | (uint64_t)w[3] << 32;
	} else {
		const uint8_t *c = (const uint8_t *)address;

		*a = *b = 0;
		for (int i = 0; i < 8; i++) {
			*a |= (uint64_t)c[i] << 8 * i;
			*b |= (uint64_t)c[i + 8] << 8 * i;
		}
	}
}

/* The last unit of a buffer, filled up with zeros. */
static __device__ __forceinline__ void load_tail(uint64_t address, uint32_t bytes, uint64_t *a,
						 uint64_t *b)
{
	const uint8_t *c = (const uint8_t *)address;

	*a = *b = 0;
	for (uint32_t i = 0; i < bytes; i++) {
		if (i < 8)
			*a |= (uint64_t)c[i] << 8 * i;
		else
			*b |= (uint64_t)c[i] << 8 * (i - 8);
	}
}

/* The same for a whole page with aligned units: several loads in flight hide their latency although
 * few threads run. */
#define AT_ONCE 4
static __device__ __forceinline__ struct gd128 whole_page(uint64_t address, const uint64_t *keys)
{
	const ulonglong2 *from = (const ulonglong2 *)address + threadIdx.x;
	struct gd128 sum = {0, 0};

	for (uint32_t i = 0; i < UNITS_EACH; i += AT_ONCE) {
		ulonglong2 w[AT_ONCE];

		for (uint32_t k = 0; k < AT_ONCE; k++)
			w[k] = from[(i + k) * GD128_THREADS];
		for (uint32_t k = 0; k < AT_ONCE; k++)
			gd128_unit(&sum, w[k].x, w[k].y, keys[2 * (i + k)], keys[2 * (i + k) + 1]);
	}
	return sum;
}

/* The sum of this thread's units of the page at `address`. */
static __device__ __forceinline__ struct gd128 units(uint64_t address, uint32_t bytes,
						     const uint64_t *keys)
{
	struct gd128 sum = {0, 0};

	if (bytes == GD128_PAGE_BYTES && address % sizeof(ulonglong2) == 0)
		return whole_page(address, keys);
	for (uint32_t i = 0; i < UNITS_EACH; i++) {
		uint32_t at = (i * GD128_THREADS + threadIdx.x) * GD128_UNIT_BYTES;
		uint64_t a, b;

		if (at >= bytes)
			continue;
		if (at + GD128_UNIT_BYTES <= bytes)
			load(address + at, &a, &b);
		else
			load_tail(address + at, bytes - at, &a, &b);
		gd128_unit(&sum, a, b, keys[2 * i], keys[2 * i + 1]);
	}
	return sum;
}

/* The sum over the threads of a warp, in its first. */
static __device__ __forceinline__ struct gd128 of_warp(struct gd128 sum)
{
	for (int step = GD128_THREADS < 32 ? 0 : 16; step > 0; step /= 2) {
		sum.lo += __shfl_down_sync(0xffffffffu, (unsigned long long)sum.lo, step);
		sum.hi += __shfl_down_sync(0xffffffffu, (unsigned long long)sum.hi, step);
	}
	return sum;
}

__global__ void __launch_bounds__(GD128_THREADS)
	gd128_sum(const __grid_constant__ struct gd128_work work)
{
	__shared__ struct gd128 warps[WARPS];
	uint64_t keys[2 * UNITS_EACH];
	uint32_t p = 0;

	for (uint32_t i = 0; i < 2 * UNITS_EACH; i++)
		keys[i] = gd128_key(GD128_KEYS_OF_UNITS +
				    2 * ((uint64_t)(i / 2) * GD128_THREADS + threadIdx.x) + i % 2);
	for (uint64_t page = blockIdx.x; page < work.n_pages; page += gridDim.x) {
		while (p + 1 < work.n_parts && page >= work.parts[p + 1].first_page)
			p++;
		uint64_t in_part = page - work.parts[p].first_page;
		uint64_t offset = in_part * GD128_PAGE_BYTES, left = work.parts[p].bytes - offset;
		uint32_t bytes = left < GD128_PAGE_BYTES ? (uint32_t)left : GD128_PAGE_BYTES;
		struct gd128 sum = of_warp(units(work.parts[p].address + offset, bytes, keys));

		if (threadIdx.x % 32 == 0)
			warps[threadIdx.x / 32] = sum;
		__syncthreads();
		if (threadIdx.x == 0) {
			for (int w = 1; w < WARPS; w++) {
				sum.lo += warps[w].lo;
				sum.hi += warps[w].hi;
			}
			((struct gd128 *)work.parts[p].pages_at)[in_part] = sum;
		}
		__syncthreads();
	}
}

#ifdef __cplusplus
}
#endif
