/* SPDX-License-Identifier: Apache-2.0 */

/* Group normalisation (aten/src/ATen/native/cuda/group_norm_kernel.cu), with the channels first,
 * and weight normalisation. in[0] is the type of elements, in[1] that of sums, in which PyTorch
 * computes. Sums are of doubles. */
#include "replay/emugpu/torch/torch.h"

#include <errno.h>
#include <math.h>

static double optional(enum emu_type type, const void *data, int64_t i, double otherwise)
{
	return data ? emu_load(type, data, i) : otherwise;
}

/* RowwiseMomentsContiguousCUDAKernel(columns, epsilon, x, mean, deviation, and both as sums); the
 * non-contiguous one of group normalisation has the same parameters. */
static int run_group_moments(const struct emu_torch *t, const struct gpuemu_launch *l,
			     void *const *args)
{
	int64_t n = emu_int_of(l, args, 0), rows = l->grid[0];
	double epsilon = emu_load(t->in[0], args[1], 0);

	if (l->arg_bytes(l, 6) != 8 || !emu_torch_computes_work((double)n * (double)rows))
		return -ENOTSUP;
	for (int64_t row = 0; row < rows; row++) {
		double mean = 0, square = 0, v;

		for (int64_t i = 0; i < n; i++)
			mean += emu_load(t->in[0], emu_pointer_of(args, 2), row * n + i) /
				(double)n;
		for (int64_t i = 0; i < n; i++) {
			v = emu_load(t->in[0], emu_pointer_of(args, 2), row * n + i) - mean;
			square += v * v / (double)n;
		}
		for (unsigned k = 0; k < 2; k++) {
			enum emu_type type = t->in[k];

			emu_store(type, emu_pointer_of(args, 3 + 2 * k), row, mean);
			emu_store(type, emu_pointer_of(args, 4 + 2 * k), row,
				  1 / sqrt(square + epsilon));
		}
	}
	return 0;
}

/* ComputeFusedParamsCUDAKernel(N, C, groups, mean, deviation, gamma, beta, scale, shift) */
static int run_group_scale(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	int64_t n = emu_int_of(l, args, 0), c = emu_int_of(l, args, 1), g = emu_int_of(l, args, 2);

	if (g < 1 || c < g || !emu_torch_computes_work((double)n * (double)c))
		return -ENOTSUP;
	for (int64_t i = 0; i < n * c; i++) {
		int64_t group = i / (c / g);
		double scale = emu_load(t->in[1], emu_pointer_of(args, 4), group) *
			       optional(t->in[0], emu_pointer_of(args, 5), i % c, 1);

		emu_store(t->in[1], emu_pointer_of(args, 7), i, scale);
		emu_store(t->in[1], emu_pointer_of(args, 8), i,
			  optional(t->in[0], emu_pointer_of(args, 6), i % c, 0) -
				  scale * emu_load(t->in[1], emu_pointer_of(args, 3), group));
	}
	return 0;
}

/* ComputeInternalGradients...(pixels, dy, x, products, sums): of each channel of an image */
static int run_group_sums(const struct emu_torch *t, const struct gpuemu_launch *l,
			  void *const *args)
{
	int64_t n = emu_int_of(l, args, 0);

	if (!emu_torch_computes_work((double)n * l->grid[0]))
		return -ENOTSUP;
	for (int64_t row = 0; row < l->grid[0]; row++) {
		double product = 0, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			double dy = emu_load(t->in[0], emu_pointer_of(args, 1), row * n + i);

			product += dy * emu_load(t->in[0], emu_pointer_of(args, 2), row * n + i);
			sum += dy;
		}
		emu_store(t->in[1], emu_pointer_of(args, 3), row, product);
		emu_store(t->in[1], emu_pointer_of(args, 4), row, sum);
	}
	return 0;
}

