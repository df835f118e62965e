/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/emugpu/torch/offsets.h"
#include "replay/emugpu/torch/work.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NATIVE "void at::native::"
#define VECTORIZED NATIVE "vectorized_elementwise_kernel<4, at::native::"
#define ARRAY(n) ", std::array<char*, " n "ul>, false>(int, F, std::array<char*, " n "ul>)"
#define STRIDED                                                                                    \
	NATIVE "elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<"               \
	       "at::native::CUDAFunctor_add<float> >(F)::{lambda(int)#1}>(int, L)"

static const size_t *sizes; /* bytes of each parameter of a launch; 0 ends the list */

static size_t arg_bytes(const struct gpuemu_launch *launch, unsigned i)
{
	for (unsigned k = 0; k <= i; k++)
		if (!sizes[k])
			return 0;
	return sizes[i];
}

static struct cost_launch work_of(const char *name, uint32_t blocks, uint32_t threads,
				  void *const *args, const size_t *bytes)
{
	struct cost_name kind = cost_name_of(name);
	struct gpuemu_launch l = {
		.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arg_bytes = arg_bytes};
	struct cost_launch ret = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};

	sizes = bytes;
	emu_torch_work(&kind, &l, args, &ret);
	return ret;
}

/* Bytes of an element of all tensors, by the types in the names of element-wise kernels. */
static const struct {
	const char *name;
	unsigned arrays, bytes;
} elementwise[] = {
	{VECTORIZED "CUDAFunctor_add<float>" ARRAY("3"), 3, 12},
	{VECTORIZED "CUDAFunctor_add<c10::BFloat16>" ARRAY("3"), 3, 6},
	{VECTORIZED
	 "exp_kernel_cuda(I&)::{lambda()#2}::operator()() const::{lambda(float)#1}" ARRAY("2"),
	 2, 8},
	{VECTORIZED
	 "converting_copy_kernel_cuda<float, c10::BFloat16>(I&)::{lambda(float)#1}" ARRAY("2"),
	 2, 6},
	{VECTORIZED "bfloat16_copy_kernel_cuda(I&)::{lambda(float)#1}" ARRAY("2"), 2, 6},
	{VECTORIZED "compare_scalar_kernel<float>(I&, OpType, float)::{lambda(float)#1}" ARRAY("2"),
	 2, 5},
	{VECTORIZED "where_kernel_impl(I&)::{lambda()#1}::operator()() const::"
		    "{lambda(bool, unsigned int, unsigned int)#1}" ARRAY("4"),
	 4, 13},
	{VECTORIZED
	 "BinaryFunctor<double, double, bool, at::native::CompareEqFunctor<double> >" ARRAY("3"),
	 3, 17},
	{VECTORIZED
	 "AUnaryFunctor<float, float, float, binary_internal::MulFunctor<float> >" ARRAY("2"),
	 2, 8},
};

