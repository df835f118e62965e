/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cost/name.h"

#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The first text contained in a name determines the class. */
static const struct {
	const char *text;
	enum cost_class class;
	enum cost_kernel kernel;
	unsigned arrays; /* read and written */
} texts[] = {
	{"flash_fwd_kernel<", COST_CLASS_ATTENTION, COST_KERNEL_FLASH, 0},
	{"flash_bwd_dq_dk_dv", COST_CLASS_ATTENTION, COST_KERNEL_FLASH_GRADIENT, 0},
	/* The result and its gradient, and zeros of 32 bits; numbers of 32 bits, rounded. */
	{"flash_bwd_dot_do_o", COST_CLASS_ATTENTION, COST_KERNEL_FLASH_ROWS, 4},
	{"flash_bwd_convert", COST_CLASS_ATTENTION, COST_KERNEL_FLASH_ROWS, 3},
	{"fmha_cutlassF_", COST_CLASS_ATTENTION, COST_KERNEL_EFFICIENT, 0},
	{"fmha_cutlassB_", COST_CLASS_ATTENTION, COST_KERNEL_EFFICIENT_GRADIENT, 0},
	{"multi_tensor_apply", COST_CLASS_OPTIMIZER, COST_KERNEL_LISTS, 0},
	{"vectorized_layer_norm", COST_CLASS_LAYER_NORM, COST_KERNEL_LAYER_NORM, 2},
	{"layer_norm_grad_input", COST_CLASS_LAYER_NORM, COST_KERNEL_LAYER_NORM_GRADIENT, 3},
	{"LayerNormForward", COST_CLASS_LAYER_NORM, COST_KERNEL_NORMALISE, 2},
	{"GammaBetaBackward", COST_CLASS_LAYER_NORM, COST_KERNEL_NORM_WEIGHTS, 2},
	{"RowwiseMomentsContiguous", COST_CLASS_LAYER_NORM, COST_KERNEL_GROUP_MOMENTS, 1},
	{"RowwiseMomentsChannelsLast", COST_CLASS_LAYER_NORM, COST_KERNEL_GROUP_MOMENTS_LAST, 1},
	{"RowwiseMoments", COST_CLASS_LAYER_NORM, COST_KERNEL_MOMENTS, 1},
	{"layer_norm", COST_CLASS_LAYER_NORM, COST_KERNEL_OTHER, 2},
	{"LayerNorm", COST_CLASS_LAYER_NORM, COST_KERNEL_OTHER, 2},
	{"softmax_warp_forward", COST_CLASS_SOFTMAX, COST_KERNEL_SOFTMAX_WARP, 2},
	{"softmax_warp_backward", COST_CLASS_SOFTMAX, COST_KERNEL_SOFTMAX_WARP_GRADIENT, 3},
	{"cunn_SoftMaxForward", COST_CLASS_SOFTMAX, COST_KERNEL_SOFTMAX, 2},
	{"cunn_SoftMaxBackward", COST_CLASS_SOFTMAX, COST_KERNEL_SOFTMAX_GRADIENT, 3},
	{"SpatialSoftMaxForward", COST_CLASS_SOFTMAX, COST_KERNEL_SOFTMAX_SPATIAL, 2},
	{"batch_norm_collect_statistics_channels", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES_LAST,
	 1},
	{"batch_norm_transform_input_channels", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES_LAST, 2},
	{"batch_norm_backward_reduce_channels", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES_LAST, 2},
	{"batch_norm_backward_elemt_channels", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES_LAST, 3},
	{"batch_norm_collect_statistics", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES, 0},
	{"batch_norm_transform_input", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES, 0},
	{"batch_norm_backward_", COST_CLASS_BATCH_NORM, COST_KERNEL_IMAGES, 0},
	{"bn_fw_tr_", COST_CLASS_BATCH_NORM},
	{"bn_bw_", COST_CLASS_BATCH_NORM},
	{"oftmax", COST_CLASS_SOFTMAX, COST_KERNEL_OTHER, 2},
	{"oftMax", COST_CLASS_SOFTMAX, COST_KERNEL_OTHER, 2},
	{"splitKreduce", COST_CLASS_REDUCTION, COST_KERNEL_OTHER, 0},
	{"splitkreduce", COST_CLASS_REDUCTION, COST_KERNEL_OTHER, 0},
	{"reduce_kernel<", COST_CLASS_REDUCTION, COST_KERNEL_REDUCE, 0},
	{"reduce_kernel", COST_CLASS_REDUCTION, COST_KERNEL_OTHER, 0},
	{"Reduce", COST_CLASS_REDUCTION, COST_KERNEL_OTHER, 0},
	{"index_elementwise", COST_CLASS_INDEX, COST_KERNEL_INDEX, 2},
	{"scatter_gather_elementwise", COST_CLASS_INDEX, COST_KERNEL_GATHER, 2},
	{"vectorized_gather_kernel", COST_CLASS_INDEX, COST_KERNEL_GATHER_ROWS, 2},
	{"indexSelect", COST_CLASS_INDEX, COST_KERNEL_SELECT_ROWS, 2},
	{"embedding_backward_feature", COST_CLASS_INDEX, COST_KERNEL_ADD_ROWS, 3},
	{"::compute_grad_weight<", COST_CLASS_INDEX, COST_KERNEL_SUM_ROWS, 2},
	{"DeviceRadixSortOnesweep", COST_CLASS_INDEX, COST_KERNEL_SORT, 2},
	{"DeviceRadixSortHistogram", COST_CLASS_INDEX, COST_KERNEL_SORT_COUNTS, 1},
	{"embedding", COST_CLASS_INDEX, COST_KERNEL_OTHER, 0},
	{"CatArrayBatchedCopy", COST_CLASS_COPY, COST_KERNEL_CONCATENATE, 2},
	{"transpose_copy_tiled", COST_CLASS_COPY, COST_KERNEL_TRANSPOSE, 2},
	{"vectorized_elementwise_kernel<", COST_CLASS_ELEMENTWISE, COST_KERNEL_CONTIGUOUS, 0},
	{"unrolled_elementwise_kernel<", COST_CLASS_ELEMENTWISE, COST_KERNEL_CONTIGUOUS, 0},
	{"distribution_elementwise", COST_CLASS_ELEMENTWISE, COST_KERNEL_RANDOM, 1},
	{"::elementwise_kernel<", COST_CLASS_ELEMENTWISE, COST_KERNEL_STRIDED, 0},
	{"elementwise", COST_CLASS_ELEMENTWISE, COST_KERNEL_OTHER, 0},
	{"fused_dropout", COST_CLASS_ELEMENTWISE, COST_KERNEL_DROPOUT, 0},
	{"distribution_", COST_CLASS_ELEMENTWISE, COST_KERNEL_OTHER, 0},
	{"batch_norm", COST_CLASS_BATCH_NORM},
	{"scudnn", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"max_pool_forward_nchw", COST_CLASS_POOLING, COST_KERNEL_POOL, 0},
	{"max_pool_backward_nchw", COST_CLASS_POOLING, COST_KERNEL_POOL_GRADIENT, 0},
	{"max_pool_forward_nhwc", COST_CLASS_POOLING, COST_KERNEL_POOL_LAST, 0},
	{"max_pool_backward_nhwc", COST_CLASS_POOLING, COST_KERNEL_POOL_LAST_GRADIENT, 0},
	{"avg_pool2d_out", COST_CLASS_POOLING, COST_KERNEL_POOL_MEAN, 0},
	{"avg_pool2d_backward", COST_CLASS_POOLING, COST_KERNEL_POOL_MEAN_GRADIENT, 0},
	{"adaptive_average_pool<", COST_CLASS_POOLING, COST_KERNEL_POOL_ADAPTIVE, 0},
	{"adaptive_average_gradinput<", COST_CLASS_POOLING, COST_KERNEL_POOL_ADAPTIVE, 0},
	{"adaptive_average", COST_CLASS_POOLING, COST_KERNEL_POOL_ADAPTIVE_LAST, 0},
	{"conv_depthwise2d_forward", COST_CLASS_CONVOLUTION, COST_KERNEL_DEPTHWISE, 0},
	{"conv_depthwise2d_backward", COST_CLASS_CONVOLUTION, COST_KERNEL_DEPTHWISE_GRADIENT, 0},
	{"conv_depthwise2d_grad_weight", COST_CLASS_CONVOLUTION, COST_KERNEL_DEPTHWISE_FILTER, 0},
	{"conv_depthwise", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"convolve", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"fprop", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"dgrad", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"wgrad", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"winograd", COST_CLASS_CONVOLUTION, COST_KERNEL_OTHER, 0},
	{"gemv", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"gemm", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"matmul", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"matMul", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"matrixMul", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"MatrixMul", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"cutlass", COST_CLASS_PRODUCT, COST_KERNEL_OTHER, 0},
	{"copy", COST_CLASS_COPY, COST_KERNEL_OTHER, 0},
};

