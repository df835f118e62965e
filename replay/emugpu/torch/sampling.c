/* SPDX-License-Identifier: Apache-2.0 */

/* Patches of images as columns (unfold, fold), and samples of images at points of a grid. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>

/* ---- im2col and col2im: [channel, kernel row, kernel column, row, column] ---- */

struct patches {
	int64_t height, width, kernel[2], pad[2], step[2], dilation[2], rows, columns;
};

/* Returns the number of an element's pixel in its channel; -1: in the padding. */
static int64_t pixel_of(const struct patches *p, int64_t column, int64_t *channel)
{
	int64_t x = column % p->columns, y = column / p->columns % p->rows;
	int64_t rest = column / p->columns / p->rows;

	x = x * p->step[1] - p->pad[1] + rest % p->kernel[1] * p->dilation[1];
	y = y * p->step[0] - p->pad[0] + rest / p->kernel[1] % p->kernel[0] * p->dilation[0];
	*channel = rest / p->kernel[1] / p->kernel[0];
	return x < 0 || y < 0 || x >= p->width || y >= p->height ? -1 : y * p->width + x;
}

/* im2col_kernel(positions, image, sizes as in struct patches, columns) and
 * col2im_batched_kernel(pixels of an image, columns, columns of an image, images, sizes, image,
 * pixels of an image) */
static int run_patches(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct patches p;
	int64_t n = emu_int_of(l, args, 0), images = t->op ? emu_int_of(l, args, 3) : 1, each;
	int64_t bytes = (int64_t)emu_type_bytes(t->in[0]);
	unsigned first = t->op ? 4 : 2;
	char *from = emu_pointer_of(args, 1), *to = emu_pointer_of(args, first + 12);

	for (unsigned i = 0; i < 12; i++)
		((int64_t *)&p)[i] = emu_int_of(l, args, first + i);
	if (p.height < 1 || p.width < 1 || p.rows < 1 || p.columns < 1 || p.kernel[0] < 1 ||
	    p.kernel[1] < 1)
		return -ENOTSUP;
	each = (t->op ? n / p.height / p.width : n / p.rows / p.columns) * p.kernel[0] *
	       p.kernel[1] * p.rows * p.columns;
	if (!emu_torch_computes_work((double)each * (double)images))
		return -ENOTSUP;
	if (t->op)
		memset(to, 0, (size_t)(n * images * bytes));
	for (int64_t image = 0; image < images; image++) {
		char *columns = from + (t->op ? image * emu_int_of(l, args, 2) : 0) * bytes;
		char *pixels = to + (t->op ? image * emu_int_of(l, args, 17) : 0) * bytes;

		for (int64_t i = 0; i < each; i++) {
			int64_t channel, at = pixel_of(&p, i, &channel);
			int64_t pixel = channel * p.height * p.width + at;

			if (t->op && at >= 0)
				emu_store(t->in[0], pixels, pixel,
					  emu_load(t->in[0], pixels, pixel) +
						  emu_load(t->in[0], columns, i));
			else if (!t->op)
				emu_store(t->in[0], to, i,
					  at < 0 ? 0 : emu_load(t->in[0], from, pixel));
		}
	}
	return 0;
}

/* ---- grid_sample, of images and volumes ---- */

enum { LINEAR, NEAREST };
enum { ZEROS, BORDER, REFLECTION };

/* A coordinate of a point in pixels, and its derivative. */
struct coordinate {
	double at, slope;
};

static struct coordinate reflect(struct coordinate x, double low, double high)
{
	double span = high - low, rest, flips;

	if (span <= 0)
		return (struct coordinate){0};
	x.at -= low;
	if (x.at < 0) {
		x.at = -x.at;
		x.slope = -x.slope;
	}
	rest = fmod(x.at, span);
	flips = floor(x.at / span);
	if (fmod(flips, 2) == 0)
		return (struct coordinate){rest + low, x.slope};
	return (struct coordinate){span - rest + low, -x.slope};
}

static struct coordinate coordinate_of(double x, double size, int padding, int corners)
{
	struct coordinate c = {corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2,
			       corners ? (size - 1) / 2 : size / 2};

	if (padding == REFLECTION)
		c = corners ? reflect(c, 0, size - 1) : reflect(c, -0.5, size - 0.5);
	if (padding != ZEROS && !(c.at > 0 && c.at < size - 1))
		c = (struct coordinate){c.at > 0 ? size - 1 : 0, 0};
	return c;
}

/* A launch: n spatial dimensions; the tensors are [image, channel, ...], the grid [image, ...,
 * coordinate]. */
struct sampling {
	const struct emu_tensor_info *in, *grid, *out, *in_gradient, *grid_gradient;
	int n, mode, padding, corners;
};

/* The pixels around a point. */
struct corner {
	int64_t offset, gradient_offset; /* of the pixel in a channel, in elements */
	double weight, slopes[3];	 /* the weight's derivatives by the grid's coordinates */
};

/* Finds the corner `number`, from its bits. Returns 0 outside of the image. */
static int corner_of(const struct sampling *s, const struct coordinate *x, int number,
		     struct corner *ret)
{
	double parts[3], slopes[3];

