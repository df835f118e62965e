/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels on images: average pooling, interpolation, padding. All are the same function: an element
 * of the result is a sum of inputs, whose weights are products of one weight for each dimension.
 * The gradient has the same weights. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/torch/image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CUBIC_TAPS = 4 };

/* GenericPackedTensorAccessor of 3 to 5 dimensions with 64-bit sizes: address, sizes, strides. */
static int accessor(const struct gpuemu_launch *l, void *const *args, unsigned i,
		    struct emu_torch_image *ret)
{
	size_t dims = (l->arg_bytes(l, i) - 8) / 16;
	const int64_t *at = args[i];

	if (l->arg_bytes(l, i) != 8 + 16 * dims || dims < 3 || dims > 2 + EMU_AXES)
		return -ENOTSUP;
	*ret = (struct emu_torch_image){emu_pointer_of(args, i), {1, 1, 1, 1, 1}, {0}};
	for (size_t d = 0; d < dims; d++) {
		size_t to = d < 2 ? d : d + 2 + EMU_AXES - dims;

		ret->size[to] = at[1 + d];
		ret->stride[to] = at[1 + dims + d];
	}
	return 0;
}

/* ---- sums with weights ---- */

enum kind { ONE, MEAN, ADAPTIVE, NEAREST, LINEAR, CUBIC, REFLECT, REPLICATE };

struct axis {
	uint8_t kind, align, include_pad;
	int64_t window, step, pad;
	uint8_t exact, backward; /* of NEAREST */
	/* of NEAREST, LINEAR and CUBIC: size of the input / size of the result, or what the program
	 * gave; of NEAREST backward its inverse */
	float scale;
};

/* The inputs of an element of the result along one axis: `n` from `first` on with equal weights, or
 * those in at[]. */
struct taps {
	int64_t n, first, at[CUBIC_TAPS];
	double weight, weights[CUBIC_TAPS];
};

static int64_t clamp(int64_t v, int64_t size)
{
	return v < 0 ? 0 : v >= size ? size - 1 : v;
}

static void mean_taps(const struct axis *a, int64_t in, int64_t o, struct taps *ret)
{
	int64_t from = o * a->step - a->pad, to = from + a->window;
	int64_t whole = (to < in + a->pad ? to : in + a->pad) - from;

	ret->first = from > 0 ? from : 0;
	ret->n = (to < in ? to : in) - ret->first;
	ret->weight = 1.0 / (double)(a->include_pad ? whole : ret->n);
}

/* PyTorch's cubic convolution, with a = -0.75. */
static double cubic_weight(double x)
{
	const double a = -0.75;

	x = fabs(x);
	return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
	       : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
		       : 0;
}

static void scaled_taps(const struct axis *a, int64_t in, int64_t o, struct taps *ret)
{
	float at = a->align ? a->scale * (float)o : a->scale * ((float)o + 0.5f) - 0.5f;
	int64_t n = a->kind == CUBIC ? CUBIC_TAPS : 2, first;

	if (a->kind == LINEAR && at < 0)
		at = 0;
	first = (int64_t)floorf(at);
	ret->n = n;
	ret->first = -1;
	for (int64_t i = 0; i < n; i++) {
		int64_t k = first + i - (n == CUBIC_TAPS);

		ret->at[i] = clamp(k, in);
		ret->weights[i] =
			a->kind == CUBIC ? cubic_weight(at - (double)k) : 1 - fabs(at - (double)k);
	}
}

/* Forward, clamped to the input. Backward, an input has the elements of the result that PyTorch's
 * kernel gives it, so an element may have no input. */
static void nearest_taps(const struct axis *a, int64_t in, int64_t o, struct taps *ret)
{
	float half = a->exact ? 0.5f : 0, s = a->scale;
	int64_t i;

	if (!a->backward) {
		ret->first = clamp((int64_t)floorf(((float)o + half) * s), in);
		return;
	}
	i = clamp((int64_t)floorf(((float)o + half) / s), in);
	while (i > 0 && (float)o < ceilf((float)i * s - half))
		i--;
	while (i < in && (float)o >= ceilf((float)(i + 1) * s - half))
		i++;
	ret->first = i;
	ret->n = i < in;
}

