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

static double gelu_slope(enum emu_torch_op op, double a)
{
	double t = tanh(gelu_inner(a));

	if (op == EMU_OP_GELU_GRAD)
		return normal_below(a) + a * M_SQRT1_2 * M_2_SQRTPI / 2 * exp(-a * a / 2);
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

/* Activations of layers. */
static double of_activation(enum emu_torch_op op, double a, const double s[4])
{
	switch (op) {
	case EMU_OP_SILU:
		return a * sigmoid(a);
	case EMU_OP_MISH:
		return a * tanh(log1p(exp(a)));
	case EMU_OP_HARD_SIGMOID:
		return hard_sigmoid(a);
	case EMU_OP_HARD_SWISH:
		return a * hard_sigmoid(a);
	case EMU_OP_LEAKY_RELU:
		return a > 0 ? a : a * s[0];
	case EMU_OP_ELU:
		return a > 0 ? a * s[1] : expm1(a * s[2]) * s[0];
	case EMU_OP_SOFTPLUS:
		return a * s[0] > s[1] ? a : log1p(exp(a * s[0])) / s[0];
	case EMU_OP_LOG_SIGMOID:
		return fmin(a, 0) - log1p(exp(-fabs(a)));
	case EMU_OP_SIGMOID:
		return sigmoid(a);
	case EMU_OP_GELU:
		return a * normal_below(a);
	case EMU_OP_GELU_TANH:
		return a / 2 * (1 + tanh(gelu_inner(a)));
	default:
		return a;
	}
}

static double of_one(enum emu_torch_op op, double a, const double s[4])
{
	switch (op) {
	case EMU_OP_SIN:
		return sin(a);
	case EMU_OP_COS:
		return cos(a);
	case EMU_OP_ERF:
		return erf(a);
	case EMU_OP_LOG1P:
		return log1p(a);
	case EMU_OP_EXPM1:
		return expm1(a);
	case EMU_OP_SIGN:
		return (a > 0) - (a < 0);
	case EMU_OP_FLOOR:
		return floor(a);
	case EMU_OP_CEIL:
		return ceil(a);
	case EMU_OP_ROUND:
		return nearbyint(a);
	case EMU_OP_TRUNC:
		return trunc(a);
	case EMU_OP_IS_INFINITY:
		return a == INFINITY;
	case EMU_OP_IS_NEGATIVE_INFINITY:
		return a == -INFINITY;
	case EMU_OP_NEG:
		return -a;
	case EMU_OP_ABS:
		return fabs(a);
	case EMU_OP_EXP:
		return exp(a);
	case EMU_OP_LOG:
		return log(a);
	case EMU_OP_SQRT:
		return sqrt(a);
	case EMU_OP_RSQRT:
		return 1 / sqrt(a);
	case EMU_OP_TANH:
		return tanh(a);
	case EMU_OP_RECIPROCAL:
		return 1 / a;
	case EMU_OP_NOT:
		return a == 0;
	case EMU_OP_SQUARE:
		return a * a;
	case EMU_OP_CUBE:
		return a * a * a;
	case EMU_OP_INVERSE_SQUARE:
		return 1 / (a * a);
	case EMU_OP_POW:
		return pow(a, s[0]);
	default:
		return of_activation(op, a, s);
	}
}

/* The gradient a of the input b of an activation. */
static double of_gradient(enum emu_torch_op op, double a, double b, const double s[4])
{
	switch (op) {
	case EMU_OP_TANH_GRAD:
		return a * (1 - b * b);
	case EMU_OP_SIGMOID_GRAD:
		return a * (1 - b) * b;
	case EMU_OP_SILU_GRAD:
		return a * sigmoid(b) * (1 + b * (1 - sigmoid(b)));
	case EMU_OP_HARD_SWISH_GRAD:
		return b < -3 ? 0 : b <= 3 ? a * (b / 3 + 0.5) : a;
	case EMU_OP_HARD_SIGMOID_GRAD:
		return b > -3 && b < 3 ? a / 6 : 0;
	case EMU_OP_LEAKY_RELU_GRAD:
		return a > 0 ? b : b * s[0];
	case EMU_OP_SOFTPLUS_GRAD:
		return b * s[0] > s[1] ? a : a * sigmoid(b * s[0]);
	case EMU_OP_LOG_SIGMOID_GRAD:
		return b * sigmoid(-a);
	case EMU_OP_GELU_GRAD:
	case EMU_OP_GELU_TANH_GRAD:
		return a * gelu_slope(op, b);
	default:
		return of_one(op, a, s);
	}
}

static double clamped(double a, double most)
{
	return fmin(fmax(a, -most), most);
}

/* Losses of the prediction a and the target b, and their gradients: s0 the loss's scale, c the
 * gradient of the loss. */
static double of_error(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4])
{
	double a = in[0], b = in[1], d = a - b;

	switch (op) {
	case EMU_OP_ERROR:
		return d * d;
	case EMU_OP_ERROR_GRAD:
		return s[0] * d * in[2];
	case EMU_OP_SMOOTH_ERROR:
		return fabs(d) < s[0] ? d * d / 2 / s[0] : fabs(d) - s[0] / 2;
	case EMU_OP_SMOOTH_ERROR_GRAD:
		return s[0] * clamped(d, s[1]) / s[1] * in[2];
	case EMU_OP_HUBER:
		return fabs(d) < s[0] ? d * d / 2 : s[0] * (fabs(d) - s[0] / 2);
	case EMU_OP_HUBER_GRAD:
		return s[0] * clamped(d, s[1]) * in[2];
	case EMU_OP_CROSS_ENTROPY:
		return (b - 1) * fmax(log1p(-a), -100) - b * fmax(log(a), -100);
	default:
		return of_gradient(op, a, b, s);
	}
}

