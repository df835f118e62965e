/* SPDX-License-Identifier: Apache-2.0 */

/* Running sums, products, maxima and minima. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { SUM, PRODUCT, LOG_SUM, MAX, MIN };

/* Rows of `n` elements that are `stride` apart. */
struct scan {
	const void *from;
	void *to;
	int64_t *indices; /* of MAX and MIN */
	int64_t n, stride;
};

static double add(int op, double a, double b)
{
	if (op == LOG_SUM)
		return a == -INFINITY ? b : fmax(a, b) + log1p(exp(-fabs(a - b)));
	return op == PRODUCT ? a * b : a + b;
}

/* Of 64-bit integers, exact and with wrap-around. */
static void scan_integers(const struct emu_torch *t, const struct scan *s, int64_t at)
{
	int64_t total = t->op == PRODUCT, best = 0, v;

	for (int64_t i = 0; i < s->n; i++, at += s->stride) {
		v = ((const int64_t *)s->from)[at];
		if (t->op == SUM) {
			total = (int64_t)((uint64_t)total + (uint64_t)v);
		} else if (t->op == PRODUCT) {
			total = (int64_t)((uint64_t)total * (uint64_t)v);
		} else if (i == 0 || (t->op == MAX ? v >= total : v <= total)) {
			total = v;
			best = i;
		}
		if (s->indices)
			s->indices[at] = best;
		((int64_t *)s->to)[at] = total;
	}
}

static void scan_row(const struct emu_torch *t, const struct scan *s, int64_t at)
{
	double total = t->op == PRODUCT ? 1 : t->op == LOG_SUM ? -INFINITY : 0, v;
	int64_t best = 0;

	if (t->in[0] == EMU_I64 && t->out == EMU_I64) {
		scan_integers(t, s, at);
		return;
	}
	for (int64_t i = 0; i < s->n; i++, at += s->stride) {
		v = emu_load(t->in[0], s->from, at);
		if (t->op < MAX) {
			total = add(t->op, total, v);
		} else if (i == 0 || isnan(v) ||
			   (!isnan(total) && (t->op == MAX ? v >= total : v <= total))) {
			total = v;
			best = i;
		}
		if (s->indices)
			s->indices[at] = best;
		emu_store(t->out, s->to, at, total);
	}
}

/* tensor_kernel_scan_innermost_dim[_with_indices](to, from, rows, elements, ...) and
 * (from, to, indices, rows, elements, ...); t->depth 1: tensor_kernel_scan_outer_dim, with outer
 * rows, inner rows, elements */
static int run_scan(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	unsigned indexed = t->op >= MAX, at = 2 + indexed;
	int64_t outer = emu_int_of(l, args, at), inner = t->depth ? emu_int_of(l, args, at + 1) : 1;
	struct scan s = {emu_pointer_of(args, !indexed), emu_pointer_of(args, indexed),
			 indexed ? emu_pointer_of(args, 2) : NULL,
			 emu_int_of(l, args, at + 1 + (unsigned)t->depth), inner};

	if (!emu_torch_computes_work((double)outer * (double)inner * (double)s.n))
		return -ENOTSUP;
	for (int64_t i = 0; i < outer * inner; i++)
		scan_row(t, &s, i / inner * inner * s.n + i % inner);
	return 0;
}

/* DeviceScanKernel(from, to, state, first, function, nothing, n) */
static int run_device_scan(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	struct scan s = {emu_pointer_of(args, 0), emu_pointer_of(args, 1), NULL,
			 emu_int_of(l, args, 6), 1};

	if (l->arg_bytes(l, 0) != 8 || l->arg_bytes(l, 1) != 8 || l->arg_bytes(l, 5) != 1 ||
	    !emu_torch_computes_work(emu_has_data() ? 1 : (double)s.n)) /* with data, any size */
		return -ENOTSUP;
	scan_row(t, &s, 0);
	return 0;
}

/* ---- by name ---- */

/* Prepares the state of DeviceScanKernel, which is not used here. */
static int run_init(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return 0;
}

static int parse_scan(struct emu_torch *t, struct emu_part name)
{
	t->depth = strncmp(name.at, "outer_dim", 9) == 0;
	t->op = emu_part_has(name, "logcumsumexp")	    ? LOG_SUM
		: emu_part_has(name, "std::multiplies<")    ? PRODUCT
		: emu_part_has(name, "std::greater_equal<") ? MAX
		: emu_part_has(name, "std::less_equal<")    ? MIN
							    : SUM;
	if (emu_part_type(emu_part_argument(name, 0), &t->in[0]) < 0)
		return -ENOTSUP;
	t->params = t->op < MAX ? 7 : t->depth ? 8 : 9;
	t->out = t->in[0];
	return 0;
}

/* policy_hub<from, to, ...>, of sums */
static int parse_device_scan(struct emu_torch *t, struct emu_part name)
{
	struct emu_part hub = emu_part_argument(name, 0);

	t->op = SUM;
	t->params = 7;
	if (!emu_part_has(hub, "plus<") || emu_part_type(emu_part_argument(hub, 0), &t->in[0]) < 0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(hub, 1), &t->out);
}

int emu_torch_scans(struct emu_torch *t, struct emu_part name)
{
	struct emu_part scan = emu_part_after(name, "::tensor_kernel_scan_");
	struct emu_part device = emu_part_after(name, "::DeviceScanKernel<");

	t->run = scan.len ? run_scan : device.len ? run_device_scan : run_init;
	if (scan.len)
		return parse_scan(t, scan);
	if (device.len)
		return parse_device_scan(t, (struct emu_part){device.at - 1, device.len + 1});
	return emu_part_has(name, "::DeviceScanInitKernel<") ? 0 : -ENOTSUP;
}
