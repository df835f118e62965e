/* SPDX-License-Identifier: Apache-2.0 */

/* The source of the digest kernel, compiled for the host with one thread a block, agrees with the
 * CPU implementation. */
#include "capture/digest/gd128.h"
#include "capture/digest/gd128_work.h"

#include "tests/unit/test.h"

/* The CUDA built-ins that the kernel uses. */
struct coordinates {
	unsigned x;
};
typedef struct {
	unsigned long long x, y;
} ulonglong2;
static struct coordinates threadIdx, blockIdx, gridDim;
void gd128_sum(const struct gd128_work work);

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(threads)
#define __syncthreads() ((void)0)
#define __shfl_down_sync(mask, value, step) (value)
#define GD128_THREADS 1
#include "capture/digest/gd128.cu"

static void run_kernel(const struct gd128_work *work, unsigned blocks)
{
	gridDim.x = blocks;
	for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
		gd128_sum(*work);
}

static const size_t sizes[] = {5, 0, 65536, 1000, 3 * 65536, 65537, 0, 200003};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Buffers of all sizes in one launch, each `shift` bytes beyond a multiple of 16. */
static void check_shift(size_t shift, unsigned blocks)
{
	uint8_t *data[N_SIZES];
	struct gd128 *pages[N_SIZES];
	struct gd128_work work = {.n_parts = N_SIZES};

	for (unsigned i = 0; i < N_SIZES; i++) {
		data[i] = aligned_alloc(16, (sizes[i] + 16 + 15) / 16 * 16);
		pages[i] = malloc((gd128_pages(sizes[i]) + 1) * sizeof(struct gd128));
		ck_assert(data[i] && pages[i]);
		for (size_t k = 0; k < sizes[i]; k++)
			data[i][shift + k] = (uint8_t)gd128_key(i * 1000003 + k);
		work.parts[i] = (struct gd128_part){
			.address = (uintptr_t)data[i] + shift,
			.bytes = sizes[i],
			.pages_at = (uintptr_t)pages[i],
			.first_page = work.n_pages,
		};
		work.n_pages += gd128_pages(sizes[i]);
	}
	run_kernel(&work, blocks);
	for (unsigned i = 0; i < N_SIZES; i++) {
		struct gd128 got = gd128_fold(pages[i], sizes[i]);
		struct gd128 want = gd128_of(data[i] + shift, sizes[i]);

		ck_assert_uint_eq(got.lo, want.lo);
		ck_assert_uint_eq(got.hi, want.hi);
		free(data[i]);
		free(pages[i]);
	}
}

TEST(test_any_number_of_blocks)
{
	for (unsigned blocks = 1; blocks < 16; blocks++)
		check_shift(0, blocks);
}

TEST(test_any_address)
{
	for (size_t shift = 0; shift < 16; shift++)
		check_shift(shift, 3);
}
