/* SPDX-License-Identifier: Apache-2.0 */

/* The work of kernels of which only the launch is known: a kernel accesses as many elements behind
 * each pointer as it has threads, or as its largest integer says, if the allocation is that large.
 * A kernel whose name says that it multiplies matrices does so with the first three. */
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/name.h"

#include <math.h>
#include <string.h>

/* The value of a kernel parameter: a pointer, an integer, or something else. */
struct held {
	struct emu_region region; /* kind EMU_UNKNOWN: not a pointer */
	double element;		  /* bytes */
	double elements;	  /* up to the end of the allocation */
	double integer;		  /* 0: not an integer, or not positive */
};

static struct held held_by(const struct emu_function_kind *kind, const struct emu_entry *e, int i,
			   const void *arg)
{
	unsigned type = i < EMU_NAME_TYPES ? kind->types[i] : EMU_NAME_ANY;
	uint64_t value = 0;
	struct held h = {.element = type < EMU_NAME_OTHER ? type : 4};

	if (e->params[i].bytes != 4 && e->params[i].bytes != 8)
		return h;
	memcpy(&value, arg, e->params[i].bytes);
	if (e->params[i].bytes == 8 && type != EMU_NAME_INTEGER && type != EMU_NAME_OTHER)
		h.region = emu_region_find(value);
	if (h.region.kind != EMU_UNKNOWN)
		h.elements = (double)(h.region.base + h.region.bytes - value) / h.element;
	else if (type == EMU_NAME_INTEGER || (type == EMU_NAME_ANY && value < 1 << 29))
		h.integer =
			e->params[i].bytes == 4 ? (double)(int32_t)value : (double)(int64_t)value;
	return h;
}

/* Returns the time of bytes that come from another GPU or from the host. */
static double far_ns(const struct emu_device *d, const struct emu_region *r, double bytes)
{
	const struct cost_gpu *m = &d->model;

	if (r->device && m->nvlink_bytes_per_s > 0)
		return 1e9 * bytes / (m->nvlink_bytes_per_s * m->link_efficiency);
	return 1e9 * bytes / (m->pcie_bytes_per_s * m->pcie_efficiency);
}

double emu_kernel_estimate(const struct emu_device *d, const struct emu_function *f,
			   const struct emu_function_kind *kind, void *const *args,
			   struct cost_launch *ret)
{
	const struct emu_entry *e = f->entry;
	struct held held[EMU_NAME_TYPES];
	int n = e->n_params < EMU_NAME_TYPES ? e->n_params : EMU_NAME_TYPES;
	double threads = 1, most = 0, ns = 0, matrices = 1;
	int pointers = 0, half = 0;

	for (int i = 0; i < 3; i++)
		threads *= (double)ret->grid[i] * ret->block[i];
	for (int i = 0; i < n; i++) {
		held[i] = held_by(kind, e, i, args[i]);
		most = fmax(most, held[i].integer);
	}
	for (int i = 0; i < n; i++) {
		const struct held *h = &held[i];
		double count =
			fmin(h->elements, most <= h->elements ? fmax(most, threads) : threads);

		if (h->region.kind == EMU_UNKNOWN)
			continue;
		if (h->region.kind == EMU_MANAGED || h->region.device == d)
			ret->bytes += count * h->element;
		else
			ns = fmax(ns, far_ns(d, &h->region, count * h->element));
		if (pointers++ < 3)
			/* No dimension exceeds the largest integer, if one is given. */
			matrices *= most * most >= threads ? fmin(h->elements, most * most)
							   : h->elements;
		half |= h->element == 2;
	}
	if (kind->name.class == COST_CLASS_PRODUCT && pointers >= 3) {
		ret->operations = 2 * sqrt(matrices); /* m k, k n and m n elements */
		ret->math = half ? GPUEMU_FP16 : GPUEMU_FP32;
	}
	return ns;
}
