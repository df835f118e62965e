/* SPDX-License-Identifier: Apache-2.0 */

/* Batch normalisation by PyTorch's own kernels (aten/src/ATen/native/cuda/Normalization.cuh), also
 * of SyncBatchNorm. Sums are of doubles. */
#include "replay/emugpu/torch/torch.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- batch normalisation ---- */

/* A tensor [batch, channel, position]. */
struct tensor {
	void *data;
	int64_t size[3], stride[3];
};

/* A vector with an element for each channel, or NULL. */
struct vector {
	void *data;
	int64_t stride;
};

/* Accessors with 32-bit or 64-bit sizes: address, sizes, strides. */
static int64_t number_at(const void *param, size_t bytes, int dims, int i)
{
	const char *at = (const char *)param + 8;

	return bytes == 8 + 8 * (size_t)dims ? ((const int32_t *)(const void *)at)[i]
					     : ((const int64_t *)(const void *)at)[i];
}

/* Checks the sizes of the first parameters. `dims` has one digit per parameter: the number of
 * dimensions if the parameter is a tensor accessor, else 0. */
static int has_accessors(const struct gpuemu_launch *l, const char *dims)
{
	for (unsigned i = 0; dims[i]; i++) {
		size_t d = (size_t)(dims[i] - '0'), bytes = l->arg_bytes(l, i);

		if (d && bytes != 8 + 8 * d && bytes != 8 + 16 * d)
			return 0;
	}
	return 1;
}

static struct tensor tensor_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	struct tensor t = {.data = emu_pointer_of(args, i)};

	for (int d = 0; d < 3; d++) {
		t.size[d] = number_at(args[i], l->arg_bytes(l, i), 3, d);
		t.stride[d] = number_at(args[i], l->arg_bytes(l, i), 3, 3 + d);
	}
	return t;
}

static struct vector vector_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	struct vector v = {emu_pointer_of(args, i), number_at(args[i], l->arg_bytes(l, i), 1, 1)};

	if (number_at(args[i], l->arg_bytes(l, i), 1, 0) < 1)
		v.data = NULL;
	return v;
}

/* The same with the channels last: a matrix [rows, channels], and plain addresses. */
static struct tensor matrix_of(void *data, int64_t rows, int64_t channels)
{
	return (struct tensor){data, {1, channels, rows}, {0, 1, channels}};
}

static struct vector plain(void *const *args, unsigned i)
{
	return (struct vector){emu_pointer_of(args, i), 1};
}

static double element_of(enum emu_type type, const struct tensor *t, int64_t c, int64_t i)
{
	return emu_load(type, t->data,
			i / t->size[2] * t->stride[0] + c * t->stride[1] +
				i % t->size[2] * t->stride[2]);
}

static void set_element(enum emu_type type, const struct tensor *t, int64_t c, int64_t i, double v)
{
	emu_store(type, t->data,
		  i / t->size[2] * t->stride[0] + c * t->stride[1] + i % t->size[2] * t->stride[2],
		  v);
}

static double of_channel(enum emu_type type, const struct vector *v, int64_t c, double otherwise)
{
	return v->data ? emu_load(type, v->data, c * v->stride) : otherwise;
}

static void set_channel(enum emu_type type, const struct vector *v, int64_t c, double x)
{
	if (v->data)
		emu_store(type, v->data, c * v->stride, x);
}

/* All kernels of batch normalisation read some of these. Parameters (weight, bias) have the type
 * in[1], statistics the type in[2]. */
struct batch_norm {
	struct tensor x, y, dy, dx;
	struct vector mean, deviation, weight, bias, running_mean, running_variance, weight_grad,
		bias_grad, sum, product;
	double epsilon, factor; /* factor: one by the number of elements of a channel, or 0 */
	int train;
};

static void collect(const struct emu_torch *t, const struct batch_norm *b, int64_t c, int64_t n)
{
	double mean = 0, square = 0;

	for (int64_t i = 0; i < n; i++)
		mean += element_of(t->in[0], &b->x, c, i) / (double)n;
	for (int64_t i = 0; i < n; i++) {
		double d = element_of(t->in[0], &b->x, c, i) - mean;

		square += d * d / (double)n;
	}
	set_channel(t->in[2], &b->mean, c, mean);
	/* "Var" or "InvStd" */
	set_channel(t->in[2], &b->deviation, c, t->adds ? square : 1 / sqrt(square + b->epsilon));
}

