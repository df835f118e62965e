/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/emugpu/torch/offsets.h"
#include "replay/emugpu/torch/torch.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define DROPOUT(type)                                                                              \
	"at::native::(anonymous namespace)::fused_dropout_kernel<" type ", " type                  \
	", unsigned int, 1, 1, bool>"
#define LOSS(kind)                                                                                 \
	"at::native::(anonymous namespace)::nll_loss_forward_" kind "<float, float, long>"

enum { N = 64 };

static const size_t *sizes; /* of the parameters of a launch; 0 after the last */

static size_t arg_bytes(const struct gpuemu_launch *launch, unsigned i)
{
	return sizes[i];
}

/* Returns whether the kernel computed. */
static int launch(const char *name, void *const *args, const size_t *bytes)
{
	const struct gpuemu_kernel *k = emu_torch_kernel(name, name);
	struct gpuemu_launch l = {
		.name = name, .grid = {1, 1, 1}, .block = {8, 1, 1}, .arg_bytes = arg_bytes};

	ck_assert_ptr_nonnull(k);
	sizes = bytes;
	l.kernel = k;
	k->run(&l, args);
	return !l.skipped;
}

static struct emu_tensor_info tensor(void *data)
{
	return (struct emu_tensor_info){.data = data, .sizes = {N}, .strides = {1}, .dims = 1};
}

static void drop(const char *name, void *from, void *to, void *keep, size_t keep_bytes,
		 uint8_t *mask)
{
	struct emu_tensor_info t[] = {tensor(from), tensor(to), tensor(mask)};
	struct {
		uint64_t seed, offset, added;
	} state = {42, 8, 0};
	int32_t n = N;
	const size_t bytes[] = {
		sizeof(t[0]), sizeof(t[0]), sizeof(t[0]), sizeof(n), keep_bytes, sizeof(state), 0};
	void *const args[] = {&t[0], &t[1], &t[2], &n, keep, &state};

	ck_assert(launch(name, args, bytes));
}

/* PyTorch draws floats for tensors of any type. */
TEST(dropout_of_doubles)
{
	static float f[N], g[N], keep = 0.5f;
	static double d[N], e[N], keep_too = 0.5;
	uint8_t masks[2][N];
	int n = 0;

	for (int i = 0; i < N; i++)
		d[i] = f[i] = (float)i;
	drop(DROPOUT("float"), f, g, &keep, sizeof(keep), masks[0]);
	drop(DROPOUT("double"), d, e, &keep_too, sizeof(keep_too), masks[1]);
	for (int i = 0; i < N; i++) {
		ck_assert_uint_eq(masks[0][i], masks[1][i]);
		ck_assert(g[i] == e[i]);
		n += masks[0][i];
	}
	ck_assert(n > N / 4 && n < 3 * N / 4);
}

/* Memory that no host kernel wrote may hold any class. */
TEST(classes_out_of_range)
{
	static const int64_t bad[] = {-1, 4, INT64_C(1) << 40, INT64_MIN / 8};
	static float x[4], weights[4], loss, total;
	int64_t class, rows = 1, columns = 4, ignored = -100;
	uint8_t mean = 1;
	void *to = &loss, *total_too = &total, *from = x, *classes = &class, *w = weights;
	struct {
		void *data;
		int64_t sizes[2], strides[2];
	} accessor = {x, {1, 4}, {4, 1}};
	size_t bytes[] = {8, 8, 8, 8, 8, 1, 8, 8, 8, 8, 0, 0};
	const size_t row_bytes[] = {8, sizeof(accessor), 8, 8, 8, 8, 8, 0};
	void *const args[] = {&to,   &total_too, &from,	   &classes, &w,
			      &mean, &rows,	 &columns, &columns, &ignored};
	void *const row_args[] = {&rows, &accessor, &classes, &to, &w, &columns, &ignored};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		class = bad[i];
		ck_assert(!launch(LOSS("reduce_cuda_kernel_2d"), args, bytes));
		ck_assert(!launch("at::native::nll_loss_forward_no_reduce_cuda_kernel<float, long>",
				  row_args, row_bytes));
	}
	class = 2;
	ck_assert(launch(LOSS("reduce_cuda_kernel_2d"), args, bytes));
	/* Another number of parameters than PyTorch's. */
	bytes[10] = 8;
	ck_assert(!launch(LOSS("reduce_cuda_kernel_2d"), args, bytes));
	bytes[9] = bytes[10] = 0;
	ck_assert(!launch(LOSS("reduce_cuda_kernel_2d"), args, bytes));
}

