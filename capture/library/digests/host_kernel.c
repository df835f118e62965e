/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/host_kernel.h"

#include "capture/digest/gd128.h"
#include "capture/digest/gd128_work.h"
#include "capture/library/find/real.h"

#include <gpuemu.h>
#include <string.h>

#define ILLEGAL_ADDRESS 700

/* Tells if kernels of a device may access [address, address + bytes). */
static gpuemu_reaches_fn *reaches;

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

/* The cost of reading all buffers once. */
static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	const struct gd128_work *work = args[0];

	for (uint32_t i = 0; i < work->n_parts; i++)
		ret->bytes += (double)work->parts[i].bytes;
}

void cap_host_kernel_register(void)
{
	static const size_t bytes[] = {sizeof(struct gd128_work)};
	static const struct gpuemu_kernel kernel = {
		.name = GD128_KERNEL, .run = run, .cost = cost, .arg_bytes = bytes, .n_args = 1};
	gpuemu_register_kernel_fn *register_kernel =
		(gpuemu_register_kernel_fn *)cap_real(CAP_DRIVER, "gpuemu_register_kernel");

	reaches = (gpuemu_reaches_fn *)cap_real(CAP_DRIVER, "gpuemu_reaches");
	if (register_kernel)
		register_kernel(&kernel);
}
