/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/rnn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int gates(const struct emu_rnn *r)
{
	return r->kind == EMU_RNN_LSTM ? 4 : r->kind == EMU_RNN_GRU ? 3 : 1;
}

static int64_t width_of(const struct emu_rnn *r, int32_t layer)
{
	return layer == 0 ? r->inputs : (int64_t)r->hidden * r->directions;
}

/* Values that a step of a sequence saves: its gates, then LSTM the cell, GRU the product of the new
 * gate with the last step; then the result. The backward pass replaces gates by their gradients. */
static int64_t slots(const struct emu_rnn *r)
{
	return gates(r) + 2;
}

static int64_t saved_count(const struct emu_rnn *r)
{
	return (int64_t)r->layers * r->directions * r->steps * r->batch * slots(r) * r->hidden;
}

static enum emu_type saved_type(const struct emu_rnn *r)
{
	return r->type == EMU_F64 ? EMU_F64 : EMU_F32;
}

size_t emu_rnn_reserve_bytes(const struct emu_rnn *r)
{
	return (size_t)saved_count(r) * emu_type_bytes(saved_type(r));
}

double emu_rnn_operations(const struct emu_rnn *r)
{
	double n = 0;

	for (int32_t l = 0; l < r->layers; l++)
		n += (double)(width_of(r, l) + r->hidden);
	return 2 * n * gates(r) * r->hidden * r->directions * r->steps * r->batch;
}

/* A layer and direction. */
struct level {
	const struct emu_rnn *r;
	int32_t layer, direction;
	int64_t width;
	int64_t matrix, bias; /* offsets in the weights */
	double *w, *b;	      /* the matrices and biases, or their gradients */
	double *saved;	      /* of all levels */
};

static int64_t matrix_count(const struct level *v)
{
	return gates(v->r) * (v->width + v->r->hidden) * v->r->hidden;
}

static double *saved_at(const struct level *v, int32_t layer, int32_t direction, int64_t t,
			int64_t b, int64_t slot)
{
	const struct emu_rnn *r = v->r;
	int64_t at = (((int64_t)layer * r->directions + direction) * r->steps + t) * r->batch + b;

	return v->saved + (at * slots(r) + slot) * r->hidden;
}

static double *slot_of(const struct level *v, int64_t t, int64_t b, int64_t slot)
{
	return saved_at(v, v->layer, v->direction, t, b, slot);
}

static double load_or_zero(enum emu_type type, const void *data, int64_t i)
{
	return data ? emu_load(type, data, i) : 0;
}

static void store_to(enum emu_type type, void *data, int64_t i, double v)
{
	if (data)
		emu_store(type, data, i, v);
}

/* The index in hx, cx, ... of an element. */
static int64_t state_at(const struct level *v, int64_t b, int64_t j)
{
	return (((int64_t)v->layer * v->r->directions + v->direction) * v->r->batch + b) *
		       v->r->hidden +
	       j;
}

/* The result (or cell, slot gates) of the step before t, or the initial one. */
static double before(const struct level *v, int64_t t, int64_t b, int64_t j, int cell)
{
	int64_t last = v->direction ? t + 1 : t - 1;
	const struct emu_rnn *r = v->r;

	if (last < 0 || last >= r->steps)
		return load_or_zero(r->type, cell ? r->cx : r->hx, state_at(v, b, j));
	return slot_of(v, last, b, cell ? gates(r) : gates(r) + 1)[j];
}

static double input_at(const struct level *v, int64_t t, int64_t b, int64_t k)
{
	const struct emu_rnn *r = v->r;

	if (v->layer == 0)
		return emu_load(r->type, r->x, (t * r->batch + b) * r->inputs + k);
	return saved_at(v, v->layer - 1, (int32_t)(k / r->hidden), t, b,
			gates(r) + 1)[k % r->hidden];
}

static double *row_of(const struct level *v, int gate, int64_t j, int of_hidden)
{
	int64_t h = v->r->hidden;

	return of_hidden ? v->w + gates(v->r) * h * v->width + (gate * h + j) * h
			 : v->w + (gate * h + j) * v->width;
}

