/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels on lists of tensors, of optimizers and GradScaler:
 * multi_tensor_apply_kernel(TensorListMetadata<n>, functor, ...). */
#include "replay/emugpu/torch/torch.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 65536 };

enum { UNARY, BY_SCALAR, BY_TENSOR, BY_LIST, POINTWISE, UNSCALE, NORM };

static const struct {
	const char *functor, *function;
	uint8_t form, op;
} lists[] = {
	{"UnaryOpFunctor<", "_amp_foreach_non_finite_check_and_unscale_cuda_", UNSCALE, 0},
	{"UnaryOpFunctor<", "::Sqrt<", UNARY, EMU_OP_SQRT},
	{"UnaryOpFunctor<", "at::native::Copy<", UNARY, EMU_OP_COPY},
	{"UnaryOpFunctor<", "::Reciprocal<", UNARY, EMU_OP_RECIPROCAL},
	{"UnaryOpFunctor<", "std::negate<", UNARY, EMU_OP_NEG},
	{"UnaryOpFunctor<", "::Abs<", UNARY, EMU_OP_ABS},
	{"UnaryOpFunctor<", "::Exp<", UNARY, EMU_OP_EXP},
	{"UnaryOpFunctor<", "::Log<", UNARY, EMU_OP_LOG},
	{"UnaryOpFunctor<", "::Sign<", UNARY, EMU_OP_SIGN},
	{"UnaryOpFunctor<", "::Rsqrt<", UNARY, EMU_OP_RSQRT},
	{"UnaryOpFunctor<", "::Tanh<", UNARY, EMU_OP_TANH},
	{"UnaryOpFunctor<", "::Sigmoid<", UNARY, EMU_OP_SIGMOID},
	{"::CopyFunctor<", "at::native::Copy<", UNARY, EMU_OP_COPY},
	{"ZeroFunctor<", "", UNARY, EMU_OP_FILL},
	{"BinaryOpScalarFunctor<", "multiplies<", BY_SCALAR, EMU_OP_MUL},
	{"BinaryOpScalarFunctor<", "plus<", BY_SCALAR, EMU_OP_ADD},
	{"BinaryOpScalarFunctor<", "divides<", BY_SCALAR, EMU_OP_DIV},
	{"BinaryOpScalarFunctor<", "minus<", BY_SCALAR, EMU_OP_SUBTRACT},
	{"BinaryOpScalarFunctor<", "::power_functor<", BY_SCALAR, EMU_OP_POWER},
	{"BinaryOpScalarFunctor<", "::reverse_power_functor<", BY_SCALAR, EMU_OP_POWER_OF},
	{"BinaryOpScalarFunctor<", "::maximum<", BY_SCALAR, EMU_OP_MAX},
	{"BinaryOpScalarFunctor<", "::minimum<", BY_SCALAR, EMU_OP_MIN},
	{"BinaryOpScalarListFunctor<", "multiplies<", BY_SCALAR, EMU_OP_MUL},
	{"BinaryOpScalarListFunctor<", "plus<", BY_SCALAR, EMU_OP_ADD},
	{"BinaryOpScalarListFunctor<", "divides<", BY_SCALAR, EMU_OP_DIV},
	{"BinaryOpScalarTensorFunctor<", "multiplies<", BY_TENSOR, EMU_OP_MUL},
	{"BinaryOpScalarTensorFunctor<", "divides<", BY_TENSOR, EMU_OP_DIV},
	{"BinaryOpListAlphaFunctor<", "plus<", BY_LIST, EMU_OP_ADD},
	{"BinaryOpListAlphaFunctor<", "minus<", BY_LIST, EMU_OP_SUBTRACT},
	{"BinaryOpListAlphaFunctor<", "multiplies<", BY_LIST, EMU_OP_MUL},
	{"BinaryOpListAlphaFunctor<", "divides<", BY_LIST, EMU_OP_DIV},
	{"BinaryOpListAlphaFunctor<", "::maximum<", BY_LIST, EMU_OP_MAX},
	{"BinaryOpListAlphaFunctor<", "::minimum<", BY_LIST, EMU_OP_MIN},
	{"PointwiseOpScalarFunctor<", "multiplies<", POINTWISE, EMU_OP_ADDCMUL},
	{"PointwiseOpScalarFunctor<", "divides<", POINTWISE, EMU_OP_ADDCDIV},
	{"PointwiseOpScalarListFunctor<", "multiplies<", POINTWISE, EMU_OP_ADDCMUL},
	{"PointwiseOpScalarListFunctor<", "divides<", POINTWISE, EMU_OP_ADDCDIV},
	{"LpNormFunctor<", "", NORM, 0},
	{"TernaryOpScalarFunctor<", "LerpFunctor<", POINTWISE, EMU_OP_LERP},
	{"TernaryOpListFunctor<", "LerpFunctor<", POINTWISE, EMU_OP_LERP_TENSOR},
};