static void transform(const struct emu_torch *t, const struct batch_norm *b, int64_t c, int64_t n)
{
	double mean = of_channel(t->in[2], &b->mean, c, 0);
	double deviation = of_channel(t->in[2], &b->deviation, c, 1);
	double weight = of_channel(t->in[1], &b->weight, c, 1);
	double bias = of_channel(t->in[1], &b->bias, c, 0);

	if (!b->train) /* a variance */
		deviation = 1 / sqrt(deviation + b->epsilon);
	for (int64_t i = 0; i < n; i++)
		set_element(t->in[0], &b->y, c, i,
			    (element_of(t->in[0], &b->x, c, i) - mean) * deviation * weight + bias);
}

/* Sums of the gradients, and of their products with x - mean; then the gradients of parameters. */
static void reduce(const struct emu_torch *t, const struct batch_norm *b, int64_t c, int64_t n,
		   double mean, double deviation, double ret[2])
{
	ret[0] = ret[1] = 0;
	for (int64_t i = 0; i < n; i++) {
		double dy = element_of(t->in[0], &b->dy, c, i);

		ret[0] += dy;
		ret[1] += dy * (element_of(t->in[0], &b->x, c, i) - mean);
	}
	set_channel(t->in[2], &b->sum, c, ret[0]);
	set_channel(t->in[2], &b->product, c, ret[1]);
	set_channel(t->in[1], &b->bias_grad, c, ret[0]);
	set_channel(t->in[1], &b->weight_grad, c, ret[1] * deviation);
}

static void backward(const struct emu_torch *t, const struct batch_norm *b, int64_t c, int64_t n,
		     double mean, double deviation, const double sums[2])
{
	double weight = of_channel(t->in[1], &b->weight, c, 1), factor = b->factor;

	for (int64_t i = 0; b->dx.data && i < n; i++) {
		double dy = element_of(t->in[0], &b->dy, c, i);

		if (factor != 0)
			dy -= factor * (sums[0] + (element_of(t->in[0], &b->x, c, i) - mean) *
							  deviation * deviation * sums[1]);
		set_element(t->in[0], &b->dx, c, i, dy * deviation * weight);
	}
}

enum { COLLECT, TRANSFORM, BACKWARD, REDUCE, ELEMENTS, GATHER };

/* t->depth is 1 with the channels last. Layouts of parameters:
 * collect: x, epsilon, momentum, mean, deviation
 * transform: x, y, mean, deviation, weight, bias, epsilon
 * backward: x, dy, dx, dweight, dbias, weight, running mean and variance, mean, deviation, train,
 * epsilon
 * reduce: x, dy, mean, deviation, sum, product, dweight, dbias
 * elements: x, dy, mean, deviation, weight, sum, product, dx, factor */
static void read_planes(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args,
			struct batch_norm *b)
{
	enum emu_type type = t->in[2];

	b->x = tensor_of(l, args, 0);
	switch (t->op) {
	case COLLECT:
		b->epsilon = emu_load(type, args[1], 0);
		b->mean = vector_of(l, args, 3);
		b->deviation = vector_of(l, args, 4);
		break;
	case TRANSFORM:
		b->y = tensor_of(l, args, 1);
		b->mean = vector_of(l, args, 2);
		b->deviation = vector_of(l, args, 3);
		b->weight = vector_of(l, args, 4);
		b->bias = vector_of(l, args, 5);
		b->epsilon = emu_load(type, args[6], 0);
		b->train = t->swapped;
		break;
	case BACKWARD:
		b->dy = tensor_of(l, args, 1);
		b->dx = tensor_of(l, args, 2);
		b->weight_grad = vector_of(l, args, 3);
		b->bias_grad = vector_of(l, args, 4);
		b->weight = vector_of(l, args, 5);
		b->running_mean = vector_of(l, args, 6);
		b->running_variance = vector_of(l, args, 7);
		b->mean = vector_of(l, args, 8);
		b->deviation = vector_of(l, args, 9);
		b->train = *(const uint8_t *)args[10];
		b->epsilon = emu_load(type, args[11], 0);
		break;
	default:
		b->dy = tensor_of(l, args, 1);
		b->mean = vector_of(l, args, 2);
		b->deviation = vector_of(l, args, 3);
		b->weight = vector_of(l, args, t->op == REDUCE ? 6 : 4);
		b->sum = vector_of(l, args, t->op == REDUCE ? 4 : 5);
		b->product = vector_of(l, args, t->op == REDUCE ? 5 : 6);
		if (t->op == REDUCE) {
			b->weight_grad = b->weight;
			b->bias_grad = vector_of(l, args, 7);
		} else {
			b->dx = tensor_of(l, args, 7);
		}
	}
}