/* The number after the first `text` in the name, or 0. */
static unsigned number_after(const char *name, const char *text)
{
	const char *at = strstr(name, text);

	return at ? (unsigned)strtoul(at + strlen(text), NULL, 10) : 0;
}

static const struct {
	const char *name;
	unsigned bytes;
} types[] = {{"double", 8},
	     {"c10::Half", 2},
	     {"c10::BFloat16", 2},
	     {"__half", 2},
	     {"__nv_bfloat16", 2},
	     {"float", 4},
	     {"unsigned long", 8},
	     {"long", 8},
	     {"unsigned char", 1},
	     {"signed char", 1},
	     {"bool", 1},
	     {"unsigned int", 4},
	     {"int", 4},
	     {"short", 2},
	     {"c10::complex<float>", 8},
	     {"c10::complex<double>", 16}};

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Bytes of the type at the beginning of the text, or 0. */
static unsigned type_at(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t n = strlen(types[i].name);

		if (strncmp(text, types[i].name, n) == 0 && !is_word(text[n]))
			return types[i].bytes;
	}
	if (strncmp(text, "c10::Float8", 11) == 0)
		return 1;
	return strncmp(text, "OpaqueType<", 11) == 0 ? number_after(text, "<") : 0;
}

/* Returns the size of the element type that the text mentions first. */
static unsigned bytes_of(const char *text)
{
	unsigned bytes = 0;

	for (const char *at = text; *at && !bytes; at++)
		if (at == text || !is_word(at[-1]))
			bytes = type_at(at);
	return bytes;
}