/* The layout of TensorListMetadata<n>, or of TensorListScalarListMetadata<T, n> with a scalar for
 * each tensor, in a parameter of `bytes` bytes, with `tensors` tensors and `blocks` blocks. PyTorch
 * has small lists, and large ones for GPUs with large parameters. */
struct layout {
	size_t tensors, blocks, block_bytes;
};

static int layout_of(int depth, size_t scalar_bytes, size_t bytes, struct layout *ret)
{
	static const size_t tensors[][5] = {{110, 64, 48, 36, 30}, {770, 448, 336, 252, 210}};
	static const size_t with_scalars[] = {96, 672}; /* of depth 1 */
	static const struct {
		size_t blocks, block_bytes;
	} of[] = {{320, 1}, {2240, 2}};

	for (int i = 0; i < 2; i++) {
		size_t n = scalar_bytes && depth == 1 ? with_scalars[i] : tensors[i][depth - 1];
		size_t at = (8 * (size_t)(depth + 1) + scalar_bytes) * n;

		at += of[i].blocks * of[i].block_bytes;
		/* The number of the first tensor follows, but not after scalars. */
		at = (at + 3) / 4 * 4 + of[i].blocks * 4;
		if ((at + 4 + 7) / 8 * 8 == bytes || (scalar_bytes && (at + 7) / 8 * 8 == bytes)) {
			*ret = (struct layout){n, of[i].blocks, of[i].block_bytes};
			return 0;
		}
	}
	return -ENOTSUP;
}

static int run_list(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);

/* Returns the number of lists that are read: at most all. */
static int inputs_of(const struct emu_torch *t)
{
	int most = t->run != run_list	  ? t->depth
		   : t->form == POINTWISE ? 3
		   : t->form == BY_LIST	  ? 2
					  : 1;

	return most < t->depth ? most : t->depth;
}

/* Elements [from, from + left) of the tensors at `data`. */
static void apply(const struct emu_torch *t, char *const data[5], int64_t from, int64_t left,
		  double scalar, float *found_inf)
{
	double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], out[EMU_TORCH_BLOCK];
	int inputs = inputs_of(t);
	int by_scalar = t->form == BY_SCALAR || t->form == BY_TENSOR || t->form == UNSCALE;
	double s[4] = {t->form == POINTWISE ? scalar : by_scalar || t->form == BY_LIST};
	int64_t bytes = (int64_t)emu_type_bytes(t->in[0]);

	for (size_t n, i = 0; left > 0; left -= (int64_t)n, from += (int64_t)n) {
		n = left < EMU_TORCH_BLOCK ? (size_t)left : EMU_TORCH_BLOCK;
		for (int k = 0; k < inputs; k++)
			emu_to_f64(t->in[0], data[k] + from * bytes, 1, n, in[k]);
		for (i = 0; (by_scalar || t->form == BY_LIST) && i < n; i++)
			in[1][i] = by_scalar ? scalar : in[1][i] * scalar;
		for (i = 0; t->form == UNSCALE && i < n; i++)
			if (!isfinite(in[0][i]))
				*found_inf = 1;
		emu_torch_apply_all((enum emu_torch_op)(t->form == UNSCALE ? EMU_OP_MUL : t->op), n,
				    inputs + by_scalar, in, s, out);
		emu_from_f64(t->out, data[t->result] + from * (int64_t)emu_type_bytes(t->out), 1, n,
			     out);
	}
}

