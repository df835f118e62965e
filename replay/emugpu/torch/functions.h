/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of up to three elements a, b, c and up to three scalars s0, s1, s2. */
#pragma once

enum emu_torch_op {
	EMU_OP_NONE,
	EMU_OP_COPY,
	EMU_OP_FILL,
	EMU_OP_SELECT,	   /* a ? b : c */
	EMU_OP_ADD,	   /* a + s0 b */
	EMU_OP_ADD_SCALED, /* a + s0 s1 */
	EMU_OP_SCALED_ADD, /* s0 + s1 a */
	EMU_OP_MUL,
	EMU_OP_DIV,
	EMU_OP_COMPARE, /* s0: >=, >, <=, < */
	EMU_OP_EQUAL,	/* s0: ==, != */
	EMU_OP_AND,
	EMU_OP_OR,
	EMU_OP_XOR,
	EMU_OP_MAX,
	EMU_OP_MIN,
	EMU_OP_MASK_FILL,  /* b ? s0 : a */
	EMU_OP_MASK_SCALE, /* a b s0 */
	EMU_OP_THRESHOLD,  /* a <= s0 ? s1 : b */
	EMU_OP_CLAMP,	   /* s0: 0 above s1, 1 below s2, 2 between both */
	EMU_OP_NEG,
	EMU_OP_ABS,
	EMU_OP_EXP,
	EMU_OP_LOG,
	EMU_OP_SQRT,
	EMU_OP_RSQRT,
	EMU_OP_TANH,
	EMU_OP_SIGMOID,
	EMU_OP_RECIPROCAL,
	EMU_OP_NOT,
	EMU_OP_SQUARE,
	EMU_OP_CUBE,
	EMU_OP_INVERSE_SQUARE,
	EMU_OP_POW, /* a to the power of s0 */
	EMU_OP_TANH_GRAD,
	EMU_OP_SIGMOID_GRAD,
	EMU_OP_ADDCMUL, /* a + s0 b c */
	EMU_OP_ADDCDIV, /* a + s0 b / c */
	EMU_OP_LERP,	/* a + s0 (b - a) */
	EMU_OP_GELU,
	EMU_OP_GELU_TANH,
	EMU_OP_GELU_GRAD, /* a the gradient, b the input */
	EMU_OP_GELU_TANH_GRAD,
	EMU_OP_SIN,
	EMU_OP_COS,
	EMU_OP_ERF,
	EMU_OP_LOG1P,
	EMU_OP_EXPM1,
	EMU_OP_SIGN,
	EMU_OP_FLOOR,
	EMU_OP_CEIL,
	EMU_OP_ROUND,
	EMU_OP_TRUNC,
	EMU_OP_IS_INFINITY,
	EMU_OP_IS_NEGATIVE_INFINITY,
	EMU_OP_SILU,
	EMU_OP_SILU_GRAD, /* a the gradient, b the input; so are other gradients, unless noted */
	EMU_OP_MISH,
	EMU_OP_HARD_SWISH,
	EMU_OP_HARD_SWISH_GRAD,
	EMU_OP_HARD_SIGMOID,
	EMU_OP_HARD_SIGMOID_GRAD,
	EMU_OP_LEAKY_RELU,	/* slope s0 below 0 */
	EMU_OP_LEAKY_RELU_GRAD, /* a the input, b the gradient */
	EMU_OP_ELU,
	EMU_OP_SOFTPLUS, /* slope s0, the identity where s0 a > s1 */
	EMU_OP_SOFTPLUS_GRAD,
	EMU_OP_LOG_SIGMOID,
	EMU_OP_LOG_SIGMOID_GRAD, /* a the input, b the gradient */
	EMU_OP_SUBTRACT,
	EMU_OP_POWER,	 /* a to the power of b */
	EMU_OP_POWER_OF, /* b to the power of a */
	EMU_OP_DIV_TRUNC,
	EMU_OP_DIV_FLOOR,
	EMU_OP_FMOD,
	EMU_OP_REMAINDER, /* with the sign of b */
	EMU_OP_ATAN2,
	EMU_OP_XLOGY,
	EMU_OP_ERROR, /* squared */
	EMU_OP_ERROR_GRAD,
	EMU_OP_SMOOTH_ERROR, /* quadratic below s0 */
	EMU_OP_SMOOTH_ERROR_GRAD,
	EMU_OP_HUBER,
	EMU_OP_HUBER_GRAD,
	EMU_OP_CROSS_ENTROPY, /* a the probability, b the target */
};

/* `in` are the elements, `s` the scalars. Pure. */
double emu_torch_apply(enum emu_torch_op op, const double in[3], const double s[3]);
