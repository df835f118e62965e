/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of kernels: recorded, given by the host kernel, or from replay/cost (doc/gpuemu.md). */
#include "replay/cost/name.h"
#include "replay/cost/product.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/driver/timing.h"
#include "replay/emugpu/torch/work.h"

#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- depthwise convolutions of PyTorch */

static int32_t int_at(const void *at, size_t i)
{
	int32_t v;

	memcpy(&v, (const char *)at + 4 * i, sizeof(v));
	return v;
}

enum { ACCESSOR_BYTES = 40 };

/* at::native::conv_depthwise2d_*(three tensors, ...): x and y, at the positions of the table, and
 * the filter. A tensor is an address, four sizes and four strides. Returns whether the kernel is
 * one of these. */
static int depthwise(const struct emu_entry *e, const struct cost_name *kind, void *const *args,
		     struct gpuemu_convolution *ret)
{
	static const struct {
		const char *name;
		enum gpuemu_direction direction;
		int x, y;
	} kernels[] = {
		{"conv_depthwise2d_forward", GPUEMU_FORWARD, 0, 1},
		{"conv_depthwise2d_backward", GPUEMU_DATA_GRADIENT, 1, 0},
		{"conv_depthwise2d_grad_weight", GPUEMU_FILTER_GRADIENT, 1, 0},
	};
	const void *x, *y, *w;
	size_t i = 0;

	while (i < ARRAY_SIZE(kernels) && !strstr(e->name, kernels[i].name))
		i++;
	if (i == ARRAY_SIZE(kernels) || !args || e->n_params < 3)
		return 0;
	for (int k = 0; k < 3; k++)
		if (e->params[k].bytes != ACCESSOR_BYTES)
			return 0;
	x = args[kernels[i].x];
	y = args[kernels[i].y];
	w = args[2];
	*ret = (struct gpuemu_convolution){
		.direction = kernels[i].direction,
		.batch = int_at(x, 2),
		.in_channels = int_at(x, 3),
		.out_channels = int_at(y, 3),
		.groups = int_at(x, 3),
		.in = {1, int_at(x, 4), int_at(x, 5)},
		.out = {1, int_at(y, 4), int_at(y, 5)},
		.kernel = {1, int_at(w, 4), int_at(w, 5)},
		.dilation = {1, 1, 1},
		.element_bytes = kind->bytes,
		.channels_last = 1,
	};
	for (int d = 0; d < 3; d++) {
		if (ret->in[d] < 1 || ret->out[d] < 1 || ret->kernel[d] < 1)
			return 0;
		ret->stride[d] = fmax(1, round(ret->in[d] / ret->out[d]));
	}
	return ret->batch >= 1 && ret->groups >= 1 && ret->out_channels >= 1;
}

/* ---- durations */

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

/* The work of a function by its name. Threads may look it up at once: one result stays. */
static const struct cost_name *kind_of(struct emu_function *f)
{
	const struct cost_name *known = __atomic_load_n(&f->kind, __ATOMIC_ACQUIRE);

	if (known)
		return known;
	scoped(free_ptr) char *name = emu_name_demangle(f->entry->name);
	struct cost_name *kind = malloc(sizeof(*kind));

	if (!kind)
		return NULL;
	*kind = cost_name_of(name ? name : f->entry->name);
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

/* Of a kernel whose host kernel says what its work is. Convolutions and attention may be
 * fused with operations that read and write more. */
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
	struct cost_launch l = {
		.name = f->entry->name,
		.parsed = kind_of(f),
		.registers = f->entry->registers,
		.shared_bytes = (double)shared_bytes,
	};
	struct gpuemu_convolution convolution;
	struct cost_attention attention;

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
	if (l.parsed->class == COST_CLASS_CONVOLUTION &&
	    depthwise(f->entry, l.parsed, args, &convolution))
		return cost_of_convolution_by(&d->model, &convolution, GPUEMU_FP32, COST_BUSY_NS,
					      COST_DIRECT);
	if (l.parsed->class == COST_CLASS_ATTENTION &&
	    emu_torch_attention(l.parsed, launch, args, &attention))
		return cost_of_attention(&d->model, &attention, GPUEMU_FP16);
	emu_torch_work(l.parsed, launch, args, &l);
	return cost_of_kernel(&d->model, &l);
}