static double scalar_of(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	enum emu_type type = emu_torch_computes(t->in[0]);

	if (t->form == BY_TENSOR)
		return emu_load(t->in[0], *(void *const *)args[3], 0) *
		       (l->arg_bytes(l, 4) ? emu_load(type, args[4], 0) : 1);
	if (t->form == UNARY || t->form == NORM || !l->arg_bytes(l, 3))
		return 0;
	return emu_load(l->arg_bytes(l, 3) == 8 ? EMU_F64 : type, args[3], 0);
}

/* Blocks of a launch. */
struct list {
	struct layout layout;
	const char *numels, *scalars, *to_tensor, *to_chunk;
	int32_t first; /* tensor of the program's list */
};

/* A part of one tensor of each list. */
struct part {
	size_t tensor;
	int64_t chunk, n;
	char *data[5];
};

static int list_of(int depth, size_t scalar_bytes, const struct gpuemu_launch *l, const char *meta,
		   struct list *ret)
{
	struct layout *y = &ret->layout;

	if (layout_of(depth, scalar_bytes, l->arg_bytes(l, 0), y) < 0 || l->grid[0] > y->blocks)
		return -ENOTSUP;
	ret->numels = meta + 8 * y->tensors * (size_t)depth;
	ret->scalars = ret->numels + 8 * y->tensors;
	ret->to_tensor = ret->scalars + scalar_bytes * y->tensors;
	ret->to_chunk = ret->to_tensor + (y->blocks * y->block_bytes + 3) / 4 * 4;
	if (!scalar_bytes)
		memcpy(&ret->first, ret->to_chunk + 4 * y->blocks, sizeof(ret->first));
	return 0;
}

static struct part part_of(int depth, const struct list *a, const char *meta, uint32_t block)
{
	const struct layout *y = &a->layout;
	struct part p = {.chunk = ((const int32_t *)(const void *)a->to_chunk)[block]};

	p.tensor = y->block_bytes == 1 ? ((const uint8_t *)a->to_tensor)[block]
				       : ((const uint16_t *)(const void *)a->to_tensor)[block];
	memcpy(&p.n, a->numels + 8 * p.tensor, sizeof(p.n));
	p.n -= p.chunk * CHUNK;
	p.n = p.n < CHUNK ? p.n : CHUNK;
	for (int k = 0; k < depth && k < 5; k++)
		memcpy(&p.data[k], meta + 8 * ((size_t)k * y->tensors + p.tensor), sizeof(char *));
	return p;
}

/* Returns 0 if a size is negative or an input undefined, or if memory has no data. */
static int computes(const struct emu_torch *t, const struct list *a, const struct gpuemu_launch *l,
		    const char *meta)
{
	double total = 0;

	for (uint32_t b = 0; b < l->grid[0]; b++) {
		struct part p = part_of(t->depth, a, meta, b);

		if (p.n < 0)
			return 0;
		total += (double)p.n;
		for (int k = 0; k < inputs_of(t) && p.chunk == 0; k++)
			if (emu_torch_is_undefined(t->in[0], p.data[k], p.n))
				return 0;
	}
	return emu_torch_computes_large(total, EMU_TORCH_LISTS);
}

int emu_torch_list_work(int depth, size_t entry_bytes, const struct gpuemu_launch *l,
			const void *meta, struct emu_torch_list_work *ret)
{
	const char *addresses = meta;
	struct list a = {0};

	*ret = (struct emu_torch_list_work){0};
	if (depth < 1 || depth > 5 || list_of(depth, entry_bytes, l, meta, &a) < 0)
		return -ENOTSUP;
	for (uint32_t b = 0; b < l->grid[0]; b++) {
		double n = (double)part_of(depth, &a, meta, b).n;

		ret->elements += n;
		ret->most = n > ret->most ? n : ret->most;
	}
	for (int k = 1; k < depth; k++)
		for (int j = 0; j < k; j++)
			if (memcmp(addresses + 8 * (size_t)k * a.layout.tensors,
				   addresses + 8 * (size_t)j * a.layout.tensors, 8) == 0) {
				ret->repeated++;
				break;
			}
	return 0;
}

