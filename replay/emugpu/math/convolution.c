/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/convolution.h"

#include "base/scope.h"
#include "replay/emugpu/math/gemm.h"

#include <errno.h>
#include <stdlib.h>

int64_t emu_tensor5_count(const struct emu_tensor5 *t)
{
	return t->size[0] * t->size[1] * t->size[2] * t->size[3] * t->size[4];
}

int64_t emu_convolution_output(const struct emu_convolution *c, int i)
{
	int64_t window = c->dilation[i] * (c->w.size[2 + i] - 1) + 1;

	return (c->x.size[2 + i] + 2 * c->pad[i] - window) / c->step[i] + 1;
}

int emu_convolution_check(const struct emu_convolution *c)
{
	for (int i = 0; i < 3; i++)
		if (c->step[i] < 1 || c->dilation[i] < 1 ||
		    c->y.size[2 + i] != emu_convolution_output(c, i))
			return -EINVAL;
	for (int i = 0; i < 5; i++)
		if (c->x.size[i] < 1 || c->w.size[i] < 1 || c->y.size[i] < 1)
			return -EINVAL;
	if (c->x.size[0] != c->y.size[0] || c->w.size[0] != c->y.size[1] ||
	    c->x.size[1] % c->w.size[1] || c->y.size[1] % (c->x.size[1] / c->w.size[1]))
		return -EINVAL;
	return 0;
}

static int64_t area(const struct emu_tensor5 *t)
{
	return t->size[2] * t->size[3] * t->size[4];
}

double emu_convolution_operations(const struct emu_convolution *c)
{
	return 2.0 * (double)emu_tensor5_count(&c->y) * (double)(c->w.size[1] * area(&c->w));
}

/* Copies channels [first, first + n) of image `image` to or from contiguous memory. */
static void gather(const struct emu_tensor5 *t, int64_t image, int64_t first, int64_t n,
		   double *out)
{
	for (int64_t i = first; i < first + n; i++)
		for (int64_t z = 0; z < t->size[2]; z++)
			for (int64_t y = 0; y < t->size[3]; y++, out += t->size[4]) {
				int64_t at = image * t->stride[0] + i * t->stride[1] +
					     z * t->stride[2] + y * t->stride[3];

				emu_to_f64(t->type,
					   (const char *)t->data +
						   at * (int64_t)emu_type_bytes(t->type),
					   t->stride[4], (size_t)t->size[4], out);
			}
}

static void scatter(const struct emu_convolution *c, const struct emu_tensor5 *t, int64_t image,
		    int64_t first, int64_t n, const double *in)
{
	for (int64_t i = first; i < first + n; i++)
		for (int64_t z = 0; z < t->size[2]; z++)
			for (int64_t y = 0; y < t->size[3]; y++)
				for (int64_t x = 0; x < t->size[4]; x++) {
					int64_t at = image * t->stride[0] + i * t->stride[1] +
						     z * t->stride[2] + y * t->stride[3] +
						     x * t->stride[4];
					double v = c->alpha * *in++;

					if (c->beta != 0)
						v += c->beta * emu_load(t->type, t->data, at);
					emu_store(t->type, t->data, at, v);
				}
}

/* Returns the position in x of dimension i that element `k` of the filter uses for output `o`; -1
 * if it is padding. */
static int64_t input_of(const struct emu_convolution *c, int i, int64_t k, int64_t o)
{
	int64_t tap = c->flip ? c->w.size[2 + i] - 1 - k : k;
	int64_t at = o * c->step[i] + tap * c->dilation[i] - c->pad[i];

	return at >= 0 && at < c->x.size[2 + i] ? at : -1;
}

/* One row of the column matrix: element (i, j, k) of the filter, at each output position. With
 * `back`, adds the row to x instead. */
static void row_of(const struct emu_convolution *c, const int64_t tap[3], double *x, double *row,
		   int back)
{
	for (int64_t oz = 0; oz < c->y.size[2]; oz++)
		for (int64_t oy = 0; oy < c->y.size[3]; oy++) {
			int64_t z = input_of(c, 0, tap[0], oz), y = input_of(c, 1, tap[1], oy);
			double *line = x + (z * c->x.size[3] + y) * c->x.size[4];

			for (int64_t ox = 0; ox < c->y.size[4]; ox++, row++) {
				int64_t at = input_of(c, 2, tap[2], ox);
				int inside = z >= 0 && y >= 0 && at >= 0;

				if (!back)
					*row = inside ? line[at] : 0;
				else if (inside)
					line[at] += *row;
			}
		}
}