/* collect: x, mean, deviation, scratch, semaphores, rows, channels, epsilon
 * transform: x, z, mean, deviation, weight, bias, y, rows, channels, relu
 * reduce: x, dy, mean, deviation, sum, product, dweight, dbias, scratch, semaphores, rows, channels
 * elements: dy, x, mean, deviation, weight, sum, product, [numbers,] dx, [factor or ranks,] rows,
 * channels */
static int read_matrices(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args, struct batch_norm *b)
{
	static const uint8_t sizes[] = {
		[COLLECT] = 5, [TRANSFORM] = 7, [REDUCE] = 10, [ELEMENTS] = 9};
	unsigned at = sizes[t->op], counts = t->op == ELEMENTS && l->arg_bytes(l, 11) != 0;
	int64_t rows = emu_int_of(l, args, at + counts), n = emu_int_of(l, args, at + counts + 1);

	b->x = matrix_of(emu_pointer_of(args, t->op == ELEMENTS), rows, n);
	b->mean = plain(args, t->op == COLLECT ? 1 : 2);
	b->deviation = plain(args, t->op == COLLECT ? 2 : 3);
	b->train = 1;
	switch (t->op) {
	case COLLECT:
		b->epsilon = emu_load(t->in[2], args[7], 0);
		break;
	case TRANSFORM:
		b->weight = plain(args, 4);
		b->bias = plain(args, 5);
		b->y = matrix_of(emu_pointer_of(args, 6), rows, n);
		if (emu_pointer_of(args, 1) || *(const uint8_t *)args[9])
			return -ENOTSUP;
		break;
	case REDUCE:
		b->dy = matrix_of(emu_pointer_of(args, 1), rows, n);
		b->sum = plain(args, 4);
		b->product = plain(args, 5);
		b->weight_grad = plain(args, 6);
		b->bias_grad = plain(args, 7);
		break;
	default:
		b->dy = matrix_of(emu_pointer_of(args, 0), rows, n);
		b->weight = plain(args, 4);
		b->sum = plain(args, 5);
		b->product = plain(args, 6);
		b->dx = matrix_of(emu_pointer_of(args, 7 + counts), rows, n);
	}
	return 0;
}

/* The factor of `elements`: a parameter, or from the numbers of elements of the ranks. */
static double factor_of(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	unsigned at = t->depth ? 7 : 8, ranks = at + (t->depth ? 2 : 1);
	int64_t n = 0;

	if (!l->arg_bytes(l, t->depth ? 11 : 9))
		return emu_load(t->in[2], args[8], 0);
	for (int64_t i = 0; i < emu_int_of(l, args, ranks); i++)
		n += ((const int32_t *)emu_pointer_of(args, at))[i];
	return n ? 1 / (double)n : 0;
}

static void channel(const struct emu_torch *t, const struct batch_norm *b, int64_t c, int64_t n)
{
	double mean = of_channel(t->in[2], &b->mean, c, 0);
	double deviation = of_channel(t->in[2], &b->deviation, c, 1), sums[2];

	switch (t->op) {
	case COLLECT:
		collect(t, b, c, n);
		break;
	case TRANSFORM:
		transform(t, b, c, n);
		break;
	case BACKWARD:
		if (!b->train) {
			mean = of_channel(t->in[1], &b->running_mean, c, 0);
			deviation = 1 / sqrt(of_channel(t->in[1], &b->running_variance, c, 1) +
					     b->epsilon);
		}
		reduce(t, b, c, n, mean, deviation, sums);
		backward(t, b, c, n, mean, deviation, sums);
		break;
	case REDUCE:
		reduce(t, b, c, n, mean, deviation, sums);
		break;
	default:
		sums[0] = of_channel(t->in[2], &b->sum, c, 0);
		sums[1] = of_channel(t->in[2], &b->product, c, 0);
		backward(t, b, c, n, mean, deviation, sums);
	}
}

