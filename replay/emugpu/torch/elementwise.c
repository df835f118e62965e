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

enum { OPERANDS = EMU_TORCH_INPUTS + 1 };

struct operands {
	double scalars[4];
	int64_t integer_scalars[4];
	int integers;	      /* 1: the function of integers */
	char *data[OPERANDS]; /* the output first */
	enum emu_type types[OPERANDS];
};

static struct operands operands_of(const struct emu_torch *t)
{
	struct operands o = {.types[0] = t->out};

	memcpy(o.types + 1, t->in, sizeof(t->in));
	return o;
}

static double scalar_of(const struct emu_torch *t, int i, const char *functor)
{
	return emu_load((enum emu_type)t->scalar_type[i], functor + t->scalar_at[i], 0);
}

static void read_scalars(const struct emu_torch *t, const char *functor, struct operands *o)
{
	for (int i = 0; i < 4; i++) {
		if (i >= t->scalars && !(t->swapped && i == 2))
			continue;
		o->scalars[i] = scalar_of(t, i, functor);
		if (emu_torch_is_integer((enum emu_type)t->scalar_type[i]))
			o->integer_scalars[i] = emu_torch_load_integer(
				(enum emu_type)t->scalar_type[i], functor + t->scalar_at[i]);
	}
}

/* Chooses the arithmetic, once the types are known. */
static void choose_arithmetic(const struct emu_torch *t, struct operands *o)
{
	int64_t ones[EMU_TORCH_INPUTS] = {1, 1, 1, 1, 1, 1, 1}, v;

	o->integers = emu_torch_apply_integers((enum emu_torch_op)t->op, ones, ones, &v);
	for (int i = 0; i <= t->inputs; i++)
		o->integers &= emu_torch_is_integer(o->types[i]);
	for (int i = 0; i < t->scalars; i++)
		o->integers &= emu_torch_is_integer((enum emu_type)t->scalar_type[i]);
}

/* Stores a result, as C converts it. */
static void store(const struct emu_torch *t, enum emu_type type, void *at, double v)
{
	if (t->is_bool)
		v = v != 0;
	if (emu_torch_is_integer(type))
		v = trunc(v);
	/* Narrow types wrap (c10/util/TypeCast.h), wide ones saturate. */
	if (emu_type_bytes(type) <= 2 && emu_torch_is_integer(type) && fabs(v) < 0x1p63)
		emu_torch_store_integer(type, at, (int64_t)v);
	else
		emu_store(type, at, 0, v);
}

static void one_integer(const struct emu_torch *t, const struct operands *o,
			const uint64_t offsets[OPERANDS])
{
	int64_t in[EMU_TORCH_INPUTS] = {0}, v;

	for (int i = 0; i < t->inputs; i++)
		in[i] = emu_torch_load_integer(o->types[1 + i], o->data[1 + i] + offsets[1 + i]);
	if (t->swapped == 1)
		in[1] = in[0];
	if (t->swapped)
		in[t->swapped - 1] = o->integer_scalars[2];
	else if (t->op == EMU_OP_COMPARE && t->inputs == 1)
		in[1] = o->integer_scalars[1];
	emu_torch_apply_integers((enum emu_torch_op)t->op, in, o->integer_scalars, &v);
	emu_torch_store_integer(o->types[0], o->data[0] + offsets[0], t->is_bool ? v != 0 : v);
}

/* Elements at offsets[k] bytes of each tensor. */
static void one(const struct emu_torch *t, const struct operands *o,
		const uint64_t offsets[OPERANDS])
{
	double in[EMU_TORCH_INPUTS] = {0};
	int from = t->op == EMU_OP_SELECT		 ? (o->data[1][offsets[1]] ? 2 : 3)
		   : t->op == EMU_OP_COPY && !t->is_bool ? 1
							 : 0;

	if (from && o->types[0] == o->types[from]) {
		memcpy(o->data[0] + offsets[0], o->data[from] + offsets[from],
		       emu_type_bytes(o->types[0]));
		return;
	}
	if (o->integers) {
		one_integer(t, o, offsets);
		return;
	}
	for (int i = 0; i < t->inputs; i++)
		in[i] = emu_load(o->types[1 + i], o->data[1 + i] + offsets[1 + i], 0);
	if (t->swapped == 1)
		in[1] = in[0];
	if (t->swapped)
		in[t->swapped - 1] = o->scalars[2];
	else if (t->op == EMU_OP_COMPARE && t->inputs == 1)
		in[1] = o->scalars[1];
	store(t, o->types[0], o->data[0] + offsets[0],
	      emu_torch_apply((enum emu_torch_op)t->op, in, o->scalars));
}