/* The next argument of a list of template arguments or parameters, or its end. */
static const char *next_argument(const char *at)
{
	int depth = 0;

	for (; *at && (depth > 0 || !strchr(",>)", *at)); at++)
		depth += strchr("<(", *at) ? 1 : strchr(">)", *at) ? -1 : 0;
	return *at == ',' ? at + 1 + (at[1] == ' ') : "";
}

static const char *text_after(const char *name, const char *text)
{
	const char *at = strstr(name, text);

	return at ? at + strlen(text) : NULL;
}

/* The parameters of the last lambda of a functor. */
static const char *lambda_of(const char *name, const char *end)
{
	const char *last = NULL, *at = name;

	while ((at = text_after(at, "{lambda(")) && at < end)
		last = at;
	return last && *last != ')' ? last : NULL;
}

/* Functors whose result type differs from that of the first operand. */
static unsigned result_bytes(const char *name, const unsigned operands[4])
{
	static const struct {
		const char *name;
		unsigned bytes;
	} results[] = {
		{"bfloat16_copy_kernel", 2},
		{"float16_copy_kernel", 2},
		{"float8_copy_kernel", 1},
		{"compare_scalar_kernel", 1},
		{"CompareFunctor", 1},
		{"CompareEqFunctor", 1},
		{"logical_", 1},
		{"isnan", 1},
		{"isinf", 1},
		{"isfinite", 1},
	};

	if (strstr(name, "where_kernel_impl"))
		return operands[2];
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (strstr(name, results[i].name))
			return results[i].bytes;
	return operands[1];
}

