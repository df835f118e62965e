/* SPDX-License-Identifier: Apache-2.0 */

/* Losses of classes: the negative log likelihood. in[0] are the numbers, in[1] the classes. */
#include "replay/emugpu/torch/torch.h"

#include <errno.h>

enum { BACKWARD = 1, NONE = 9 };

/* Element i of an optional array. */
static double load_or(enum emu_type type, const void *data, int64_t i, double otherwise)
{
	return data ? emu_load(type, data, i) : otherwise;
}

/* nll_loss_forward_reduce_cuda_kernel_2d(loss, total weight, x, classes, weights, mean, rows,
 * columns, classes, ignored class) */
static int run_nll(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const void *x = emu_pointer_of(args, 2), *classes = emu_pointer_of(args, 3),
		   *weights = emu_pointer_of(args, 4);
	int64_t rows = emu_int_of(l, args, 6), columns = emu_int_of(l, args, 7);
	int64_t ignored = emu_int_of(l, args, 9);
	double sum = 0, total = 0;

	if (!emu_torch_computes_work((double)rows))
		return -ENOTSUP;
	for (int64_t row = 0; row < rows; row++) {
		int64_t class = (int64_t)emu_load(t->in[1], classes, row);
		double weight;

		if (class == ignored)
			continue;
		if (class < 0 || class >= columns)
			return -ENOTSUP;
		weight = load_or(t->in[0], weights, class, 1);
		sum -= emu_load(t->in[0], x, row * columns + class) * weight;
		total += weight;
	}
	emu_store(t->in[0], emu_pointer_of(args, 1), 0, total);
	emu_store(t->in[0], emu_pointer_of(args, 0), 0,
		  *(const uint8_t *)args[5] ? sum / total : sum);
	return 0;
}

/* nll_loss_backward_reduce_cuda_kernel_2d(dx, gradient, classes, weights, total weight, mean, rows,
 * columns, classes, ignored class); dx is zero before */
static int run_nll_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	const void *classes = emu_pointer_of(args, 2), *weights = emu_pointer_of(args, 3);
	int64_t rows = emu_int_of(l, args, 6), columns = emu_int_of(l, args, 7);
	int64_t ignored = emu_int_of(l, args, 9);
	double gradient = emu_load(t->in[0], emu_pointer_of(args, 1), 0);

	if (!emu_torch_computes_work((double)rows))
		return -ENOTSUP;
	if (*(const uint8_t *)args[5])
		gradient /= emu_load(t->in[0], emu_pointer_of(args, 4), 0);
	for (int64_t row = 0; row < rows; row++) {
		int64_t class = (int64_t)emu_load(t->in[1], classes, row);

		if (class == ignored)
			continue;
		if (class < 0 || class >= columns)
			return -ENOTSUP;
		emu_store(t->in[0], emu_pointer_of(args, 0), row * columns + class,
			  -gradient * load_or(t->in[0], weights, class, 1));
	}
	return 0;
}

/* ---- losses of each row: nll_loss_forward_no_reduce_cuda_kernel(rows, x, classes, losses,
 * weights, classes, ignored class) and nll_loss_backward_no_reduce_cuda_kernel(rows, classes,
 * gradients, dx, weights, classes, ignored class); x and dx have two dimensions, gradients one ----
 */

struct accessor { /* GenericPackedTensorAccessor */
	void *data;
	int64_t sizes[2], strides[2];
};

static int run_nll_rows(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	struct accessor x;
	const void *classes = emu_pointer_of(args, back ? 1 : 2),
		   *weights = emu_pointer_of(args, 4);
	int64_t rows = emu_int_of(l, args, 0), ignored = emu_int_of(l, args, 6);

	if (l->arg_bytes(l, back ? 3 : 1) != sizeof(x) || (back && l->arg_bytes(l, 2) != 24) ||
	    !emu_torch_computes_work((double)rows))
		return -ENOTSUP;
	x = *(const struct accessor *)args[back ? 3 : 1];
	for (int64_t row = 0; row < rows; row++) {
		int64_t class = (int64_t)emu_load(t->in[1], classes, row);
		int64_t at = row * x.strides[0] + class * x.strides[1];
		double weight;

		if (class != ignored && (class < 0 || class >= x.sizes[1]))
			return -ENOTSUP;
		weight = class == ignored ? 0 : load_or(t->in[0], weights, class, 1);
		if (!back) {
			emu_store(t->in[0], emu_pointer_of(args, 3), row,
				  class == ignored ? 0 : -weight * emu_load(t->in[0], x.data, at));
		} else if (class != ignored) {
			const int64_t *gradients = args[2]; /* data, size, stride */

			emu_store(t->in[0], x.data, at,
				  -weight * emu_load(t->in[0], emu_pointer_of(args, 2),
						     row * gradients[2]));
		}
	}
	return 0;
}

/* ---- losses of the pixels of images [batch, class, pixel] ---- */

/* nll_loss2d_forward_kernel(loss, total weight, x, classes, weights, classes, pixels, blocks of an
 * image, ignored class): adds to the loss and the weight, and
 * nll_loss2d_backward_kernel(dx, gradient, classes, weights, total weight, mean, classes, pixels,
 * blocks of an image, ignored class) */