static void taps_of(const struct axis *a, int64_t in, int64_t out, int64_t o, struct taps *ret)
{
	int64_t at = o - a->pad;

	*ret = (struct taps){.n = 1, .weight = 1};
	switch (a->kind) {
	case MEAN:
		mean_taps(a, in, o, ret);
		break;
	case ADAPTIVE:
		ret->first = o * in / out;
		ret->n = ((o + 1) * in + out - 1) / out - ret->first;
		ret->weight = 1.0 / (double)ret->n;
		break;
	case NEAREST:
		nearest_taps(a, in, o, ret);
		break;
	case LINEAR:
	case CUBIC:
		scaled_taps(a, in, o, ret);
		break;
	case REFLECT:
		at = at < 0 ? -at : at;
		ret->first = at >= in ? 2 * (in - 1) - at : at;
		break;
	default:
		ret->first = clamp(at, in);
	}
}

struct sums {
	const struct emu_torch *t;
	struct axis axes[EMU_AXES];
	struct emu_torch_image in, out; /* of the forward direction */
	double factor;
	int backward;
};

/* Adds up one element of the result or, backward, distributes it over `plane`. */
static double sum_one(const struct sums *s, const struct taps taps[EMU_AXES], int64_t n, int64_t c,
		      double grad, double *plane)
{
	const int64_t *size = s->in.size + 2;
	double sum = 0;
	int64_t k[EMU_AXES], p[EMU_AXES];

	for (k[0] = 0; k[0] < taps[0].n; k[0]++)
		for (k[1] = 0; k[1] < taps[1].n; k[1]++)
			for (k[2] = 0; k[2] < taps[2].n; k[2]++) {
				double weight = s->factor;

				for (int i = 0; i < EMU_AXES; i++) {
					int listed = taps[i].first < 0;

					p[i] = listed ? taps[i].at[k[i]] : taps[i].first + k[i];
					weight *= listed ? taps[i].weights[k[i]] : taps[i].weight;
				}
				if (s->backward)
					plane[(p[0] * size[1] + p[1]) * size[2] + p[2]] +=
						weight * grad;
				else
					sum += weight *
					       emu_load(s->t->in[0], s->in.data,
							emu_torch_image_offset(&s->in, n, c, p));
			}
	return sum;
}

static void sum_plane(const struct sums *s, const struct taps *taps, int64_t n, int64_t c,
		      double *plane)
{
	const int64_t *in = s->in.size + 2, *out = s->out.size + 2;

	memset(plane, 0, (size_t)(in[0] * in[1] * in[2]) * sizeof(*plane));
	EMU_EACH_POSITION(&s->out, o)
	{
		struct taps of[EMU_AXES] = {taps[o[0]], taps[out[0] + o[1]],
					    taps[out[0] + out[1] + o[2]]};
		int64_t at = emu_torch_image_offset(&s->out, n, c, o);

		if (s->backward)
			sum_one(s, of, n, c, emu_load(s->t->in[0], s->out.data, at), plane);
		else
			emu_store(s->t->in[0], s->out.data, at, sum_one(s, of, n, c, 0, NULL));
	}
	if (s->backward)
		EMU_EACH_POSITION(&s->in, p)
	emu_store(s->t->in[0], s->in.data, emu_torch_image_offset(&s->in, n, c, p),
		  plane[(p[0] * in[1] + p[1]) * in[2] + p[2]]);
}

