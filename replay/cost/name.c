/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cost/name.h"

#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The first text that a name contains decides. */
static const struct {
	const char *text;
	enum cost_class class;
} texts[] = {
	{"multi_tensor_apply", COST_CLASS_OPTIMIZER},
	{"layer_norm", COST_CLASS_LAYER_NORM},
	{"LayerNorm", COST_CLASS_LAYER_NORM},
	{"GammaBetaBackward", COST_CLASS_LAYER_NORM},
	{"RowwiseMoments", COST_CLASS_LAYER_NORM},
	{"oftmax", COST_CLASS_SOFTMAX},
	{"oftMax", COST_CLASS_SOFTMAX},
	{"splitKreduce", COST_CLASS_REDUCTION},
	{"splitkreduce", COST_CLASS_REDUCTION},
	{"reduce_kernel", COST_CLASS_REDUCTION},
	{"Reduce", COST_CLASS_REDUCTION},
	{"index_elementwise", COST_CLASS_INDEX},
	{"indexSelect", COST_CLASS_INDEX},
	{"embedding", COST_CLASS_INDEX},
	{"gather_scatter", COST_CLASS_INDEX},
	{"CatArrayBatchedCopy", COST_CLASS_COPY},
	{"direct_copy_kernel", COST_CLASS_ELEMENTWISE},
	{"elementwise", COST_CLASS_ELEMENTWISE},
	{"fused_dropout", COST_CLASS_ELEMENTWISE},
	{"distribution_", COST_CLASS_ELEMENTWISE},
	{"scudnn", COST_CLASS_CONVOLUTION},
	{"conv_depthwise", COST_CLASS_CONVOLUTION},
	{"convolve", COST_CLASS_CONVOLUTION},
	{"fprop", COST_CLASS_CONVOLUTION},
	{"dgrad", COST_CLASS_CONVOLUTION},
	{"wgrad", COST_CLASS_CONVOLUTION},
	{"winograd", COST_CLASS_CONVOLUTION},
	{"gemv", COST_CLASS_PRODUCT},
	{"gemm", COST_CLASS_PRODUCT},
	{"cutlass", COST_CLASS_PRODUCT},
	{"copy", COST_CLASS_COPY},
};

/* The number after the first `text` in the name, or 0. */
static unsigned number_after(const char *name, const char *text)
{
	const char *at = strstr(name, text);

	return at ? (unsigned)strtoul(at + strlen(text), NULL, 10) : 0;
}

/* Bytes of the element type that the name mentions first. */
static unsigned bytes_of(const char *name)
{
	static const struct {
		const char *type;
		unsigned bytes;
	} types[] = {{"double", 8}, {"c10::Half", 2},	  {"c10::BFloat16", 2}, {"float", 4},
		     {"long", 8},   {"unsigned char", 1}, {"bool", 1},		{"int", 4}};
	const char *first = NULL;
	unsigned bytes = 0;

	/* After the arguments that are integers by design: the vector width, the element count. */
	name = strchr(name, ',') ? strchr(name, ',') : name;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const char *at = strstr(name, types[i].type);

		if (at && (!first || at < first)) {
			first = at;
			bytes = types[i].bytes;
		}
	}
	return bytes;
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
		{"tf32", GPUEMU_TF32}, {"1688gemm", GPUEMU_TF32}, {"s1688", GPUEMU_TF32},
		{"f16", GPUEMU_FP16},  {"bf16", GPUEMU_FP16},	  {"h884", GPUEMU_FP16},
		{"s884", GPUEMU_FP16}, {"hgemm", GPUEMU_FP16},	  {"16816", GPUEMU_FP16},
		{"Half", GPUEMU_FP16}, {"BFloat16", GPUEMU_FP16}, {"e4m3", GPUEMU_FP8},
		{"e5m2", GPUEMU_FP8},  {"imma", GPUEMU_INT8},	  {"dgemm", GPUEMU_FP64},
		{"d884", GPUEMU_FP64},
	};

	for (size_t i = 0; i < ARRAY_SIZE(maths); i++)
		if (strstr(name, maths[i].text))
			return maths[i].math;
	return GPUEMU_FP32;
}

struct cost_name cost_name_of(const char *name)
{
	struct cost_name ret = {0};

	for (size_t i = 0; i < ARRAY_SIZE(texts) && !ret.class; i++)
		if (strstr(name, texts[i].text))
			ret.class = texts[i].class;
	ret.bytes = bytes_of(name);
	ret.math = math_of(name);
	if (ret.class == COST_CLASS_PRODUCT || ret.class == COST_CLASS_CONVOLUTION)
		find_tile(name, &ret);
	if (ret.class == COST_CLASS_ELEMENTWISE) {
		unsigned width = number_after(name, "elementwise_kernel<");

		/* A thread of PyTorch's kernels has four elements, or the vector's if it is wider.
		 */
		ret.items = width > 4 && width <= 16 ? width : 4;
		ret.arrays = number_after(name, "rray<char*, ");
	}
	if (ret.class == COST_CLASS_OPTIMIZER)
		ret.arrays = number_after(name, "ListMetadata<");
	ret.sliced = strstr(name, "sliced") != NULL;
	ret.persistent = strstr(name, "softmax_warp") != NULL;
	return ret;
}