static int run_batch_norm(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	static const char *const planes[] = {[COLLECT] = "30011",
					     [TRANSFORM] = "331111",
					     [BACKWARD] = "3331111111",
					     [REDUCE] = "33111111",
					     [ELEMENTS] = "33111113"};
	unsigned least = t->depth ? 11 : 9; /* ELEMENTS: one more with several ranks */
	struct batch_norm b = {0};
	int64_t n;

	if (t->op == ELEMENTS && !emu_torch_has_params(l, least) &&
	    !emu_torch_has_params(l, least + 1))
		return -ENOTSUP;
	if (!t->depth && !has_accessors(l, planes[t->op]))
		return -ENOTSUP;
	if (t->depth && read_matrices(t, l, args, &b) < 0)
		return -ENOTSUP;
	if (!t->depth)
		read_planes(t, l, args, &b);
	n = b.x.size[0] * b.x.size[2];
	if (n < 1 || !emu_torch_computes_work((double)n * (double)b.x.size[1]))
		return -ENOTSUP;
	b.factor = t->op == ELEMENTS ? factor_of(t, l, args) : b.train ? 1 / (double)n : 0;
	for (int64_t c = 0; c < b.x.size[1]; c++)
		channel(t, &b, c, n);
	return 0;
}

/* batch_norm_reduce_statistics_kernel(means, deviations, mean, deviation, running mean, running
 * variance, epsilon, momentum, counts): of all ranks */
static int gather(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	size_t bytes = l->arg_bytes(l, 0);
	struct vector mean = vector_of(l, args, 2), deviation = vector_of(l, args, 3);
	struct vector running_mean = vector_of(l, args, 4), running = vector_of(l, args, 5);
	struct vector counts = vector_of(l, args, 8);
	double epsilon = emu_load(t->in[2], args[6], 0), momentum = emu_load(t->in[2], args[7], 0);
	int64_t ranks = number_at(args[0], bytes, 2, 0), channels = number_at(args[0], bytes, 2, 1);
	int64_t row = number_at(args[0], bytes, 2, 2), column = number_at(args[0], bytes, 2, 3);

	if (!emu_torch_computes_work((double)ranks * (double)channels))
		return -ENOTSUP;
	for (int64_t c = 0; c < channels; c++) {
		double average = 0, square = 0, n = 0, v;

		for (int64_t r = 0; r < ranks; r++) {
			double count = of_channel(t->in[1], &counts, r, 0);
			double m =
				emu_load(t->in[2], emu_pointer_of(args, 0), r * row + c * column);
			double d =
				emu_load(t->in[2], emu_pointer_of(args, 1), r * row + c * column);

			v = 1 / d;
			v = (v * v - epsilon) * count;
			square += v + (average - m) * (average - m) * n * count / (n + count);
			average = n / (n + count) * average + count / (n + count) * m;
			n += count;
		}
		set_channel(t->in[2], &mean, c, average);
		set_channel(t->in[2], &deviation, c, 1 / sqrt(square / n + epsilon));
		v = of_channel(t->in[1], &running_mean, c, 0);
		set_channel(t->in[1], &running_mean, c, (1 - momentum) * v + momentum * average);
		v = of_channel(t->in[1], &running, c, 0);
		set_channel(t->in[1], &running, c,
			    (1 - momentum) * v + momentum * square / (n - 1));
	}
	return 0;
}

static int run_gather(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return has_accessors(l, "221111001") ? gather(t, l, args) : -ENOTSUP;
}

/* batch_norm_update_stats[_and_invert]: a kernel(n, {factor of the variance, momentum[, epsilon]},
 * addresses) of several results: new running mean and variance[, inverse deviation] from the mean,
 * the variance, and the old ones. t->depth is the number of results. */