/* The types of the operands of an element-wise kernel on contiguous tensors. */
static void find_operands(const char *name, struct cost_name *ret)
{
	const char *end = strstr(name, "rray<char*"), *lambda = lambda_of(name, end ? end : name);
	const char *binary = text_after(name, "BinaryFunctor<"),
		   *unary = text_after(name, "UnaryFunctor<");
	const char *converting = text_after(name, "converting_copy_kernel_cuda<");
	unsigned *bytes = ret->operand_bytes;

	for (int i = 0; i < 4; i++)
		bytes[i] = ret->bytes;
	if (binary || unary) { /* <first operand, second operand, result, function> */
		const char *first = binary ? binary : unary, *second = next_argument(first);

		bytes[1] = type_at(unary && unary[-14] == 'A' ? second : first);
		bytes[2] = type_at(second);
		bytes[0] = type_at(next_argument(second));
		return;
	}
	if (converting) {
		bytes[1] = type_at(converting);
		bytes[0] = type_at(next_argument(converting));
		return;
	}
	for (int i = 1; lambda && *lambda && i < 4; i++) {
		bytes[i] = type_at(lambda);
		lambda = next_argument(lambda);
	}
	bytes[0] = result_bytes(name, bytes);
}

/* Instructions per element of CUDA's mathematical functions, whose arithmetic takes longer than the
 * memory for 2-byte elements. */
static double instructions_of(const char *name)
{
	return strstr(name, "GeluBackward") ? 50 : strstr(name, "GeluCUDA") ? 30 : 0;
}

static void find_elementwise(const char *name, struct cost_name *ret)
{
	unsigned width = number_after(name, "elementwise_kernel<");

	/* A thread of PyTorch's kernels processes four elements, or a vector if that is wider. */
	ret->items = width > 4 && width <= 16 ? width : 4;
	if (!ret->arrays)
		ret->arrays = number_after(name, "rray<char*, ");
	ret->instructions = instructions_of(name);
	if (ret->kernel == COST_KERNEL_CONTIGUOUS && ret->arrays >= 1 && ret->arrays <= 4)
		find_operands(name, ret);
	if (ret->kernel == COST_KERNEL_RANDOM && strstr(name, "nullary_kernel<"))
		ret->bytes = bytes_of(text_after(name, "nullary_kernel<"));
}

/* multi_tensor_apply_kernel<TensorListMetadata<lists>, Functor<type, lists, number of read lists,
 * written list>, ...>; TensorListScalarListMetadata<type, lists> has a number for each tensor,
 * FusedOptimizerTensorListMetadata<lists> an address. A fused optimizer writes all lists except the
 * gradients. */
static void find_lists(const char *name, struct cost_name *ret)
{
	const char *scalars = text_after(name, "TensorListScalarListMetadata<");
	const char *functor = text_after(name, "Functor<"), *reads = NULL;

	if (functor)
		reads = next_argument(next_argument(functor));
	ret->lists = scalars ? (unsigned)atoi(next_argument(scalars))
			     : number_after(name, "TensorListMetadata<");
	ret->entry_bytes = scalars ? type_at(scalars) : strstr(name, "FusedOptimizer") ? 8 : 0;
	ret->bytes = functor ? type_at(functor) : ret->bytes;
	if (strstr(name, "FusedOptimizer"))
		ret->arrays = 2 * ret->lists - 1;
	else if (strstr(name, "LpNormFunctor"))
		ret->arrays = ret->lists;
	else
		ret->arrays = reads && atoi(reads) > 0 ? (unsigned)atoi(reads) + 1 : ret->lists;
}

