/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/twin.h"

#include "capture/digest/gd128.h"
#include "capture/digest/gd128_work.h"
#include "capture/library/device/hook.h"

#include <string.h>

/* What replay/emugpu/gpuemu.h declares: an ABI, which capture/ shares with programs and not with
 * replay/. */
struct gpuemu_launch {
	const char *name;
	uint32_t grid[3], block[3], shared_bytes;
	int device;
	int64_t start_ns, end_ns;
	int error;
};
struct gpuemu_cost {
	double flops, bytes;
	int math;
	int64_t ns;
};
struct gpuemu_kernel {
	const char *name;
	unsigned flags;
	void (*run)(struct gpuemu_launch *launch, void *const *args);
	void (*cost)(const struct gpuemu_launch *launch, void *const *args,
		     struct gpuemu_cost *ret);
	void *context;
	const size_t *arg_bytes;
	unsigned n_args;
};

#define ILLEGAL_ADDRESS 700

/* Whether kernels of a device may use [address, address + bytes). */
static int (*reaches)(int device, uint64_t address, uint64_t bytes);

static void run(struct gpuemu_launch *launch, void *const *args)
{
	const struct gd128_work *work = args[0];

	for (uint32_t i = 0; i < work->n_parts; i++) {
		const struct gd128_part *p = &work->parts[i];
		struct gd128 *sums = (struct gd128 *)p->pages_at;

		if (reaches && !reaches(launch->device, p->address, p->bytes)) {
			launch->error = ILLEGAL_ADDRESS;
			return;
		}
		for (uint64_t page = 0; page < gd128_pages(p->bytes); page++) {
			uint64_t at = page * GD128_PAGE_BYTES, left = p->bytes - at;
			struct gd128 sum = {0, 0};

			gd128_add(&sum, 0, (const void *)(p->address + at),
				  left < GD128_PAGE_BYTES ? left : GD128_PAGE_BYTES);
			__atomic_store_n(&sums[page].lo, sum.lo, __ATOMIC_RELEASE);
			__atomic_store_n(&sums[page].hi, sum.hi, __ATOMIC_RELEASE);
		}
	}
}

/* Reads all of it once. */
static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	const struct gd128_work *work = args[0];

	for (uint32_t i = 0; i < work->n_parts; i++)
		ret->bytes += (double)work->parts[i].bytes;
}

void cap_twin_register(void)
{
	static const size_t bytes[] = {sizeof(struct gd128_work)};
	static const struct gpuemu_kernel kernel = {
		.name = GD128_KERNEL, .run = run, .cost = cost, .arg_bytes = bytes, .n_args = 1};
	int (*add)(const struct gpuemu_kernel *) = (int (*)(const struct gpuemu_kernel *))cap_real(
		CAP_DRIVER, "gpuemu_register_kernel");

	reaches = (int (*)(int, uint64_t, uint64_t))cap_real(CAP_DRIVER, "gpuemu_reaches");
	if (add)
		add(&kernel);
}