/* The norm of a part, completed by lpnorm_cleanup: its index in args[2] is that of the tensor in
 * args[3], and its chunk. */
static void norm_of(const struct emu_torch *t, const struct part *p, int32_t first,
		    void *const *args)
{
	const int64_t *places = *(const int64_t *const *)args[3];
	double norm = 0, v;

	for (int64_t i = 0; i < p->n; i++) {
		v = fabs(emu_load(t->in[0], p->data[0], p->chunk * CHUNK + i));
		norm = t->op == 2 ? norm + v * v : t->op == 1 ? norm + v : v > norm ? v : norm;
	}
	emu_store(emu_torch_computes(t->out), *(void *const *)args[2],
		  places[(size_t)first + p->tensor] + p->chunk, norm);
}

static int run_list(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	float *found_inf = NULL, *scale = NULL;
	size_t scalar_bytes = t->list_scalars ? emu_type_bytes(t->scalar_type[0]) : 0;
	double scalar;
	struct list a = {0};

	if (list_of(t->depth, scalar_bytes, l, args[0], &a) < 0 ||
	    (t->form == NORM && (l->arg_bytes(l, 3) != 8 || l->arg_bytes(l, 4))))
		return -ENOTSUP;
	if (!computes(t, &a, l, args[0]))
		return -ENOTSUP;
	if (t->form == UNSCALE) { /* the lambda contains the two addresses */
		memcpy(&found_inf, args[2], sizeof(found_inf));
		memcpy(&scale, (const char *)args[2] + 8, sizeof(scale));
		scalar = *scale;
	} else {
		scalar = scalar_of(t, l, args);
	}
	for (uint32_t b = 0; b < l->grid[0]; b++) {
		struct part p = part_of(t->depth, &a, args[0], b);

		if (t->list_scalars)
			scalar = emu_load(t->scalar_type[0], a.scalars, (int64_t)p.tensor);
		if (t->form == NORM)
			norm_of(t, &p, a.first, args);
		else
			apply(t, p.data, p.chunk * CHUNK, p.n, scalar, found_inf);
	}
	return 0;
}

/* lpnorm_cleanup<T, norm, result type, takes the root, ...>(norms of parts, addresses of results,
 * places of tensors in the norms, first tensor), a block for each tensor */
static int run_cleanup(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const int64_t *places = *(const int64_t *const *)args[2];
	int32_t first = *(const int32_t *)args[3];

	if (l->arg_bytes(l, 3) != 4 || l->arg_bytes(l, 1) < 8 * (size_t)l->grid[0])
		return -ENOTSUP;
	for (uint32_t b = 0; b < l->grid[0]; b++) {
		double norm = 0, v;

		for (int64_t i = places[first + (int32_t)b]; i < places[first + (int32_t)b + 1];
		     i++) {
			v = emu_load(emu_torch_computes(t->out), *(void *const *)args[0], i);
			norm = t->op == 3 ? fmax(norm, v) : norm + v;
		}
		emu_store(t->out, ((void *const *)args[1])[b], 0,
			  t->op == 2 && t->swapped ? sqrt(norm) : norm);
	}
	return 0;
}

/* The template arguments T, (at::native::NormType)n, result type. */
static int parse_norm(struct emu_torch *t, struct emu_part name)
{
	struct emu_part number = emu_part_after(emu_part_argument(name, 1), ")");

	t->op = number.len ? (uint8_t)(number.at[0] - '0') : 0;
	t->swapped = emu_part_has(emu_part_argument(name, 3), "true");
	return t->op >= 1 && t->op <= 3 ? emu_part_type(emu_part_argument(name, 2), &t->out)
					: -ENOTSUP;
}

/* Adam's hyperparameters of a launch, and of a tensor, whose number of steps is known. */
struct adam {
	double rate, beta1, beta2, decay, epsilon, scale, step_size, root;
	int maximize;
};