/* PyTorch's numbers of element types (c10/core/ScalarType.h). */
static int scalar_type(int8_t number, enum emu_type *ret)
{
	static const enum emu_type types[] = {EMU_U8,	 EMU_I8,    EMU_I16,   EMU_I32,
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

/* Returns 1 if compute_block() computes elements as one() does. */
static int has_blocks(const struct emu_torch *t, const struct operands *o)
{
	return !o->integers && !t->is_bool && !emu_torch_is_integer(o->types[0]) &&
	       t->op != EMU_OP_SELECT && (t->op != EMU_OP_COPY || o->types[0] != o->types[1]);
}

static void fill(double *to, size_t n, double value)
{
	for (size_t i = 0; i < n; i++)
		to[i] = value;
}

/* n adjacent elements. */
static void compute_block(const struct emu_torch *t, const struct operands *o, size_t n)
{
	double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], out[EMU_TORCH_BLOCK];
	int inputs = t->inputs;

	for (int k = 0; k < inputs; k++)
		emu_to_f64(o->types[1 + k], o->data[1 + k], 1, n, in[k]);
	if (t->swapped == 1)
		memcpy(in[1], in[0], n * sizeof(double));
	if (t->swapped || (t->op == EMU_OP_COMPARE && inputs == 1)) {
		fill(in[t->swapped == 1 ? 0 : 1], n, o->scalars[t->swapped ? 2 : 1]);
		inputs = 2;
	}
	emu_torch_apply_all((enum emu_torch_op)t->op, n, inputs, in, o->scalars, out);
	emu_from_f64(o->types[0], o->data[0], 1, n, out);
}

static int run_contiguous(const struct emu_torch *t, void *const *args)
{
	struct operands o = operands_of(t);
	int32_t n = *(const int32_t *)args[0];
	const uint64_t offsets[OPERANDS] = {0};
	size_t block;

	read_scalars(t, args[1], &o);
	memcpy(o.data, args[2], (size_t)(t->inputs + 1) * sizeof(char *));
	if (t->casts) { /* LoadWithCast<n>, StoreWithCast<1>: numbers of types, then sizes */
		for (int i = 0; i < t->inputs; i++)
			if (scalar_type(((const int8_t *)args[5])[i], &o.types[1 + i]) < 0)
				return -ENOTSUP;
		if (scalar_type(*(const int8_t *)args[6], &o.types[0]) < 0)
			return -ENOTSUP;
	}
	choose_arithmetic(t, &o);
	block = has_blocks(t, &o) ? EMU_TORCH_BLOCK : 1;
	if (n < 0 || !emu_torch_computes_large(n, block > 1 ? EMU_TORCH_BLOCKS : 1))
		return -ENOTSUP;
	for (int k = 1; k <= t->inputs; k++)
		if (emu_torch_is_undefined(o.types[k], o.data[k], n))
			return -ENOTSUP;
	for (size_t left = (size_t)n; left > 0; left -= block) {
		block = block < left ? block : left;
		if (has_blocks(t, &o))
			compute_block(t, &o, block);
		else
			one(t, &o, offsets);
		for (int k = 0; k <= t->inputs; k++)
			o.data[k] += block * emu_type_bytes(o.types[k]);
	}
	return 0;
}

/* A lambda that contains an OffsetCalculator of all tensors, their addresses, the functor and, with
 * casts, the numbers of the types. */
static int run_strided(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct operands o = operands_of(t);
	const char *lambda = args[1];
	int n = t->inputs + 1;
	size_t at = (emu_offsets_bytes(n) + 7) / 8 * 8;
	size_t start = at + (size_t)n * sizeof(char *), bytes = l->arg_bytes(l, 1);
	size_t types = start + t->functor_bytes, last = t->form == STRIDED_CASTS ? (size_t)n : 0;
	const char *functor = lambda + start;

	/* The types are followed by at most 8 bytes. A functor may be larger than its scalars. */
	if (last && bytes - (types + last + 7) / 8 * 8 > 8)
		types = bytes - 8 - (last + 7) / 8 * 8;
	if (bytes < start + 8 || types < start + t->functor_bytes || bytes < types + last ||
	    !emu_torch_computes_work(*(const int32_t *)args[0]))
		return -ENOTSUP;
	memcpy(o.data, lambda + at, (size_t)n * sizeof(char *));
	read_scalars(t, functor, &o);
	for (size_t i = 0; i < last; i++)
		if (scalar_type(lambda[types + i], &o.types[i]) < 0)
			return -ENOTSUP;
	choose_arithmetic(t, &o);
	for (int32_t i = 0; i < *(const int32_t *)args[0]; i++) {
		uint64_t offsets[OPERANDS];

		emu_offsets_of(lambda, n, (uint32_t)i, offsets);
		one(t, &o, offsets);
	}
	return 0;
}

static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return t->form == VECTORIZED || t->form == UNROLLED ? run_contiguous(t, args)
							    : run_strided(t, l, args);
}

/* glu_backward_kernel(n, dx, x, dy, offsets of these in elements, bytes from the first half of dx
 * and of x to the second) */
static int run_glu_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	int64_t n = emu_int_of(l, args, 0), dx_half = emu_int_of(l, args, 5);
	int64_t x_half = emu_int_of(l, args, 6);

	if (l->arg_bytes(l, 4) != emu_offsets_bytes(3) || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		char *dx = emu_pointer_of(args, 1), *x = emu_pointer_of(args, 2);
		uint64_t at[3];
		double dy, gate;

		emu_offsets_of(args[4], 3, (uint32_t)i, at);
		dx += at[0] * emu_type_bytes(t->in[0]);
		x += at[1] * emu_type_bytes(t->in[0]);
		dy = emu_load(t->in[0], emu_pointer_of(args, 3), (int64_t)at[2]);
		gate = 1 / (1 + exp(-emu_load(t->in[0], x + x_half, 0)));
		emu_store(t->in[0], dx, 0, gate * dy);
		emu_store(t->in[0], dx + dx_half, 0,
			  (1 - gate) * gate * dy * emu_load(t->in[0], x, 0));
	}
	return 0;
}

int emu_torch_elementwise(struct emu_torch *t, struct emu_part name)
{
	struct emu_part functor;

	if (emu_part_has(name, "::glu_backward_kernel<")) {
		t->run = run_glu_backward;
		return emu_part_type(emu_part_argument(name, 0), &t->in[0]);
	}
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
	if (emu_torch_functor(t, functor) < 0)
		return -ENOTSUP;
	t->run = run;
	return 0;
}
