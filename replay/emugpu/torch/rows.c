/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that work on rows: softmax, layer normalisation. Sums are of doubles. */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"

#include <errno.h>
#include <math.h>

typedef int run_fn(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);

/* Element i of an optional array. */
static double load_or(enum emu_type type, const void *data, int64_t i, double otherwise)
{
	return data ? emu_load(type, data, i) : otherwise;
}

/* ---- softmax: of n elements that are `stride` apart, from element `at` on ---- */

enum { LOG = 1, BACKWARD = 2 };

struct row {
	void *to;
	const void *from, *grad; /* backward: from the results and their gradients */
	int64_t at, n, stride;
};

static void softmax(const struct emu_torch *t, const struct row *r)
{
	double most = -INFINITY, sum = 0, v;

	for (int64_t i = 0; i < r->n; i++) {
		v = emu_load(t->in[0], r->from, r->at + i * r->stride);
		most = v > most || isnan(v) ? v : most;
	}
	for (int64_t i = 0; i < r->n; i++)
		sum += exp(emu_load(t->in[0], r->from, r->at + i * r->stride) - most);
	for (int64_t i = 0; i < r->n; i++) {
		v = emu_load(t->in[0], r->from, r->at + i * r->stride) - most;
		emu_store(t->out, r->to, r->at + i * r->stride,
			  t->op & LOG ? v - log(sum) : exp(v) / sum);
	}
}

/* Without logarithm, PyTorch has multiplied the gradients by the results before. */
static void softmax_backward(const struct emu_torch *t, const struct row *r)
{
	double sum = 0;

	for (int64_t i = 0; i < r->n; i++)
		sum += emu_load(t->in[0], r->grad, r->at + i * r->stride);
	for (int64_t i = 0; i < r->n; i++) {
		int64_t at = r->at + i * r->stride;
		double y = emu_load(t->in[0], r->from, at);

		emu_store(t->out, r->to, at,
			  emu_load(t->in[0], r->grad, at) - (t->op & LOG ? exp(y) : y) * sum);
	}
}

static void softmax_row(const struct emu_torch *t, const struct row *r)
{
	if (t->op & BACKWARD)
		softmax_backward(t, r);
	else
		softmax(t, r);
}

/* softmax_warp_forward(to, from, rows, stride, columns, ...) and
 * softmax_warp_backward(to, gradients, results, rows, stride, columns, ...) */
static int run_warp(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	unsigned n = back ? 3 : 2;
	int64_t rows = emu_int_of(l, args, n), stride = emu_int_of(l, args, n + 1);
	struct row r = {emu_pointer_of(args, 0),    emu_pointer_of(args, n - 1),
			emu_pointer_of(args, 1),    0,
			emu_int_of(l, args, n + 2), 1};

	if (emu_pointer_of(args, n + 3) || !emu_torch_computes_work((double)rows * (double)r.n))
		return -ENOTSUP; /* masked */
	for (int64_t i = 0; i < rows; i++) {
		r.at = i * stride;
		softmax_row(t, &r);
	}
	return 0;
}

/* cunn_SoftMaxForward(to, from, columns) and cunn_SoftMaxBackward(to, results, gradients, columns),
 * a block for each row */
static int run_block(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	struct row r = {emu_pointer_of(args, 0),
			emu_pointer_of(args, 1),
			back ? emu_pointer_of(args, 2) : NULL,
			0,
			emu_int_of(l, args, 2 + back),
			1};

	if (!emu_torch_computes_large((double)l->grid[0] * (double)r.n, EMU_TORCH_SOFTMAX) ||
	    emu_torch_is_undefined(t->in[0], emu_pointer_of(args, 1), l->grid[0] * r.n))
		return -ENOTSUP;
	for (uint32_t i = 0; i < l->grid[0]; i++) {
		r.at = i * r.n;
		softmax_row(t, &r);
	}
	return 0;
}

/* cunn_SpatialSoftMax...(to, from[, gradients], outer, columns, inner) */
static int run_spatial(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	int back = t->op & BACKWARD ? 1 : 0;
	int64_t outer = emu_int_of(l, args, 2 + back), inner = emu_int_of(l, args, 4 + back);
	struct row r = {emu_pointer_of(args, 0),
			emu_pointer_of(args, 1),
			back ? emu_pointer_of(args, 2) : NULL,
			0,
			emu_int_of(l, args, 3 + back),
			inner};

	if (!emu_torch_computes_work((double)outer * (double)r.n * (double)inner))
		return -ENOTSUP;
	for (int64_t i = 0; i < outer * inner; i++) {
		r.at = i / inner * r.n * inner + i % inner;
		softmax_row(t, &r);
	}
	return 0;
}

