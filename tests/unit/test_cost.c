/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cost/name.h"
#include "replay/cost/product.h"

#include "tests/unit/cost.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	enum cost_class class;
	unsigned items, arrays, bytes, tile_m, tile_n;
	enum gpuemu_math math;
} names[] = {
	{GELU, COST_CLASS_ELEMENTWISE, 4, 2, 4, 0, 0, GPUEMU_FP32},
	{VECTOR "CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >(int, F, A)",
	 COST_CLASS_ELEMENTWISE, 4, 3, 2, 0, 0, GPUEMU_FP16},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(R)",
	 COST_CLASS_REDUCTION, 0, 0, 4, 0, 0, GPUEMU_FP32},
	{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(float*)",
	 COST_CLASS_SOFTMAX, 0, 2, 4, 0, 0, GPUEMU_FP32},
	{"void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)",
	 COST_CLASS_LAYER_NORM, 0, 2, 2, 0, 0, GPUEMU_FP16},
	{"void pytorch_flash::flash_fwd_kernel<T<64, 128, cutlass::bfloat16_t>, true, true>(P)",
	 COST_CLASS_ATTENTION, 0, 0, 0, 0, 0, GPUEMU_FP16},
	{"ampere_sgemm_32x128_tn", COST_CLASS_PRODUCT, 0, 0, 0, 32, 128, GPUEMU_FP32},
	{"volta_h884gemm_256x128_ldg8_nn", COST_CLASS_PRODUCT, 0, 0, 0, 256, 128, GPUEMU_FP16},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_stage3", COST_CLASS_PRODUCT, 0, 0,
	 0, 128, 64, GPUEMU_FP32},
	{"cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", COST_CLASS_CONVOLUTION, 0, 0, 0, 128,
	 64, GPUEMU_FP32},
	{"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(P)",
	 COST_CLASS_BATCH_NORM, 0, 0, 4, 0, 0, GPUEMU_FP32},
	{"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int, P)",
	 COST_CLASS_POOLING, 0, 0, 4, 0, 0, GPUEMU_FP32},
	{"my_kernel(float*, int)", COST_CLASS_UNKNOWN, 0, 0, 4, 0, 0, GPUEMU_FP32},
};

TEST_EACH(classes_of_names, sizeof(names) / sizeof(names[0]))
{
	struct cost_name n = cost_name_of(names[_i].name);

	ck_assert_str_eq(cost_class_names[n.class], cost_class_names[names[_i].class]);
	ck_assert_uint_eq(n.items, names[_i].items);
	ck_assert_uint_eq(n.arrays, names[_i].arrays);
	if (names[_i].bytes)
		ck_assert_uint_eq(n.bytes, names[_i].bytes);
	ck_assert_uint_eq(n.tile_m, names[_i].tile_m);
	ck_assert_uint_eq(n.tile_n, names[_i].tile_n);
	ck_assert_uint_eq(n.math, names[_i].math);
}

/* Short names and the names of devices are aliases. */
TEST(names_of_models)
{
	static const char *const same[][2] = {
		{"H100", "H100-SXM5"},
		{"A100", "A100-SXM4-80GB"},
		{"V100", "V100-SXM2-16GB"},
		{"NVIDIA H100 80GB HBM3", "H100-SXM5"},
	};
	struct cost_gpu g;
	char why[400];

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct cost_gpu a = gpu_of(same[i][0]), b = gpu_of(same[i][1]);

		ck_assert_mem_eq(&a, &b, sizeof(a));
	}
	ck_assert(cost_gpu_load("H10", &g, why, sizeof(why)) < 0);
	ck_assert(strstr(why, "H100-SXM5"));
}