/* ComputeBackwardFusedParamsCUDAKernel(C, pixels, groups, mean, deviation, gamma, products, sums,
 * c2, c3), and Compute1dBackwardFusedParamsCUDAKernel(C, groups, dy, x, mean, deviation, gamma, c2,
 * c3), of images with one pixel; t->op is 1 for these. A block for each group. */
static int run_group_factors(const struct emu_torch *t, const struct gpuemu_launch *l,
			     void *const *args)
{
	unsigned one = t->op, mean_at = one ? 4 : 3;
	const void *gamma = emu_pointer_of(args, mean_at + 2);
	int64_t c = emu_int_of(l, args, 0), pixels = one ? 1 : emu_int_of(l, args, 1);
	int64_t g = emu_int_of(l, args, one ? 1 : 2), each = g ? c / g : 0;

	if (each < 1 || !emu_torch_computes_work((double)l->grid[0] * (double)c))
		return -ENOTSUP;
	for (int64_t i = 0; i < l->grid[0] * g; i++) {
		double mean = emu_load(t->in[0], emu_pointer_of(args, mean_at), i);
		double deviation = emu_load(t->in[0], emu_pointer_of(args, mean_at + 1), i);
		double product = 0, sum = 0, x;

		for (int64_t k = i * each; k < (i + 1) * each; k++) {
			double weight = optional(t->in[0], gamma, k % c, 1);
			double dy = one ? emu_load(t->in[0], emu_pointer_of(args, 2), k)
					: emu_load(t->in[1], emu_pointer_of(args, 7), k);

			sum += dy * weight;
			product +=
				weight * (one ? dy * emu_load(t->in[0], emu_pointer_of(args, 3), k)
					      : emu_load(t->in[1], emu_pointer_of(args, 6), k));
		}
		x = (sum * mean - product) * deviation * deviation * deviation /
		    (double)(each * pixels);
		emu_store(t->in[1], emu_pointer_of(args, one ? 7 : 8), i, x);
		emu_store(t->in[1], emu_pointer_of(args, one ? 8 : 9), i,
			  -x * mean - sum * deviation / (double)(each * pixels));
	}
	return 0;
}

/* GammaBetaBackwardCUDAKernel{1,2}(N, C, groups, mean, deviation, products, sums, dgamma, dbeta),
 * and GammaBeta1dBackwardCUDAKernel{1,2}(N, C, groups, dy, x, mean, deviation, dgamma, dbeta). */
static int run_group_weights(const struct emu_torch *t, const struct gpuemu_launch *l,
			     void *const *args)
{
	unsigned one = t->op, mean_at = one ? 5 : 3, from = one ? 3 : 5;
	int64_t n = emu_int_of(l, args, 0), c = emu_int_of(l, args, 1), g = emu_int_of(l, args, 2);
	enum emu_type type = t->in[one ? 0 : 1];
	void *gamma = emu_pointer_of(args, 7), *beta = emu_pointer_of(args, 8);

	if (g < 1 || c < g || !emu_torch_computes_work((double)n * (double)c))
		return -ENOTSUP;
	for (int64_t k = 0; k < c; k++) {
		double product = 0, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			int64_t at = i * c + k, group = i * g + k / (c / g);
			double a = emu_load(type, emu_pointer_of(args, from), at);
			double b = emu_load(type, emu_pointer_of(args, from + 1), at);
			double mean = emu_load(t->in[0], emu_pointer_of(args, mean_at), group);

			product += (one ? a * (b - mean) : a - b * mean) *
				   emu_load(t->in[0], emu_pointer_of(args, mean_at + 1), group);
			sum += one ? a : b;
		}
		if (gamma)
			emu_store(t->in[0], gamma, k, product);
		if (beta)
			emu_store(t->in[0], beta, k, sum);
	}
	return 0;
}

/* weight_norm_fwd_first_dim_kernel(w, norms, v, g, elements of a row),
 * weight_norm_bwd_first_dim_kernel(dv, dg, dw, v, g, norms, elements of a row), and of columns,
 * with the number of columns and their elements: w is v with rows of length g */
