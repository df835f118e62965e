/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of element-wise kernels, by the names of PyTorch's functors and lambdas. */
#include "replay/emugpu/torch/torch.h"

#include <errno.h>
#include <string.h>

/* Finds the types of a functor in its name. */
enum types {
	ONE,	    /* Name<T> */
	LAMBDA,	    /* ...{lambda(A, B)#1}: the result is an A */
	COMPARING,  /* the same, but the result is bool */
	CONVERTING, /* Name<From, To> */
};

static const struct functor {
	const char *name;
	uint8_t op, types, inputs, scalars;
	uint8_t first_is_int;	 /* the first scalar is an int */
	uint8_t as_the_elements; /* scalars are not promoted from two bytes to four */
	uint8_t last_is_bool;	 /* the last scalar is a bool */
	uint8_t wide;		 /* the result has the type in which PyTorch computes */
	uint8_t number;		 /* that of the last lambda; 0: any */
} functors[] = {
	{"FillFunctor<", EMU_OP_FILL, ONE, 0, 1, .as_the_elements = 1},
	{"CUDAFunctor_add<", EMU_OP_ADD, ONE, 2, 1},
	{"CUDAFunctorOnSelf_add<", EMU_OP_ADD_SCALED, ONE, 1, 2},
	{"CUDAFunctorOnOther_add<", EMU_OP_SCALED_ADD, ONE, 1, 2},
	{"converting_copy_kernel_cuda<", EMU_OP_COPY, CONVERTING, 1, 0},
	{"direct_copy_kernel_cuda(", EMU_OP_COPY, LAMBDA, 1, 0},
	{"compare_scalar_kernel<", EMU_OP_COMPARE, COMPARING, 1, 2, 1},
	{"CompareFunctor<", EMU_OP_COMPARE, COMPARING, 2, 1, 1},
	{"neg_kernel_cuda(", EMU_OP_NEG, LAMBDA, 1, 0},
	{"abs_kernel_cuda(", EMU_OP_ABS, LAMBDA, 1, 0},
	{"AbsFunctor<", EMU_OP_ABS, ONE, 1, 0},
	{"exp_kernel_cuda(", EMU_OP_EXP, LAMBDA, 1, 0},
	{"log_kernel_cuda(", EMU_OP_LOG, LAMBDA, 1, 0},
	{"rsqrt_kernel_cuda(", EMU_OP_RSQRT, LAMBDA, 1, 0},
	{"sqrt_kernel_cuda(", EMU_OP_SQRT, LAMBDA, 1, 0},
	{"tanh_backward_kernel_cuda(", EMU_OP_TANH_GRAD, LAMBDA, 2, 0},
	{"sigmoid_backward_kernel_cuda(", EMU_OP_SIGMOID_GRAD, LAMBDA, 2, 0},
	{"::tanh_kernel_cuda(", EMU_OP_TANH, LAMBDA, 1, 0},
	{"sigmoid_kernel_cuda(", EMU_OP_SIGMOID, LAMBDA, 1, 0},
	{"reciprocal_kernel_cuda(", EMU_OP_RECIPROCAL, LAMBDA, 1, 0},
	{"logical_not_kernel_cuda(", EMU_OP_NOT, COMPARING, 1, 0},
	{"maximum_kernel_cuda(", EMU_OP_MAX, LAMBDA, 2, 0},
	{"minimum_kernel_cuda(", EMU_OP_MIN, LAMBDA, 2, 0},
	{"where_kernel_impl(", EMU_OP_SELECT, LAMBDA, 3, 0},
	{"masked_fill_kernel(", EMU_OP_MASK_FILL, LAMBDA, 2, 1},
	{"masked_scale_kernel<", EMU_OP_MASK_SCALE, LAMBDA, 2, 1},
	{"launch_clamp_scalar(", EMU_OP_CLAMP, LAMBDA, 1, 3, 1},
	{"GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}",
	 EMU_OP_GELU_TANH, LAMBDA, 1, 0},
	{"GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}",
	 EMU_OP_GELU, LAMBDA, 1, 0},
	{"GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}",
	 EMU_OP_GELU_TANH_GRAD, LAMBDA, 2, 0},
	{"GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}",
	 EMU_OP_GELU_GRAD, LAMBDA, 2, 0},
	{"addcmul_cuda_kernel(", EMU_OP_ADDCMUL, LAMBDA, 3, 1},
	{"addcdiv_cuda_kernel(", EMU_OP_ADDCDIV, LAMBDA, 3, 1},
	{"::sin_kernel_cuda(", EMU_OP_SIN, LAMBDA, 1, 0},
	{"::cos_kernel_cuda(", EMU_OP_COS, LAMBDA, 1, 0},
	{"::erf_kernel_cuda(", EMU_OP_ERF, LAMBDA, 1, 0},
	{"log1p_kernel_cuda(", EMU_OP_LOG1P, LAMBDA, 1, 0},
	{"expm1_kernel_cuda(", EMU_OP_EXPM1, LAMBDA, 1, 0},
	{"::sign_kernel_cuda(", EMU_OP_SIGN, LAMBDA, 1, 0},
	{"::floor_kernel_cuda(", EMU_OP_FLOOR, LAMBDA, 1, 0},
	{"::ceil_kernel_cuda(", EMU_OP_CEIL, LAMBDA, 1, 0},
	{"::round_kernel_cuda(", EMU_OP_ROUND, LAMBDA, 1, 0},
	{"::trunc_kernel_cuda(", EMU_OP_TRUNC, LAMBDA, 1, 0},
	{"bitwise_not_kernel_cuda(at::TensorIteratorBase&)::{lambda(bool)", EMU_OP_NOT, LAMBDA, 1,
	 0},
	{"isneginf_kernel_impl(", EMU_OP_IS_NEGATIVE_INFINITY, COMPARING, 1, 0},
	{"isposinf_kernel_impl(", EMU_OP_IS_INFINITY, COMPARING, 1, 0},
	{"silu_kernel(", EMU_OP_SILU, LAMBDA, 1, 0},
	{"silu_backward_kernel(", EMU_OP_SILU_GRAD, LAMBDA, 2, 0},
	{"mish_kernel(", EMU_OP_MISH, LAMBDA, 1, 0},
	{"hardswish_kernel(", EMU_OP_HARD_SWISH, LAMBDA, 1, 4},
	{"hardswish_backward_kernel(", EMU_OP_HARD_SWISH_GRAD, LAMBDA, 2, 4},
	{"hardsigmoid_kernel(", EMU_OP_HARD_SIGMOID, LAMBDA, 1, 4},
	{"hardsigmoid_backward_kernel(", EMU_OP_HARD_SIGMOID_GRAD, LAMBDA, 2, 4},
	{"leaky_relu_kernel(", EMU_OP_LEAKY_RELU, LAMBDA, 1, 1},
	{"leaky_relu_backward_kernel(", EMU_OP_LEAKY_RELU_GRAD, LAMBDA, 2, 1},
	{"::elu_kernel(", EMU_OP_ELU, LAMBDA, 1, 3},
	{"softplus_kernel(", EMU_OP_SOFTPLUS, LAMBDA, 1, 2},
	{"softplus_backward_kernel(", EMU_OP_SOFTPLUS_GRAD, LAMBDA, 2, 2},
	{"log_sigmoid_forward_kernel(", EMU_OP_LOG_SIGMOID, LAMBDA, 1, 0},
	{"log_sigmoid_backward_kernel(", EMU_OP_LOG_SIGMOID_GRAD, LAMBDA, 2, 0},
	{"mse_kernel_cuda(", EMU_OP_ERROR, LAMBDA, 2, 0},
	{"mse_backward_cuda_kernel(", EMU_OP_ERROR_GRAD, LAMBDA, 3, 1, 0, 1},
	{"smooth_l1_kernel_cuda(", EMU_OP_SMOOTH_ERROR, LAMBDA, 2, 1, 0, 1},
	{"smooth_l1_backward_cuda_kernel(", EMU_OP_SMOOTH_ERROR_GRAD, LAMBDA, 3, 2, 0, 1},
	{"huber_kernel_cuda(", EMU_OP_HUBER, LAMBDA, 2, 1, 0, 1},
	{"huber_backward_cuda_kernel(", EMU_OP_HUBER_GRAD, LAMBDA, 3, 2, 0, 1},
	{"binary_cross_entropy_out_cuda(", EMU_OP_CROSS_ENTROPY, LAMBDA, 2, 2, 0, 1},
	{"binary_cross_entropy_backward_out_kernel(", EMU_OP_CROSS_ENTROPY_GRAD, LAMBDA, 3, 0},
	{"mish_backward_kernel(", EMU_OP_MISH_GRAD, LAMBDA, 2, 0},
	{"elu_backward_kernel(", EMU_OP_ELU_GRAD, LAMBDA, 2, 4, .last_is_bool = 1},
	{"hardtanh_backward_kernel(", EMU_OP_HARD_TANH_GRAD, LAMBDA, 2, 2},
	{"softshrink_kernel(", EMU_OP_SOFT_SHRINK, LAMBDA, 1, 1, 0, 1},
	{"hardshrink_kernel(", EMU_OP_HARD_SHRINK, LAMBDA, 1, 1, 0, 1},
	{"shrink_backward_kernel(", EMU_OP_SHRINK_GRAD, LAMBDA, 2, 1, 0, 1},
	{"::prelu_kernel(", EMU_OP_PRELU, LAMBDA, 2, 0},
	{"::glu_kernel(", EMU_OP_GLU, LAMBDA, 2, 0},
	{"GroupNorm1dForward<", EMU_OP_NORM_FIVE, LAMBDA, 5, 0},
	{"GroupNorm1dForward<", EMU_OP_CENTERED, LAMBDA, 3, 0},
	{"GroupNorm1dBackward<", EMU_OP_LINEAR_TWO, LAMBDA, 5, 0},
	{"GroupNorm1dBackward<", EMU_OP_LINEAR_PRODUCT, LAMBDA, 6, 0},
	{"GroupNormBackwardKernelImplInternal<", EMU_OP_MUL, LAMBDA, 2, 0, .wide = 1},
	{"GroupNormBackwardKernelImplInternal<", EMU_OP_LINEAR_TWO, LAMBDA, 5, 0},
	{"GroupNormKernelImplInternal<", EMU_OP_CENTERED, LAMBDA, 3, 0, .number = 2},
	{"GroupNormKernelImplInternal<", EMU_OP_LINEAR, LAMBDA, 3, 0},
	{"batch_norm_calc_invstd(", EMU_OP_INVERSE_DEVIATION, LAMBDA, 1, 1, .wide = 1},
	{"batch_norm_elementwise_backward_eval(", EMU_OP_PRODUCT, LAMBDA, 3, 0},
	{"batch_norm_elementwise_backward_eval(", EMU_OP_MUL, LAMBDA, 2, 0},
	{"batch_norm_elementwise_backward_train(", EMU_OP_BATCH_NORM_GRAD, LAMBDA, 7, 1},
	{"::tan_kernel_cuda(", EMU_OP_TAN, LAMBDA, 1, 0},
	{"::asin_kernel_cuda(", EMU_OP_ASIN, LAMBDA, 1, 0},
	{"::acos_kernel_cuda(", EMU_OP_ACOS, LAMBDA, 1, 0},
	{"::atan_kernel_cuda(", EMU_OP_ATAN, LAMBDA, 1, 0},
	{"::sinh_kernel_cuda(", EMU_OP_SINH, LAMBDA, 1, 0},
	{"::cosh_kernel_cuda(", EMU_OP_COSH, LAMBDA, 1, 0},
	{"::asinh_kernel_cuda(", EMU_OP_ASINH, LAMBDA, 1, 0},
	{"::acosh_kernel_cuda(", EMU_OP_ACOSH, LAMBDA, 1, 0},
	{"::atanh_kernel_cuda(", EMU_OP_ATANH, LAMBDA, 1, 0},
	{"frac_kernel_cuda(", EMU_OP_FRACTION, LAMBDA, 1, 0},
	{"log2_kernel_cuda(", EMU_OP_LOG2, LAMBDA, 1, 0},
	{"log10_kernel_cuda(", EMU_OP_LOG10, LAMBDA, 1, 0},
	{"signbit_kernel_cuda(", EMU_OP_SIGN_BIT, COMPARING, 1, 0},
	{"logaddexp_kernel_cuda(", EMU_OP_LOG_ADD_EXP, LAMBDA, 2, 0},
	{"pow_tensor_tensor_kernel(", EMU_OP_POWER, LAMBDA, 2, 0},
	{"bitwise_not_kernel_cuda(", EMU_OP_BIT_NOT, LAMBDA, 1, 0},
	{"clamp_kernel_impl(", EMU_OP_CLAMP_TENSORS, LAMBDA, 3, 0},
	{"lerp_scalar_kernel(", EMU_OP_LERP, LAMBDA, 2, 1},
	{"lerp_tensor_kernel(", EMU_OP_LERP_TENSOR, LAMBDA, 3, 0},
	{"logaddexp2_kernel_cuda(", EMU_OP_LOG_ADD_EXP2, LAMBDA, 2, 0},
	{"nan_to_num_kernel_cuda(", EMU_OP_NAN_TO_NUMBER, LAMBDA, 1, 3, .as_the_elements = 1},
	{"logit_kernel_cuda(", EMU_OP_LOGIT, LAMBDA, 1, 0, .number = 1},
	{"logit_kernel_cuda(", EMU_OP_LOGIT, LAMBDA, 1, 2, .number = 2},
	{"logit_backward_kernel_cuda(", EMU_OP_LOGIT_GRAD, LAMBDA, 2, 0, .number = 1},
	{"logit_backward_kernel_cuda(", EMU_OP_LOGIT_GRAD, LAMBDA, 2, 2, .number = 2},
	{"renorm_scale_factor_impl(", EMU_OP_LIMIT_NORM, LAMBDA, 1, 3},
	{"round_decimals_kernel_cuda(", EMU_OP_DECIMALS, LAMBDA, 1, 2, .last_is_bool = 1},
};