/* No duration is shorter than the peaks allow, on any model, for any type, shape and size. */
TEST(nothing_beyond_the_peaks)
{
	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);

		for (int math = 0; math < GPUEMU_MATHS; math++)
			for (double n = 16; n < 40000; n *= 3) {
				struct gpuemu_product p = {.m = n, .n = 2 * n, .k = n, .batch = 1};
				struct gpuemu_convolution c = {.batch = 64,
							       .in_channels = n,
							       .out_channels = n,
							       .groups = 1,
							       .in = {1, 28, 28},
							       .out = {1, 28, 28},
							       .kernel = {1, 3, 3},
							       .stride = {1, 1, 1},
							       .dilation = {1, 1, 1}};
				double seconds = cost_of_product(&g, &p, math, 0).ns / 1e9;

				ck_assert(4 * n * n * n / seconds <= cost_peak(&g, math));
				/* Winograd's transformation saves up to three quarters. */
				seconds = cost_of_convolution(&g, &c, math, 0).ns / 1e9;
				ck_assert(2 * 64 * 28 * 28 * 9 * n * n / 4 / seconds <=
					  cost_peak(&g, math));
			}
		for (uint32_t blocks = 1; blocks < 1u << 22; blocks *= 7) {
			struct cost_launch l = {
				.name = GELU, .grid = {blocks, 1, 1}, .block = {128, 1, 1}};
			struct cost c = cost_of_kernel(&g, &l);

			ck_assert(c.bytes == blocks * 128.0 * 4 * 8);
			ck_assert((c.bytes - g.l2_bytes) / (c.ns / 1e9) <= g.memory_bytes_per_s);
			ck_assert(c.memory >= 0 && c.memory <= 1);
		}
	}
}

/* A recorded kernel on the same GPU takes the recorded time; on another, the models decide. */
TEST(recorded_kernels_elsewhere)
{
	struct cost_gpu a = gpu_of("A100"), h = gpu_of("H100");
	struct cost_launch kernels[] = {
		{.name = GELU, .grid = {100000, 1, 1}, .block = {128, 1, 1}},
		{.name = "ampere_sgemm_128x64_tn", .grid = {64, 64, 1}, .block = {128, 1, 1}},
		{.name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
		 .grid = {64, 64, 1},
		 .block = {128, 1, 1}},
		{.name = "mine(float*)", .grid = {1000, 1, 1}, .block = {256, 1, 1}},
	};
	static const double faster[][2] = {{1.4, 2}, {1.8, 3.2}, {1.5, 3.2}, {1.4, 2}};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		double same = cost_on_other_gpu(&a, &a, &kernels[i], 1e6).ns;
		double ratio = 1e6 / cost_on_other_gpu(&a, &h, &kernels[i], 1e6).ns;

		ck_assert_msg(fabs(same - 1e6) < 1e4, "%s: %f", kernels[i].name, same);
		ck_assert_msg(ratio > faster[i][0] && ratio < faster[i][1], "%s: %f times",
			      kernels[i].name, ratio);
	}
	ck_assert_int_eq(cost_on_other_gpu(&a, &h, &kernels[3], 1e6).source, COST_UNKNOWN);
	ck_assert_int_eq(cost_on_other_gpu(&a, &h, &kernels[1], 1e6).source, COST_MEASURED);
}

/* Power limits the products of a T4; the limit is lower for longer products. */
TEST(limits_of_power)
{
	struct cost_gpu t4 = gpu_of("T4"), v100 = gpu_of("V100-PCIE-32GB"), l40s = gpu_of("L40S");

	ck_assert(cost_clock(&t4, 1e4) > 0.9 && cost_clock(&t4, 1e9) < 0.6);
	ck_assert(cost_clock(&t4, 1e5) > cost_clock(&t4, 1e6));
	ck_assert(cost_clock(&v100, 1e9) == 1);
	/* Not measured: it follows from operations per joule and the power of the board. */
	ck_assert(l40s.sustained_clock ==
		  cost_gpu_watts(&l40s) * l40s.operations_per_joule / l40s.fp32);
	ck_assert(cost_clock(&l40s, 1e9) < 0.97);
	/* The measured clock of a T4 follows from that of a V100, which has the same process. */
	ck_assert(t4.process_nm == v100.process_nm);
	ck_assert(fabs(cost_gpu_watts(&t4) / cost_gpu_watts(&v100) * v100.fp32 / t4.fp32 -
		       t4.sustained_clock) < 0.05);
}

/* Convolutions of ResNet-50 (channels, filter size, stride, input size), a depthwise one of
 * MobileNet, one of audio, and one of video. */