static int run_weight_norm(const struct emu_torch *t, const struct gpuemu_launch *l,
			   void *const *args)
{
	unsigned back = t->op & 1, by_columns = t->op & 2, at = back ? 6 : 4;
	int64_t rows = by_columns ? emu_int_of(l, args, at) : l->grid[0];
	int64_t n = emu_int_of(l, args, at + (by_columns ? 1 : 0));
	int64_t step = by_columns ? rows : 1;
	const void *v = emu_pointer_of(args, back ? 3 : 2), *w = back ? emu_pointer_of(args, 2) : v;

	if (n < 1 || !emu_torch_computes_work((double)n * (double)rows))
		return -ENOTSUP;
	for (int64_t row = 0; row < rows; row++) {
		int64_t first = by_columns ? row : row * n;
		double g = emu_load(t->in[0], emu_pointer_of(args, back ? 4 : 3), row);
		double sum = 0, norm;

		for (int64_t i = first, k = 0; k < n; i += step, k++)
			sum += emu_load(t->in[0], w, i) * emu_load(t->in[0], v, i);
		norm = back ? emu_load(t->in[1], emu_pointer_of(args, 5), row) : sqrt(sum);
		emu_store(back ? t->in[0] : t->in[1], emu_pointer_of(args, 1), row,
			  back ? sum / norm : norm);
		sum = back ? sum / norm / norm / norm : 0;
		for (int64_t i = first, k = 0; k < n; i += step, k++)
			emu_store(t->in[0], emu_pointer_of(args, 0), i,
				  g * (emu_load(t->in[0], w, i) / norm -
				       emu_load(t->in[0], v, i) * sum));
	}
	return 0;
}

/* ---- by name ---- */

static const struct {
	const char *name;
	uint8_t type; /* template argument */
	uint8_t op;
	int (*run)(const struct emu_torch *, const struct gpuemu_launch *, void *const *);
	uint8_t params;
} kernels[] = {
	{"RowwiseMomentsContiguousCUDAKernel<", 1, 0, run_group_moments, 7},
	{"ComputeFusedParamsCUDAKernel<", 0, 0, run_group_scale, 9},
	{"ComputeInternalGradientsContiguousCUDAKernel<", 1, 0, run_group_sums, 5},
	{"ComputeInternalGradientsCUDAKernel<", 0, 0, run_group_sums, 5},
	{"ComputeBackwardFusedParamsCUDAKernel<", 0, 0, run_group_factors, 10},
	{"Compute1dBackwardFusedParamsCUDAKernel<", 0, 1, run_group_factors, 9},
	{"GammaBetaBackwardCUDAKernel1<", 0, 0, run_group_weights, 9},
	{"GammaBetaBackwardCUDAKernel2<", 0, 0, run_group_weights, 9},
	{"GammaBeta1dBackwardCUDAKernel1<", 0, 1, run_group_weights, 9},
	{"GammaBeta1dBackwardCUDAKernel2<", 0, 1, run_group_weights, 9},
	{"weight_norm_fwd_first_dim_kernel<", 0, 0, run_weight_norm, 5},
	{"weight_norm_bwd_first_dim_kernel<", 0, 1, run_weight_norm, 7},
	{"weight_norm_fwd_last_dim_kernel<", 0, 2, run_weight_norm, 6},
	{"weight_norm_bwd_last_dim_kernel<", 0, 3, run_weight_norm, 8},
};

int emu_torch_groups(struct emu_torch *t, struct emu_part name)
{
	struct emu_part rest;
	int i = EMU_TORCH_ROW(kernels, name, &rest);

	if (i < 0)
		return -ENOTSUP;
	t->op = kernels[i].op;
	t->run = kernels[i].run;
	t->params = kernels[i].params;
	if (emu_part_type(emu_part_argument(rest, kernels[i].type), &t->in[0]) < 0)
		return -ENOTSUP;
	t->in[1] = emu_torch_computes(t->in[0]);
	return 0;
}
