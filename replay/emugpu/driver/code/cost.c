/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of kernels: recorded, given by the host kernel, or from the roofline (doc/gpuemu.md).
 */
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/timing.h"

#include <string.h>

/* Assumed work per thread of an unknown kernel: read two 32-bit numbers, multiply, add, write one.
 */
#define UNKNOWN_BYTES 12
#define UNKNOWN_FLOPS 2

/* The recorded durations of the kernel. Threads may look them up at once: they find the same. */
static const struct emu_timing *timing_of(struct emu_function *f, const struct emu_timing **end)
{
	const struct emu_timing *first;

	if (__atomic_load_n(&f->timing_sought, __ATOMIC_ACQUIRE)) {
		*end = __atomic_load_n(&f->timing_end, __ATOMIC_RELAXED);
		return __atomic_load_n(&f->timing, __ATOMIC_RELAXED);
	}
	emu_timing_find(f->entry->name, &first, end);
	__atomic_store_n(&f->timing, first, __ATOMIC_RELAXED);
	__atomic_store_n(&f->timing_end, *end, __ATOMIC_RELAXED);
	__atomic_store_n(&f->timing_sought, 1, __ATOMIC_RELEASE);
	return first;
}

/* The recorded duration of this shape; else the mean over all shapes; -1: not recorded. */
static int64_t recorded_ns(struct emu_function *f, const struct gpuemu_launch *l)
{
	const struct emu_timing *end, *t = timing_of(f, &end);
	int64_t sum = 0, n = 0;

	for (; t < end; t++) {
		if (memcmp(t->grid, l->grid, sizeof(t->grid)) == 0 &&
		    memcmp(t->block, l->block, sizeof(t->block)) == 0)
			return t->ns;
		sum += t->ns;
		n++;
	}
	return n ? sum / n : -1;
}

static double peak(const struct emu_model *m, enum gpuemu_math math)
{
	switch (math) {
	case GPUEMU_FP64:
		return m->fp64;
	case GPUEMU_TF32:
		return m->tf32;
	case GPUEMU_FP16:
		return m->fp16;
	case GPUEMU_FP8:
		return m->fp8;
	case GPUEMU_INT8:
		return m->int8;
	default:
		return m->fp32;
	}
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

int emu_occupancy(const struct emu_device *d, const struct emu_function *f, int block_threads,
		  size_t shared_bytes)
{
	const struct emu_model *m = &d->model;
	double warps = (block_threads + 31) / 32, registers = f->entry->registers * 32;
	double blocks = least(m->blocks_per_sm, (double)(int)(m->threads_per_sm / 32 / warps));

	if (registers > 0)
		blocks = least(blocks, (double)(int)(m->registers_per_sm / (registers * warps)));
	if (shared_bytes > 0)
		blocks = least(blocks, (double)(int)(m->shared_per_sm / (double)shared_bytes));
	return (int)blocks;
}

int64_t emu_kernel_ns(const struct emu_device *d, struct emu_function *f,
		      const struct gpuemu_launch *l, void *const *args, double *share)
{
	const struct emu_model *m = &d->model;
	const struct gpuemu_kernel *host = emu_host_kernel_of(f);
	double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2];
	double threads = (double)l->block[0] * l->block[1] * l->block[2];
	int held =
		emu_occupancy(d, f, (int)threads, l->shared_bytes + (size_t)f->entry->shared_bytes);
	struct gpuemu_cost cost = {.flops = blocks * threads * UNKNOWN_FLOPS,
				   .bytes = blocks * threads * UNKNOWN_BYTES};
	int64_t ns = recorded_ns(f, l);

	*share = least(1, blocks / (m->sms * (held > 0 ? held : 1)));
	if (ns >= 0)
		return ns;
	if (host && host->cost) {
		cost = (struct gpuemu_cost){0};
		host->cost(l, args, &cost);
	}
	if (cost.ns)
		return cost.ns;
	double used = least(1, blocks / m->sms);
	double math = cost.flops / (peak(m, cost.math) * m->math_efficiency * used);
	double bytes = cost.bytes / (m->memory_bytes_per_s * m->memory_efficiency *
				     least(1, used / EMU_MEMORY_PART));

	return (int64_t)(m->kernel_ns + 1e9 * (math > bytes ? math : bytes));
}