static const struct {
	const char *name;
	double in_channels, out_channels, groups, kernel[3], stride[3], in[3];
} layers[] = {
	{"first", 3, 64, 1, {1, 7, 7}, {1, 2, 2}, {1, 224, 224}},
	{"1x1 64", 64, 64, 1, {1, 1, 1}, {1, 1, 1}, {1, 56, 56}},
	{"3x3 64", 64, 64, 1, {1, 3, 3}, {1, 1, 1}, {1, 56, 56}},
	{"1x1 64-256", 64, 256, 1, {1, 1, 1}, {1, 1, 1}, {1, 56, 56}},
	{"1x1 256-64", 256, 64, 1, {1, 1, 1}, {1, 1, 1}, {1, 56, 56}},
	{"1x1 256-128", 256, 128, 1, {1, 1, 1}, {1, 1, 1}, {1, 56, 56}},
	{"3x3 128 s2", 128, 128, 1, {1, 3, 3}, {1, 2, 2}, {1, 56, 56}},
	{"1x1 128-512", 128, 512, 1, {1, 1, 1}, {1, 1, 1}, {1, 28, 28}},
	{"1x1 256-512 s2", 256, 512, 1, {1, 1, 1}, {1, 2, 2}, {1, 56, 56}},
	{"1x1 512-128", 512, 128, 1, {1, 1, 1}, {1, 1, 1}, {1, 28, 28}},
	{"3x3 128", 128, 128, 1, {1, 3, 3}, {1, 1, 1}, {1, 28, 28}},
	{"1x1 512-256", 512, 256, 1, {1, 1, 1}, {1, 1, 1}, {1, 28, 28}},
	{"3x3 256 s2", 256, 256, 1, {1, 3, 3}, {1, 2, 2}, {1, 28, 28}},
	{"1x1 256-1024", 256, 1024, 1, {1, 1, 1}, {1, 1, 1}, {1, 14, 14}},
	{"1x1 512-1024 s2", 512, 1024, 1, {1, 1, 1}, {1, 2, 2}, {1, 28, 28}},
	{"1x1 1024-256", 1024, 256, 1, {1, 1, 1}, {1, 1, 1}, {1, 14, 14}},
	{"3x3 256", 256, 256, 1, {1, 3, 3}, {1, 1, 1}, {1, 14, 14}},
	{"1x1 1024-512", 1024, 512, 1, {1, 1, 1}, {1, 1, 1}, {1, 14, 14}},
	{"3x3 512 s2", 512, 512, 1, {1, 3, 3}, {1, 2, 2}, {1, 14, 14}},
	{"1x1 512-2048", 512, 2048, 1, {1, 1, 1}, {1, 1, 1}, {1, 7, 7}},
	{"1x1 1024-2048 s2", 1024, 2048, 1, {1, 1, 1}, {1, 2, 2}, {1, 14, 14}},
	{"1x1 2048-512", 2048, 512, 1, {1, 1, 1}, {1, 1, 1}, {1, 7, 7}},
	{"3x3 512", 512, 512, 1, {1, 3, 3}, {1, 1, 1}, {1, 7, 7}},
	{"groups 32", 128, 128, 32, {1, 3, 3}, {1, 1, 1}, {1, 56, 56}},
	{"depthwise", 96, 96, 96, {1, 3, 3}, {1, 2, 2}, {1, 112, 112}},
	{"1d", 64, 64, 1, {1, 1, 9}, {1, 1, 1}, {1, 1, 16000}},
	{"3d", 64, 64, 1, {3, 3, 3}, {1, 1, 1}, {8, 56, 56}},
};

static struct gpuemu_convolution layer_of(int i, double batch)
{
	struct gpuemu_convolution c = {.batch = batch,
				       .in_channels = layers[i].in_channels,
				       .out_channels = layers[i].out_channels,
				       .groups = layers[i].groups};

	for (int d = 0; d < 3; d++) {
		c.in[d] = layers[i].in[d];
		c.out[d] = ceil(layers[i].in[d] / layers[i].stride[d]);
		c.kernel[d] = layers[i].kernel[d];
		c.stride[d] = layers[i].stride[d];
		c.dilation[d] = 1;
	}
	return c;
}

static int layer_named(const char *name)
{
	int i = 0;

	while (strcmp(layers[i].name, name) != 0)
		i++;
	return i;
}

