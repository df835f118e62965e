/* SPDX-License-Identifier: Apache-2.0 */

/* torchvision's kernels on boxes: the suppression of overlapping boxes, and means of regions. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"

#include <errno.h>
#include <math.h>

enum { BITS = 64, MOST_SAMPLES = 10000 };

/* Intersection over union of boxes x0, y0, x1, y1, as PyTorch rounds it. */
static float overlap(const double a[4], const double b[4])
{
	float width = fmaxf((float)fmin(a[2], b[2]) - (float)fmax(a[0], b[0]), 0);
	float height = fmaxf((float)fmin(a[3], b[3]) - (float)fmax(a[1], b[1]), 0);
	float inner = width * height;
	float of_a = ((float)a[2] - (float)a[0]) * ((float)a[3] - (float)a[1]);
	float of_b = ((float)b[2] - (float)b[0]) * ((float)b[3] - (float)b[1]);

	return inner / (of_a + of_b - inner);
}

/* nms_kernel_impl(boxes, threshold, box, bits of the boxes that each box suppresses): only of those
 * after it, in words of 64 boxes, of which each box has one for all boxes */
static int run_overlaps(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t n = emu_int_of(l, args, 0), words = n / BITS + (n % BITS != 0);
	float threshold = (float)*(const double *)args[1];
	uint64_t *bits = emu_pointer_of(args, 3);
	double box[2][4];

	/* The kernel rounds the sides of boxes of halves to halves. */
	if (n < 0 || l->arg_bytes(l, 1) != 8 || t->in[0] != EMU_F32 ||
	    !emu_torch_computes_work((double)n * (double)n / 8))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		emu_to_f64(t->in[0],
			   (const char *)emu_pointer_of(args, 2) +
				   4 * i * (int64_t)emu_type_bytes(t->in[0]),
			   1, 4, box[0]);
		for (int64_t word = i / BITS; word < words; word++)
			bits[i * words + word] = 0;
		for (int64_t k = i + 1; k < n; k++) {
			emu_to_f64(t->in[0],
				   (const char *)emu_pointer_of(args, 2) +
					   4 * k * (int64_t)emu_type_bytes(t->in[0]),
				   1, 4, box[1]);
			if (overlap(box[0], box[1]) > threshold)
				bits[i * words + k / BITS] |= UINT64_C(1) << (k % BITS);
		}
	}
	return 0;
}

/* gather_keep_from_mask(whether a box is kept, these bits, boxes) */
static int run_kept(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int64_t n = emu_int_of(l, args, 2), words = n / BITS + (n % BITS != 0);
	const uint64_t *bits = emu_pointer_of(args, 1);
	uint8_t *kept = emu_pointer_of(args, 0);

	if (n < 0 || !emu_torch_computes_work((double)n * (double)n / 8))
		return -ENOTSUP;
	memset(kept, 1, (size_t)n);
	for (int64_t i = 0; i < n; i++)
		for (int64_t k = i + 1; kept[i] && k < n; k++)
			if (bits[i * words + k / BITS] >> (k % BITS) & 1)
				kept[k] = 0;
	return 0;
}

/* ---- means of regions ---- */

struct regions {
	const struct emu_torch *t;
	int64_t channels, size[2], cells[2], samples;
	double scale;
	int aligned;
	double work; /* samples computed */
};

/* The pixels next to a point on one axis. Returns 0 outside of the image. */
static int pixels_of(double at, int64_t size, int64_t pixel[2], double weight[2])
{
	if (!(at >= -1 && at <= (double)size))
		return 0;
	at = fmax(at, 0);
	pixel[0] = (int64_t)at;
	if (pixel[0] >= size - 1) {
		pixel[0] = size - 1;
		at = (double)pixel[0];
	}
	pixel[1] = pixel[0] < size - 1 ? pixel[0] + 1 : pixel[0];
	weight[1] = at - (double)pixel[0];
	weight[0] = 1 - weight[1];
	return 1;
}

/* A cell usually has 4 samples. */
static int computes_samples(double samples)
{
	return emu_torch_computes_large(samples / 4, EMU_TORCH_IMAGES);
}

