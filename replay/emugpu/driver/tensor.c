/* SPDX-License-Identifier: Apache-2.0 */

/* Tensor maps: descriptions of tensors in memory, passed to kernels as parameters. Arguments are
 * checked as documented. The layout of a map is specific to gpuemu: address, kinds, sizes, strides
 * and boxes, so that different tensors have different maps. */
#include "replay/emugpu/driver/device.h"

#include <string.h>

enum { RANKS = 5 };

struct tensor {
	CUtensorMapDataType type;
	cuuint32_t rank;
	void *address;
	const cuuint64_t *sizes, *strides;
	const cuuint32_t *steps;
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
};

static int is_valid(const struct tensor *t, cuuint32_t least_rank)
{
	uintptr_t align = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;

	if (t->rank < least_rank || t->rank > RANKS || !t->address || !t->sizes || !t->steps ||
	    (t->rank > 1 && !t->strides) || (uintptr_t)t->address % align ||
	    (unsigned)t->type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
	    (unsigned)t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
	    (unsigned)t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
	    (t->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && t->rank < 3))
		return 0;
	for (cuuint32_t i = 0; i < t->rank; i++) {
		if (t->sizes[i] == 0 || t->sizes[i] > 1ull << 32 || t->steps[i] == 0 ||
		    t->steps[i] > 8)
			return 0;
		if (i + 1 < t->rank && (t->strides[i] % align || t->strides[i] >= 1ull << 40))
			return 0;
	}
	return 1;
}

static void encode_map(CUtensorMap *map, const struct tensor *t)
{
	cuuint64_t *to = map->opaque;

	memset(map, 0, sizeof(*map));
	to[0] = (cuuint64_t)(uintptr_t)t->address;
	to[1] = (cuuint64_t)t->type | (cuuint64_t)t->rank << 8 | (cuuint64_t)t->interleave << 16 |
		(cuuint64_t)t->swizzle << 24 | (cuuint64_t)t->promotion << 32 |
		(cuuint64_t)t->fill << 40;
	for (cuuint32_t i = 0; i < t->rank; i++) {
		to[2 + i / 2] |= (t->sizes[i] - 1) << 32 * (i % 2);
		to[5] |= (cuuint64_t)t->steps[i] << 8 * i;
		if (i + 1 < t->rank)
			to[6 + i] = t->strides[i];
	}
}

EMU_API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
					void *address, const cuuint64_t *sizes,
					const cuuint64_t *strides, const cuuint32_t *box,
					const cuuint32_t *steps, CUtensorMapInterleave interleave,
					CUtensorMapSwizzle swizzle,
					CUtensorMapL2promotion promotion,
					CUtensorMapFloatOOBfill fill)
{
	const struct tensor t = {type,	rank,	    address, sizes,	strides,
				 steps, interleave, swizzle, promotion, fill};

	if (!map || !box || !is_valid(&t, 1))
		return CUDA_ERROR_INVALID_VALUE;
	for (cuuint32_t i = 0; i < rank; i++)
		if (box[i] == 0 || box[i] > 256)
			return CUDA_ERROR_INVALID_VALUE;
	encode_map(map, &t);
	for (cuuint32_t i = 0; i < rank; i++)
		map->opaque[10 + i / 4] |= (cuuint64_t)box[i] << 16 * (i % 4);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type,
					 cuuint32_t rank, void *address, const cuuint64_t *sizes,
					 const cuuint64_t *strides, const int *lower,
					 const int *upper, cuuint32_t channels, cuuint32_t pixels,
					 const cuuint32_t *steps, CUtensorMapInterleave interleave,
					 CUtensorMapSwizzle swizzle,
					 CUtensorMapL2promotion promotion,
					 CUtensorMapFloatOOBfill fill)
{
	const struct tensor t = {type,	rank,	    address, sizes,	strides,
				 steps, interleave, swizzle, promotion, fill};

	if (!map || !lower || !upper || channels > 256 || pixels > 1024 || !is_valid(&t, 3))
		return CUDA_ERROR_INVALID_VALUE;
	encode_map(map, &t);
	for (cuuint32_t i = 0; i + 2 < rank; i++) {
		map->opaque[12] |= (cuuint64_t)(uint16_t)lower[i] << 16 * i;
		map->opaque[13] |= (cuuint64_t)(uint16_t)upper[i] << 16 * i;
	}
	map->opaque[14] = (cuuint64_t)channels << 32 | pixels;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	if (!map || !address || (uintptr_t)address % 16)
		return CUDA_ERROR_INVALID_VALUE;
	map->opaque[0] = (cuuint64_t)(uintptr_t)address;
	return CUDA_SUCCESS;
}
