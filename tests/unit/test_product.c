/* SPDX-License-Identifier: Apache-2.0 */

/* Waves and power of products, and the order of models. */
#include "replay/cost/product.h"

#include "tests/unit/cost.h"

#include <math.h>

/* The memory takes its part of the power: a product of many bytes has a lower clock. */
TEST(power_of_the_memory)
{
	struct gpuemu_product square = {.m = 4096, .n = 4096, .k = 4096, .batch = 1};
	struct gpuemu_product small = {.m = 128, .n = 128, .k = 128, .batch = 4096};
	struct cost_gpu t4 = gpu_of("T4"), free = t4;

	free.memory_joules_per_byte = 1e-15;
	ck_assert(cost_of_product(&t4, &square, GPUEMU_FP32, 1e9).ns <
		  1.1 * cost_of_product(&free, &square, GPUEMU_FP32, 1e9).ns);
	ck_assert(cost_of_product(&t4, &small, GPUEMU_FP32, 1e9).ns >
		  1.1 * cost_of_product(&free, &small, GPUEMU_FP32, 1e9).ns);
}

/* Each wave of blocks reads a long operand again, unless the L2 cache holds it. */
TEST(waves_of_products)
{
	struct gpuemu_product p = {.m = 65536, .n = 2048, .k = 1024, .batch = 1};
	struct cost_gpu g = gpu_of("V100-PCIE-32GB");
	double once = 4 * (65536 + 2048) * 1024.0, ns;

	g.memory_bytes_per_s = 1e11;
	ns = cost_of_product(&g, &p, GPUEMU_FP32, 0).ns;
	ck_assert(ns > 4 * once / g.memory_bytes_per_s * 1e9);
	g.l2_bytes = 4 * once;
	ck_assert(cost_of_product(&g, &p, GPUEMU_FP32, 0).ns < ns / 2);
}

/* A matrix times a vector takes the time of reading the matrix, on every model. */
TEST(vectors)
{
	static const enum gpuemu_math maths[] = {GPUEMU_FP32, GPUEMU_FP16};

	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);

		for (int i = 0; i < 8; i++) {
			struct gpuemu_product p = {.m = i & 1 ? 1 : 32768,
						   .n = i & 1 ? 32768 : 1,
						   .k = 32768,
						   .batch = 1,
						   .a_transposed = i & 2};
			enum gpuemu_math math = maths[i / 4];
			double bytes = p.k * p.k * cost_element_bytes(math);
			double rate = bytes / cost_of_product(&g, &p, math, COST_BUSY_NS).ns * 1e9;

			ck_assert_msg(rate > 0.7 * g.memory_bytes_per_s &&
					      rate < 1.07 * g.memory_bytes_per_s,
				      "%s, %d: %g", t->name, i, rate);
		}
	}
}

/* Half precision is not slower, however small the product is. */
TEST(half_precision)
{
	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);

		for (double m = 1; m < 5000; m = 2 * m + 1)
			for (double k = 8; k < 5000; k *= 8) {
				struct gpuemu_product p = {.m = m, .n = 50257, .k = k, .batch = 1};
				double ns = cost_of_product(&g, &p, GPUEMU_FP32, 0).ns;

				ck_assert_msg(cost_of_product(&g, &p, GPUEMU_FP16, 0).ns <= ns,
					      "%s: %g, %g", t->name, m, k);
			}
	}
}

/* Returns the time of a product of as many operations with rows of k elements. */
static double long_rows_ns(const struct cost_gpu *g, double k, int transposed)
{
	struct gpuemu_product p = {
		.m = 4096, .n = 4096 * 65536 / k, .k = k, .batch = 1, .a_transposed = transposed};

	return cost_of_product(g, &p, GPUEMU_FP32, COST_BUSY_NS).ns;
}

/* A tile reads a slice of each row of transposed operands: of long rows, each in another page; on a
 * P100, from a row of the memory that is opened for it alone. */
TEST(slices_of_rows)
{
	struct cost_gpu p100 = gpu_of("P100"), v100 = gpu_of("V100");

	ck_assert(long_rows_ns(&p100, 65536, 1) > 2 * long_rows_ns(&p100, 2048, 1));
	ck_assert(long_rows_ns(&v100, 65536, 1) > 1.01 * long_rows_ns(&v100, 2048, 1));
	ck_assert(long_rows_ns(&v100, 65536, 1) < 1.3 * long_rows_ns(&v100, 2048, 1));
	ck_assert(long_rows_ns(&p100, 2048, 1) > 1.1 * long_rows_ns(&p100, 2048, 0));
}

static double rows_ns(const char *gpu, const char *name, double rows)
{
	struct cost_gpu g = gpu_of(gpu);
	struct cost_launch l = {.name = name,
				.grid = {(uint32_t)rows, 1, 1},
				.block = {128, 1, 1},
				.columns = 512,
				.elements = rows * 512};

	return cost_of_kernel(&g, &l).ns;
}

/* A newer model is not slower, a larger operation not shorter, and memory sets the time of long
 * element-wise kernels, on models without measurements, too. */
TEST(order_of_models)
{
	static const char *const newer[][2] = {{"A100-PCIE-40GB", "A100-SXM4-80GB"},
					       {"A100-SXM4-80GB", "H100-SXM5"},
					       {"H100-SXM5", "H200"},
					       {"H200", "B200"},
					       {"T4", "V100-PCIE-32GB"},
					       {"L4", "L40S"}};
	static const char *const kernels[] = {
		GELU, "vectorized_layer_norm_kernel<float, float>",
		"softmax_warp_forward<float, float, float, 10, false, false>"};

	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		struct cost_gpu g = gpu_of(newer[i][0]), h = gpu_of(newer[i][1]);
		double last = 0;

		for (double n = 512; n < 20000; n *= 2) {
			struct gpuemu_product p = {.m = n, .n = n, .k = n, .batch = 1};
			double ns = cost_of_product(&g, &p, GPUEMU_FP32, 0).ns;

			ck_assert_msg(cost_of_product(&h, &p, GPUEMU_FP32, 0).ns <= 1.02 * ns,
				      "%s %g: %g", newer[i][1], n, ns);
			ck_assert_msg(ns >= last, "%s %g", newer[i][0], n);
			last = ns;
		}
		for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++)
			for (double n = 1024; n < 200000; n *= 2) {
				double ns = rows_ns(newer[i][0], kernels[k], n);

				ck_assert_msg(rows_ns(newer[i][1], kernels[k], n) <= 1.02 * ns,
					      "%s %s %g", newer[i][1], kernels[k], n);
				ck_assert(rows_ns(newer[i][0], kernels[k], 2 * n) > ns);
			}
	}
	double ratio = rows_ns("T4", GELU, 1e6) / rows_ns("L4", GELU, 1e6);

	ck_assert_msg(fabs(ratio - 300 * 0.80 / (320 * 0.767)) < 0.02, "%f", ratio);
}

/* The instructions of a layer norm fill a multiprocessor that holds half as many threads, too, as a
 * T4's. */
TEST(rows_at_once)
{
	struct cost_gpu g = gpu_of("V100-PCIE-32GB"), half = g;
	struct cost_launch l = {.name = "vectorized_layer_norm_kernel<float, float>",
				.grid = {65536, 1, 1},
				.block = {32, 4, 1},
				.columns = 256};

	half.threads_per_sm /= 2;
	ck_assert(cost_of_kernel(&half, &l).ns < 1.1 * cost_of_kernel(&g, &l).ns);
}