static double volume(const double v[3])
{
	return v[0] * v[1] * v[2];
}

/* A gradient has as many operations as the convolution and uses as many multiprocessors, even the
 * filter gradient, whose result is small. Returns the time of the convolution. */
static double check_gradients(const struct cost_gpu *g, int i, double batch, enum gpuemu_math math)
{
	struct gpuemu_convolution c = layer_of(i, batch);
	double filters = c.in_channels * c.out_channels / c.groups * volume(c.kernel);
	double operations = 2 * batch * volume(c.out) * filters;
	double element = math == GPUEMU_FP16 ? 2 : 4;
	double read = fmin(1, volume(c.kernel) / volume(c.stride)); /* the stride skips the rest */
	double bytes = element * batch *
		       (c.in_channels * volume(c.in) * read + c.out_channels * volume(c.out));
	double forward_ns = cost_of_convolution(g, &c, math, COST_BUSY_NS).ns;

	for (int way = GPUEMU_FORWARD; way <= GPUEMU_FILTER_GRADIENT; way++) {
		c.direction = (enum gpuemu_direction)way;
		double ns = cost_of_convolution(g, &c, math, COST_BUSY_NS).ns;

		/* Winograd's transformation saves up to three quarters. */
		ck_assert(operations / 4 / (ns / 1e9) <= cost_peak(g, math));
		ck_assert((bytes - g->l2_bytes) / (ns / 1e9) <= g->memory_bytes_per_s);
		/* Three channels of a result leave most of a tensor core's tile unused. */
		if (way == GPUEMU_DATA_GRADIENT && c.in_channels < 8 && math != GPUEMU_FP32)
			continue;
		ck_assert_msg(ns <= 3.3 * forward_ns, "%s, %s, math %d, batch %g, way %d: %f times",
			      g->name, layers[i].name, math, batch, way, ns / forward_ns);
	}
	return forward_ns;
}

TEST_EACH(gradients_of_convolutions, sizeof(layers) / sizeof(layers[0]))
{
	static const enum gpuemu_math maths[] = {GPUEMU_FP32, GPUEMU_TF32, GPUEMU_FP16};

	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);

		for (size_t m = 0; m < sizeof(maths) / sizeof(maths[0]); m++) {
			double last_ns = 0;

			for (double batch = 2; batch <= 256; batch *= 4) {
				double ns = check_gradients(&g, _i, batch, maths[m]);

				ck_assert(last_ns < 1.05 * ns); /* a smaller batch is not slower */
				last_ns = ns;
			}
		}
	}
}

/* Channels in groups of their own take little more than the time of their bytes. */
TEST(depthwise_convolutions)
{
	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);
		struct gpuemu_convolution c = layer_of(sizeof(layers) / sizeof(layers[0]) - 3, 64);
		double bytes = 4 * 64 * 96 * (volume(c.in) + volume(c.out));

		ck_assert_str_eq(layers[sizeof(layers) / sizeof(layers[0]) - 3].name, "depthwise");
		for (int way = GPUEMU_FORWARD; way <= GPUEMU_FILTER_GRADIENT; way++) {
			c.direction = (enum gpuemu_direction)way;
			double ns = cost_of_convolution(&g, &c, GPUEMU_FP32, 0).ns;

			ck_assert_msg(ns <= 2e9 * bytes / g.memory_bytes_per_s, "%s, %d: %f",
				      t->name, way, ns);
		}
	}
}

/* Published rates of attention, in operations per second. */
static const struct {
	const char *gpu;
	double width;
	int backward, causal, by_warps;
	double least, most;
} attentions[] = {
	{"H100", 128, 0, 0, 0, 520e12, 680e12}, {"H100", 128, 1, 0, 0, 440e12, 580e12},
	{"H100", 64, 0, 0, 0, 380e12, 500e12},	{"A100", 128, 0, 0, 0, 180e12, 230e12},
	{"A100", 64, 0, 0, 0, 160e12, 200e12},	{"A100", 128, 1, 0, 0, 160e12, 210e12},
	{"H100", 128, 0, 1, 0, 470e12, 620e12}, {"H100", 128, 1, 1, 0, 400e12, 560e12},
	{"H100", 128, 0, 0, 1, 340e12, 430e12}, {"A100", 128, 0, 0, 1, 180e12, 230e12},
};