static void adam_one(const struct emu_torch *t, const struct adam *a, char *const data[5],
		     int64_t i)
{
	double v[5], grad, square;

	for (int k = 0; k < t->depth; k++)
		v[k] = emu_load(t->in[0], data[k], i);
	grad = a->maximize ? -v[1] / a->scale : v[1] / a->scale;
	if (t->op == 1) /* AdamW */
		v[0] -= a->rate * a->decay * v[0];
	else
		grad += a->decay * v[0];
	v[1] /= a->scale;
	v[2] = a->beta1 * v[2] + (1 - a->beta1) * grad;
	v[3] = a->beta2 * v[3] + (1 - a->beta2) * grad * grad;
	square = v[3];
	if (t->depth == 5) /* AMSGrad */
		square = v[4] = fmax(v[4], v[3]);
	v[0] -= a->step_size * v[2] / (sqrt(square) / a->root + a->epsilon);
	for (int k = 0; k < t->depth; k++)
		emu_store(t->in[0], data[k], i, v[k]);
}

/* Parameters, gradients, and averages; after them, the address of the number of steps of each
 * tensor: (lists, functor, address of the rate, rate, beta1, beta2, weight decay, epsilon,
 * maximize, address of the gradients' scale, address of whether a gradient is infinite) */
static int run_adam(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct adam a = {.scale = 1};
	const float *rate, *scale, *infinite;
	struct list lists_of = {0};

	if (l->arg_bytes(l, 7) != 8 || l->arg_bytes(l, 8) != 1 || l->arg_bytes(l, 10) != 8 ||
	    list_of(t->depth, 8, l, args[0], &lists_of) < 0)
		return -ENOTSUP;
	if (!computes(t, &lists_of, l, args[0]))
		return -ENOTSUP;
	rate = emu_pointer_of(args, 2);
	scale = emu_pointer_of(args, 9);
	infinite = emu_pointer_of(args, 10);
	if (infinite && *infinite == 1)
		return 0;
	memcpy(&a.rate, args[3], 8);
	memcpy(&a.beta1, args[4], 8);
	memcpy(&a.beta2, args[5], 8);
	memcpy(&a.decay, args[6], 8);
	memcpy(&a.epsilon, args[7], 8);
	a.rate = rate ? *rate : a.rate;
	a.scale = scale ? *scale : 1;
	a.maximize = *(const char *)args[8];
	for (uint32_t b = 0; b < l->grid[0]; b++) {
		struct part p = part_of(t->depth, &lists_of, args[0], b);
		const float *steps;

		memcpy(&steps, lists_of.scalars + 8 * p.tensor, 8);
		a.step_size = a.rate / (1 - pow(a.beta1, *steps));
		a.root = sqrt(1 - pow(a.beta2, *steps));
		for (int64_t i = 0; i < p.n; i++)
			adam_one(t, &a, p.data, p.chunk * CHUNK + i);
	}
	return 0;
}

/* FusedAdamMathFunctor<T, lists, (at::native::ADAM_MODE)n, with maxima> */
static int parse_adam(struct emu_torch *t, struct emu_part functor)
{
	t->depth = emu_part_has(emu_part_argument(functor, 3), "true") ? 5 : 4;
	if (!emu_part_is(emu_part_argument(functor, 1), t->depth == 5 ? "5" : "4"))
		return -ENOTSUP;
	t->op = emu_part_has(emu_part_argument(functor, 2), ")1");
	t->run = run_adam;
	return emu_part_type(emu_part_argument(functor, 0), &t->in[0]);
}

/* Parameters, gradients, and momenta if t->depth is 3: (lists, functor, weight decay, momentum,
 * address of the rate, rate, dampening, Nesterov's, maximize, first step, address of the gradients'
 * scale, address of whether a gradient is infinite) */