/* The functions within BinaryFunctor<A, B, Result, Function> and its forms with one scalar. */
static const struct functor binary[] = {
	{"MulFunctor<", EMU_OP_MUL, ONE, 2, 0},
	{"DivFunctor<", EMU_OP_DIV, ONE, 2, 0},
	{"CompareFunctor<", EMU_OP_COMPARE, COMPARING, 2, 1, 1},
	{"CompareEqFunctor<", EMU_OP_EQUAL, COMPARING, 2, 1, 1},
	{"BitwiseAndFunctor<", EMU_OP_AND, ONE, 2, 0},
	{"BitwiseOrFunctor<", EMU_OP_OR, ONE, 2, 0},
	{"BitwiseXorFunctor<", EMU_OP_XOR, ONE, 2, 0},
	{"threshold_kernel_impl<", EMU_OP_THRESHOLD, ONE, 2, 2},
	{"maximum_kernel_cuda(", EMU_OP_MAX, LAMBDA, 2, 0},
	{"minimum_kernel_cuda(", EMU_OP_MIN, LAMBDA, 2, 0},
	{"div_trunc_kernel_cuda(", EMU_OP_DIV_TRUNC, LAMBDA, 2, 0},
	{"div_floor_kernel_cuda(", EMU_OP_DIV_FLOOR, LAMBDA, 2, 0},
	{"fmod_kernel_cuda(", EMU_OP_FMOD, LAMBDA, 2, 0},
	{"remainder_kernel_cuda(", EMU_OP_REMAINDER, LAMBDA, 2, 0},
	{"atan2_kernel_cuda(", EMU_OP_ATAN2, LAMBDA, 2, 0},
	{"xlogy_kernel_cuda(", EMU_OP_XLOGY, LAMBDA, 2, 0},
	{"logical_and_kernel_cuda(", EMU_OP_LOGICAL_AND, LAMBDA, 2, 0},
	{"logical_or_kernel_cuda(", EMU_OP_LOGICAL_OR, LAMBDA, 2, 0},
	{"logical_xor_kernel_cuda(", EMU_OP_LOGICAL_XOR, LAMBDA, 2, 0},
	{"fmax_kernel_cuda(", EMU_OP_MAX_NUMBER, LAMBDA, 2, 0},
	{"fmin_kernel_cuda(", EMU_OP_MIN_NUMBER, LAMBDA, 2, 0},
	{"hypot_kernel_cuda(", EMU_OP_HYPOT, LAMBDA, 2, 0},
	{"copysign_kernel_cuda(", EMU_OP_COPY_SIGN, LAMBDA, 2, 0},
	{"lshift_kernel_cuda(", EMU_OP_SHIFT_LEFT, LAMBDA, 2, 0},
	{"rshift_kernel_cuda(", EMU_OP_SHIFT_RIGHT, LAMBDA, 2, 0},
	{"heaviside_kernel_cuda(", EMU_OP_HEAVISIDE, LAMBDA, 2, 0},
};