	*ret = (struct corner){.weight = 1};
	for (int d = 0; d < s->n; d++) {
		int up = number >> d & 1, size = s->in->sizes[2 + d];
		double low = s->mode == NEAREST ? nearbyint(x[d].at) : floor(x[d].at);
		double pixel = low + up, rest = x[d].at - low;

		if (!(pixel >= 0 && pixel < size))
			return 0;
		parts[d] = s->mode == NEAREST ? 1 : up ? rest : 1 - rest;
		slopes[d] = s->mode == NEAREST ? 0 : up ? x[d].slope : -x[d].slope;
		ret->offset += (int64_t)pixel * s->in->strides[2 + d];
		if (s->in_gradient)
			ret->gradient_offset += (int64_t)pixel * s->in_gradient->strides[2 + d];
		ret->weight *= parts[d];
	}
	for (int d = 0; d < s->n; d++) {
		ret->slopes[d] = slopes[d];
		for (int k = 0; k < s->n; k++)
			ret->slopes[d] *= k == d ? 1 : parts[k];
	}
	return 1;
}

/* Computes a point of all channels, or adds its gradients. */
static void sample(const struct emu_torch *t, const struct sampling *s, int64_t point,
		   int64_t image, int64_t grid_at, int64_t out_at)
{
	enum emu_type type = t->in[0];
	int64_t last = s->grid->strides[s->n + 1];
	struct coordinate x[3];
	double slopes[3] = {0};
	struct corner corner;

	for (int d = 0; d < s->n; d++) /* the grid has the columns first */
		x[d] = coordinate_of(emu_load(type, s->grid->data, grid_at + (s->n - 1 - d) * last),
				     s->in->sizes[2 + d], s->padding, s->corners);
	for (int64_t c = 0; c < s->in->sizes[1]; c++) {
		int64_t in = image * s->in->strides[0] + c * s->in->strides[1];
		int64_t out = out_at + c * s->out->strides[1];
		double sum = 0, dy = t->op ? emu_load(type, s->out->data, out) : 0;

		for (int k = 0; k < (s->mode == NEAREST ? 1 : 1 << s->n); k++) {
			double v;

			if (!corner_of(s, x, k, &corner))
				continue;
			v = emu_load(type, s->in->data, in + corner.offset);
			sum += v * corner.weight;
			for (int d = 0; d < s->n; d++)
				slopes[d] += dy * v * corner.slopes[d];
			if (s->in_gradient) {
				int64_t at = image * s->in_gradient->strides[0] +
					     c * s->in_gradient->strides[1] +
					     corner.gradient_offset;

				emu_store(type, s->in_gradient->data, at,
					  emu_load(type, s->in_gradient->data, at) +
						  dy * corner.weight);
			}
		}
		if (!t->op)
			emu_store(type, s->out->data, out, sum);
	}
	for (int d = 0; t->op && d < s->n; d++) /* in the order of the points */
		emu_store(type, s->grid_gradient->data, point * s->n + s->n - 1 - d, slopes[d]);
}

/* grid_sampler_{2,3}d_kernel(points, in, grid, out, mode, padding, corners) and
 * grid_sampler_{2,3}d_backward_kernel(points, gradient, in, grid, gradients of in, of the grid,
 * mode, padding, corners, elements, whether `in` has a gradient) */
static int run_samples(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	unsigned at = t->op ? 6 : 4, tensors = at - 1;
	struct sampling s = {.n = t->depth,
			     .in = args[t->op ? 2 : 1],
			     .grid = args[t->op ? 3 : 2],
			     .out = args[t->op ? 1 : 3],
			     .mode = *(const int32_t *)args[at],
			     .padding = *(const int32_t *)args[at + 1],
			     .corners = *(const uint8_t *)args[at + 2]};
	int64_t n = emu_int_of(l, args, 0);

	for (unsigned i = 1; i <= tensors; i++)
		if (l->arg_bytes(l, i) != sizeof(*s.in))
			return -ENOTSUP;
	if (t->op && *(const uint8_t *)args[10])
		s.in_gradient = args[4];
	s.grid_gradient = t->op ? args[5] : NULL;
	if ((s.mode != LINEAR && s.mode != NEAREST) || s.in->dims != t->depth + 2 ||
	    s.grid->dims != t->depth + 2 ||
	    !emu_torch_computes_work((double)n * s.in->sizes[1] * (1 << t->depth)))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, grid = 0, out = 0;

		for (int d = t->depth - 1; d >= 0; d--) {
			grid += rest % s.grid->sizes[1 + d] * s.grid->strides[1 + d];
			out += rest % s.grid->sizes[1 + d] * s.out->strides[2 + d];
			rest /= s.grid->sizes[1 + d];
		}
		sample(t, &s, i, rest, grid + rest * s.grid->strides[0],
		       out + rest * s.out->strides[0]);
	}
	return 0;
}

static const struct {
	const char *name;
	uint8_t op, dims, params;
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
} kernels[] = {
	{"::im2col_kernel<", 0, 2, 15, run_patches},
	{"::col2im_batched_kernel<", 1, 2, 18, run_patches},
	{"::grid_sampler_2d_kernel<", 0, 2, 7, run_samples},
	{"::grid_sampler_3d_kernel<", 0, 3, 7, run_samples},
	{"::grid_sampler_2d_backward_kernel<", 1, 2, 11, run_samples},
	{"::grid_sampler_3d_backward_kernel<", 1, 3, 11, run_samples},
};

int emu_torch_sampling(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	t->depth = kernels[i].dims;
	t->params = kernels[i].params;
	t->run = kernels[i].run;
	if (t->run == run_samples && !emu_part_is(emu_part_argument(rest, 1), "int"))
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(rest, 0), &t->in[0]);
}