static void columns(const struct emu_convolution *c, double *x, double *matrix, int back)
{
	int64_t tap[3];

	for (int64_t channel = 0; channel < c->w.size[1]; channel++, x += area(&c->x))
		for (tap[0] = 0; tap[0] < c->w.size[2]; tap[0]++)
			for (tap[1] = 0; tap[1] < c->w.size[3]; tap[1]++)
				for (tap[2] = 0; tap[2] < c->w.size[4]; tap[2]++) {
					row_of(c, tap, x, matrix, back);
					matrix += area(&c->y);
				}
}

static struct emu_matrix matrix(const double *data, int64_t row, int64_t column)
{
	return (struct emu_matrix){data, EMU_F64, 0, row, column};
}

/* Contiguous copies of one group of one image; the columns; and the group's filter. */
struct buffers {
	double *x, *y, *columns, *w;
};

static int multiply(const struct emu_convolution *c, const struct buffers *b, int first)
{
	int64_t outputs = c->y.size[1] / (c->x.size[1] / c->w.size[1]), positions = area(&c->y);
	int64_t taps = c->w.size[1] * area(&c->w);
	struct emu_matrix w = matrix(b->w, taps, 1), y = matrix(b->y, positions, 1);
	struct emu_matrix x = matrix(b->columns, positions, 1);
	struct emu_gemm g = {outputs, positions, taps, EMU_F64, {1}, {0}, w, x, y, y, NULL};

	if (c->kind == EMU_CONVOLUTION_DATA)
		g = (struct emu_gemm){
			taps, positions, outputs, EMU_F64, {1}, {0}, matrix(b->w, 1, taps),
			y,    x,	 x,	  NULL};
	else if (c->kind == EMU_CONVOLUTION_FILTER)
		g = (struct emu_gemm){outputs,	 taps,
				      positions, EMU_F64,
				      {1},	 {first ? 0 : 1},
				      y,	 matrix(b->columns, 1, positions),
				      w,	 w,
				      NULL};
	return emu_gemm(&g);
}

static int run_group(const struct emu_convolution *c, const struct buffers *b, int64_t group)
{
	int64_t groups = c->x.size[1] / c->w.size[1];
	int64_t outputs = c->y.size[1] / groups, inputs = c->w.size[1];
	int r = 0;

	if (c->kind != EMU_CONVOLUTION_FILTER)
		for (int64_t k = 0; k < outputs; k++)
			gather(&c->w, group * outputs + k, 0, inputs,
			       b->w + k * inputs * area(&c->w));
	for (int64_t n = 0; r == 0 && n < c->x.size[0]; n++) {
		if (c->kind != EMU_CONVOLUTION_DATA) {
			gather(&c->x, n, group * inputs, inputs, b->x);
			columns(c, b->x, b->columns, 0);
		}
		if (c->kind != EMU_CONVOLUTION_FORWARD)
			gather(&c->y, n, group * outputs, outputs, b->y);
		r = multiply(c, b, n == 0);
		if (r == 0 && c->kind == EMU_CONVOLUTION_FORWARD)
			scatter(c, &c->y, n, group * outputs, outputs, b->y);
		if (r == 0 && c->kind == EMU_CONVOLUTION_DATA) {
			memset(b->x, 0, (size_t)(inputs * area(&c->x)) * sizeof(double));
			columns(c, b->x, b->columns, 1);
			scatter(c, &c->x, n, group * inputs, inputs, b->x);
		}
	}
	if (r == 0 && c->kind == EMU_CONVOLUTION_FILTER)
		for (int64_t k = 0; k < outputs; k++)
			scatter(c, &c->w, group * outputs + k, 0, inputs,
				b->w + k * inputs * area(&c->w));
	return r;
}

int emu_convolution_run(const struct emu_convolution *c)
{
	int64_t groups = c->x.size[1] / c->w.size[1], taps = c->w.size[1] * area(&c->w);
	int64_t x = c->w.size[1] * area(&c->x), y = c->y.size[1] / groups * area(&c->y);
	int64_t matrix_size = taps * area(&c->y), w = c->y.size[1] / groups * taps;
	scoped(free_ptr) double *memory =
		malloc((size_t)(x + y + w + matrix_size) * sizeof(double));
	struct buffers b = {memory, memory + x, memory + x + y, memory + x + y + matrix_size};
	int r = 0;

	if (!memory)
		return -ENOMEM;
	for (int64_t group = 0; r == 0 && group < groups; group++)
		r = run_group(c, &b, group);
	return r;
}