/* Returns the parameters of the last lambda of a name. */
static struct emu_part last_lambda(struct emu_part name)
{
	struct emu_part rest = name, last = {0};

	while ((rest = emu_part_after(rest, "{lambda(")).len)
		last = rest;
	return last;
}

/* Returns the length of the first parameter. */
static size_t first_length(struct emu_part parameters)
{
	size_t len = 0;
	int depth = 0;

	while (len < parameters.len && (depth > 0 || !memchr(",)", parameters.at[len], 2))) {
		depth += parameters.at[len] == '<' ? 1 : parameters.at[len] == '>' ? -1 : 0;
		len++;
	}
	return len;
}

/* Skips a parameter of length `len` and its comma. Returns 0 after the last one. */
static int next_parameter(struct emu_part *p, size_t len)
{
	int more = len < p->len && p->at[len] == ',';

	len += more ? 2 : 0;
	*p = (struct emu_part){p->at + len, p->len - len};
	return more;
}

static int count_parameters(struct emu_part name)
{
	struct emu_part p = last_lambda(name);
	int n = 1;

	while (next_parameter(&p, first_length(p)))
		n++;
	return n;
}

/* Returns the number of the last lambda of a name, from 1 on. */
static int lambda_number(struct emu_part name)
{
	struct emu_part rest = name, last = {0};

	while ((rest = emu_part_after(rest, ")#")).len)
		last = rest;
	return last.len ? last.at[0] - '0' : 0;
}

