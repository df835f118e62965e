/* SPDX-License-Identifier: Apache-2.0 */

/* The loss of connectionist temporal classification (aten/src/ATen/native/cuda/LossCTC.cu). The
 * states of a sequence are its labels with a blank before, between and after them. in[0] are the
 * numbers, in[1] the labels. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"

#include <errno.h>
#include <math.h>

enum { ALPHA, BETA, COLLECT, LABELS, PADDED };

/* A tensor [time, batch, label or state]. */
struct cube {
	void *data;
	int64_t stride[3];
};

struct ctc {
	const struct emu_torch *t;
	struct cube probabilities, alpha, beta, gradient;  /* logarithms, but for the gradient */
	const int64_t *lengths, *target_lengths, *offsets; /* of each sequence of the batch */
	const void *targets;
	int64_t steps, most, target_stride, batch, blank, labels; /* labels 0: unknown */
};

/* The kernels' parameters, by number; 0: none. The strides of log probabilities, and of the
 * gradient before them, of alpha and of beta are adjacent; those of alpha and beta begin with the
 * batch. */
static const struct parameters {
	const char *name;
	uint8_t probabilities, lengths, steps, targets, most, target_lengths, strides, alpha, beta,
		loss, offsets, params;
} kernels[] = {
	[ALPHA] = {"::ctc_loss_log_alpha_gpu_kernel<", 1, 2, 3, 4, 6, 5, 8, 0, 0, 7, 14, 18},
	[BETA] = {"::ctc_loss_backward_log_beta_gpu_kernel<", 1, 2, 3, 4, 6, 5, 7, 0, 0, 0, 13, 17},
	[COLLECT] = {"::ctc_loss_backward_collect_gpu_kernel<", 5, 6, 7, 8, 10, 9, 15, 3, 4, 11, 24,
		     30},
	[LABELS] = {"::ctc_loss_backward_collect_nonblank_gpu_kernel<", 5, 6, 0, 7, 0, 8, 13, 3, 4,
		    9, 22, 26},
	[PADDED] = {"::ctc_loss_zero_padded_gradients<", 0, 1, 5, 0, 0, 0, 2, 0, 0, 0, 0, 8},
};

static struct cube cube_of(const struct gpuemu_launch *l, void *const *args, unsigned data,
			   unsigned strides, int batch_first)
{
	struct cube r = {.data = emu_pointer_of(args, data)};

	for (unsigned i = 0; i < 3; i++)
		r.stride[i < 2 && batch_first ? !i : i] = emu_int_of(l, args, strides + i);
	return r;
}

static double get(const struct ctc *c, const struct cube *x, int64_t step, int64_t b, int64_t i)
{
	return emu_load(c->t->in[0], x->data,
			step * x->stride[0] + b * x->stride[1] + i * x->stride[2]);
}

static void set(const struct ctc *c, const struct cube *x, int64_t step, int64_t b, int64_t i,
		double value)
{
	emu_store(c->t->in[0], x->data, step * x->stride[0] + b * x->stride[1] + i * x->stride[2],
		  value);
}

static int64_t label_of(const struct ctc *c, int64_t b, int64_t state)
{
	return state % 2 ? (int64_t)emu_load(c->t->in[1], c->targets,
					     c->offsets[b] + c->target_stride * (state / 2))
			 : c->blank;
}

/* Returns 1 if the launch may access n elements, in `steps` rows, from element `first` on. */
static int reaches_rows(const struct gpuemu_launch *l, enum emu_type type, const void *data,
			int64_t first, int64_t steps, int64_t step, int64_t n, int64_t stride)
{
	int64_t bytes = (int64_t)emu_type_bytes(type);

	if (step < 0 || stride < 0 ||
	    fabs((double)first) + (double)steps * (double)step + (double)n * (double)stride > 1e15)
		return 0;
	return emu_torch_reaches(l, (const char *)data + first * bytes,
				 ((steps - 1) * step + (n - 1) * stride + 1) * bytes);
}

/* Returns 1 if the launch may access elements first to last of sequence b at all steps, or if there
 * is no such tensor. */
static int reaches(const struct ctc *c, const struct gpuemu_launch *l, const struct cube *x,
		   int64_t b, int64_t first, int64_t last)
{
	double from = (double)b * (double)x->stride[1] + (double)first * (double)x->stride[2];

	if (!x->data || c->steps == 0)
		return 1;
	return x->stride[1] >= 0 && x->stride[2] >= 0 && from <= 1e15 && last < INT64_C(1) << 50 &&
	       reaches_rows(l, c->t->in[0], x->data, b * x->stride[1] + first * x->stride[2],
			    c->steps, x->stride[0], last - first + 1, x->stride[2]);
}