static int run_sums(const struct sums *s)
{
	const int64_t *in = s->in.size + 2, *out = s->out.size + 2;
	scoped(free_ptr) struct taps *taps = NULL;
	scoped(free_ptr) double *plane = NULL;
	struct taps *t;

	for (int i = 0; i < 2 + EMU_AXES; i++)
		if (s->in.size[i] < 1 || s->out.size[i] < 1)
			return -ENOTSUP;
	if (!emu_torch_computes_work(
		    fmax(emu_torch_image_elements(&s->in), emu_torch_image_elements(&s->out))))
		return -ENOTSUP;
	t = taps = calloc((size_t)(out[0] + out[1] + out[2]), sizeof(*taps));
	plane = calloc((size_t)(in[0] * in[1] * in[2]), sizeof(*plane));
	if (!taps || !plane)
		return -ENOMEM;
	for (int i = 0; i < EMU_AXES; i++)
		for (int64_t o = 0; o < out[i]; o++)
			taps_of(&s->axes[i], in[i], out[i], o, t++);
	for (int64_t n = 0; n < s->in.size[0]; n++)
		for (int64_t c = 0; c < s->in.size[1]; c++)
			sum_plane(s, taps, n, c, plane);
	return 0;
}

/* ---- parameters ---- */

/* The members of `struct kernel` that locate tensors and sizes are indices of the kernel's
 * parameters. NONE: no parameter contains the value. GRID_X, GRID_YZ: the grid determines it. */
enum { NONE = 99, GRID_X = 98, GRID_YZ = 97, COUNT = 32 };

enum { BACKWARD = 1, LAST = 2, ACCESSORS = 4, SAME_STEP = 8, NO_HEIGHT = 16, DEEP = 32 };