/* A lambda has as many parameters as the functor has inputs. */
static const struct functor *find_functor(const struct functor *all, size_t n, struct emu_part name,
					  int parameters)
{
	int number = lambda_number(name);

	for (size_t i = 0; i < n; i++)
		if (emu_part_has(name, all[i].name) &&
		    (!all[i].number || all[i].number == number) &&
		    (!parameters || all[i].types != LAMBDA || all[i].inputs == parameters))
			return &all[i];
	return NULL;
}

#define FIND(table, name, parameters)                                                              \
	find_functor(table, sizeof(table) / sizeof(table[0]), name, parameters)

/* Places the scalars of a functor from offset `at` on. */
static void place(struct emu_torch *t, const struct functor *f, enum emu_type type, uint8_t at)
{
	t->op = f->op;
	for (int i = 0; i < f->scalars; i++) {
		enum emu_type this = f->first_is_int && i == 0		      ? EMU_I32
				     : f->last_is_bool && i == f->scalars - 1 ? EMU_U8
									      : type;
		uint8_t bytes = (uint8_t)emu_type_bytes(this);

		at = (uint8_t)((at + bytes - 1) / bytes * bytes);
		t->scalar_type[t->scalars] = (uint8_t)this;
		t->scalar_at[t->scalars++] = at;
		at = (uint8_t)(at + bytes);
	}
	t->functor_bytes = at ? at : 1;
}