static int run_update(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	char *const *to = args[2], *const *from = to + t->depth;
	int64_t n = emu_int_of(l, args, 0);
	size_t bytes = (size_t)t->depth * emu_type_bytes(t->in[2]);
	double s[3];

	/* nvcc adds an address to the lambda's contents. */
	if (l->arg_bytes(l, 1) != (bytes + 7) / 8 * 8 + 8 ||
	    l->arg_bytes(l, 2) != 8 * ((size_t)t->depth + 4) || !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int i = 0; i < t->depth; i++)
		s[i] = emu_load(t->in[2], args[1], i);
	for (int64_t c = 0; c < n; c++) {
		double v[4], variance;

		for (int i = 0; i < 4; i++)
			v[i] = emu_load(t->in[i < 2 ? 2 : 1], from[i], c);
		variance = v[1] * s[0];
		emu_store(t->in[1], to[0], c, v[0] * s[1] + (1 - s[1]) * v[2]);
		emu_store(t->in[1], to[1], c, variance * s[1] + (1 - s[1]) * v[3]);
		if (t->depth == 3)
			emu_store(t->in[2], to[2], c, 1 / sqrt(v[1] + s[2]));
	}
	return 0;
}

static int parse_update(struct emu_torch *t, struct emu_part name)
{
	struct emu_part p = emu_part_after(name, "const::{lambda(");

	for (struct emu_part next = p; next.len; next = emu_part_after(next, "const::{lambda("))
		p = next; /* (sum, sum, parameter, parameter) */
	t->depth = emu_part_has(name, "batch_norm_update_stats_and_invert(") ? 3 : 2;
	t->run = run_update;
	if (!emu_part_has(name, "TrivialOffsetCalculator<4") || p.len < 5)
		return -ENOTSUP;
	t->in[2] = strncmp(p.at, "double", 6) == 0 ? EMU_F64 : EMU_F32;
	p = emu_part_after(emu_part_after(p, ", "), ", ");
	p.len = strcspn(p.at, ",)");
	return emu_part_type(p, &t->in[1]);
}

/* ---- by name ---- */

static const struct {
	const char *name;
	uint8_t types[3]; /* template arguments */
	uint8_t op, last, params;
} kernels[] = {
	{"batch_norm_collect_statistics_kernel<", {1, 2, 3}, COLLECT, 0, 5},
	{"batch_norm_transform_input_kernel<", {0, 1, 2}, TRANSFORM, 0, 7},
	{"batch_norm_backward_kernel<", {0, 1, 2}, BACKWARD, 0, 12},
	{"batch_norm_backward_reduce_kernel<", {0, 1, 2}, REDUCE, 0, 8},
	{"batch_norm_backward_elemt_kernel<", {0, 1, 2}, ELEMENTS, 0, 0},
	{"batch_norm_collect_statistics_channels_last_kernel<", {1, 2, 2}, COLLECT, 1, 8},
	{"batch_norm_transform_input_channels_last_kernel<", {0, 2, 1}, TRANSFORM, 1, 10},
	{"batch_norm_backward_reduce_channels_last_kernel<", {1, 3, 2}, REDUCE, 1, 12},
	{"batch_norm_backward_elemt_channels_last_kernel<", {1, 3, 2}, ELEMENTS, 1, 0},
	{"batch_norm_reduce_statistics_kernel<", {0, 0, 1}, GATHER, 0, 9},
};

int emu_torch_norms(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (emu_part_has(name, "kernel_for_multi_outputs<") &&
	    emu_part_has(name, "::batch_norm_update_stats"))
		return parse_update(t, name);
	if (i < 0)
		return -ENOTSUP;
	t->run = kernels[i].op == GATHER ? run_gather : run_batch_norm;
	t->params = kernels[i].params;
	t->op = kernels[i].op;
	t->depth = kernels[i].last;
	t->adds = emu_part_has(emu_part_argument(rest, 0), "Var");
	t->swapped = emu_part_has(emu_part_argument(rest, 3), "true"); /* training */
	for (int k = 0; k < 3; k++) {
		struct emu_part type = emu_part_argument(rest, kernels[i].types[k]);

		if (emu_part_type(type, &t->in[k]) < 0)
			return -ENOTSUP;
	}
	return 0;
}
