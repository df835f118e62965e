/* SPDX-License-Identifier: Apache-2.0 */

/* Maximum pooling and depthwise convolutions of images. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/torch/image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- maximum pooling ---- */

/* max_pool_forward_nchw(threads, in, C, H, W, H', W', window, step, pad, dilation, out, positions)
 * and _nhwc(in, N, C, ..., four strides, ..., out, positions): `first` is the parameter C. */
static int run_max_pool(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int last = t->op;
	unsigned first = 2, results = last ? 21 : 15;
	int64_t v[13], batch;
	struct emu_torch_image in, out;

	for (unsigned i = 0; i < 13; i++)
		v[i] = emu_int_of(l, args, first + i);
	if (v[0] < 1 || v[1] < 1 || v[2] < 1 || v[3] < 1 || v[4] < 1)
		return -ENOTSUP;
	batch = last ? emu_int_of(l, args, 1) : emu_int_of(l, args, 0) / (v[0] * v[3] * v[4]);
	in = emu_torch_packed(emu_pointer_of(args, last ? 0 : 1), batch, v[0], v[1], v[2], last);
	out = emu_torch_packed(emu_pointer_of(args, results), batch, v[0], v[3], v[4], last);
	if (!emu_torch_computes_large(emu_torch_image_elements(&in), EMU_TORCH_IMAGES))
		return -ENOTSUP;
	for (int64_t n = 0; n < batch; n++)
		for (int64_t c = 0; c < v[0]; c++)
			EMU_EACH_POSITION(&out, o)
			{
				double most = -INFINITY;
				int64_t best = -1, at = emu_torch_image_offset(&out, n, c, o);

				for (int64_t i = 0; i < v[5] * v[6]; i++) {
					int64_t h = o[1] * v[7] - v[9] + i / v[6] * v[11];
					int64_t w = o[2] * v[8] - v[10] + i % v[6] * v[12];
					int64_t p[EMU_AXES] = {0, h, w};
					double x;

					if (h < 0 || w < 0 || h >= v[1] || w >= v[2])
						continue;
					x = emu_load(t->in[0], in.data,
						     emu_torch_image_offset(&in, n, c, p));
					if (best < 0 || x > most || isnan(x)) {
						most = x;
						best = h * v[2] + w;
					}
				}
				emu_store(t->in[0], out.data, at, most);
				((int64_t *)emu_pointer_of(args, results + 1))[at] = best;
			}
	return 0;
}

/* max_pool_backward_...(gradient, positions, N, C, H, W, H', W', ..., result) */
static int run_max_pool_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
				 void *const *args)
{
	int last = t->op;
	const int64_t *positions = emu_pointer_of(args, 1);
	scoped(free_ptr) double *plane = NULL;
	struct emu_torch_image in, out;
	int64_t v[6], size;

	for (unsigned i = 0; i < 6; i++)
		v[i] = emu_int_of(l, args, 2 + i);
	in = emu_torch_packed(emu_pointer_of(args, last ? 21 : 16), v[0], v[1], v[2], v[3], last);
	out = emu_torch_packed(emu_pointer_of(args, 0), v[0], v[1], v[4], v[5], last);
	size = v[2] * v[3];
	if (size < 1 || !emu_torch_computes_large(emu_torch_image_elements(&in), EMU_TORCH_IMAGES))
		return -ENOTSUP;
	plane = calloc((size_t)size, sizeof(*plane));
	if (!plane)
		return -ENOMEM;
	for (int64_t n = 0; n < v[0]; n++)
		for (int64_t c = 0; c < v[1]; c++) {
			memset(plane, 0, (size_t)size * sizeof(*plane));
			EMU_EACH_POSITION(&out, o)
			{
				int64_t at = emu_torch_image_offset(&out, n, c, o);

				if (positions[at] < 0 || positions[at] >= size)
					return -ENOTSUP;
				plane[positions[at]] += emu_load(t->in[0], out.data, at);
			}
			EMU_EACH_POSITION(&in, p)
			emu_store(t->in[0], in.data, emu_torch_image_offset(&in, n, c, p),
				  plane[p[1] * v[3] + p[2]]);
		}
	return 0;
}

/* ---- depthwise convolutions ---- */

/* PackedTensorAccessor32 of four dimensions. */
static struct emu_torch_image narrow_accessor(const void *param)
{
	const int32_t *at = (const int32_t *)param + 2;
	struct emu_torch_image r = {*(void *const *)param, {at[0], at[1], 1, at[2], at[3]}, {0}};

	r.stride[0] = at[4];
	r.stride[1] = at[5];
	r.stride[3] = at[6];
	r.stride[4] = at[7];
	return r;
}

enum { FORWARD, INPUT_GRADIENT, FILTER_GRADIENT };

/* conv_depthwise2d_forward_kernel(x, y, w, bias, has bias, ...),
 * conv_depthwise2d_backward_kernel(dy, dx, w, ...) and
 * conv_depthwise2d_grad_weight_kernel(dy, x, dw, ...): then widths and heights of x, y, the window,
 * step, padding and dilation. `sums` is the result. */