TEST_EACH(types_of_elements, ARRAY_SIZE(elementwise))
{
	char tensors[4];
	void *data[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
	int32_t n = 1000, functor = 0;
	void *args[] = {&n, &functor, data};
	const size_t bytes[] = {4, 4, 8 * elementwise[_i].arrays, 0};
	struct cost_launch l = work_of(elementwise[_i].name, 10, 128, args, bytes);

	ck_assert(l.elements == n);
	ck_assert_msg(l.bytes == (double)n * elementwise[_i].bytes, "%s: %f", elementwise[_i].name,
		      l.bytes);
	ck_assert(l.held_bytes == l.bytes);
	data[1] = data[0]; /* in place */
	l = work_of(elementwise[_i].name, 10, 128, args, bytes);
	ck_assert(l.bytes == (double)n * elementwise[_i].bytes);
	ck_assert(l.held_bytes < l.bytes);
}

/* A lambda of a strided kernel with three float tensors of 1024 rows and columns. */
struct lambda {
	int32_t dims;
	uint32_t sizes[EMU_OFFSETS_DIMS][3], strides[EMU_OFFSETS_DIMS][3];
	char *data[3];
	float alpha, rest[3];
};

TEST(strides_of_elements)
{
	static char tensors[3];
	struct lambda f = {.dims = 2,
			   .sizes = {{1024}, {1024}},
			   .strides = {{4, 4, 4}, {4096, 4096, 0}},
			   .data = {&tensors[0], &tensors[1], &tensors[2]}};
	const size_t bytes[] = {4, sizeof(f), 0};
	int32_t n = 1 << 20;
	void *args[] = {&n, &f};
	struct cost_launch l = work_of(STRIDED, 4096, 128, args, bytes);

	/* The third tensor is one row that is broadcast to all rows. */
	ck_assert(l.bytes == 2.0 * 4 * n + 4096);
	ck_assert(l.sector_bytes < l.bytes * 1.1);
	ck_assert(l.read_bytes == 4.0 * n + 4096);

	/* One tensor is transposed: each of its elements is in a different sector. */
	f.strides[0][1] = 4096;
	f.strides[1][1] = 4;
	l = work_of(STRIDED, 4096, 128, args, bytes);
	ck_assert(l.bytes == 2.0 * 4 * n + 4096);
	ck_assert(l.sector_bytes >= 28.0 * n);
}

/* Kernels on lists of tensors: lists of the metadata, and their bytes in small and large ones. */
static const struct {
	const char *functor;
	size_t bytes, tensors, blocks, block_bytes;
	unsigned moved; /* of an element */
} lists[] = {
	{"TensorListMetadata<1>, at::native::BinaryOpScalarFunctor<float, 1, 1, 0>", 3368, 110, 320,
	 1, 8},
	{"TensorListMetadata<1>, at::native::BinaryOpScalarFunctor<float, 1, 1, 0>", 25768, 770,
	 2240, 2, 8},
	{"TensorListMetadata<2>, at::native::UnaryOpFunctor<float, 2, 1, 1>", 24200, 448, 2240, 2,
	 8},
	{"TensorListMetadata<2>, at::native::TernaryOpScalarFunctor<c10::BFloat16, 2, 2, 0>", 24200,
	 448, 2240, 2, 6},
	{"TensorListScalarListMetadata<float, 1>, at::native::BinaryOpScalarListFunctor<float, 1, "
	 "1, 0>",
	 26880, 672, 2240, 2, 8},
	{"FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4>", 3336,
	 36, 320, 1, 28},
};

TEST_EACH(lists_of_tensors, ARRAY_SIZE(lists))
{
	static char meta[32768];
	char name[512];
	const struct cost_name *kind;
	struct cost_name found;
	int64_t n = 100000; /* two parts */
	size_t depth, at;
	void *args[] = {meta};
	const size_t bytes[] = {lists[_i].bytes, 0};

	snprintf(name, sizeof(name), "void at::native::multi_tensor_apply_kernel<%s, F>(L)",
		 lists[_i].functor);
	found = cost_name_of(name);
	kind = &found;
	depth = kind->lists;
	memset(meta, 0, sizeof(meta));
	for (size_t k = 0; k < depth; k++)
		memcpy(meta + 8 * k * lists[_i].tensors, &(int64_t){(int64_t)k + 1}, 8);
	at = 8 * depth * lists[_i].tensors;
	memcpy(meta + at, &n, sizeof(n));
	at += (8 + kind->entry_bytes) * lists[_i].tensors;
	at += lists[_i].blocks * lists[_i].block_bytes;
	memcpy(meta + at + 4, &(int32_t){1}, 4); /* the second block has the second part */

	struct cost_launch l = work_of(name, 2, 512, args, bytes);

	ck_assert_msg(l.bytes == (double)n * lists[_i].moved, "%s: %f", name, l.bytes);
	ck_assert(l.steps == 65536 / 4 / 512);
}

TEST(moved_elements)
{
	static struct {
		void *data[128];
		uint32_t offsets[128], sizes[128], elements[128];
		uint8_t contiguous[128];
	} cat = {.elements = {5000}};
	int64_t columns = 4096, rows = 16384, zero = 0;
	int32_t n = 16384;
	void *out = NULL;
	void *cat_args[] = {&out, &cat};
	void *gather_args[] = {&out, &out, &out, &n, &columns, &zero, &zero, &zero, &zero};
	void *transpose_args[] = {&out, &out, &rows, &columns, &zero, &zero};
	const size_t cat_bytes[] = {8, sizeof(cat), 0}, transpose_bytes[] = {8, 8, 8, 8, 8, 8, 0};
	const size_t gather_bytes[] = {8, 8, 8, 4, 8, 8, 8, 8, 1, 0};

	ck_assert(work_of(NATIVE
			  "(anonymous namespace)::CatArrayBatchedCopy_vectorized<at::native::"
			  "(anonymous namespace)::OpaqueType<2u>, unsigned int, 2, 128, 1, "
			  "16, 8>(char*)",
			  10, 128, cat_args, cat_bytes)
			  .bytes == 2.0 * 2 * 5000);
	ck_assert(work_of(NATIVE "vectorized_gather_kernel<16, long>(char*)", 10, 128, gather_args,
			  gather_bytes)
			  .bytes == 2.0 * n * 4096);
	ck_assert(work_of(NATIVE "transpose_copy_tiled_kernel<unsigned int, 1, 4, 64, false>(L)",
			  10, 256, transpose_args, transpose_bytes)
			  .bytes == 2.0 * 4 * 16384 * 4096);
}

/* Sorts of 2^28 keys of 32 bits, in four passes after counting: others published 29.4 keys in a
 * nanosecond on an A100 (Adinets and Merrill, Onesweep). */
TEST(sorted_keys)
{
	int32_t n = 1 << 28;
	uint64_t count = 1 << 28;
	void *out = NULL;
	void *sort_args[] = {&out, &out, &out, &out, &out, &out, &out, &out, &n, &n, &n};
	void *count_args[] = {&out, &out, &count, &n, &n};
	const size_t sort_bytes[] = {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 0};
	const size_t count_bytes[] = {8, 8, 8, 4, 4, 0};
	const char *names[] = {
		"void DeviceRadixSortHistogramKernel<radix::policy_hub<unsigned int, NullType>, "
		"unsigned int>(K)",
		"void DeviceRadixSortOnesweepKernel<radix::policy_hub<unsigned int, NullType>, "
		"unsigned int, NullType>(K)"};
	struct cost_gpu g;
	char why[400];
	double ns = 0;

	ck_assert(cost_gpu_load("A100-SXM4-40GB", &g, why, sizeof(why)) == 0);
	for (int i = 0; i < 2; i++) {
		struct cost_launch l = work_of(names[i], 10000, 256, i ? sort_args : count_args,
					       i ? sort_bytes : count_bytes);

		l.name = names[i];
		ck_assert(l.bytes == (i ? 8.0 : 4.0) * n);
		ns += (i ? 4 : 1) * cost_of_kernel(&g, &l).ns;
	}
	ck_assert_msg(fabs(n / ns / 29.4 - 1) < 0.1, "%f", n / ns);
	ck_assert(work_of("DeviceRadixSortOnesweepKernel<P<__nv_bfloat16, OpaqueType<8>, int>, "
			  "__nv_bfloat16, OpaqueType<8> >(K)",
			  1, 1, sort_args, sort_bytes)
			  .bytes == 2.0 * n * (2 + 8));
}

TEST(sums_of_rows)
{
	int64_t rows = 16384, columns = 768, zero = 0;
	void *out = NULL;
	void *args[] = {&out, &out, &out, &rows, &columns, &out, &out, &out, &zero};
	const size_t bytes[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 0};

	ck_assert(work_of(NATIVE "(anonymous namespace)::compute_grad_weight<c10::Half, long>(P)",
			  10, 128, args, bytes)
			  .bytes == (2.0 + 4) * 16384 * 768);
}

/* A sum of 65536 rows, 1024 columns: 4 threads of 264 blocks have a column. */
TEST(parts_of_reductions)
{
	int32_t op[] = {0, 4, 65536, 1024, 1056, 128, 264, 0, 1, 4, 1, 0, 32, 4, 128, 0, 4};
	const size_t bytes[] = {sizeof(op), 0};
	void *args[] = {op};
	struct cost_name kind = cost_name_of(NATIVE "reduce_kernel<128, 4, ReduceOp<float> >(R)");
	struct gpuemu_launch l = {.grid = {8, 264, 1}, .block = {32, 4, 1}, .arg_bytes = arg_bytes};
	struct cost_launch ret = {.grid = {8, 264, 1}, .block = {32, 4, 1}};

	sizes = bytes;
	emu_torch_work(&kind, &l, args, &ret);
	ck_assert(ret.read_bytes == 4.0 * 65536 * 1024);
	ck_assert(ret.steps == 16);
	ck_assert(ret.final_steps == 2 + 264 / 4);
}

TEST(lengths_of_rows)
{
	int64_t columns = 4096, rows = 100;
	void *out = NULL;
	void *softmax[] = {&out, &out, &columns}, *moments[] = {&rows, &columns, &out};
	const size_t softmax_bytes[] = {8, 8, 8, 0}, moments_bytes[] = {8, 8, 4, 0};
	struct cost_launch l =
		work_of(NATIVE "(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16, "
			       "float, c10::BFloat16, E, long, 4>(L)",
			4096, 1024, softmax, softmax_bytes);

	ck_assert(l.columns == 4096);
	l = work_of(
		NATIVE
		"(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16, float, false>(L)",
		100, 512, moments, moments_bytes);
	ck_assert(l.bytes == 2.0 * 4096 * 100);
	ck_assert(l.steps == 8);
	l = work_of(
		NATIVE
		"(anonymous namespace)::LayerNormForwardCUDAKernel<c10::BFloat16, float, false>(L)",
		100, 256, moments, moments_bytes);
	ck_assert(l.bytes == 4.0 * 4096 * 100 && l.read_bytes == l.bytes / 2);
	ck_assert(l.steps == 16);
}

#define NORM(kernel, args, sizes) work_of(NATIVE "batch_norm_" kernel, 64, 512, args, sizes).bytes

/* Batch norm of images of 8 x 64 x 3136; with the channels last, their numbers may follow a float.
 */
TEST(batch_norms)
{
	int32_t pixels = 8 * 3136, channels = 64, image[] = {0, 0, 8, 64, 3136, 1, 1, 1};
	int64_t large[] = {0, 8, 64, 3136, 1, 1, 1};
	float factor = 1;
	void *first[] = {image, image, image}, *wide[] = {large, large, large};
	void *last[] = {image, &pixels, &channels, &factor};
	void *third[] = {image, &factor, &pixels, &channels};
	const size_t bytes[] = {32, 32, 16, 0}, wide_bytes[] = {56, 56, 56, 0},
		     last_bytes[] = {8, 4, 4, 4, 0};
	const double one = 4.0 * 8 * 64 * 3136;

	ck_assert(NORM("transform_input_kernel<float, int>(A)", first, bytes) == 2 * one);
	ck_assert(NORM("backward_kernel<float, long>(A)", wide, wide_bytes) == 3 * one);
	ck_assert(NORM("collect_statistics_channels_last<float>(P)", last, last_bytes) == one);
	ck_assert(NORM("backward_elemt_channels_last<float>(P)", third, last_bytes) == 3 * one);
	ck_assert(cost_name_of(VECTORIZED "batch_norm_f(T&)").class == COST_CLASS_ELEMENTWISE);
}

/* Epsilon follows the length of a row, and is not a number of rows. */
TEST(moments_of_groups)
{
	int64_t columns = 4096, images = 8, channels = 64, group = 16;
	float epsilon = 1e-5F;
	void *contiguous[] = {&columns, &epsilon}, *last[] = {&images, &channels, &columns, &group};
	const size_t bytes[] = {8, 4, 0}, last_bytes[] = {8, 8, 8, 8, 0};
	struct cost_launch l =
		work_of(NATIVE "(anonymous namespace)::RowwiseMomentsContiguousCUDAKernel<4, "
			       "float, float>(L)",
			100, 512, contiguous, bytes);

	ck_assert(l.bytes == 4.0 * 4096 * 100 && l.read_bytes == l.bytes);
	l = work_of(NATIVE "(anonymous namespace)::RowwiseMomentsChannelsLastCUDAKernel<c10::Half, "
			   "float>(L)",
		    32, 512, last, last_bytes);
	ck_assert(l.bytes == 2.0 * 4096 * 64 * 8);
}

TEST(shapes_of_attention)
{
	struct {
		int64_t before[12];
		int32_t heads[4];
		int64_t results[8];
		int32_t batch, queries, keys, new_keys, width;
	} params = {.heads = {12}, .batch = 16, .queries = 1024, .keys = 2048, .width = 64};
	const size_t bytes[] = {sizeof(params), 0}, few[] = {64, 0};
	void *args[] = {&params};
	struct cost_name kind = cost_name_of("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_"
					     "parallel_kernel<T<64, 128>, false, true, false>(P)");
	struct gpuemu_launch l = {
		.grid = {8, 16, 12}, .block = {256, 1, 1}, .arg_bytes = arg_bytes};
	struct cost_attention a;

	sizes = bytes;
	ck_assert(emu_torch_attention(&kind, &l, args, &a));
	ck_assert(a.backward && a.causal);
	ck_assert(a.scores.m == 2048 && a.scores.n == 1024 && a.scores.k == 64);
	ck_assert(a.scores.batch == 16 * 12);
	ck_assert(work_of("void pytorch_flash::flash_bwd_convert_dq_kernel<T<64, 128> >(P)", 8, 256,
			  args, bytes)
			  .bytes == 6.0 * 16 * 12 * 1024 * 64);
	sizes = few;
	ck_assert(!emu_torch_attention(&kind, &l, args, &a));
}

/* AlexNet's second pooling of 256 images, and its gradient, on an A100 as others published. */
TEST(windows_of_pooling)
{
	const char *names[] = {
		NATIVE "(anonymous namespace)::max_pool_forward_nchw<float, int>(int, P)",
		NATIVE "(anonymous namespace)::max_pool_backward_nchw<float, float, int>(P)"};
	const double us[] = {299.6, 1125.2};
	int64_t sizes_in[] = {192, 31, 31};
	int32_t results = 256 * 192 * 15 * 15, out = 15, window = 3, stride = 2;
	int32_t images = 256, channels = 192, in = 31;
	void *tensor = NULL;
	void *forward[] = {&results, &tensor, &sizes_in[0], &sizes_in[1], &sizes_in[2], &out,
			   &out,     &window, &window,	    &stride,	  &stride};
	void *backward[] = {&tensor, &tensor, &images, &channels, &in,	   &in,
			    &out,    &out,    &window, &window,	  &stride, &stride};
	void *const *args[] = {forward, backward};
	const size_t bytes[2][13] = {{4, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4},
				     {8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}};
	struct cost_gpu g;
	char why[400];

	ck_assert(cost_gpu_load("A100-SXM4-40GB", &g, why, sizeof(why)) == 0);
	for (int i = 0; i < 2; i++) {
		struct cost_launch l =
			work_of(names[i], i ? 4 * 256 * 192 : 43200, 256, args[i], bytes[i]);

		l.name = names[i];
		ck_assert(l.bytes == 256.0 * 192 * (31 * 31 * 4 + 15 * 15 * 12));
		double predicted = cost_of_kernel(&g, &l).ns / 1e3;

		ck_assert_msg(fabs(predicted / us[i] - 1) < 0.1, "%s: %f us", names[i], predicted);
	}
	ck_assert(work_of(names[0], 1, 256, args[0], bytes[1]).bytes == 0);
}

/* Means of windows: of 64 images of 256 channels, 14 x 14 to 7 x 7. */
TEST(windows_of_means)
{
	int64_t channels = 256, in = 14;
	int32_t results = 64 * 256 * 7 * 7, inputs = 64 * 256 * 14 * 14, out = 7, small_in = 14;
	int32_t images = 64, small_channels = 256;
	void *tensor = NULL;
	void *window[] = {&results, &tensor, &channels, &in, &in, &out, &out};
	void *gradient[] = {&inputs, &tensor, &channels, &in, &in, &out, &out};
	void *adaptive[] = {&tensor, &tensor, &small_in, &small_in, &out, &out};
	void *last[] = {&tensor,   &tensor,   &images, &small_channels,
			&small_in, &small_in, &out,    &out};
	const struct {
		const char *name;
		void *const *args;
		size_t bytes[9];
	} kernels[] = {
		{"avg_pool2d_out_cuda_frame<float, float>(P)", window, {4, 8, 8, 8, 8, 4, 4}},
		{"avg_pool2d_backward_out_cuda_frame<float, float, int>(P)",
		 gradient,
		 {4, 8, 8, 8, 8, 4, 4}},
		{"adaptive_average_pool<float, int>(P)", adaptive, {8, 8, 4, 4, 4, 4}},
		{"atomic_adaptive_average_gradinput<float, int>(P)", adaptive, {8, 8, 4, 4, 4, 4}},
		{"adaptive_average_pool_nhwc<int, float>(P)", last, {8, 8, 4, 4, 4, 4, 4, 4}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		char name[128];

		snprintf(name, sizeof(name), NATIVE "(anonymous namespace)::%s", kernels[i].name);
		ck_assert_msg(
			work_of(name, 64 * 256, 256, kernels[i].args, kernels[i].bytes).bytes ==
				4.0 * 64 * 256 * (14 * 14 + 7 * 7),
			"%s", name);
		ck_assert(work_of(name, 1, 256, kernels[i].args, (const size_t[]){8, 0}).bytes ==
			  0);
	}
}

/* PyTorch's memory-efficient attention, of 64 sequences of 6 heads, on a GPU like an RTX 5060 Ti:
 * others published 0.949 and 3.759 ms. */
TEST(attention_in_little_memory)
{
	const char *names[] = {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(P)",
			       "fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80(P)"};
	const double ms[] = {0.949, 3.759};
	const size_t bytes[] = {256, 0}, few[] = {112, 0};
	struct cost_gpu g;
	char why[400];

	ck_assert(cost_gpu_load("L4", &g, why, sizeof(why)) == 0);
	g.compute = 12;
	g.sms = 36;
	g.clock_khz = 2775e3;
	g.tf32 = 36 * 512.0 * 2.775e9;
	for (int backward = 0; backward < 2; backward++) {
		int32_t params[64] = {0}, *v = params + (backward ? 36 : 24);
		void *args[] = {params};
		struct cost_name kind = cost_name_of(names[backward]);
		struct gpuemu_launch l = {
			.grid = {4, 6, 64}, .block = {128, 1, 1}, .arg_bytes = arg_bytes};
		struct cost_attention a;

		v[0] = v[1] = 64;
		v[2] = v[3] = 240;
		sizes = bytes;
		ck_assert(kind.math == GPUEMU_FP32);
		ck_assert(emu_torch_attention(&kind, &l, args, &a));
		ck_assert(!a.causal && a.scores.batch == 6 * 64 && a.scores.k == 64);
		double found = cost_of_attention(&g, &a, GPUEMU_TF32).ns / 1e6;

		ck_assert_msg(fabs(found / ms[backward] - 1) < 0.2, "%s: %f", names[backward],
			      found);
		params[backward ? 42 : 29] = 1;
		ck_assert(emu_torch_attention(&kind, &l, args, &a) && a.causal);
		sizes = few;
		ck_assert(!emu_torch_attention(&kind, &l, args, &a));
	}
}

/* Parameters of other sizes, or none, change nothing. */
TEST(other_parameters)
{
	static const size_t none[] = {0}, few[] = {4, 0}, odd[] = {8, 8, 8, 8, 0};
	int64_t numbers[4] = {7, 7, 7, 7};
	void *args[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3]};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char name[512];

		snprintf(name, sizeof(name), "void multi_tensor_apply_kernel<%s, F>(L)",
			 lists[i].functor);
		ck_assert(work_of(name, 2, 512, args, none).bytes == 0);
		ck_assert(work_of(name, 2, 512, args, odd).bytes == 0);
	}
	ck_assert(work_of(elementwise[0].name, 2, 128, args, few).bytes == 0);
	ck_assert(work_of(elementwise[0].name, 2, 128, args, odd).bytes == 0);
	ck_assert(work_of(STRIDED, 2, 128, args, odd).bytes == 0);
	ck_assert(work_of(NATIVE "reduce_kernel<128, 4, R>(R)", 2, 128, args, odd).bytes == 0);
}