static int run_sgd(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const float *rate_at = emu_pointer_of(args, 4), *scale = emu_pointer_of(args, 10);
	const float *infinite = emu_pointer_of(args, 11);
	const uint8_t *nesterov = args[7], *maximize = args[8], *first_step = args[9];
	double decay, momentum, rate, dampening;
	struct list a = {0};

	if (l->arg_bytes(l, 6) != 8 || l->arg_bytes(l, 9) != 1 ||
	    list_of(t->depth, 0, l, args[0], &a) < 0)
		return -ENOTSUP;
	if (!computes(t, &a, l, args[0]))
		return -ENOTSUP;
	if (infinite && *infinite == 1)
		return 0;
	memcpy(&decay, args[2], 8);
	memcpy(&momentum, args[3], 8);
	memcpy(&rate, args[5], 8);
	memcpy(&dampening, args[6], 8);
	rate = rate_at ? *rate_at : rate;
	for (uint32_t b = 0; b < l->grid[0]; b++) {
		struct part p = part_of(t->depth, &a, args[0], b);

		for (int64_t i = p.chunk * CHUNK; i < p.chunk * CHUNK + p.n; i++) {
			double x = emu_load(t->in[0], p.data[0], i), m;
			double grad = emu_load(t->in[0], p.data[1], i) / (scale ? *scale : 1);

			if (scale)
				emu_store(t->in[0], p.data[1], i, grad);
			grad = (*maximize ? -grad : grad) + decay * x;
			if (t->depth == 3) {
				m = *first_step ? grad
						: momentum * emu_load(t->in[0], p.data[2], i) +
							  (1 - dampening) * grad;
				emu_store(t->in[0], p.data[2], i, m);
				grad = *nesterov ? grad + momentum * m : m;
			}
			emu_store(t->in[0], p.data[0], i, x - rate * grad);
		}
	}
	return 0;
}

int emu_torch_lists(struct emu_torch *t, struct emu_part name)
{
	struct emu_part meta = emu_part_argument(name, 0), functor = emu_part_argument(name, 1);
	int copies = emu_part_has(functor, "::CopyFunctor<"); /* <result, source, ...> */
	struct emu_part depth, result = emu_part_argument(functor, copies ? 4 : 3);

	if (emu_part_has(name, "at::native::lpnorm_cleanup<")) {
		t->run = run_cleanup;
		return parse_norm(t, name);
	}
	if (emu_part_has(functor, "::FusedAdamMathFunctor<"))
		return parse_adam(t, functor);
	if (emu_part_has(functor, "::FusedSgdMathFunctor<")) {
		struct emu_part lists_of = emu_part_argument(functor, 1);

		t->depth = emu_part_is(lists_of, "3") ? 3 : 2;
		t->params = 12;
		t->run = run_sgd;
		return emu_part_is(lists_of, "3") || emu_part_is(lists_of, "2")
			       ? emu_part_type(emu_part_argument(functor, 0), &t->in[0])
			       : -ENOTSUP;
	}
	t->list_scalars = emu_part_has(meta, "::TensorListScalarListMetadata<");
	if (!emu_part_has(name, "multi_tensor_apply_kernel<") ||
	    (!t->list_scalars && !emu_part_has(meta, "::TensorListMetadata<")))
		return -ENOTSUP;
	if (t->list_scalars) {
		enum emu_type type;

		if (emu_part_type(emu_part_argument(meta, 0), &type) < 0)
			return -ENOTSUP;
		t->scalar_type[0] = (uint8_t)type;
	}
	depth = emu_part_argument(meta, t->list_scalars ? 1 : 0);
	for (size_t i = 0; !t->run && i < sizeof(lists) / sizeof(lists[0]); i++)
		if (emu_part_has(functor, lists[i].functor) &&
		    emu_part_has(emu_part_after(name, lists[i].functor), lists[i].function)) {
			t->form = lists[i].form;
			t->op = lists[i].op;
			t->run = run_list;
		}
	t->depth = depth.len ? depth.at[0] - '0' : 0;
	t->result = result.len ? result.at[0] - '0' : 0;
	if (t->run && t->form == NORM) {
		t->result = 0;
		if (parse_norm(t, functor) < 0)
			return -ENOTSUP;
	}
	if (!t->run || t->depth < 1 || t->depth > 4 || t->result < 0 || t->result >= t->depth)
		return -ENOTSUP;
	if (emu_part_type(emu_part_argument(functor, 0), &t->in[0]) < 0)
		return -ENOTSUP;
	if (t->form != NORM)
		t->out = t->in[0];
	return copies ? emu_part_type(emu_part_argument(functor, 1), &t->in[0]) : 0;
}