/* Returns 1 if the launch may access all states and labels of sequence b. */
static int is_valid(const struct ctc *c, const struct gpuemu_launch *l, int64_t b)
{
	int64_t n = c->target_lengths[b], low = c->blank, high = c->blank;

	if (c->lengths[b] < 0 || c->lengths[b] > c->steps || n < 0 || n > c->most ||
	    !reaches(c, l, &c->alpha, b, 0, 2 * c->most) ||
	    !reaches(c, l, &c->beta, b, 0, 2 * c->most) ||
	    (n &&
	     !reaches_rows(l, c->t->in[1], c->targets, c->offsets[b], 1, 0, n, c->target_stride)))
		return 0;
	for (int64_t i = 1; i < 2 * n; i += 2) {
		int64_t label = label_of(c, b, i);

		low = label < low ? label : low;
		high = label > high ? label : high;
	}
	return low >= 0 && reaches(c, l, &c->probabilities, b, low, high) &&
	       reaches(c, l, &c->gradient, b, low, high);
}

static double add_logarithms(double a, double b)
{
	return a == -INFINITY ? b : fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Computes the states of a sequence from the first step on or, of beta, from the last one back: a
 * state follows itself, its neighbor, and the one after it unless that has the same label. */
static void advance(const struct ctc *c, int64_t b)
{
	int back = c->t->op == BETA;
	const struct cube *x = back ? &c->beta : &c->alpha;
	int64_t length = c->lengths[b], last = 2 * c->target_lengths[b];

	for (int64_t k = 0; k < c->steps; k++)
		for (int64_t i = 0; i <= 2 * c->most; i++) {
			int64_t step = back && k < length ? length - 1 - k : k;
			int64_t state = back && i <= last ? last - i : i, label;
			double sum = k == 0 && i < 2 ? 0 : -INFINITY;

			if (k >= length || i > last) {
				set(c, x, step, b, i, -INFINITY);
				continue;
			}
			label = label_of(c, b, state);
			for (int64_t n = 0; k > 0 && n < 3 && n <= i; n++) {
				int64_t from = back ? state + n : state - n;

				if (n < 2 || label_of(c, b, from) != label)
					sum = add_logarithms(
						sum,
						get(c, x, back ? step + 1 : step - 1, b, from));
			}
			set(c, x, step, b, state, sum + get(c, &c->probabilities, step, b, label));
		}
}

/* That of the last two states at the last step. */
static double loss_of(const struct ctc *c, int64_t b)
{
	int64_t step = c->lengths[b] - 1, last = 2 * c->target_lengths[b];
	double sum = step < 0 ? (last ? -INFINITY : 0) : get(c, &c->alpha, step, b, last);

	if (step >= 0 && last)
		sum = add_logarithms(sum, get(c, &c->alpha, step, b, last - 1));
	return -sum;
}

/* Subtracts the probabilities of states from the gradient. LABELS finds the first summand there,
 * and the blanks subtracted. */
static void collect(const struct ctc *c, int64_t b, double loss, double gradient)
{
	int64_t first = c->t->op == LABELS, last = 2 * c->target_lengths[b];

	/* With an infinite loss, COLLECT subtracts NaN from the gradients of all labels. */
	if (!first && loss == INFINITY)
		gradient = NAN;
	for (int64_t step = 0; step < c->lengths[b]; step++) {
		for (int64_t label = 0; label < c->labels; label++)
			set(c, &c->gradient, step, b, label,
			    gradient * exp(get(c, &c->probabilities, step, b, label)));
		for (int64_t s = first; s <= last; s += 1 + first) {
			int64_t label = label_of(c, b, s);
			double p =
				exp(get(c, &c->alpha, step, b, s) + get(c, &c->beta, step, b, s) +
				    loss - get(c, &c->probabilities, step, b, label));

			set(c, &c->gradient, step, b, label,
			    get(c, &c->gradient, step, b, label) - gradient * p);
		}
	}
}

static void clear(const struct ctc *c, int64_t b, int64_t from)
{
	for (int64_t step = from; step < c->steps; step++)
		for (int64_t label = 0; label < c->labels; label++)
			set(c, &c->gradient, step, b, label, 0);
}

static int run_one(const struct ctc *c, const struct gpuemu_launch *l, void *const *args, int64_t b)
{
	const struct emu_torch *t = c->t;
	unsigned loss_at = kernels[t->op].loss;
	double loss;

	if (!is_valid(c, l, b) ||
	    (c->labels && !(reaches(c, l, &c->gradient, b, 0, c->labels - 1) &&
			    reaches(c, l, &c->probabilities, b, 0, c->labels - 1))))
		return -ENOTSUP;
	if (t->op == ALPHA || t->op == BETA)
		advance(c, b);
	if (t->op == ALPHA)
		emu_store(t->in[0], emu_pointer_of(args, loss_at), b, loss_of(c, b));
	if (t->op == ALPHA || t->op == BETA)
		return 0;
	loss = emu_load(t->in[0], emu_pointer_of(args, loss_at), b);
	/* The last parameter: an infinite loss has no gradient. */
	if (loss == INFINITY && *(const uint8_t *)args[kernels[t->op].params - 1])
		clear(c, b, 0);
	else
		collect(c, b, loss,
			emu_load(t->in[0], emu_pointer_of(args, 1), b * emu_int_of(l, args, 2)));
	clear(c, b, c->lengths[b]);
	return 0;
}

/* ctc_loss_zero_padded_gradients(gradient, lengths, strides, steps, batch, labels) */
static int run_padded(struct ctc *c, const struct gpuemu_launch *l)
{
	for (int64_t b = 0; b < c->batch; b++) {
		if (c->lengths[b] < 0 || !reaches(c, l, &c->gradient, b, 0, c->labels - 1))
			return -ENOTSUP;
		clear(c, b, c->lengths[b]);
	}
	return 0;
}

static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct parameters *k = &kernels[t->op];
	unsigned strides = k->strides,
		 end = k->offsets; /* then: strides of targets, batch, blank */
	struct ctc c = {.t = t, .lengths = emu_pointer_of(args, k->lengths)};
	double work;

	if (t->op >= COLLECT)
		c.gradient = cube_of(l, args, 0, t->op == PADDED ? 2 : strides - 3, 0);
	c.steps = k->steps ? emu_int_of(l, args, k->steps) : 0;
	c.batch = emu_int_of(l, args, t->op == PADDED ? 6 : end + 2);
	if (t->op == PADDED || t->op == COLLECT)
		c.labels = emu_int_of(l, args, t->op == PADDED ? 7 : end + 3);
	work = (double)c.batch * ((double)c.steps + 1) * ((double)c.labels + 1);
	if (!emu_has_data() || c.batch < 0 || c.steps < 0 || c.labels < 0 ||
	    !emu_torch_computes_large(work, EMU_TORCH_SOFTMAX))
		return -ENOTSUP;
	if (t->op == PADDED)
		return c.labels < 1 ? -ENOTSUP : run_padded(&c, l);
	c.probabilities = cube_of(l, args, k->probabilities, strides, 0);
	c.targets = emu_pointer_of(args, k->targets);
	c.target_lengths = emu_pointer_of(args, k->target_lengths);
	c.offsets = emu_pointer_of(args, k->offsets);
	c.target_stride = emu_int_of(l, args, end + 1);
	c.blank = t->op == LABELS ? 0 : emu_int_of(l, args, k->params - 1u - (t->op == COLLECT));
	if (t->op != BETA)
		c.alpha = cube_of(l, args, k->alpha, strides + 3, 1);
	if (t->op != ALPHA)
		c.beta = cube_of(l, args, k->beta, t->op == BETA ? strides + 3 : strides + 6, 1);
	for (int64_t b = 0; b < c.batch; b++) {
		if (!k->steps)
			c.steps = c.lengths[b];
		c.most = k->most ? emu_int_of(l, args, k->most) : c.target_lengths[b];
		work += ((double)c.steps + 1) * (2 * (double)c.most + 1);
		if (c.steps < 0 || c.most < 0 || c.most > INT32_MAX ||
		    !emu_torch_computes_large(work, EMU_TORCH_SOFTMAX) ||
		    run_one(&c, l, args, b) < 0)
			return -ENOTSUP;
	}
	return 0;
}

int emu_torch_ctc(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	t->op = (uint8_t)i;
	t->run = run;
	t->params = kernels[i].params;
	if (emu_part_type(emu_part_argument(rest, 0), &t->in[0]) < 0)
		return -ENOTSUP;
	return i == PADDED ? 0 : emu_part_type(emu_part_argument(rest, 1), &t->in[1]);
}