/* Normalisation: sums of products. Batch normalisation: a the gradient, b the input, c the weight,
 * d the mean, e the inverse deviation, in[5] the sum of products, in[6] the sum of gradients; s0
 * one by the number. */
static double of_norm(enum emu_torch_op op, const double *in, const double s[4])
{
	double a = in[0], b = in[1], c = in[2], d = in[3], e = in[4];

	switch (op) {
	case EMU_OP_NORM_FIVE:
		return (a - b) * c * d + e;
	case EMU_OP_LINEAR:
		return b * a + c;
	case EMU_OP_LINEAR_TWO:
		return c * a + d * b + e;
	case EMU_OP_LINEAR_PRODUCT:
		return c * d * a + e * b + in[5];
	case EMU_OP_CENTERED:
		return (a - b) * c;
	case EMU_OP_PRODUCT:
		return a * b * c;
	case EMU_OP_INVERSE_DEVIATION:
		return 1 / sqrt(a + s[0]);
	case EMU_OP_BATCH_NORM_GRAD:
		return (a - in[6] * s[0] - (b - d) * e * e * in[5] * s[0]) * c * e;
	case EMU_OP_CROSS_ENTROPY_GRAD:
		return a * (b - c) / fmax((1 - b) * b, 1e-12);
	case EMU_OP_CLAMP_TENSORS:
		return isnan(a) ? a : isnan(b) ? b : isnan(c) ? c : fmin(fmax(a, b), c);
	case EMU_OP_LERP_TENSOR:
		return a + c * (b - a);
	default:
		return 0;
	}
}

/* More functions of one element. */
static double of_other(enum emu_torch_op op, double a)
{
	switch (op) {
	case EMU_OP_TAN:
		return tan(a);
	case EMU_OP_ASIN:
		return asin(a);
	case EMU_OP_ACOS:
		return acos(a);
	case EMU_OP_ATAN:
		return atan(a);
	case EMU_OP_SINH:
		return sinh(a);
	case EMU_OP_COSH:
		return cosh(a);
	case EMU_OP_ASINH:
		return asinh(a);
	case EMU_OP_ACOSH:
		return acosh(a);
	case EMU_OP_ATANH:
		return atanh(a);
	case EMU_OP_FRACTION:
		return a - trunc(a);
	case EMU_OP_LOG2:
		return log2(a);
	case EMU_OP_LOG10:
		return log10(a);
	case EMU_OP_SIGN_BIT:
		return signbit(a) != 0;
	case EMU_OP_BIT_NOT:
		return -1 - a;
	default:
		return 0;
	}
}

/* Activations that few models use, and their gradients. */
static double of_rare_activation(enum emu_torch_op op, double a, double b, const double s[4])
{
	double t;

	switch (op) {
	case EMU_OP_MISH_GRAD:
		t = tanh(log1p(exp(b)));
		return a * (t + b * sigmoid(b) * (1 - t * t));
	case EMU_OP_ELU_GRAD:
		return b > 0  ? a * s[1]
		       : s[3] ? a * s[2] * (b + s[0])
			      : a * s[2] * s[0] * exp(b * s[2]);
	case EMU_OP_HARD_TANH_GRAD:
		return b <= s[0] || b >= s[1] ? 0 : a;
	case EMU_OP_SOFT_SHRINK:
		return a > s[0] ? a - s[0] : a < -s[0] ? a + s[0] : isnan(a) ? a : 0;
	case EMU_OP_HARD_SHRINK:
		return a >= -s[0] && a <= s[0] ? 0 : a;
	case EMU_OP_SHRINK_GRAD:
		return b >= -s[0] && b <= s[0] ? 0 : a;
	case EMU_OP_PRELU:
		return a > 0 ? a : a * b;
	case EMU_OP_GLU:
		return a * sigmoid(b);
	default:
		return of_other(op, a);
	}
}

