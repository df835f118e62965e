/* SPDX-License-Identifier: Apache-2.0 */

/* Cells of recurrent networks, their gradients, and those of PReLU. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* Element `i` of the i-th parameter, a TensorInfo; 0 if it has no memory. */
static double load(const struct emu_torch *t, const struct emu_tensor_info *x, int64_t i)
{
	return x->data ? emu_load(t->in[0], x->data, emu_tensor_offset(x, i)) : 0;
}

static void store(const struct emu_torch *t, const struct emu_tensor_info *x, int64_t i, double v)
{
	emu_store(t->in[0], x->data, emu_tensor_offset(x, i), v);
}

/* A step of one element: `i` of the state, gates from `at` on, `h` apart. The tensors are the
 * kernel's parameters. */
typedef void step(const struct emu_torch *t, const struct emu_tensor_info *const *p, int64_t i,
		  int64_t h);

/* The sum of a gate's two products and their biases. */
static double gate(const struct emu_torch *t, const struct emu_tensor_info *const *p, int64_t i,
		   int64_t h, int64_t number, int64_t gates)
{
	int64_t at = i / h * gates * h + i % h + number * h;

	return load(t, p[0], at) + load(t, p[1], at) + load(t, p[2], i % h + number * h) +
	       load(t, p[3], i % h + number * h);
}

/* lstm_cell_forward(products of the input, of the state, biases, biases, c, h', c', gates) */
static void lstm(const struct emu_torch *t, const struct emu_tensor_info *const *p, int64_t i,
		 int64_t h)
{
	int64_t at = i / h * 4 * h + i % h;
	double v[4], c;

	for (int k = 0; k < 4; k++) {
		v[k] = gate(t, p, i, h, k, 4);
		v[k] = k == 2 ? tanh(v[k]) : sigmoid(v[k]);
		store(t, p[7], at + k * h, v[k]);
	}
	c = v[1] * load(t, p[4], i) + v[0] * v[2];
	store(t, p[5], i, v[3] * tanh(c));
	store(t, p[6], i, c);
}

/* lstm_cell_backward(gates, their gradients, c, c', gradients of h', of c', of c) */
static void lstm_gradient(const struct emu_torch *t, const struct emu_tensor_info *const *p,
			  int64_t i, int64_t h)
{
	int64_t at = i / h * 4 * h + i % h;
	double v[4], go = load(t, p[4], i), tanh_c = tanh(load(t, p[3], i)), gc;

	for (int k = 0; k < 4; k++)
		v[k] = load(t, p[0], at + k * h);
	gc = go * v[3] * (1 - tanh_c * tanh_c) + load(t, p[5], i);
	store(t, p[1], at, gc * v[2] * (1 - v[0]) * v[0]);
	store(t, p[1], at + h, gc * load(t, p[2], i) * (1 - v[1]) * v[1]);
	store(t, p[1], at + 2 * h, gc * v[0] * (1 - v[2] * v[2]));
	store(t, p[1], at + 3 * h, go * tanh_c * (1 - v[3]) * v[3]);
	store(t, p[6], i, gc * v[1]);
}

/* gru_cell_forward(products of the input, of the state, biases, biases, h, h', storage) */
static void gru(const struct emu_torch *t, const struct emu_tensor_info *const *p, int64_t i,
		int64_t h)
{
	int64_t in = i / h * 3 * h + i % h, at = i / h * 5 * h + i % h;
	double r = sigmoid(gate(t, p, i, h, 0, 3)), z = sigmoid(gate(t, p, i, h, 1, 3));
	double hn = load(t, p[1], in + 2 * h) + load(t, p[3], i % h + 2 * h);
	double n = tanh(load(t, p[0], in + 2 * h) + load(t, p[2], i % h + 2 * h) + r * hn);
	double hx = load(t, p[4], i);

	store(t, p[5], i, n + z * (hx - n));
	store(t, p[6], at, r);
	store(t, p[6], at + h, z);
	store(t, p[6], at + 2 * h, n);
	store(t, p[6], at + 3 * h, hx);
	store(t, p[6], at + 4 * h, hn);
}