static const struct kernel {
	const char *name;
	uint8_t kind, flags;
	uint8_t in, out;	   /* addresses, of the forward direction */
	uint8_t batch, channels;   /* batch COUNT + i: parameter i is the number of elements */
	uint8_t in_size, out_size; /* height and width; of DEEP kernels the depth precedes them */
	uint8_t options;	   /* the window; scales and `align`; padding */
	uint8_t params;
} kernels[] = {
	{"avg_pool2d_out_cuda_frame<", MEAN, 0, 1, 13, COUNT, 2, 3, 5, 7, 17},
	{"avg_pool2d_out_cuda_frame_nhwc<", MEAN, LAST, 1, 13, COUNT, 2, 3, 5, 7, 17},
	{"avg_pool2d_backward_out_cuda_frame<", MEAN, BACKWARD, 13, 1, COUNT, 2, 3, 5, 7, 18},
	{"avg_pool2d_backward_out_cuda_frame_nhwc<", MEAN, BACKWARD | LAST, 13, 1, COUNT, 2, 3, 5,
	 7, 18},
	{"avg_pool2d_backward_nonoverlap_frame<", MEAN, BACKWARD | SAME_STEP, 9, 1, COUNT, 2, 3, 5,
	 7, 13},
	{"adaptive_average_pool<", ADAPTIVE, 0, 0, 1, GRID_X, NONE, 2, 4, NONE, 9},
	{"adaptive_average_gradinput<", ADAPTIVE, BACKWARD, 0, 1, GRID_X, NONE, 2, 4, NONE, 6},
	{"atomic_adaptive_average_gradinput<", ADAPTIVE, BACKWARD, 0, 1, GRID_X, NONE, 2, 4, NONE,
	 6},
	{"adaptive_average_pool_nhwc<", ADAPTIVE, LAST, 0, 1, 2, 3, 4, 6, NONE, 14},
	{"adaptive_average_gradinput_nhwc<", ADAPTIVE, BACKWARD | LAST, 0, 1, 2, 3, 4, 6, NONE, 14},
	{"upsample_nearest1d_out_frame<", NEAREST, NO_HEIGHT, 0, 5, 1, 2, 3, 4, 6, 7},
	{"upsample_nearest1d_backward_out_frame<", NEAREST, BACKWARD | NO_HEIGHT, 5, 0, 1, 2, 4, 3,
	 6, 7},
	{"upsample_nearest2d_out_frame<", NEAREST, 0, 0, 1, 2, NONE, 3, 5, 7, 9},
	{"upsample_nearest2d_backward_out_frame<", NEAREST, BACKWARD, 7, 0, 1, 2, 5, 3, 8, 10},
	{"upsample_nearest2d_nhwc_out_frame<", NEAREST, LAST, 0, 1, COUNT + 9, 2, 3, 5, 7, 10},
	{"upsample_nearest2d_backward_nhwc_out_frame<", NEAREST, BACKWARD | LAST, 1, 0, COUNT + 9,
	 6, 4, 2, 7, 10},
	{"upsample_nearest3d_out_frame<", NEAREST, DEEP, 0, 9, 1, 2, 3, 6, 10, 13},
	{"upsample_nearest3d_backward_out_frame<", NEAREST, BACKWARD | DEEP, 9, 0, 1, 2, 6, 3, 10,
	 13},
	{"upsample_bilinear2d_out_frame<", LINEAR, ACCESSORS, 4, 5, 0, 0, 0, 0, 1, 6},
	{"upsample_bilinear2d_backward_out_frame<", LINEAR, BACKWARD, 8, 9, 0, NONE, 1, 3, 5, 10},
	{"upsample_bilinear2d_nhwc_out_frame<", LINEAR, LAST, 8, 9, COUNT + 10, 3, 4, 6, 0, 11},
	{"upsample_bilinear2d_backward_nhwc_out_frame<", LINEAR, BACKWARD | LAST, 7, 8, COUNT + 10,
	 9, 0, 2, 4, 12},
	{"upsample_trilinear3d_out_frame<", LINEAR, ACCESSORS, 5, 6, 0, 0, 0, 0, 1, 7},
	{"upsample_trilinear3d_backward_out_frame<", LINEAR, BACKWARD | ACCESSORS, 5, 6, 0, 0, 0, 0,
	 1, 8},
	{"upsample_bicubic2d_out_frame", CUBIC, ACCESSORS, 4, 5, 0, 0, 0, 0, 1, 6},
	{"upsample_bicubic2d_backward_out_frame", CUBIC, BACKWARD | ACCESSORS, 4, 5, 0, 0, 0, 0, 1,
	 6},
	{"upsample_linear1d_out_frame_unrolled<", LINEAR, ACCESSORS, 2, 3, 0, 0, 0, 0, 0, 4},
	{"upsample_linear1d_out_frame_backward_unrolled<", LINEAR, BACKWARD | ACCESSORS, 2, 3, 0, 0,
	 0, 0, 0, 4},
	{"reflection_pad1d_out_kernel<", REFLECT, NO_HEIGHT, 0, 1, GRID_YZ, NONE, 2, NONE, 3, 5},
	{"reflection_pad1d_backward_out_kernel<", REFLECT, BACKWARD | NO_HEIGHT, 0, 1, GRID_YZ,
	 NONE, 2, NONE, 3, 5},
	{"reflection_pad2d_out_kernel<", REFLECT, 0, 0, 1, GRID_YZ, NONE, 2, NONE, 4, 11},
	{"reflection_pad2d_backward_out_kernel<", REFLECT, BACKWARD, 0, 1, GRID_YZ, NONE, 2, NONE,
	 4, 11},
	{"replication_pad_forward_kernel", REPLICATE, ACCESSORS, 0, 1, 0, 0, 0, 0, 2, 0},
	{"replication_pad_backward_kernel<", REPLICATE, BACKWARD | ACCESSORS, 0, 1, 0, 0, 0, 0, 2,
	 0},
	{"reflection_pad3d_out_kernel<", REFLECT, ACCESSORS, 0, 1, 0, 0, 0, 0, 2, 0},
	{"reflection_pad3d_backward_out_kernel<", REFLECT, BACKWARD | ACCESSORS, 0, 1, 0, 0, 0, 0,
	 2, 0},
};