/* The bias of a gate: of the input, or of the last step. */
static double *bias_of(const struct level *v, int gate, int64_t j, int of_hidden)
{
	int64_t at = gate * (int64_t)v->r->hidden + j;

	if (!(of_hidden ? v->r->hidden_bias : v->r->input_bias))
		return NULL;
	return v->b + at +
	       (of_hidden && v->r->input_bias ? gates(v->r) * (int64_t)v->r->hidden : 0);
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* ---- forward ---- */

/* `sums`: of the input and of the last step, for each gate. */
static void activate(const struct level *v, int64_t t, int64_t b, int64_t j,
		     const double sums[4][2])
{
	const struct emu_rnn *r = v->r;
	int n = gates(r);
	double s[4], h, c = 0;

	for (int g = 0; g < n; g++)
		s[g] = sums[g][0] + sums[g][1];
	switch (r->kind) {
	case EMU_RNN_LSTM:
		for (int g = 0; g < n; g++)
			s[g] = g == 2 ? tanh(s[g]) : sigmoid(s[g]);
		c = s[1] * before(v, t, b, j, 1) + s[0] * s[2];
		h = s[3] * tanh(c);
		break;
	case EMU_RNN_GRU:
		s[0] = sigmoid(s[0]);
		s[1] = sigmoid(s[1]);
		c = sums[2][1];
		s[2] = tanh(sums[2][0] + s[0] * c);
		h = (1 - s[1]) * s[2] + s[1] * before(v, t, b, j, 0);
		break;
	default:
		h = r->kind == EMU_RNN_TANH ? tanh(s[0]) : fmax(s[0], 0);
	}
	for (int g = 0; g < n; g++)
		slot_of(v, t, b, g)[j] = s[g];
	slot_of(v, t, b, n)[j] = c;
	slot_of(v, t, b, n + 1)[j] = h;
}

static void forward_step(const struct level *v, int64_t t, int64_t b, double *x, double *h)
{
	const struct emu_rnn *r = v->r;

	for (int64_t k = 0; k < v->width; k++)
		x[k] = input_at(v, t, b, k);
	for (int64_t k = 0; k < r->hidden; k++)
		h[k] = before(v, t, b, k, 0);
	for (int64_t j = 0; j < r->hidden; j++) {
		double sums[4][2] = {{0}};

		for (int g = 0; g < gates(r); g++) {
			const double *w = row_of(v, g, j, 0), *u = row_of(v, g, j, 1);
			const double *bias = bias_of(v, g, j, 0), *other = bias_of(v, g, j, 1);

			sums[g][0] = bias ? *bias : 0;
			sums[g][1] = other ? *other : 0;
			for (int64_t k = 0; k < v->width; k++)
				sums[g][0] += w[k] * x[k];
			for (int64_t k = 0; k < r->hidden; k++)
				sums[g][1] += u[k] * h[k];
		}
		activate(v, t, b, j, (const double(*)[2])sums);
	}
}

static void forward(const struct level *v, double *x, double *h)
{
	const struct emu_rnn *r = v->r;
	int64_t end = v->direction ? 0 : r->steps - 1, n = gates(r);

	for (int64_t s = 0; s < r->steps; s++)
		for (int64_t b = 0; b < r->batch; b++)
			forward_step(v, v->direction ? r->steps - 1 - s : s, b, x, h);
	for (int64_t b = 0; b < r->batch; b++)
		for (int64_t j = 0; j < r->hidden; j++) {
			store_to(r->type, r->hy, state_at(v, b, j), slot_of(v, end, b, n + 1)[j]);
			store_to(r->type, r->cy, state_at(v, b, j), slot_of(v, end, b, n)[j]);
			for (int64_t t = 0; v->layer == r->layers - 1 && t < r->steps; t++)
				store_to(r->type, r->y,
					 ((t * r->batch + b) * r->directions + v->direction) *
							 r->hidden +
						 j,
					 slot_of(v, t, b, n + 1)[j]);
		}
}

/* ---- gradients ---- */

/* Gradients of the results of a layer, of its inputs, and of the state of the current step. */
struct gradients {
	double *out, *in, *h, *c;
};

/* Replaces the gates by the gradients of their sums. Returns the part of the gradient of the last
 * step's result that does not pass through the gates. */
static double deactivate(const struct level *v, int64_t t, int64_t b, int64_t j, double dh,
			 double *dc)
{
	const struct emu_rnn *r = v->r;
	int n = gates(r);
	double *s[4], old = before(v, t, b, j, r->kind == EMU_RNN_LSTM), direct = 0;
	double *c = slot_of(v, t, b, n) + j, h = slot_of(v, t, b, n + 1)[j];

	for (int g = 0; g < n; g++)
		s[g] = slot_of(v, t, b, g) + j;
	if (r->kind == EMU_RNN_LSTM) {
		double i = *s[0], f = *s[1], g = *s[2], o = *s[3], tc = tanh(*c);
		double d = *dc + dh * o * (1 - tc * tc);

		*s[0] = d * g * i * (1 - i);
		*s[1] = d * old * f * (1 - f);
		*s[2] = d * i * (1 - g * g);
		*s[3] = dh * tc * o * (1 - o);
		*dc = d * f;
	} else if (r->kind == EMU_RNN_GRU) {
		double reset = *s[0], z = *s[1], new = *s[2], d = dh *(1 - z) * (1 - new *new);

		*s[0] = d * *c * reset * (1 - reset);
		*s[1] = dh * (old - new) * z * (1 - z);
		*s[2] = d;
		*c = d * reset;
		direct = dh * z;
	} else {
		*s[0] = r->kind == EMU_RNN_TANH ? dh * (1 - h * h) : h > 0 ? dh : 0;
	}
	return direct;
}

/* The gradient of a gate's sum over the last step. */
static double *hidden_gradient(const struct level *v, int64_t t, int64_t b, int gate)
{
	return slot_of(v, t, b, v->r->kind == EMU_RNN_GRU && gate == 2 ? 3 : gate);
}

static void backward_step(const struct level *v, int64_t t, int64_t b, const struct gradients *d,
			  double *next)
{
	const struct emu_rnn *r = v->r;
	int64_t h = r->hidden;

	for (int64_t j = 0; j < h; j++) {
		double dh = d->h[b * h + j] +
			    d->out[((t * r->batch + b) * r->directions + v->direction) * h + j];

		next[j] = deactivate(v, t, b, j, dh, &d->c[b * h + j]);
	}
	for (int g = 0; g < gates(r); g++)
		for (int64_t j = 0; j < h; j++) {
			double a = slot_of(v, t, b, g)[j], u = hidden_gradient(v, t, b, g)[j];

			for (int64_t k = 0; k < h; k++)
				next[k] += u * row_of(v, g, j, 1)[k];
			for (int64_t k = 0; k < v->width; k++)
				d->in[(t * r->batch + b) * v->width + k] +=
					a * row_of(v, g, j, 0)[k];
		}
	memcpy(d->h + b * h, next, (size_t)h * sizeof(*next));
}

static void backward(const struct level *v, const struct gradients *d, double *next)
{
	const struct emu_rnn *r = v->r;

	for (int64_t b = 0; b < r->batch; b++)
		for (int64_t j = 0; j < r->hidden; j++) {
			d->h[b * r->hidden + j] = load_or_zero(r->type, r->dhy, state_at(v, b, j));
			d->c[b * r->hidden + j] = load_or_zero(r->type, r->dcy, state_at(v, b, j));
		}
	for (int64_t s = r->steps - 1; s >= 0; s--)
		for (int64_t b = 0; b < r->batch; b++)
			backward_step(v, v->direction ? r->steps - 1 - s : s, b, d, next);
	for (int64_t b = 0; b < r->batch; b++)
		for (int64_t j = 0; j < r->hidden; j++) {
			store_to(r->type, r->dhx, state_at(v, b, j), d->h[b * r->hidden + j]);
			store_to(r->type, r->dcx, state_at(v, b, j), d->c[b * r->hidden + j]);
		}
}

static void add_weights(const struct level *v, double *x, double *h)
{
	const struct emu_rnn *r = v->r;

	for (int64_t i = 0; i < (int64_t)r->steps * r->batch; i++) {
		int64_t t = i / r->batch, b = i % r->batch;

		for (int64_t k = 0; k < v->width; k++)
			x[k] = input_at(v, t, b, k);
		for (int64_t k = 0; k < r->hidden; k++)
			h[k] = before(v, t, b, k, 0);
		for (int g = 0; g < gates(r); g++)
			for (int64_t j = 0; j < r->hidden; j++) {
				double a = slot_of(v, t, b, g)[j],
				       u = hidden_gradient(v, t, b, g)[j];
				double *bias = bias_of(v, g, j, 0), *other = bias_of(v, g, j, 1);

				for (int64_t k = 0; k < v->width; k++)
					row_of(v, g, j, 0)[k] += a * x[k];
				for (int64_t k = 0; k < r->hidden; k++)
					row_of(v, g, j, 1)[k] += u * h[k];
				if (bias)
					*bias += a;
				if (other)
					*other += u;
			}
	}
}

/* ---- all levels ---- */

static int64_t bias_count(const struct emu_rnn *r)
{
	return (int64_t)gates(r) * r->hidden * (r->input_bias + r->hidden_bias);
}

static struct level level_of(const struct emu_rnn *r, int32_t number, double *saved)
{
	struct level v = {.r = r, .saved = saved};
	int64_t matrices = 0;

	for (int32_t i = 0; i < r->layers * r->directions; i++) {
		v.layer = i / r->directions;
		v.width = width_of(r, v.layer);
		if (i == number)
			v.matrix = matrices;
		matrices += matrix_count(&v);
	}
	v.layer = number / r->directions;
	v.direction = number % r->directions;
	v.width = width_of(r, v.layer);
	v.bias = matrices + number * bias_count(r);
	return v;
}

/* Loads the weights or their gradients, or stores the latter. */
static void move_weights(const struct level *v, const void *weights, int store)
{
	const struct emu_rnn *r = v->r;
	char *data = (char *)(uintptr_t)weights;
	size_t bytes = emu_type_bytes(r->type), n = (size_t)matrix_count(v);
	char *matrix = data + (size_t)v->matrix * bytes, *bias = data + (size_t)v->bias * bytes;

	if (store) {
		emu_from_f64(r->type, matrix, 1, n, v->w);
		emu_from_f64(r->type, bias, 1, (size_t)bias_count(r), v->b);
	} else {
		emu_to_f64(r->type, matrix, 1, n, v->w);
		emu_to_f64(r->type, bias, 1, (size_t)bias_count(r), v->b);
	}
}

/* Runs a pass. `d` and `spare` are for the gradients; x and h are rows. */
static void run_levels(const struct emu_rnn *r, double *saved, double *w, double *b,
		       struct gradients *d, double *x, double *h)
{
	int32_t n = r->layers * r->directions;
	int64_t rows = (int64_t)r->steps * r->batch, wide = (int64_t)r->hidden * r->directions;

	for (int64_t i = 0; r->pass == EMU_RNN_DATA && i < rows * wide; i++)
		d->out[i] = emu_load(r->type, r->dy, i);
	for (int32_t i = 0; i < n; i++) {
		/* The gradients of data: layers from the last to the first. */
		int32_t layer = r->layers - 1 - i / r->directions;
		int32_t number =
			r->pass == EMU_RNN_DATA ? layer * r->directions + i % r->directions : i;
		struct level v = level_of(r, number, saved);
		double *other = d->out;

		v.w = w;
		v.b = b;
		move_weights(&v, r->pass == EMU_RNN_WEIGHTS ? r->weight_grad : r->weights, 0);
		if (r->pass == EMU_RNN_FORWARD) {
			forward(&v, x, h);
		} else if (r->pass == EMU_RNN_WEIGHTS) {
			add_weights(&v, x, h);
			move_weights(&v, r->weight_grad, 1);
		} else {
			if (v.direction == 0)
				memset(d->in, 0, (size_t)(rows * v.width) * sizeof(double));
			backward(&v, d, h);
			if (v.direction == r->directions - 1) {
				d->out = d->in;
				d->in = other;
			}
		}
	}
	for (int64_t i = 0; r->pass == EMU_RNN_DATA && i < rows * r->inputs; i++)
		store_to(r->type, r->dx, i, d->out[i]);
}

int emu_rnn_run(const struct emu_rnn *r)
{
	int64_t h = r->hidden, wide = h * r->directions, rows = (int64_t)r->steps * r->batch;
	int64_t widest = r->inputs > wide ? r->inputs : wide, saved = saved_count(r);
	int64_t matrices = gates(r) * (widest + h) * h;
	int64_t n = saved + matrices + 2 * gates(r) * h + 2 * rows * widest + 2 * r->batch * h +
		    widest + h;
	double *all = calloc((size_t)n, sizeof(*all)), *at = all;
	struct gradients d;
	double *w, *b;

	if (!all)
		return -ENOMEM;
	at += saved;
	w = at;
	b = at += matrices;
	d.out = at += 2 * gates(r) * h;
	d.in = at += rows * widest;
	d.h = at += rows * widest;
	d.c = at += r->batch * h;
	at += r->batch * h;
	if (r->pass != EMU_RNN_FORWARD)
		emu_to_f64(saved_type(r), r->reserve, 1, (size_t)saved, all);
	run_levels(r, all, w, b, &d, at, at + widest);
	if (r->reserve && r->pass != EMU_RNN_WEIGHTS)
		emu_from_f64(saved_type(r), r->reserve, 1, (size_t)saved, all);
	free(all);
	return 0;
}
