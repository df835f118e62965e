/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of elements a, b, c, ... and up to four scalars s0 to s3. */
#pragma once
#include <stddef.h>
enum { EMU_TORCH_INPUTS = 7, EMU_TORCH_BLOCK = 256 };
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
	EMU_OP_CROSS_ENTROPY,	   /* a the probability, b the target */
	EMU_OP_CROSS_ENTROPY_GRAD, /* a the gradient, b the probability, c the target */
	EMU_OP_NORM_FIVE,	   /* (a - b) c d + e */
	EMU_OP_LINEAR,		   /* b a + c */
	EMU_OP_LINEAR_TWO,	   /* c a + d b + e */
	EMU_OP_LINEAR_PRODUCT,	   /* c d a + e b + f */
	EMU_OP_CENTERED,	   /* (a - b) c */
	EMU_OP_PRODUCT,
	EMU_OP_INVERSE_DEVIATION, /* of a variance a, with s0 added */
	EMU_OP_BATCH_NORM_GRAD,	  /* its inputs: of_norm() */
	EMU_OP_CLAMP_TENSORS,	  /* a between b and c */
	EMU_OP_LERP_TENSOR,	  /* a + c (b - a) */
	EMU_OP_MISH_GRAD,
	EMU_OP_ELU_GRAD,       /* s3: b is the result */
	EMU_OP_HARD_TANH_GRAD, /* of inputs between s0 and s1 */
	EMU_OP_SOFT_SHRINK,
	EMU_OP_HARD_SHRINK,
	EMU_OP_SHRINK_GRAD,
	EMU_OP_PRELU, /* a, or b a below 0 */
	EMU_OP_GLU,   /* a sigmoid(b) */
	EMU_OP_TAN,
	EMU_OP_ASIN,
	EMU_OP_ACOS,
	EMU_OP_ATAN,
	EMU_OP_SINH,
	EMU_OP_COSH,
	EMU_OP_ASINH,
	EMU_OP_ACOSH,
	EMU_OP_ATANH,
	EMU_OP_FRACTION,
	EMU_OP_LOG2,
	EMU_OP_LOG10,
	EMU_OP_SIGN_BIT,
	EMU_OP_BIT_NOT,
	EMU_OP_HYPOT,
	EMU_OP_COPY_SIGN,
	EMU_OP_LOG_ADD_EXP,
	EMU_OP_SHIFT_LEFT,
	EMU_OP_SHIFT_RIGHT,
	EMU_OP_LOGICAL_AND,
	EMU_OP_LOGICAL_OR,
	EMU_OP_LOGICAL_XOR,
	EMU_OP_MAX_NUMBER, /* the other operand if one is NaN */
	EMU_OP_MIN_NUMBER,
	EMU_OP_LOG_ADD_EXP2,
	EMU_OP_HEAVISIDE,
	EMU_OP_NAN_TO_NUMBER, /* s0, s1, s2 for NaN and infinities */
	EMU_OP_LOGIT,	      /* of a between s0 and s1, if s1 is not 0 */
	EMU_OP_LOGIT_GRAD,
	EMU_OP_LIMIT_NORM, /* s0 / (a + s1) above s0, else s2 */
	EMU_OP_DECIMALS,   /* rounds to multiples of s0 if s1, else of 1 / s0 */
};

/* `in` are the elements, `s` the scalars. Pure. */
double emu_torch_apply(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4]);
/* The same for n <= EMU_TORCH_BLOCK elements, of which `inputs` inputs are read. */
void emu_torch_apply_all(enum emu_torch_op op, size_t n, int inputs,
			 const double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], const double s[4],
			 double out[EMU_TORCH_BLOCK]);