TEST_EACH(rates_of_attention, sizeof(attentions) / sizeof(attentions[0]))
{
	struct cost_gpu g = gpu_of(attentions[_i].gpu);
	int backward = attentions[_i].backward, causal = attentions[_i].causal;
	struct gpuemu_product p = {.m = 4096, .n = 4096, .k = attentions[_i].width, .batch = 128};
	double operations = (backward ? 10 : 4) * p.m * p.n * p.k * p.batch / (causal ? 2 : 1);
	struct cost_attention a = {.scores = p,
				   .backward = backward,
				   .causal = causal,
				   .by_warps = attentions[_i].by_warps};
	double ns = cost_of_attention(&g, &a, GPUEMU_FP16).ns;
	double rate = operations / (ns / 1e9);

	ck_assert_msg(rate > attentions[_i].least && rate < attentions[_i].most, "%g", rate);
}

/* FlashAttention 2 on an A100, causal, 16384 tokens of 32 heads of 64: sequences of 1024 reach
 * about two thirds of the rate of one of 16384. */
TEST(attention_of_short_sequences)
{
	struct cost_gpu g = gpu_of("A100");
	double ns[2];

	for (int i = 0; i < 2; i++) {
		double n = i ? 16384 : 1024;
		struct cost_attention a = {
			.scores = {.m = n, .n = n, .k = 64, .batch = 32 * 16384 / n},
			.causal = 1,
			.by_warps = 1};

		ns[i] = cost_of_attention(&g, &a, GPUEMU_FP16).ns / n;
	}
	ck_assert_msg(ns[1] / ns[0] > 0.6 && ns[1] / ns[0] < 0.8, "%f", ns[1] / ns[0]);
}

/* With one query for each head, memory bandwidth limits the rate, and all multiprocessors read. */
TEST(attention_of_one_query)
{
	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);
		struct gpuemu_product p = {.m = 1 << 20, .n = 1, .k = 128, .batch = 8};
		double bytes = 2 * p.batch * 2 * (p.m + 1) * p.k;
		struct cost_attention a = {.scores = p};
		double rate = bytes / (cost_of_attention(&g, &a, GPUEMU_FP16).ns / 1e9);

		ck_assert_msg(rate < g.memory_bytes_per_s && rate > g.memory_bytes_per_s / 3,
			      "%s: %g", t->name, rate);
	}
}

/* GPUs without TF32 compute in FP32. */
TEST(tensor_cores_without_tf32)
{
	struct cost_gpu v100 = gpu_of("V100"), a100 = gpu_of("A100");
	struct gpuemu_convolution c = layer_of(2, 32);

	ck_assert(cost_of_convolution(&v100, &c, GPUEMU_TF32, 0).ns ==
		  cost_of_convolution(&v100, &c, GPUEMU_FP32, 0).ns);
	ck_assert(cost_of_convolution(&a100, &c, GPUEMU_TF32, 0).ns <
		  cost_of_convolution(&a100, &c, GPUEMU_FP32, 0).ns);
}

static double layer_ns(const char *gpu, int layer, enum gpuemu_math math, int channels_last)
{
	struct cost_gpu g = gpu_of(gpu);
	struct gpuemu_convolution c = layer_of(layer, 64);

	c.channels_last = channels_last;
	return cost_of_convolution(&g, &c, math, COST_BUSY_NS).ns;
}

static double batch_norm_ns(const struct cost_gpu *g, uint32_t channels, double bytes)
{
	struct cost_launch l = {.name = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(P)",
				.grid = {channels, 1, 1},
				.block = {512, 1, 1},
				.bytes = bytes};

	return cost_of_kernel(g, &l).ns;
}

/* A block waits for the loads of a channel, and no second block fits on its multiprocessor: few
 * channels take longer than their bytes, and so do many where the memory is fast. */