/* BinaryFunctor<A, B, R, F>, AUnaryFunctor (the first operand is a scalar), BUnaryFunctor. */
static int parse_binary(struct emu_torch *t, struct emu_part name)
{
	int first = emu_part_has(name, "AUnaryFunctor<"),
	    second = emu_part_has(name, "BUnaryFunctor<");
	struct emu_part part = emu_part_after(name, "Functor");
	const struct functor *f = FIND(binary, emu_part_argument(part, 3), 0);
	uint8_t bytes;

	if (!f || emu_part_type(emu_part_argument(part, 0), &t->in[0]) < 0 ||
	    emu_part_type(emu_part_argument(part, 1), &t->in[1]) < 0 ||
	    emu_part_type(emu_part_argument(part, 2), &t->out) < 0)
		return -ENOTSUP;
	t->inputs = 2;
	t->is_bool = emu_part_argument(part, 2).at[0] == 'b';
	place(t, f, t->in[0], 0);
	if (!first && !second)
		return 0;
	/* The scalar operand follows the function, which has at least one byte. */
	t->scalar_type[2] = (uint8_t)emu_torch_computes(t->in[first ? 0 : 1]);
	bytes = (uint8_t)emu_type_bytes(t->scalar_type[2]);
	t->scalar_at[2] = (uint8_t)((t->functor_bytes + bytes - 1) / bytes * bytes);
	t->functor_bytes = (uint16_t)(t->scalar_at[2] + bytes);
	t->swapped = first ? 1 : 2;
	t->inputs = 1;
	if (first)
		t->in[0] = t->in[1];
	return 0;
}

