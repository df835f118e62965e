/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of kernels: recorded, given by the host kernel, or from replay/cost (doc/gpuemu.md). */
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/driver/timing.h"
#include "replay/emugpu/torch/work.h"

#include "base/array.h"
#include "base/scope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the recorded durations of the kernel. Concurrent look-ups have the same result. */
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

/* Returns the recorded duration of this shape; else the mean over all shapes; -1: not recorded. */
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

/* Returns the work of a function by its name. Of concurrent look-ups, one result is kept. */
static const struct emu_function_kind *kind_of(struct emu_function *f)
{
	const struct emu_function_kind *known = __atomic_load_n(&f->kind, __ATOMIC_ACQUIRE);

	if (known)
		return known;
	scoped(free_ptr) char *name = emu_name_demangle(f->entry->name);
	struct emu_function_kind *kind = malloc(sizeof(*kind));

	if (!kind)
		return NULL;
	kind->name = cost_name_of(name ? name : f->entry->name);
	emu_name_types(f->entry->name, kind->types);
	if (!__atomic_compare_exchange_n(&f->kind, &known, kind, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		free(kind);
		return known;
	}
	return kind;
}

int emu_occupancy(const struct emu_device *d, const struct emu_function *f, int block_threads,
		  size_t shared_bytes)
{
	return cost_occupancy(&d->model, block_threads, f->entry->registers, (double)shared_bytes);
}

static struct cost slower(struct cost a, struct cost b)
{
	return b.ns > a.ns ? b : a;
}

/* Cost of a kernel whose host kernel states its work. Convolutions and attention may be fused with
 * operations that read and write more. */
static struct cost stated_cost(const struct cost_gpu *g, const struct gpuemu_cost *c,
			       struct cost_launch *l)
{
	struct cost ret = {0};

	if (c->ns)
		return (struct cost){.ns = (double)c->ns, .source = COST_RECORDED};
	if (c->product.m > 0 && !c->attention)
		return cost_of_product(g, &c->product, c->math, COST_BUSY_NS);
	l->bytes = c->bytes;
	l->math = c->math;
	if (c->product.m > 0)
		ret = cost_of_attention(g,
					&(struct cost_attention){.scores = c->product,
								 .backward = c->attention == 2,
								 .causal = c->causal},
					c->math);
	else if (c->convolution.batch > 0)
		ret = cost_of_convolution(g, &c->convolution, c->math, COST_BUSY_NS);
	if (ret.ns > 0)
		return c->bytes > 0 ? slower(ret, cost_of_kernel(g, l)) : ret;
	l->operations = c->flops;
	return cost_of_kernel(g, l);
}

struct cost emu_kernel_cost(const struct emu_device *d, struct emu_function *f,
			    const struct gpuemu_launch *launch, void *const *args, double *share)
{
	const struct gpuemu_kernel *host = emu_host_kernel_of(f);
	size_t shared_bytes = launch->shared_bytes + (size_t)f->entry->shared_bytes;
	double blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
	uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
	int held = emu_occupancy(d, f, (int)threads, shared_bytes);
	int64_t ns = recorded_ns(f, launch);
	const struct emu_function_kind *kind = kind_of(f);
	struct cost_launch l = {
		.name = f->entry->name,
		.parsed = kind ? &kind->name : NULL,
		.registers = f->entry->registers,
		.shared_bytes = (double)shared_bytes,
	};
	struct cost_attention attention;
	struct cost ret;
	double far_ns = 0;

	*share = fmin(1, blocks / (d->model.sms * (held > 0 ? held : 1)));
	if (ns >= 0)
		return (struct cost){.ns = (double)ns, .source = COST_RECORDED};
	memcpy(l.grid, launch->grid, sizeof(l.grid));
	memcpy(l.block, launch->block, sizeof(l.block));
	if (host && host->cost) {
		struct gpuemu_cost stated = {0};

		host->cost(launch, args, &stated);
		return stated_cost(&d->model, &stated, &l);
	}
	if (!l.parsed)
		return cost_of_kernel(&d->model, &l);
	if (l.parsed->class == COST_CLASS_ATTENTION &&
	    emu_torch_attention(l.parsed, launch, args, &attention))
		return cost_of_attention(&d->model, &attention,
					 l.parsed->math == GPUEMU_FP32 ? GPUEMU_TF32 : GPUEMU_FP16);
	emu_torch_work(l.parsed, launch, args, &l);
	if (args && l.parsed->kernel == COST_KERNEL_OTHER && l.bytes == 0 && l.elements == 0 &&
	    l.columns == 0)
		far_ns = emu_kernel_estimate(d, f, kind, args, &l);
	ret = cost_of_kernel(&d->model, &l);
	ret.ns = fmax(ret.ns, far_ns);
	return ret;
}
