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

/* Parameters, by number: sizes are those of the channels, of an input and of a result; batch COUNT
 * + i: parameter i is the number of results. Forward, the window, step, padding and dilation follow
 * the sizes. */
enum { LAST = 1, BACKWARD = 2, COUNT = 32, MOST = 1 << 30 };

static const struct max_pool {
	const char *name;
	uint8_t flags, axes, in, out, positions, batch, sizes, params;
} max_pools[] = {
	{"max_pool_forward_nchw<", 0, 2, 1, 15, 16, COUNT, 2, 17},
	{"max_pool_forward_nhwc<", LAST, 2, 0, 21, 22, 1, 2, 23},
	{"max_pool_backward_nchw<", BACKWARD, 2, 16, 0, 1, 2, 3, 17},
	{"max_pool_backward_nhwc<", BACKWARD | LAST, 2, 21, 0, 1, 2, 3, 22},
	{"max_pool3d_with_indices_single_out_frame<", 0, 3, 0, 1, 2, 7, 3, 25},
	{"max_pool3d_with_indices_backward_single_out_frame<", BACKWARD, 3, 0, 1, 2, 7, 3, 13},
};

struct max_view {
	struct emu_torch_image in, out;
	int64_t *positions, options[4][EMU_AXES]; /* window, step, padding, dilation */
};

static int read_max_pool(const struct max_pool *k, const struct gpuemu_launch *l, void *const *args,
			 struct max_view *ret)
{
	unsigned at = k->sizes, axes = k->axes, first = EMU_AXES - axes;
	int64_t batch, channels = emu_int_of(l, args, at);
	int64_t size[2][EMU_AXES] = {{1, 1, 1}, {1, 1, 1}};
	double in = (double)channels, out = in, window = 1;

	for (unsigned i = 0; i < 2 * axes; i++) {
		at += axes == 3 && i == axes; /* the batch */
		size[i / axes][first + i % axes] = emu_int_of(l, args, ++at);
	}
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < EMU_AXES; j++) {
			ret->options[i][j] = i != 2; /* no padding */
			if (!(k->flags & BACKWARD) && j >= first)
				ret->options[i][j] = emu_int_of(l, args, ++at);
			if (ret->options[i][j] < (i != 2) || ret->options[i][j] > MOST)
				return -ENOTSUP;
		}
	for (int i = 0; i < EMU_AXES; i++) {
		in *= (double)size[0][i];
		out *= (double)size[1][i];
		window *= (double)ret->options[0][i];
		if (channels < 1 || size[0][i] < 1 || size[1][i] < 1 || size[0][i] > MOST ||
		    size[1][i] > MOST || fmax(fmax(in, out), window) > 1e15)
			return -ENOTSUP;
	}
	batch = k->batch >= COUNT ? emu_int_of(l, args, k->batch - COUNT) / (int64_t)out
				  : emu_int_of(l, args, k->batch);
	ret->in = emu_torch_packed(emu_pointer_of(args, k->in), batch, channels, size[0],
				   k->flags & LAST);
	ret->out = emu_torch_packed(emu_pointer_of(args, k->out), batch, channels, size[1],
				    k->flags & LAST);
	ret->positions = emu_pointer_of(args, k->positions);
	/* Of more volumes than a grid has: the number of the first one; then, channels last. */
	if (axes == 3 &&
	    ((double)l->grid[2] != (double)batch * (double)channels * (double)size[1][0] ||
	     *(const uint8_t *)args[k->params - 1]))
		return -ENOTSUP;
	/* Ten elements of a window count as one of the result. */
	return emu_torch_computes_large((double)batch * fmax(in, out * fmax(window / 10, 1)),
					EMU_TORCH_IMAGES)
		       ? 0
		       : -ENOTSUP;
}

static void find_largest(const struct emu_torch *t, const struct max_view *v, int64_t n, int64_t c,
			 const int64_t o[EMU_AXES])
{
	const int64_t *window = v->options[0], *size = v->in.size + 2;
	int64_t best = -1, at = emu_torch_image_offset(&v->out, n, c, o), p[EMU_AXES];
	double most = -INFINITY, x;

	for (int64_t i = 0; i < window[0] * window[1] * window[2]; i++) {
		int64_t rest = i, inside = 1;

		for (int k = EMU_AXES - 1; k >= 0; k--) {
			p[k] = o[k] * v->options[1][k] - v->options[2][k] +
			       rest % window[k] * v->options[3][k];
			rest /= window[k];
			inside &= p[k] >= 0 && p[k] < size[k];
		}
		if (!inside)
			continue;
		x = emu_load(t->in[0], v->in.data, emu_torch_image_offset(&v->in, n, c, p));
		if (best < 0 || x > most || isnan(x)) {
			most = x;
			best = (p[0] * size[1] + p[1]) * size[2] + p[2];
		}
	}
	emu_store(t->in[0], v->out.data, at, most);
	v->positions[at] = best;
}

static int run_max_pool(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct max_pool *k = &max_pools[t->op];
	struct max_view v;

	if (read_max_pool(k, l, args, &v) < 0)
		return -ENOTSUP;
	for (int64_t n = 0; n < v.in.size[0]; n++)
		for (int64_t c = 0; c < v.in.size[1]; c++)
			EMU_EACH_POSITION(&v.out, o)
			{
				find_largest(t, &v, n, c, o);
			}
	return 0;
}

static int run_max_pool_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
				 void *const *args)
{
	scoped(free_ptr) double *plane = NULL;
	struct max_view v;
	int64_t size;

	if (read_max_pool(&max_pools[t->op], l, args, &v) < 0)
		return -ENOTSUP;
	size = v.in.size[2] * v.in.size[3] * v.in.size[4];
	plane = calloc((size_t)size, sizeof(*plane));
	if (!plane)
		return -ENOMEM;
	for (int64_t n = 0; n < v.in.size[0]; n++)
		for (int64_t c = 0; c < v.in.size[1]; c++) {
			memset(plane, 0, (size_t)size * sizeof(*plane));
			EMU_EACH_POSITION(&v.out, o)
			{
				int64_t at = emu_torch_image_offset(&v.out, n, c, o);

				if (v.positions[at] < 0 || v.positions[at] >= size)
					return -ENOTSUP;
				plane[v.positions[at]] += emu_load(t->in[0], v.out.data, at);
			}
			EMU_EACH_POSITION(&v.in, p)
			emu_store(t->in[0], v.in.data, emu_torch_image_offset(&v.in, n, c, p),
				  plane[(p[0] * v.in.size[3] + p[1]) * v.in.size[4] + p[2]]);
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
	if (x.size[1] < 1 || y.size[1] < 1 || y.size[1] % x.size[1] != 0 ||
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
	for (size_t i = 0; i < sizeof(max_pools) / sizeof(max_pools[0]); i++)
		if (strncmp(rest.at, max_pools[i].name, strlen(max_pools[i].name)) == 0) {
			t->op = (uint8_t)i;
			t->params = max_pools[i].params;
			t->run = max_pools[i].flags & BACKWARD ? run_max_pool_backward
							       : run_max_pool;
			return emu_part_type(emu_part_argument(rest, 0), &t->in[0]);
		}
	return -ENOTSUP;
}
