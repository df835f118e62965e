/* SPDX-License-Identifier: Apache-2.0 */

/* Offsets of an element of tensors, by its number: PyTorch's OffsetCalculator
 * (aten/src/ATen/cuda/detail/OffsetCalculator.cuh) for several tensors, in bytes, and TensorInfo.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { EMU_OFFSETS_DIMS = 25 };

/* int dims; {divisor, magic number, shift} sizes[25]; uint32_t strides[25][tensors] */
static inline size_t emu_offsets_bytes(int tensors)
{
	return 4 + EMU_OFFSETS_DIMS * 12 + EMU_OFFSETS_DIMS * 4 * (size_t)(tensors ? tensors : 1);
}

static inline void emu_offsets_of(const char *calculator, int tensors, uint32_t number,
				  uint64_t *ret)
{
	int32_t dims;

	memcpy(&dims, calculator, sizeof(dims));
	memset(ret, 0, (size_t)tensors * sizeof(*ret));
	for (int i = 0; i < dims && i < EMU_OFFSETS_DIMS; i++) {
		uint32_t size, stride;

		memcpy(&size, calculator + 4 + i * 12, sizeof(size));
		if (size == 0)
			return;
		for (int k = 0; k < tensors; k++) {
			memcpy(&stride,
			       calculator + 4 + EMU_OFFSETS_DIMS * 12 + (i * tensors + k) * 4,
			       sizeof(stride));
			ret[k] += (uint64_t)(number % size) * stride;
		}
		number /= size;
	}
}

/* PyTorch's TensorInfo<T, int> and <T, unsigned int>. */
struct emu_tensor_info {
	char *data;
	int32_t sizes[EMU_OFFSETS_DIMS], strides[EMU_OFFSETS_DIMS], dims;
};

/* Returns the offset of an element, in elements, by its number. */
static inline int64_t emu_tensor_offset(const struct emu_tensor_info *t, int64_t number)
{
	int64_t offset = 0;

	for (int i = t->dims < EMU_OFFSETS_DIMS ? t->dims - 1 : EMU_OFFSETS_DIMS - 1; i >= 0; i--) {
		if (t->sizes[i] < 1)
			return offset;
		offset += number % t->sizes[i] * t->strides[i];
		number /= t->sizes[i];
	}
	return offset;
}
