/* SPDX-License-Identifier: Apache-2.0 */

/* Element-wise kernels, of aten/src/ATen/native/cuda/CUDALoops.cuh: a functor applied to contiguous
 * tensors (vectorized, unrolled) or to strided ones (legacy). The functor's name contains the
 * operation and the types, its bytes the scalars. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { VECTORIZED, UNROLLED, STRIDED, STRIDED_CASTS };

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
};

static const struct functor *find_functor(const struct functor *all, size_t n, struct emu_part name)
{
	for (size_t i = 0; i < n; i++)
		if (emu_part_has(name, all[i].name))
			return &all[i];
	return NULL;
}

#define FIND(table, name) find_functor(table, sizeof(table) / sizeof(table[0]), name)

/* Places the scalars of a functor from offset `at` on. */
static void place(struct emu_torch *t, const struct functor *f, enum emu_type type, uint8_t at)
{
	t->op = f->op;
	for (int i = 0; i < f->scalars; i++) {
		enum emu_type this = f->first_is_int && i == 0 ? EMU_I32 : type;
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
	const struct functor *f = FIND(binary, emu_part_argument(part, 3));
	uint8_t bytes;

	if (!f || emu_part_type(emu_part_argument(part, 0), &t->in[0]) < 0 ||
	    emu_part_type(emu_part_argument(part, 1), &t->in[1]) < 0 ||
	    emu_part_type(emu_part_argument(part, 2), &t->out) < 0)
		return -ENOTSUP;
	t->inputs = 2;
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
	struct emu_part rest = name, last = {0};

	while ((rest = emu_part_after(rest, "{lambda(")).len)
		last = rest;
	for (int i = 0; i < t->inputs && i < 3; i++) {
		size_t len = 0;
		int depth = 0;

		while (len < last.len && (depth > 0 || !memchr(",)", last.at[len], 2))) {
			depth += last.at[len] == '<' ? 1 : last.at[len] == '>' ? -1 : 0;
			len++;
		}
		if (select && len == 14 && memcmp(last.at, "unsigned short", len) == 0)
			t->in[i] = EMU_F16; /* of the same size: not computed */
		else if (emu_part_type((struct emu_part){last.at, len}, &t->in[i]) < 0)
			return -ENOTSUP;
		t->is_bool |= i == 0 && len == 4 && memcmp(last.at, "bool", 4) == 0;
		len += len < last.len && last.at[len] == ',' ? 2 : 0;
		last = (struct emu_part){last.at + len, last.len - len};
	}
	t->out = t->in[0];
	return 0;
}

static int parse_pow(struct emu_torch *t, struct emu_part name)
{
	static const uint8_t ops[] = {EMU_OP_SQUARE, EMU_OP_CUBE, EMU_OP_INVERSE_SQUARE,
				      EMU_OP_POW};
	struct emu_part rest = name, last = {0};
	int number;

	while ((rest = emu_part_after(rest, ")#")).len)
		last = rest;
	number = last.len ? last.at[0] - '1' : -1;
	t->inputs = 1;
	if (number < 0 || number > 3 || lambda_types(t, name, 0) < 0)
		return -ENOTSUP;
	place(t, &(struct functor){"", ops[number], LAMBDA, 1, number == 3}, t->in[0], 0);
	return 0;
}

static int parse_functor(struct emu_torch *t, struct emu_part name)
{
	const struct functor *f;
	int r;

	if (emu_part_has(name, "BinaryFunctor<") || emu_part_has(name, "UnaryFunctor<"))
		return parse_binary(t, name);
	if (emu_part_has(name, "pow_tensor_scalar_kernel_impl<"))
		return parse_pow(t, name);
	f = FIND(functors, name);
	if (!f)
		return -ENOTSUP;
	t->inputs = f->inputs;
	if (f->types == CONVERTING || f->types == ONE ||
	    (f->types == COMPARING && !emu_part_has(name, "{lambda("))) {
		struct emu_part part = emu_part_after(name, f->name);

		part = (struct emu_part){part.at - 1, part.len + 1};
		r = emu_part_type(emu_part_argument(part, 0), &t->in[0]);
		t->in[1] = t->in[2] = t->out = t->in[0];
		if (r == 0 && f->types == CONVERTING) {
			r = emu_part_type(emu_part_argument(part, 1), &t->out);
			t->is_bool = emu_part_argument(part, 1).at[0] == 'b';
		}
	} else {
		r = lambda_types(t, name, f->op == EMU_OP_SELECT);
	}
	if (f->types == COMPARING)
		t->out = EMU_U8;
	if (f->op == EMU_OP_SELECT)
		t->out = t->in[1];
	place(t, f, f->as_the_elements ? t->in[0] : emu_torch_computes(t->in[0]), 0);
	return r;
}

/* ---- running ---- */

struct operands {
	double scalars[4];
	char *data[4]; /* the output first */
	enum emu_type types[4];
};

static double scalar_of(const struct emu_torch *t, int i, const char *functor)
{
	return emu_load((enum emu_type)t->scalar_type[i], functor + t->scalar_at[i], 0);
}

static void read_scalars(const struct emu_torch *t, const char *functor, struct operands *o)
{
	for (int i = 0; i < t->scalars; i++)
		o->scalars[i] = scalar_of(t, i, functor);
	if (t->swapped)
		o->scalars[2] = scalar_of(t, 2, functor);
}

/* Elements at offsets[k] bytes of each tensor. */
static void one(const struct emu_torch *t, const struct operands *o, const uint64_t offsets[4])
{
	double in[3] = {0}, result;
	int from = t->op == EMU_OP_SELECT		 ? (o->data[1][offsets[1]] ? 2 : 3)
		   : t->op == EMU_OP_COPY && !t->is_bool ? 1
							 : 0;

	if (from && o->types[0] == o->types[from]) {
		memcpy(o->data[0] + offsets[0], o->data[from] + offsets[from],
		       emu_type_bytes(o->types[0]));
		return;
	}
	for (int i = 0; i < t->inputs; i++)
		in[i] = emu_load(o->types[1 + i], o->data[1 + i] + offsets[1 + i], 0);
	if (t->is_bool && t->op == EMU_OP_COPY)
		in[0] = in[0] != 0;
	if (t->swapped == 1)
		in[1] = in[0];
	if (t->swapped)
		in[t->swapped - 1] = o->scalars[2];
	else if (t->op == EMU_OP_COMPARE && t->inputs == 1)
		in[1] = o->scalars[1];
	result = emu_torch_apply((enum emu_torch_op)t->op, in, o->scalars);
	if (o->types[0] >= EMU_I8 && o->types[0] <= EMU_U64) /* C truncates, emu_store() rounds */
		result = trunc(result);
	emu_store(o->types[0], o->data[0] + offsets[0], 0, result);
}

/* PyTorch's numbers of element types (c10/core/ScalarType.h). */
static int scalar_type(int8_t number, enum emu_type *ret)
{
	static const enum emu_type types[] = {EMU_U8,	 EMU_I8,    EMU_TYPES, EMU_I32,
					      EMU_I64,	 EMU_F16,   EMU_F32,   EMU_F64,
					      EMU_TYPES, EMU_TYPES, EMU_TYPES, EMU_U8};

	if (number == 15)
		*ret = EMU_BF16;
	else if (number < 0 || number > 11 || types[number] == EMU_TYPES)
		return -ENOTSUP;
	else
		*ret = types[number];
	return 0;
}

static int run_contiguous(const struct emu_torch *t, void *const *args)
{
	struct operands o = {.types = {t->out, t->in[0], t->in[1], t->in[2]}};
	int32_t n = *(const int32_t *)args[0];
	uint64_t offsets[4] = {0};

	if (!emu_torch_computes_work(n))
		return -ENOTSUP;
	read_scalars(t, args[1], &o);
	memcpy(o.data, args[2], (size_t)(t->inputs + 1) * sizeof(char *));
	if (t->casts) { /* LoadWithCast<n>, StoreWithCast<1>: numbers of types, then sizes */
		for (int i = 0; i < t->inputs; i++)
			if (scalar_type(((const int8_t *)args[5])[i], &o.types[1 + i]) < 0)
				return -ENOTSUP;
		if (scalar_type(*(const int8_t *)args[6], &o.types[0]) < 0)
			return -ENOTSUP;
	}
	for (int32_t i = 0; i < n; i++) {
		one(t, &o, offsets);
		for (int k = 0; k <= t->inputs; k++)
			offsets[k] += emu_type_bytes(o.types[k]);
	}
	return 0;
}

/* A lambda that contains an OffsetCalculator of all tensors, their addresses, the functor and, with
 * casts, the numbers of the types. */
static int run_strided(const struct emu_torch *t, void *const *args)
{
	struct operands o = {.types = {t->out, t->in[0], t->in[1], t->in[2]}};
	const char *lambda = args[1];
	int n = t->inputs + 1;
	size_t at = (emu_offsets_bytes(n) + 7) / 8 * 8;
	const char *functor = lambda + at + (size_t)n * sizeof(char *);

	if (!emu_torch_computes_work(*(const int32_t *)args[0]))
		return -ENOTSUP;
	memcpy(o.data, lambda + at, (size_t)n * sizeof(char *));
	read_scalars(t, functor, &o);
	for (int i = 0; t->form == STRIDED_CASTS && i < n; i++)
		if (scalar_type(functor[t->functor_bytes + i], &o.types[i]) < 0)
			return -ENOTSUP;
	for (int32_t i = 0; i < *(const int32_t *)args[0]; i++) {
		uint64_t offsets[4];

		emu_offsets_of(lambda, n, (uint32_t)i, offsets);
		one(t, &o, offsets);
	}
	return 0;
}

static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return t->form == VECTORIZED || t->form == UNROLLED ? run_contiguous(t, args)
							    : run_strided(t, args);
}

int emu_torch_elementwise(struct emu_torch *t, struct emu_part name)
{
	struct emu_part functor;

	if (strncmp(name.at, "at::native::vectorized_elementwise_kernel<", 42) == 0) {
		t->form = VECTORIZED;
		functor = emu_part_argument(name, 1);
	} else if (strncmp(name.at, "at::native::unrolled_elementwise_kernel<", 40) == 0) {
		t->form = UNROLLED;
		t->casts = emu_part_has(name, "LoadWithCast<");
		if (!emu_part_has(name, "TrivialOffsetCalculator<"))
			return -ENOTSUP;
		functor = emu_part_argument(name, 0);
	} else if (strncmp(name.at, "at::native::elementwise_kernel<", 31) == 0) {
		int casts = !emu_part_has(name, "gpu_kernel_impl_nocast<");

		t->form = casts ? STRIDED_CASTS : STRIDED;
		functor = emu_part_argument(
			emu_part_after(emu_part_argument(name, 2), "gpu_kernel_impl"), 0);
	} else {
		return -ENOTSUP;
	}
	if (parse_functor(t, functor) < 0)
		return -ENOTSUP;
	t->run = run;
	return 0;
}