/* More functions of two elements. */
static double of_pair(enum emu_torch_op op, double a, double b)
{
	switch (op) {
	case EMU_OP_HYPOT:
		return hypot(a, b);
	case EMU_OP_COPY_SIGN:
		return copysign(a, b);
	case EMU_OP_LOG_ADD_EXP:
		return fmax(a, b) + (a == b && isinf(a) ? 0 : log1p(exp(-fabs(a - b))));
	case EMU_OP_SHIFT_LEFT:
		return (double)(int64_t)((uint64_t)(int64_t)a << (unsigned)b % 64);
	case EMU_OP_SHIFT_RIGHT:
		return (double)((int64_t)a >> (unsigned)b % 64);
	case EMU_OP_LOGICAL_AND:
		return a != 0 && b != 0;
	case EMU_OP_LOGICAL_OR:
		return a != 0 || b != 0;
	case EMU_OP_LOGICAL_XOR:
		return (a != 0) != (b != 0);
	case EMU_OP_MAX_NUMBER:
		return fmax(a, b);
	case EMU_OP_LOG_ADD_EXP2:
		return fmax(a, b) + (a == b && isinf(a) ? 0 : log2(1 + exp2(-fabs(a - b))));
	case EMU_OP_HEAVISIDE:
		return a == 0 ? b : a > 0;
	default:
		return fmin(a, b);
	}
}

/* Has the sign of b. */
static double remainder_of(double a, double b)
{
	double r = fmod(a, b);

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Arithmetic of two elements. */
static double of_two(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4])
{
	double a = in[0], b = in[1];

	switch (op) {
	case EMU_OP_ADD:
		return a + s[0] * b;
	case EMU_OP_MUL:
		return a * b;
	case EMU_OP_DIV:
		return a / b;
	case EMU_OP_EQUAL:
		return s[0] == 0 ? a == b : a != b;
	case EMU_OP_AND:
		return (double)((int64_t)a & (int64_t)b);
	case EMU_OP_OR:
		return (double)((int64_t)a | (int64_t)b);
	case EMU_OP_XOR:
		return (double)((int64_t)a ^ (int64_t)b);
	case EMU_OP_MAX:
		return isnan(a) || a > b ? a : b;
	case EMU_OP_MIN:
		return isnan(a) || a < b ? a : b;
	case EMU_OP_SUBTRACT:
		return a - b;
	case EMU_OP_POWER:
		return pow(a, b);
	case EMU_OP_POWER_OF:
		return pow(b, a);
	case EMU_OP_DIV_TRUNC:
		return trunc(a / b);
	case EMU_OP_DIV_FLOOR:
		return b == 0 ? a / b : round((a - remainder_of(a, b)) / b);
	case EMU_OP_FMOD:
		return fmod(a, b);
	case EMU_OP_REMAINDER:
		return remainder_of(a, b);
	case EMU_OP_ATAN2:
		return atan2(a, b);
	case EMU_OP_XLOGY:
		return a == 0 && !isnan(b) ? 0 : a * log(b);
	case EMU_OP_COMPARE:
		return compare((int)s[0], a, b);
	default:
		return of_error(op, in, s);
	}
}

static double of_scalars(enum emu_torch_op op, double a, double b, const double s[4])
{
	switch (op) {
	case EMU_OP_NAN_TO_NUMBER:
		return isnan(a) ? s[0] : a == INFINITY ? s[1] : a == -INFINITY ? s[2] : a;
	case EMU_OP_LOGIT:
		a = s[1] != 0 ? fmin(fmax(a, s[0]), s[1]) : a;
		return log(a / (1 - a));
	case EMU_OP_LOGIT_GRAD:
		if (s[1] != 0 ? b < s[0] || b > s[1] : b < 0 || b > 1)
			return s[1] != 0 ? 0 : NAN;
		return a / (b * (1 - b));
	case EMU_OP_LIMIT_NORM:
		return a > s[0] ? s[0] / (a + s[1]) : s[2];
	default:
		return s[1] != 0 ? nearbyint(a / s[0]) * s[0] : nearbyint(a * s[0]) / s[0];
	}
}

double emu_torch_apply(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4])
{
	double a = in[0], b = in[1];

	switch (op) {
	case EMU_OP_FILL:
		return s[0];
	case EMU_OP_ADD_SCALED:
		return a + s[0] * s[1];
	case EMU_OP_SCALED_ADD:
		return s[0] + s[1] * a;
	case EMU_OP_SELECT:
		return a != 0 ? b : in[2];
	case EMU_OP_MASK_FILL:
		return b != 0 ? s[0] : a;
	case EMU_OP_MASK_SCALE:
		return a * b * s[0];
	case EMU_OP_THRESHOLD:
		return a <= s[0] ? s[1] : b;
	case EMU_OP_CLAMP:
		return clamp(s, a);
	case EMU_OP_ADDCMUL:
		return a + s[0] * b * in[2];
	case EMU_OP_ADDCDIV:
		return a + s[0] * b / in[2];
	case EMU_OP_LERP:
		return a + s[0] * (b - a);
	default:
		break;
	}
	if (op >= EMU_OP_NAN_TO_NUMBER)
		return of_scalars(op, a, b, s);
	if (op >= EMU_OP_HYPOT)
		return of_pair(op, a, b);
	if (op >= EMU_OP_MISH_GRAD)
		return of_rare_activation(op, a, b, s);
	return op >= EMU_OP_CROSS_ENTROPY_GRAD ? of_norm(op, in, s) : of_two(op, in, s);
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