static int run_nll_pixels(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	const int64_t *classes = emu_pointer_of(args, back ? 2 : 3);
	const void *weights = emu_pointer_of(args, back ? 3 : 4);
	unsigned at = 5 + (unsigned)back;
	int64_t n = emu_int_of(l, args, at), pixels = emu_int_of(l, args, at + 1);
	int64_t blocks = emu_int_of(l, args, at + 2), ignored = emu_int_of(l, args, at + 3);
	int64_t images = blocks ? l->grid[0] / blocks : 0;
	double loss = 0, total = 0, gradient = 0;

	if (!emu_torch_computes_work((double)images * (double)pixels))
		return -ENOTSUP;
	if (back)
		gradient =
			emu_load(t->in[0], emu_pointer_of(args, 1), 0) /
			(*(const uint8_t *)args[5] ? emu_load(t->in[0], emu_pointer_of(args, 4), 0)
						   : 1);
	for (int64_t i = 0; i < images * pixels; i++) {
		int64_t class = classes[i], x = (i / pixels * n + class) * pixels + i % pixels;
		double weight;

		if (class == ignored)
			continue;
		if (class < 0 || class >= n)
			return -ENOTSUP;
		weight = load_or(t->in[0], weights, class, 1);
		total += weight;
		if (back)
			emu_store(t->in[0], emu_pointer_of(args, 0), x, -weight * gradient);
		else
			loss -= weight * emu_load(t->in[0], emu_pointer_of(args, 2), x);
	}
	for (unsigned i = 0; !back && i < 2; i++)
		emu_store(t->in[0], emu_pointer_of(args, i), 0,
			  emu_load(t->in[0], emu_pointer_of(args, i), 0) + (i ? total : loss));
	return 0;
}

/* nll_loss2d_forward_size_average_kernel(loss, total weight) */
static int run_nll_mean(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	if (!emu_torch_computes_work(1))
		return -ENOTSUP;
	emu_store(t->in[0], emu_pointer_of(args, 0), 0,
		  emu_load(t->in[0], emu_pointer_of(args, 0), 0) /
			  emu_load(t->in[0], emu_pointer_of(args, 1), 0));
	return 0;
}

/* nll_loss2d_forward_no_reduce_kernel(pixels, x, classes, losses, weights, ignored class) and
 * nll_loss2d_backward_no_reduce_kernel(pixels, classes, gradients, dx, weights, ignored class),
 * with accessors of [batch, class, height, width] and [batch, height, width] */
static int run_nll_each_pixel(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	const int64_t *x = args[back ? 3 : 1], *classes = args[back ? 1 : 2];
	const int64_t *losses = args[back ? 2 : 3];
	const void *weights = emu_pointer_of(args, 4);
	int64_t n = emu_int_of(l, args, 0), ignored = emu_int_of(l, args, 5);

	if (l->arg_bytes(l, back ? 3 : 1) != 72 || l->arg_bytes(l, back ? 2 : 3) != 56 ||
	    l->arg_bytes(l, back ? 1 : 2) != 56 || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	/* The batch is the fastest index of the kernel's numbers. */
	for (int64_t i = 0; i < n; i++) {
		int64_t b = i % x[1], h = i / x[1] % x[3], w = i / x[1] / x[3] % x[4];
		int64_t class =
			((const int64_t *)
				 classes[0])[b * classes[4] + h * classes[5] + w * classes[6]];
		int64_t at = b * x[5] + class * x[6] + h * x[7] + w * x[8];
		int64_t loss = b * losses[4] + h * losses[5] + w * losses[6];
		double weight;

		if (class != ignored && (class < 0 || class >= x[2]))
			return -ENOTSUP;
		weight = class == ignored ? 0 : load_or(t->in[0], weights, class, 1);
		if (!back)
			emu_store(t->in[0], (void *)losses[0], loss,
				  weight == 0 ? 0 : -weight * emu_load(t->in[0], (void *)x[0], at));
		else if (class != ignored)
			emu_store(t->in[0], (void *)x[0], at,
				  -weight * emu_load(t->in[0], (void *)losses[0], loss));
	}
	return 0;
}

/* ---- by name ---- */

static const struct {
	const char *name;
	uint8_t classes; /* the template argument that is their type; NONE: int64_t */
	uint8_t op;
	int (*run)(const struct emu_torch *, const struct gpuemu_launch *, void *const *);
	uint8_t params;
} kernels[] = {
	{"nll_loss_forward_reduce_cuda_kernel_2d<", 2, 0, run_nll, 10},
	{"nll_loss_backward_reduce_cuda_kernel_2d<", 1, 0, run_nll_backward, 10},
	{"nll_loss_forward_no_reduce_cuda_kernel<", 1, 0, run_nll_rows, 7},
	{"nll_loss_backward_no_reduce_cuda_kernel<", 1, BACKWARD, run_nll_rows, 7},
	{"nll_loss2d_forward_kernel<", NONE, 0, run_nll_pixels, 9},
	{"nll_loss2d_backward_kernel<", NONE, BACKWARD, run_nll_pixels, 10},
	{"nll_loss2d_forward_size_average_kernel<", NONE, 0, run_nll_mean, 2},
	{"nll_loss2d_forward_no_reduce_kernel<", NONE, 0, run_nll_each_pixel, 6},
	{"nll_loss2d_backward_no_reduce_kernel<", NONE, BACKWARD, run_nll_each_pixel, 6},
};

int emu_torch_losses(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	t->run = kernels[i].run;
	t->params = kernels[i].params;
	t->in[1] = EMU_I64;
	if (kernels[i].classes != NONE &&
	    emu_part_type(emu_part_argument(rest, kernels[i].classes), &t->in[1]) < 0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(rest, 0), &t->in[0]);
}