/* ---- layer normalisation; `op` is 1 for the root mean square only ---- */

struct norm {
	int64_t n; /* columns */
	const void *x, *gamma, *beta, *dy;
	void *mean, *rstd, *y;
};

static void moments(const struct emu_torch *t, const struct norm *m, int64_t row, double epsilon)
{
	double mean = 0, sum = 0;

	for (int64_t i = 0; !t->op && i < m->n; i++)
		mean += emu_load(t->in[0], m->x, row * m->n + i) / (double)m->n;
	for (int64_t i = 0; i < m->n; i++) {
		double v = emu_load(t->in[0], m->x, row * m->n + i) - mean;

		sum += v * v;
	}
	if (m->mean && !t->op)
		emu_store(t->in[1], m->mean, row, mean);
	emu_store(t->in[1], m->rstd, row, 1 / sqrt(sum / (double)m->n + epsilon));
}

/* The normalised element. */
static double normal(const struct emu_torch *t, const struct norm *m, int64_t row, int64_t i)
{
	double mean = t->op ? 0 : emu_load(t->in[1], m->mean, row);

	return (emu_load(t->in[0], m->x, row * m->n + i) - mean) * emu_load(t->in[1], m->rstd, row);
}

static void scale_row(const struct emu_torch *t, const struct norm *m, int64_t row)
{
	for (int64_t i = 0; i < m->n; i++)
		emu_store(t->in[0], m->y, row * m->n + i,
			  normal(t, m, row, i) * load_or(t->in[0], m->gamma, i, 1) +
				  load_or(t->in[0], m->beta, i, 0));
}

/* vectorized_layer_norm_kernel(columns, epsilon, x, gamma, beta, mean, rstd, y) */
static int run_norm(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct norm m = {emu_int_of(l, args, 0),
			 emu_pointer_of(args, 2),
			 emu_pointer_of(args, 3),
			 emu_pointer_of(args, 4),
			 NULL,
			 emu_pointer_of(args, 5),
			 emu_pointer_of(args, 6),
			 emu_pointer_of(args, 7)};

	if (!emu_torch_computes_work((double)l->grid[0] * (double)m.n))
		return -ENOTSUP;
	for (uint32_t row = 0; row < l->grid[0]; row++) {
		moments(t, &m, row, emu_load(t->in[1], args[1], 0));
		scale_row(t, &m, row);
	}
	return 0;
}

/* RowwiseMomentsCUDAKernel(rows, columns, epsilon, x, mean, rstd) */
static int run_moments(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct norm m = {.n = emu_int_of(l, args, 1),
			 .x = emu_pointer_of(args, 3),
			 .mean = emu_pointer_of(args, 4),
			 .rstd = emu_pointer_of(args, 5)};
	int64_t rows = emu_int_of(l, args, 0);

	if (!emu_torch_computes_work((double)rows * (double)m.n))
		return -ENOTSUP;
	for (int64_t row = 0; row < rows; row++)
		moments(t, &m, row, emu_load(t->in[1], args[2], 0));
	return 0;
}

/* LayerNormForwardCUDAKernel(rows, columns, x, mean, rstd, gamma, beta, y) */
static int run_scale(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct norm m = {emu_int_of(l, args, 1),
			 emu_pointer_of(args, 2),
			 emu_pointer_of(args, 5),
			 emu_pointer_of(args, 6),
			 NULL,
			 emu_pointer_of(args, 3),
			 emu_pointer_of(args, 4),
			 emu_pointer_of(args, 7)};
	int64_t rows = emu_int_of(l, args, 0);

	if (!emu_torch_computes_work((double)rows * (double)m.n))
		return -ENOTSUP;
	for (int64_t row = 0; row < rows; row++)
		scale_row(t, &m, row);
	return 0;
}

/* layer_norm_grad_input_kernel(dy, x, mean, rstd, gamma, dx, columns), a block for each row */
static int run_norm_input(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	struct norm m = {emu_int_of(l, args, 6),  emu_pointer_of(args, 1),
			 emu_pointer_of(args, 4), NULL,
			 emu_pointer_of(args, 0), emu_pointer_of(args, 2),
			 emu_pointer_of(args, 3), emu_pointer_of(args, 5)};

	if (!emu_torch_computes_work((double)l->grid[0] * (double)m.n))
		return -ENOTSUP;
	for (uint32_t row = 0; row < l->grid[0]; row++) {
		double sum = 0, product = 0, v;

		for (int64_t i = 0; i < m.n; i++) {
			v = emu_load(t->in[0], m.dy, row * m.n + i) *
			    load_or(t->in[0], m.gamma, i, 1);
			sum += t->op ? 0 : v;
			product += v * normal(t, &m, row, i);
		}
		for (int64_t i = 0; i < m.n; i++) {
			v = emu_load(t->in[0], m.dy, row * m.n + i) *
			    load_or(t->in[0], m.gamma, i, 1);
			v -= (sum + normal(t, &m, row, i) * product) / (double)m.n;
			emu_store(t->in[0], m.y, row * m.n + i,
				  v * emu_load(t->in[1], m.rstd, row));
		}
	}
	return 0;
}