/* The types of the parameters of the last lambda of a name. */
static int lambda_types(struct emu_torch *t, struct emu_part name, int select)
{
	struct emu_part last = last_lambda(name);

	for (int i = 0; i < t->inputs; i++) {
		size_t len = first_length(last);

		if (select && len == 14 && memcmp(last.at, "unsigned short", len) == 0)
			t->in[i] = EMU_F16; /* of the same size: not computed */
		else if (emu_part_type((struct emu_part){last.at, len}, &t->in[i]) < 0)
			return -ENOTSUP;
		t->is_bool |= i == select && len == 4 && memcmp(last.at, "bool", 4) == 0;
		next_parameter(&last, len);
	}
	t->out = t->in[0];
	return 0;
}

static int parse_pow(struct emu_torch *t, struct emu_part name)
{
	static const uint8_t ops[] = {EMU_OP_SQUARE, EMU_OP_CUBE, EMU_OP_INVERSE_SQUARE,
				      EMU_OP_POW};
	int number = lambda_number(name) - 1;

	t->inputs = 1;
	if (number < 0 || number > 3 || lambda_types(t, name, 0) < 0)
		return -ENOTSUP;
	place(t, &(struct functor){"", ops[number], LAMBDA, 1, number == 3}, t->in[0], 0);
	return 0;
}

int emu_torch_functor(struct emu_torch *t, struct emu_part name)
{
	const struct functor *f;
	int r;

	if (emu_part_has(name, "BinaryFunctor<") || emu_part_has(name, "UnaryFunctor<"))
		return parse_binary(t, name);
	if (emu_part_has(name, "pow_tensor_scalar_kernel_impl<"))
		return parse_pow(t, name);
	f = FIND(functors, name, count_parameters(name));
	if (!f)
		return -ENOTSUP;
	t->inputs = f->inputs;
	if (f->types == CONVERTING || f->types == ONE ||
	    (f->types == COMPARING && !emu_part_has(name, "{lambda("))) {
		struct emu_part part = emu_part_after(name, f->name);

		part = (struct emu_part){part.at - 1, part.len + 1};
		r = emu_part_type(emu_part_argument(part, 0), &t->in[0]);
		t->in[1] = t->in[2] = t->out = t->in[0];
		if (r == 0 && f->types == CONVERTING)
			r = emu_part_type(emu_part_argument(part, 1), &t->out);
		t->is_bool = emu_part_argument(part, f->types == CONVERTING).at[0] == 'b';
	} else {
		r = lambda_types(t, name, f->op == EMU_OP_SELECT);
	}
	if (f->types == COMPARING)
		t->out = EMU_U8;
	if (f->op == EMU_OP_SELECT)
		t->out = t->in[1];
	if (f->wide)
		t->out = emu_torch_computes(t->in[0]);
	place(t, f, f->as_the_elements ? t->in[0] : emu_torch_computes(t->in[0]), 0);
	return r;
}
