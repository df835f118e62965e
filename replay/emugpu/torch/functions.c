/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/torch/functions.h"

#include <math.h>
#include <stdint.h>

static double compare(int op, double a, double b)
{
	return op == 0 ? a >= b : op == 1 ? a > b : op == 2 ? a <= b : a < b;
}

static double clamp(const double s[4], double a)
{
	if (isnan(a))
		return a;
	if (s[0] == 0)
		return a < s[1] ? s[1] : a;
	if (s[0] == 1)
		return a > s[1] ? s[1] : a;
	a = a < s[1] ? s[1] : a;
	return a > s[2] ? s[2] : a;
}

/* The standard normal distribution below a. */
static double normal_below(double a)
{
	return (1 + erf(a * M_SQRT1_2)) / 2;
}

static double gelu_inner(double a)
{
	return M_SQRT1_2 * M_2_SQRTPI * (a + 0.044715 * a * a * a);
}

static double gelu_tanh_slope(double a)
{
	double t = tanh(gelu_inner(a));

	return (1 + t) / 2 +
	       a / 2 * (1 - t * t) * M_SQRT1_2 * M_2_SQRTPI * (1 + 3 * 0.044715 * a * a);
}

static double sigmoid(double a)
{
	return 1 / (1 + exp(-a));
}

static double hard_sigmoid(double a)
{
	return fmin(fmax(a + 3, 0), 6) / 6;
}

static double mish_gradient(double gradient, double a)
{
	double t = tanh(log1p(exp(a)));

	return gradient * (t + a * sigmoid(a) * (1 - t * t));
}

static double logit(double a)
{
	return log(a / (1 - a));
}

static double logit_gradient(double gradient, double a, const double s[4])
{
	if (s[1] != 0 ? a < s[0] || a > s[1] : a < 0 || a > 1)
		return s[1] != 0 ? 0 : NAN;
	return gradient / (a * (1 - a));
}

static double clamped(double a, double most)
{
	return fmin(fmax(a, -most), most);
}

/* Has the sign of b. */
static double remainder_of(double a, double b)
{
	double r = fmod(a, b);

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double emu_torch_apply(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4])
{
	double a = in[0], b = in[1], c = in[2], d = in[3], e = in[4], f = in[5], g = in[6];

	switch (op) {
#define OP(name, value)                                                                            \
	case EMU_OP_##name:                                                                        \
		return value;
#define OP_OF_INTEGERS(name, value, of_integers) OP(name, value)
#include "replay/emugpu/torch/functions.def"
#undef OP
#undef OP_OF_INTEGERS
	default:
		return a;
	}
}

/* With a constant operation, the compiler can vectorise this loop. */
static inline __attribute__((always_inline)) void
apply_all(enum emu_torch_op op, size_t n, int inputs,
	  const double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], const double s[4], double *out)
{
	for (size_t i = 0; i < n; i++) {
		double v[EMU_TORCH_INPUTS];

		for (int k = 0; k < EMU_TORCH_INPUTS; k++)
			v[k] = k < inputs ? in[k][i] : 0;
		out[i] = emu_torch_apply(op, v, s);
	}
}

/* The frequent operations of large tensors have loops of their own. */
__attribute__((flatten)) void
emu_torch_apply_all(enum emu_torch_op op, size_t n, int inputs,
		    const double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], const double s[4],
		    double out[EMU_TORCH_BLOCK])
{
	switch (op) {
#define CASE(op)                                                                                   \
	case op:                                                                                   \
		apply_all(op, n, inputs, in, s, out);                                              \
		break
		CASE(EMU_OP_COPY);
		CASE(EMU_OP_FILL);
		CASE(EMU_OP_ADD);
		CASE(EMU_OP_MUL);
		CASE(EMU_OP_DIV);
		CASE(EMU_OP_THRESHOLD);
		CASE(EMU_OP_CLAMP);
		CASE(EMU_OP_SQRT);
		CASE(EMU_OP_ADDCMUL);
		CASE(EMU_OP_ADDCDIV);
		CASE(EMU_OP_LERP);
	default:
		apply_all(op, n, inputs, in, s, out);
	}
}