/* GammaBetaBackward...(rows, columns, dy, x, mean, rstd, dgamma, dbeta). With several blocks in y,
 * each has a row of partial sums, which PyTorch adds up: the first gets the sum. */
static int run_norm_weights(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	struct norm m = {.n = emu_int_of(l, args, 1),
			 .dy = emu_pointer_of(args, 2),
			 .x = emu_pointer_of(args, 3),
			 .mean = emu_pointer_of(args, 4),
			 .rstd = emu_pointer_of(args, 5)};
	int64_t rows = emu_int_of(l, args, 0);
	void *gamma = emu_pointer_of(args, 6), *beta = emu_pointer_of(args, 7);

	if (!emu_torch_computes_work((double)rows * (double)m.n))
		return -ENOTSUP;
	for (int64_t i = 0; i < m.n * l->grid[1]; i++) {
		double sum = 0, product = 0;

		for (int64_t row = 0; i < m.n && row < rows; row++) {
			double dy = emu_load(t->in[0], m.dy, row * m.n + i);

			sum += dy;
			product += dy * normal(t, &m, row, i);
		}
		if (gamma)
			emu_store(t->in[0], gamma, i, product);
		if (beta && !t->op)
			emu_store(t->in[0], beta, i, sum);
	}
	return 0;
}

/* ---- by name ---- */

/* Indexes of template arguments; NONE: there is no such argument. */
enum { NONE = 9 };

static const struct {
	const char *name;	    /* after the namespaces */
	uint8_t in, in1, out, flag; /* the flag is "true" */
	uint8_t op;
	run_fn *run;
} kernels[] = {
	{"softmax_warp_forward<", 0, NONE, 1, 4, 0, run_warp},
	{"softmax_warp_backward<", 0, NONE, 1, 4, BACKWARD, run_warp},
	{"cunn_SoftMaxForward<", 1, NONE, 3, NONE, 0, run_block},
	{"cunn_SoftMaxForwardSmem<", 1, NONE, 3, NONE, 0, run_block},
	{"cunn_SoftMaxForwardGmem<", 1, NONE, 3, NONE, 0, run_block},
	{"cunn_SoftMaxForwardReg<", 0, NONE, 2, NONE, 0, run_block},
	{"cunn_SoftMaxBackward<", 3, NONE, 1, NONE, BACKWARD, run_block},
	{"cunn_SoftMaxBackwardSmem<", 3, NONE, 1, NONE, BACKWARD, run_block},
	{"cunn_SpatialSoftMaxForward<", 0, NONE, 2, NONE, 0, run_spatial},
	{"cunn_SpatialSoftMaxBackward<", 2, NONE, 0, NONE, BACKWARD, run_spatial},
	{"vectorized_layer_norm_kernel<", 0, 1, 0, 2, 0, run_norm},
	{"RowwiseMomentsCUDAKernel<", 0, 1, 0, 2, 0, run_moments},
	{"LayerNormForwardCUDAKernel<", 0, 1, 0, 2, 0, run_scale},
	{"layer_norm_grad_input_kernel_vectorized<", 0, 1, 0, 2, 0, run_norm_input},
	{"layer_norm_grad_input_kernel<", 0, 1, 0, 2, 0, run_norm_input},
	{"GammaBetaBackwardCUDAKernelTemplate<", 0, 1, 0, 7, 0, run_norm_weights},
	{"GammaBetaBackwardSimpleCUDAKernel<", 0, 1, 0, 2, 0, run_norm_weights},
};

int emu_torch_rows(struct emu_torch *t, struct emu_part name)
{
	struct emu_part arguments;
	int i = EMU_TORCH_ROW(kernels, name, &arguments);

	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	if (emu_part_has(name, "LogSoftMax") ||
	    (kernels[i].flag != NONE &&
	     emu_part_has(emu_part_argument(arguments, kernels[i].flag), "true")))
		t->op |= LOG;
	t->run = kernels[i].run;
	if (kernels[i].in1 != NONE &&
	    emu_part_type(emu_part_argument(arguments, kernels[i].in1), &t->in[1]) < 0)
		return -ENOTSUP;
	if (emu_part_type(emu_part_argument(arguments, kernels[i].out), &t->out) < 0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(arguments, kernels[i].in), &t->in[0]);
}
