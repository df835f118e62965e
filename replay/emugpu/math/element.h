/* SPDX-License-Identifier: Apache-2.0 */

/* The element types of GPU libraries, and conversions to and from C types.
 *
 * Conversions to a narrower type round to the nearest, ties to even. The 8-bit floats saturate at
 * their largest finite value, as CUDA's conversions do; NaN stays NaN. All functions are
 * thread-safe and access only their arguments. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum emu_type {
	EMU_F16,
	EMU_BF16,
	EMU_F32,
	EMU_F64,
	EMU_E4M3,
	EMU_E5M2,
	EMU_I8,
	EMU_U8,
	EMU_I32,
	EMU_U32,
	EMU_I64,
	EMU_U64,
	EMU_C32, /* pairs of float */
	EMU_C64, /* pairs of double */
	EMU_I16, /* last: recordings contain these numbers */
	EMU_TYPES,
};

/* Element (i, j) is data[i * row + j * column]. */
struct emu_matrix {
	const void *data;
	enum emu_type type;
	uint8_t conjugate; /* of complex elements */
	int64_t row, column;
};

/* Returns the size of one element in bytes; 0 for EMU_TYPES and above. */
size_t emu_type_bytes(enum emu_type type);

/* Read and write one element by index. Integers beyond 2^53 lose precision. Complex: the real
 * part. */
double emu_load(enum emu_type type, const void *data, int64_t index);
void emu_store(enum emu_type type, void *data, int64_t index, double value);

/* Convert `n` elements, `stride` elements apart in the typed memory and adjacent in the C array. */
void emu_to_f32(enum emu_type type, const void *data, int64_t stride, size_t n, float *out);
void emu_to_f64(enum emu_type type, const void *data, int64_t stride, size_t n, double *out);
void emu_from_f32(enum emu_type type, void *data, int64_t stride, size_t n, const float *in);
void emu_from_f64(enum emu_type type, void *data, int64_t stride, size_t n, const double *in);

static inline float emu_bits_f32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t emu_f32_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static inline float emu_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
	uint32_t scaled = emu_f32_bits(emu_bits_f32(rest << 13) * 0x1p112f);

	return emu_bits_f32(sign | (rest >= 0x7c00 ? 0x7f800000 | rest << 13 : scaled));
}

static inline uint16_t emu_f32_to_f16(float f)
{
	uint32_t bits = emu_f32_bits(f), sign = bits >> 16 & 0x8000, x = bits & 0x7fffffff;
	uint32_t tiny = emu_f32_bits(emu_bits_f32(x) + 0.5f) - 0x3f000000;
	uint32_t normal = (x + 0xc8000000 + 0xfff + (x >> 13 & 1)) >> 13;
	uint32_t huge = x > 0x7f800000 ? 0x7e00 : 0x7c00;

	return (uint16_t)(sign | (x < 0x38800000 ? tiny : x < 0x47800000 ? normal : huge));
}

static inline float emu_bf16_to_f32(uint16_t h)
{
	return emu_bits_f32((uint32_t)h << 16);
}

static inline uint16_t emu_f32_to_bf16(float f)
{
	uint32_t x = emu_f32_bits(f);

	if ((x & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(x >> 16 | 0x40);
	return (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

float emu_f8_to_f32(enum emu_type type, uint8_t v);
uint8_t emu_f32_to_f8(enum emu_type type, float f);