TEST(channels_of_batch_norm)
{
	for (const struct cost_gpu_text *t = cost_gpu_texts; t->name; t++) {
		struct cost_gpu g = gpu_of(t->name);
		double peak_ns = 1e9 * 4e9 / g.memory_bytes_per_s;
		double many_ns = batch_norm_ns(&g, 16 * (uint32_t)g.sms, 4e9);

		ck_assert_msg(many_ns > peak_ns && many_ns < 2.7 * peak_ns, "%s: %f of %f", t->name,
			      many_ns, peak_ns);
	}
	struct cost_gpu g = gpu_of("H200");
	double ratio = batch_norm_ns(&g, 32, 4e9) / batch_norm_ns(&g, 64, 4e9);

	ck_assert_msg(ratio > 1.95 && ratio < 2.01, "%f", ratio);
}

/* Tensor cores read neighbouring channels. Other orders are changed, but not for products. */
TEST(order_of_channels)
{
	const int layer = layer_named("3x3 64"), product = layer_named("1x1 64-256");
	struct gpuemu_convolution c = layer_of(layer, 64);
	double bytes = 4 * 64 * (c.in_channels * volume(c.in) + c.out_channels * volume(c.out));
	double copies_ns = 2e9 * bytes / gpu_of("A100").memory_bytes_per_s;
	double ns = layer_ns("A100", layer, GPUEMU_TF32, 1);
	double more_ns = layer_ns("A100", layer, GPUEMU_TF32, 0) - ns;

	ck_assert_msg(more_ns > copies_ns && more_ns < 2 * copies_ns, "%f", more_ns);
	ck_assert_double_eq(layer_ns("A100", layer, GPUEMU_FP32, 0),
			    layer_ns("A100", layer, GPUEMU_FP32, 1));
	ck_assert_double_eq(layer_ns("A100", product, GPUEMU_TF32, 0),
			    layer_ns("A100", product, GPUEMU_TF32, 1));
}

/* A gradient of the data with a stride longer than the filter is zero between the steps, which is
 * written before. */
TEST(zeros_between_steps)
{
	struct cost_gpu g = gpu_of("A100");
	struct gpuemu_convolution c = layer_of(layer_named("1x1 64-256"), 64);

	c.channels_last = 1;
	c.direction = GPUEMU_DATA_GRADIENT;
	for (int d = 1; d < 3; d++) {
		c.stride[d] = 2;
		c.out[d] = c.in[d] / 2;
	}
	double bytes = 4 * 64 * c.in_channels * volume(c.in); /* and as many read */
	double ns = cost_of_convolution(&g, &c, GPUEMU_TF32, COST_BUSY_NS).ns;
	double peak_ns = 1e9 * 2.25 * bytes / g.memory_bytes_per_s;

	ck_assert_msg(ns > peak_ns && ns < 2 * peak_ns, "%f of %f", ns, peak_ns);
}

/* 50257 words take tensor cores thrice as long as 50304; FP32 about as long. */
TEST(rows_without_alignment)
{
	struct cost_gpu g = gpu_of("A100");
	double ratios[2];
	static const enum gpuemu_math maths[] = {GPUEMU_FP16, GPUEMU_FP32};

	for (int i = 0; i < 2; i++) {
		struct gpuemu_product p = {.m = 50304, .n = 12288, .k = 768, .batch = 1};
		double ns = cost_of_product(&g, &p, maths[i], COST_BUSY_NS).ns;

		p.m = 50257;
		ratios[i] = cost_of_product(&g, &p, maths[i], COST_BUSY_NS).ns / ns;
	}
	ck_assert_msg(ratios[0] > 2.5 && ratios[0] < 4.5, "%f", ratios[0]);
	ck_assert_msg(ratios[1] < 1.3, "%f", ratios[1]);
}

/* Tensor cores take as long for the three channels of an image as for a row of shared memory. */
TEST(padding_of_channels)
{
	struct cost_gpu g = gpu_of("H100");
	struct gpuemu_convolution c = layer_of(layer_named("first"), 64);

	c.channels_last = 1;
	double ns = cost_of_convolution(&g, &c, GPUEMU_TF32, COST_BUSY_NS).ns;

	c.in_channels = 32;
	double full_ns = cost_of_convolution(&g, &c, GPUEMU_TF32, COST_BUSY_NS).ns;

	ck_assert_msg(ns > 0.7 * full_ns && ns <= full_ns, "%f of %f", ns, full_ns);
}