/* Returns the mean of the samples of a cell of a plane, or adds a gradient to their pixels. */
static double cell(struct regions *r, char *plane, const double region[4], const int64_t cell[2],
		   const double *gradient)
{
	double first[2], step[2], sum = 0, count = 1, weight[2][2];
	int64_t samples[2], pixel[2][2];

	for (int i = 0; i < 2; i++) { /* y, x */
		double from = region[1 - i] * r->scale - (r->aligned ? 0.5 : 0);
		double length = (region[3 - i] - region[1 - i]) * r->scale, n;

		length = r->aligned ? length : fmax(length, 1);
		step[i] = length / (double)r->cells[i];
		n = r->samples > 0 ? (double)r->samples : ceil(step[i]);
		samples[i] = n > 0 ? (int64_t)fmin(n, MOST_SAMPLES) : 0; /* NaN: 0 */
		first[i] = from + (double)cell[i] * step[i];
		count *= (double)samples[i];
	}
	count = fmax(count, 1);
	r->work += count;
	if (!computes_samples(r->work))
		return 0;
	for (int64_t y = 0; y < samples[0]; y++)
		for (int64_t x = 0; x < samples[1]; x++) {
			double at[2] = {first[0] + ((double)y + 0.5) * step[0] / (double)samples[0],
					first[1] +
						((double)x + 0.5) * step[1] / (double)samples[1]};

			if (!pixels_of(at[0], r->size[0], pixel[0], weight[0]) ||
			    !pixels_of(at[1], r->size[1], pixel[1], weight[1]))
				continue;
			for (int i = 0; i < 4; i++) {
				int64_t p = pixel[0][i / 2] * r->size[1] + pixel[1][i % 2];
				double w = weight[0][i / 2] * weight[1][i % 2] / count;
				double v = emu_load(r->t->in[0], plane, p);

				sum += w * v;
				if (gradient)
					emu_store(r->t->in[0], plane, p, v + w * *gradient);
			}
		}
	return sum;
}

/* roi_align_forward_kernel_impl(elements, image, scale, channels, height, width, rows and columns
 * of cells, samples, aligned, regions, result) and roi_align_backward_kernel_impl(elements,
 * gradients, ..., aligned, image, regions, strides of gradients, ...); a region is the number of an
 * image and a box */
static int run_regions(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int back = t->op;
	struct regions r = {.t = t,
			    .channels = emu_int_of(l, args, 3),
			    .size = {emu_int_of(l, args, 4), emu_int_of(l, args, 5)},
			    .cells = {emu_int_of(l, args, 6), emu_int_of(l, args, 7)},
			    .samples = emu_int_of(l, args, 8),
			    .scale = emu_load(t->in[0], args[2], 0),
			    .aligned = *(const uint8_t *)args[9]};
	char *image = emu_pointer_of(args, back ? 10 : 1);
	int64_t n = emu_int_of(l, args, 0), bytes = (int64_t)emu_type_bytes(t->in[0]);

	if (r.channels < 1 || r.size[0] < 1 || r.size[1] < 1 || r.cells[0] < 1 || r.cells[1] < 1 ||
	    (double)r.size[0] * (double)r.size[1] > 1e12 || r.samples > MOST_SAMPLES ||
	    !emu_has_data() || !emu_torch_computes_large((double)n, EMU_TORCH_IMAGES))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		int64_t at[2] = {i / r.cells[1] % r.cells[0], i % r.cells[1]};
		int64_t c = i / r.cells[1] / r.cells[0] % r.channels;
		int64_t region = i / r.cells[1] / r.cells[0] / r.channels;
		int64_t plane = r.size[0] * r.size[1] * bytes;
		double box[5], gradient = 0;
		char *pixels;

		emu_to_f64(t->in[0],
			   (const char *)emu_pointer_of(args, back ? 11 : 10) + 5 * region * bytes,
			   1, 5, box);
		if (!(box[0] >= 0 && box[0] * (double)r.channels * (double)plane < 1e15))
			return -ENOTSUP;
		pixels = image + ((int64_t)box[0] * r.channels + c) * plane;
		if (!emu_torch_reaches(l, pixels, plane))
			return -ENOTSUP;
		if (!back) {
			emu_store(t->in[0], emu_pointer_of(args, 11), i,
				  cell(&r, pixels, box + 1, at, NULL));
			continue;
		}
		gradient = emu_load(t->in[0], emu_pointer_of(args, 1),
				    region * emu_int_of(l, args, 12) + c * emu_int_of(l, args, 13) +
					    at[0] * emu_int_of(l, args, 14) +
					    at[1] * emu_int_of(l, args, 15));
		cell(&r, pixels, box + 1, at, &gradient);
	}
	return computes_samples(r.work) ? 0 : -ENOTSUP;
}

/* ---- by name ---- */

static const struct {
	const char *name;
	uint8_t op, params;
	int (*run)(const struct emu_torch *, const struct gpuemu_launch *, void *const *);
} kernels[] = {
	{"::nms_kernel_impl<", 0, 4, run_overlaps},
	{"vision::ops::(anonymous namespace)::gather_keep_from_mask", 0, 3, run_kept},
	{"::roi_align_forward_kernel_impl<", 0, 12, run_regions},
	{"::roi_align_backward_kernel_impl<", 1, 17, run_regions},
};

int emu_torch_boxes(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	t->run = kernels[i].run;
	t->params = kernels[i].params;
	return t->run == run_kept ? 0 : emu_part_type(emu_part_argument(rest, 0), &t->in[0]);
}