/* CatArrayBatchedCopy<element type, index type, dimensions, inputs, ...> */
static void find_concatenation(const char *name, struct cost_name *ret)
{
	const char *index = next_argument(strchr(name, '<') ? strchr(name, '<') + 1 : "");

	ret->entry_bytes = type_at(index);
	ret->lists = (unsigned)atoi(next_argument(next_argument(index)));
}

/* "128x64" between other characters: the tile of a product. */
static void find_tile(const char *name, struct cost_name *ret)
{
	for (const char *at = name; *at; at++) {
		char *x, *end;

		if (!isdigit((unsigned char)*at))
			continue;
		unsigned m = (unsigned)strtoul(at, &x, 10);

		if (*x == 'x' && isdigit((unsigned char)x[1])) {
			unsigned n = (unsigned)strtoul(x + 1, &end, 10);

			if (m >= 16 && m <= 512 && n >= 16 && n <= 512) {
				ret->tile_m = m;
				ret->tile_n = n;
				return;
			}
		}
		at = x - 1;
	}
}

static enum gpuemu_math math_of(const char *name)
{
	static const struct {
		const char *text;
		enum gpuemu_math math;
	} maths[] = {
		{"tf32", GPUEMU_TF32}, {"1688gemm", GPUEMU_TF32},   {"s1688", GPUEMU_TF32},
		{"f16", GPUEMU_FP16},  {"bf16", GPUEMU_FP16},	    {"h884", GPUEMU_FP16},
		{"s884", GPUEMU_FP16}, {"hgemm", GPUEMU_FP16},	    {"16816", GPUEMU_FP16},
		{"Half", GPUEMU_FP16}, {"BFloat16", GPUEMU_FP16},   {"e4m3", GPUEMU_FP8},
		{"e5m2", GPUEMU_FP8},  {"imma", GPUEMU_INT8},	    {"dgemm", GPUEMU_FP64},
		{"d884", GPUEMU_FP64}, {"bfloat16_t", GPUEMU_FP16}, {"half_t", GPUEMU_FP16},
	};

	for (size_t i = 0; i < ARRAY_SIZE(maths); i++)
		if (strstr(name, maths[i].text))
			return maths[i].math;
	return GPUEMU_FP32;
}

/* flash_..._kernel<traits, drops out, causal, ...> */
static int is_causal(const char *name)
{
	const char *traits = strchr(name, '<');

	return traits && strncmp(next_argument(next_argument(traits + 1)), "true", 4) == 0;
}

struct cost_name cost_name_of(const char *name)
{
	const char *arguments = strchr(name, '<');
	struct cost_name ret = {.bytes = bytes_of(arguments ? arguments + 1 : name)};

	for (size_t i = 0; i < ARRAY_SIZE(texts) && !ret.class; i++)
		if (strstr(name, texts[i].text)) {
			ret.class = texts[i].class;
			ret.kernel = texts[i].kernel;
			ret.arrays = texts[i].arrays;
		}
	ret.math = math_of(name);
	if (ret.class == COST_CLASS_PRODUCT || ret.class == COST_CLASS_CONVOLUTION)
		find_tile(name, &ret);
	if (ret.class == COST_CLASS_ELEMENTWISE)
		find_elementwise(name, &ret);
	if (ret.kernel == COST_KERNEL_LISTS)
		find_lists(name, &ret);
	if (ret.kernel == COST_KERNEL_SORT)
		ret.entry_bytes = number_after(name, "OpaqueType<");
	if (ret.kernel == COST_KERNEL_CONCATENATE)
		find_concatenation(name, &ret);
	if (ret.class == COST_CLASS_ATTENTION)
		ret.causal = is_causal(name);
	ret.sliced = strstr(name, "sliced") != NULL;
	ret.persistent = strstr(name, "softmax_warp") != NULL;
	ret.reads_once = strstr(name, "SoftMaxForwardReg<") || strstr(name, "Smem<");
	return ret;
}