static float scale_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	return l->arg_bytes(l, i) == 8 ? (float)*(const double *)args[i] : *(const float *)args[i];
}

/* Accessors have as many dimensions, besides two, as the images. */
static int axes_of(const struct kernel *k, const struct gpuemu_launch *l)
{
	if (k->flags & ACCESSORS)
		return (int)(l->arg_bytes(l, k->in) / 16) - 2;
	return k->flags & DEEP ? 3 : k->flags & NO_HEIGHT ? 1 : 2;
}

/* The options of the last axes. */
static int read_axes(const struct kernel *k, const struct gpuemu_launch *l, void *const *args,
		     struct sums *s)
{
	int axes = axes_of(k, l), first = EMU_AXES - axes;
	unsigned at = k->options;

	if (!k->params && !emu_torch_has_params(l, 4 + (unsigned)axes))
		return -ENOTSUP; /* padding, before 2 offsets */

	for (int i = 0; i < axes; i++) {
		struct axis *a = &s->axes[first + i];

		a->kind = k->kind;
		if (k->kind == MEAN) {
			int same = k->flags & SAME_STEP;

			a->window = emu_int_of(l, args, at + (unsigned)i);
			a->step = same ? a->window : emu_int_of(l, args, at + 2 + (unsigned)i);
			a->pad = same ? 0 : emu_int_of(l, args, at + 4 + (unsigned)i);
			a->include_pad = same || *(const uint8_t *)args[15];
		} else if (k->kind == NEAREST) {
			a->scale = scale_of(l, args, at + (unsigned)i);
			a->exact = s->t->swapped;
			a->backward = k->flags & BACKWARD;
			if (!(a->scale > 1e-6f && a->scale < 1e6f))
				return -ENOTSUP;
			/* The kernel of two dimensions copies an axis of the same size. */
			if (axes == 2 && !a->backward && s->in.size[3 + i] == s->out.size[3 + i])
				a->kind = ONE;
		} else if (k->kind == LINEAR || k->kind == CUBIC) {
			a->scale = scale_of(l, args, at + (unsigned)i);
			a->align = *(const uint8_t *)args[at + (unsigned)axes];
		} else if (k->kind == REPLICATE) {
			a->pad = emu_int_of(l, args, at + (unsigned)i);
		} else if (k->kind == REFLECT && axes == 2) { /* top, bottom, left, right */
			a->pad = emu_int_of(l, args, at + 2 * (unsigned)i);
		} else if (k->kind == REFLECT) { /* left, top, front */
			a->pad = emu_int_of(l, args, at + (unsigned)(axes - 1 - i));
		}
	}
	if (k->kind == MEAN && *(const uint8_t *)args[k->flags & SAME_STEP ? 11 : 16])
		return -ENOTSUP; /* another divisor */
	return 0;
}

/* The sizes of reflection padding of images without accessors: width, height. */
static void read_reflection(const struct kernel *k, const struct gpuemu_launch *l,
			    void *const *args, int64_t in[EMU_AXES], int64_t out[EMU_AXES])
{
	unsigned at = k->options;

	in[2] = emu_int_of(l, args, 2);
	in[1] = k->flags & NO_HEIGHT ? 1 : emu_int_of(l, args, 3);
	out[1] = in[1];
	out[2] = in[2];
	if (k->flags & NO_HEIGHT) {
		out[2] += emu_int_of(l, args, at) + emu_int_of(l, args, at + 1);
		return;
	}
	out[1] += emu_int_of(l, args, at) + emu_int_of(l, args, at + 1);
	out[2] += emu_int_of(l, args, at + 2) + emu_int_of(l, args, at + 3);
}