/* gru_cell_backward(gradients of the input's products, of the state's, of h', of h, storage) */
static void gru_gradient(const struct emu_torch *t, const struct emu_tensor_info *const *p,
			 int64_t i, int64_t h)
{
	int64_t to = i / h * 3 * h + i % h, at = i / h * 5 * h + i % h;
	double v[5], go = load(t, p[2], i), gz, gn, gr;

	for (int k = 0; k < 5; k++)
		v[k] = load(t, p[4], at + k * h);
	gz = go * (v[3] - v[2]) * (1 - v[1]) * v[1];
	gn = go * (1 - v[1]) * (1 - v[2] * v[2]);
	gr = gn * v[4] * (1 - v[0]) * v[0];
	for (int k = 0; k < 2; k++) {
		store(t, p[k], to, gr);
		store(t, p[k], to + h, gz);
		store(t, p[k], to + 2 * h, k ? gn * v[0] : gn);
	}
	store(t, p[3], i, go * v[1]);
}

static const struct cell {
	const char *name;
	uint8_t tensors;
	step *step;
} cells[] = {
	{"::lstm_cell_forward<", 8, lstm},
	{"::lstm_cell_backward<", 7, lstm_gradient},
	{"::gru_cell_forward<", 7, gru},
	{"::gru_cell_backward<", 5, gru_gradient},
};

/* After the tensors, the size of the state and the number of elements. */
static int run_cell(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct cell *c = &cells[t->op];
	const struct emu_tensor_info *tensors[8];
	int64_t h = emu_int_of(l, args, c->tensors), n = emu_int_of(l, args, c->tensors + 1u);

	if (h < 1 || !emu_torch_computes_work((double)n * 5))
		return -ENOTSUP;
	for (unsigned i = 0; i < c->tensors; i++) {
		tensors[i] = args[i];
		if (l->arg_bytes(l, i) != sizeof(*tensors[i]))
			return -ENOTSUP;
	}
	for (int64_t i = 0; i < n; i++)
		c->step(t, tensors, i, h);
	return 0;
}

/* unrolled_elementwise_kernel_for_multi_outputs(n, function, {two results, input, weight,
 * gradient}, offsets of the inputs, of the results), in elements */
static int run_prelu_gradient(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	int64_t n = emu_int_of(l, args, 0);
	char *const *data = args[2];

	if (l->arg_bytes(l, 2) != 40 || l->arg_bytes(l, 3) != emu_offsets_bytes(3) ||
	    l->arg_bytes(l, 4) != emu_offsets_bytes(2) || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		uint64_t in[3], out[2];
		double v[3];

		emu_offsets_of(args[3], 3, (uint32_t)i, in);
		emu_offsets_of(args[4], 2, (uint32_t)i, out);
		for (int k = 0; k < 3; k++)
			v[k] = emu_load(t->in[0], data[2 + k], (int64_t)in[k]);
		emu_store(t->in[0], data[0], (int64_t)out[0], v[0] > 0 ? v[2] : v[1] * v[2]);
		emu_store(t->in[0], data[1], (int64_t)out[1], v[0] > 0 ? 0 : v[0] * v[2]);
	}
	return 0;
}

int emu_torch_cells(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(cells, name, &rest);
	struct emu_part prelu = emu_part_after(
		emu_part_after(name, "unrolled_elementwise_kernel_for_multi_outputs<"),
		"::prelu_backward_kernel(");

	if (i >= 0) {
		t->op = (uint8_t)i;
		t->params = cells[i].tensors + 2;
		t->run = run_cell;
		return emu_part_is(emu_part_argument(rest, 2), "int")
			       ? emu_part_type(emu_part_argument(rest, 0), &t->in[0])
			       : -ENOTSUP;
	}
	if (!prelu.len)
		return -ENOTSUP;
	t->params = 5;
	t->run = run_prelu_gradient;
	prelu = emu_part_after(prelu, "{lambda(");
	while (emu_part_after(prelu, "{lambda(").len && prelu.at[0] == ')')
		prelu = emu_part_after(prelu, "{lambda(");
	return emu_part_type((struct emu_part){prelu.at, strcspn(prelu.at, ",")}, &t->in[0]);
}