/* Memory that no host kernel wrote may hold any row exchange. */
TEST(row_exchanges_out_of_range)
{
	static const char name[] = "at::native::(anonymous namespace)::_elementwise_kernel<128, "
				   "at::native::unpack_pivots_cuda_kernel(I&, long)::{lambda()#1}>";
	static const int32_t bad[] = {0, -1, 3, INT32_MAX, INT32_MIN};
	int64_t permutation[3] = {7, 0, 1};
	int32_t exchanges[2] = {2, 2}, count = 1;
	char lambda[600] = {0};
	size_t at = emu_offsets_bytes(2);
	void *data[] = {permutation + 1, exchanges};
	int64_t n = 2;
	const size_t bytes[] = {4, at + 24, 0}, few[] = {4, at, 0};
	void *const args[] = {&count, lambda};

	memcpy(lambda + at, data, sizeof(data));
	memcpy(lambda + at + sizeof(data), &n, sizeof(n));
	ck_assert(launch(name, args, bytes));
	ck_assert(permutation[1] == 1 && permutation[2] == 0);
	ck_assert(!launch(name, args, few));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		exchanges[0] = bad[i];
		ck_assert(!launch(name, args, bytes));
		ck_assert(permutation[0] == 7 && permutation[1] == 1 && permutation[2] == 0);
	}
}

#define INDEX_FUNCTION(type, function)                                                             \
	"at::native::indexFuncSmallIndex<" type                                                    \
	", long, unsigned int, 2, 2, -2, at::native::" function ">"

/* Scaled elements have room for a number only. */
TEST(functions_of_large_elements)
{
	static const char add[] = INDEX_FUNCTION("float", "ReduceAdd");
	static const char copy[] = INDEX_FUNCTION("at::native::OpaqueType<64>", "TensorAssign");

	ck_assert_ptr_nonnull(emu_torch_kernel(add, add));
	ck_assert_ptr_null(emu_torch_kernel(copy, copy));
}

TEST(negative_number_of_elements)
{
	static const char name[] =
		"at::native::vectorized_elementwise_kernel<4, "
		"at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
		"(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
	static float to[4], from[4] = {1, 2, 3, 4};
	int32_t n = 4;
	float alpha = 1;
	void *data[] = {to, from, from};
	const size_t bytes[] = {4, 4, sizeof(data), 0};
	void *const args[] = {&n, &alpha, data};

	ck_assert(launch(name, args, bytes));
	ck_assert(to[0] == 2 && to[3] == 8);
	n = -4;
	ck_assert(!launch(name, args, bytes));
}

/* The kernel compares floats: a double of 0.3 is less than the overlap of these boxes. */
TEST(overlap_of_the_threshold)
{
	static const char name[] = "void vision::ops::(anonymous namespace)::nms_kernel_impl<float>"
				   "(int, double, float const*, unsigned long long*)";
	static float boxes[2][4] = {{0, 0, 10, 1}, {0, 0, 3, 1}};
	double threshold = 0.3;
	uint64_t bits[2] = {7, 7};
	int32_t n = 2;
	void *from = boxes, *to = bits;
	const size_t bytes[] = {4, 8, 8, 8, 0};
	void *const args[] = {&n, &threshold, &from, &to};

	ck_assert(launch(name, args, bytes));
	ck_assert(bits[0] == 0 && bits[1] == 0);
	threshold = 0.29;
	ck_assert(launch(name, args, bytes));
	ck_assert(bits[0] == 2 && bits[1] == 0);
}

/* A box of NaN has no samples; more samples than a host computes are refused. */
TEST(regions_without_samples)
{
	static const char name[] =
		"void vision::ops::(anonymous namespace)::roi_align_forward_kernel_impl<float>";
	static float image[4] = {1, 2, 3, 4}, scale = 1, to;
	float region[5] = {0, NAN, NAN, NAN, NAN};
	int32_t one = 1, size = 2, samples = 0;
	uint8_t aligned = 1;
	void *images = image, *regions = region, *result = &to;
	const size_t bytes[] = {4, 8, 4, 4, 4, 4, 4, 4, 4, 1, 8, 8, 0};
	void *const args[] = {&one, &images, &scale,   &one,	 &size,	   &size,
			      &one, &one,    &samples, &aligned, &regions, &result};

	to = 7;
	ck_assert(launch(name, args, bytes));
	ck_assert(to == 0);
	for (int i = 1; i < 5; i++)
		region[i] = i < 3 ? 0.5f : 1.5f;
	ck_assert(launch(name, args, bytes));
	ck_assert(to == 2.5f);
	samples = INT32_MAX;
	ck_assert(!launch(name, args, bytes));
}