static void convolve(const struct emu_torch *t, const struct emu_torch_image *x,
		     const struct emu_torch_image *y, const struct emu_torch_image *w,
		     const int64_t v[12], int64_t n, int64_t c, double *sums)
{
	int64_t multiple = y->size[1] / x->size[1];

	EMU_EACH_POSITION(y, o)
	EMU_EACH_POSITION(w, k)
	{
		int64_t p[EMU_AXES] = {0, o[1] * v[7] - v[9] + k[1] * v[11],
				       o[2] * v[6] - v[8] + k[2] * v[10]};
		double a, b;

		if (p[1] < 0 || p[2] < 0 || p[1] >= x->size[3] || p[2] >= x->size[4])
			continue;
		a = t->op == INPUT_GRADIENT
			    ? emu_load(t->in[0], w->data, emu_torch_image_offset(w, c, 0, k))
			    : emu_load(t->in[0], x->data,
				       emu_torch_image_offset(x, n, c / multiple, p));
		b = t->op == FORWARD
			    ? emu_load(t->in[0], w->data, emu_torch_image_offset(w, c, 0, k))
			    : emu_load(t->in[0], y->data, emu_torch_image_offset(y, n, c, o));
		sums[t->op == FORWARD	       ? o[1] * y->size[4] + o[2]
		     : t->op == INPUT_GRADIENT ? p[1] * x->size[4] + p[2]
					       : k[1] * w->size[4] + k[2]] += a * b;
	}
}

static int run_depthwise(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args)
{
	unsigned first = t->op == FORWARD ? 8 : 7;
	struct emu_torch_image m[3], x, y, w, *to;
	const void *bias = NULL;
	int64_t v[12], multiple, outer, inner;
	scoped(free_ptr) double *sums = NULL;

	for (unsigned i = 0; i < 3; i++) {
		if (l->arg_bytes(l, i) != 40)
			return -ENOTSUP;
		m[i] = narrow_accessor(args[i]);
	}
	for (unsigned i = 0; i < 12; i++)
		v[i] = emu_int_of(l, args, first + i);
	x = m[t->op == FORWARD ? 0 : 1];
	y = m[t->op == FORWARD ? 1 : 0];
	w = m[2];
	to = t->op == FORWARD ? &y : t->op == INPUT_GRADIENT ? &x : &w;
	if (x.size[1] < 1 || y.size[1] % x.size[1] != 0 ||
	    !emu_torch_computes_work(emu_torch_image_elements(&y) *
				     (double)(w.size[3] * w.size[4]) / 20))
		return -ENOTSUP;
	if (t->op == FORWARD && *(const uint8_t *)args[4])
		bias = emu_pointer_of(args, 3);
	multiple = y.size[1] / x.size[1];
	sums = malloc((size_t)(to->size[3] * to->size[4] + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	/* A plane of the result adds up those of several channels or images. */
	outer = t->op == FILTER_GRADIENT ? 1 : y.size[0];
	inner = t->op == FILTER_GRADIENT ? y.size[0] : t->op == INPUT_GRADIENT ? multiple : 1;
	for (int64_t n = 0; n < outer; n++)
		for (int64_t c = 0; c < to->size[t->op == FILTER_GRADIENT ? 0 : 1]; c++) {
			int64_t at[2] = {n, c};

			memset(sums, 0, (size_t)(to->size[3] * to->size[4]) * sizeof(*sums));
			for (int64_t i = 0; i < inner; i++)
				if (t->op == FILTER_GRADIENT)
					convolve(t, &x, &y, &w, v, i, c, sums);
				else
					convolve(t, &x, &y, &w, v, n, c * inner + i, sums);
			if (t->op == FILTER_GRADIENT) {
				at[0] = c;
				at[1] = 0;
			}
			EMU_EACH_POSITION(to, p)
			emu_store(t->in[0], to->data, emu_torch_image_offset(to, at[0], at[1], p),
				  sums[p[1] * to->size[4] + p[2]] +
					  (bias ? emu_load(t->in[0], bias, c) : 0));
		}
	return 0;
}

static int parse_depthwise(struct emu_torch *t, struct emu_part rest)
{
	int forward = emu_part_has(rest, "conv_depthwise2d_forward_kernel");
	int filter = emu_part_has(rest, "conv_depthwise2d_grad_weight_kernel<");

	t->op = forward ? FORWARD : filter ? FILTER_GRADIENT : INPUT_GRADIENT;
	t->run = run_depthwise;
	t->params = forward ? 20 : 19;
	/* Numbers for the window, and backward for the step, may precede the type. */
	for (int i = 0; i < 3; i++)
		if (emu_part_type(emu_part_argument(rest, i), &t->in[0]) == 0)
			return 0;
	return -ENOTSUP;
}

int emu_torch_pooling(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest = emu_part_after(name, "(anonymous namespace)::");

	if (strncmp(rest.at, "conv_depthwise2d_", 17) == 0)
		return parse_depthwise(t, rest);
	if (strncmp(rest.at, "max_pool_forward_n", 18) == 0)
		t->run = run_max_pool;
	else if (strncmp(rest.at, "max_pool_backward_n", 19) == 0)
		t->run = run_max_pool_backward;
	t->op = emu_part_has(rest, "_nhwc<");
	t->params = !t->op ? 17 : t->run == run_max_pool ? 23 : 22;
	return t->run ? emu_part_type(emu_part_argument(rest, 0), &t->in[0]) : -ENOTSUP;
}