static int read_images(const struct kernel *k, const struct gpuemu_launch *l, void *const *args,
		       struct sums *s)
{
	int last = k->flags & SAME_STEP ? *(const uint8_t *)args[12] : k->flags & LAST;
	int64_t batch, channels, in[EMU_AXES] = {1, 1, 1}, out[EMU_AXES] = {1, 1, 1};
	unsigned first = EMU_AXES - (unsigned)axes_of(k, l);
	double sizes[2];

	if (k->flags & ACCESSORS)
		return accessor(l, args, k->in, &s->in) < 0 ? -ENOTSUP
							    : accessor(l, args, k->out, &s->out);
	if (k->kind == REFLECT)
		read_reflection(k, l, args, in, out);
	for (unsigned i = first; k->kind != REFLECT && i < EMU_AXES; i++) {
		in[i] = emu_int_of(l, args, k->in_size + i - first);
		out[i] = emu_int_of(l, args, k->out_size + i - first);
	}
	channels = k->channels == NONE ? 1 : emu_int_of(l, args, k->channels);
	sizes[0] = sizes[1] = (double)channels;
	for (int i = 0; i < EMU_AXES; i++) {
		sizes[0] *= (double)in[i];
		sizes[1] *= (double)out[i];
		if (in[i] < 1 || out[i] < 1 || channels < 1 || fmax(sizes[0], sizes[1]) > 1e15)
			return -ENOTSUP;
	}
	if (k->batch == GRID_X)
		batch = l->grid[0];
	else if (k->batch == GRID_YZ)
		batch = (int64_t)l->grid[1] * l->grid[2];
	else if (k->batch >= COUNT) /* of the tensor that has a thread for each element */
		batch = emu_int_of(l, args, k->batch - COUNT) / channels /
			(k->flags & BACKWARD && k->kind != LINEAR ? in[0] * in[1] * in[2]
								  : out[0] * out[1] * out[2]);
	else
		batch = emu_int_of(l, args, k->batch);
	s->in = emu_torch_packed(emu_pointer_of(args, k->in), batch, channels, in, last);
	s->out = emu_torch_packed(emu_pointer_of(args, k->out), batch, channels, out, last);
	return 0;
}

/* Adaptive kernels have the strides of what they read: of all dimensions with the channels last,
 * else, forward only, of planes, rows and columns. */
static void set_strides(const struct kernel *k, const struct gpuemu_launch *l, void *const *args,
			struct emu_torch_image *m)
{
	static const uint8_t all[] = {0, 1, 3, 4}, of_plane[] = {0, 3, 4};

	for (unsigned i = 0; k->flags & LAST && i < sizeof(all); i++)
		m->stride[all[i]] = emu_int_of(l, args, 10 + i);
	for (unsigned i = 0; !(k->flags & (LAST | BACKWARD)) && i < sizeof(of_plane); i++)
		m->stride[of_plane[i]] = emu_int_of(l, args, 6 + i);
}

/* t->op is the kernel's number. */
static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct kernel *k = &kernels[t->op];
	struct sums s = {.t = t, .factor = 1, .backward = k->flags & BACKWARD};

	if (read_images(k, l, args, &s) < 0 || read_axes(k, l, args, &s) < 0)
		return -ENOTSUP;
	if (k->kind == ADAPTIVE)
		set_strides(k, l, args, k->flags & BACKWARD ? &s.out : &s.in);
	return run_sums(&s);
}

/* ---- by name ---- */

int emu_torch_resampling(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest = emu_part_after(name, "(anonymous namespace)::");
	int last = emu_part_has(rest, "adaptive_average") && emu_part_has(rest, "_nhwc<");

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strncmp(rest.at, kernels[i].name, strlen(kernels[i].name)) == 0) {
			t->op = (uint8_t)i;
			t->run = run;
			t->params = kernels[i].params;
			t->swapped = emu_part_has(rest, "nearest_neighbor_exact_");
			/* These begin with the type of their indices. */
			return emu_part_type(emu_part_argument(rest, last), &t->in[0]);
		}
	return -ENOTSUP;
}
