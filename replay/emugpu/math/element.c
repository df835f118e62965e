/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/element.h"

#include <complex.h>
#include <math.h>

static const uint8_t type_bytes[EMU_TYPES] = {
	[EMU_F16] = 2,	[EMU_BF16] = 2, [EMU_F32] = 4, [EMU_F64] = 8, [EMU_E4M3] = 1,
	[EMU_E5M2] = 1, [EMU_I8] = 1,	[EMU_U8] = 1,  [EMU_I16] = 2, [EMU_I32] = 4,
	[EMU_U32] = 4,	[EMU_I64] = 8,	[EMU_U64] = 8, [EMU_C32] = 8, [EMU_C64] = 16,
};

size_t emu_type_bytes(enum emu_type type)
{
	return type < EMU_TYPES ? type_bytes[type] : 0;
}

/* E4M3 has no infinity and one NaN (0x7f); E5M2 has the IEEE layout. */
float emu_f8_to_f32(enum emu_type type, uint8_t v)
{
	int mantissa_bits = type == EMU_E4M3 ? 3 : 2, bias = type == EMU_E4M3 ? 7 : 15;
	int exponent = (v & 0x7f) >> mantissa_bits, mantissa = v & ((1 << mantissa_bits) - 1);
	float f;

	if (type == EMU_E4M3 && (v & 0x7f) == 0x7f)
		f = NAN;
	else if (type == EMU_E5M2 && exponent == 31)
		f = mantissa ? NAN : INFINITY;
	else if (exponent == 0)
		f = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
	else
		f = ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
	return v & 0x80 ? -f : f;
}

uint8_t emu_f32_to_f8(enum emu_type type, float f)
{
	int mantissa_bits = type == EMU_E4M3 ? 3 : 2, bias = type == EMU_E4M3 ? 7 : 15;
	uint8_t sign = signbit(f) ? 0x80 : 0, largest = type == EMU_E4M3 ? 0x7e : 0x7b;
	float x = fabsf(f), steps;
	int exponent;

	if (isnan(f))
		return sign | 0x7f;
	if (x >= emu_f8_to_f32(type, largest))
		return sign | largest;
	if (x == 0)
		return sign;
	frexpf(x, &exponent);
	exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
	steps = nearbyintf(ldexpf(x, mantissa_bits - exponent));
	/* A carry from the mantissa increments the exponent. */
	return sign | (uint8_t)((int)steps + ((exponent + bias - 1) << mantissa_bits));
}

double emu_load(enum emu_type type, const void *data, int64_t index)
{
	double v = 0;

	emu_to_f64(type, (const char *)data + index * (int64_t)emu_type_bytes(type), 1, 1, &v);
	return v;
}

void emu_store(enum emu_type type, void *data, int64_t index, double value)
{
	char *at = (char *)data + index * (int64_t)emu_type_bytes(type);

	emu_from_f64(type, at, 1, 1, &value);
}

/* Rounds to the nearest integer of the type; clamps values out of range. */
#define DEFINE_CLAMP(name, type, low, high)                                                        \
	static inline type name(double v)                                                          \
	{                                                                                          \
		return v != v		     ? 0                                                   \
		       : v <= (double)(low)  ? (low)                                               \
		       : v >= (double)(high) ? (high)                                              \
					     : (type)nearbyint(v);                                 \
	}

DEFINE_CLAMP(clamp_i8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_CLAMP(clamp_u8, uint8_t, 0, UINT8_MAX)
DEFINE_CLAMP(clamp_i16, int16_t, INT16_MIN, INT16_MAX)
DEFINE_CLAMP(clamp_i32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_CLAMP(clamp_u32, uint32_t, 0, UINT32_MAX)
DEFINE_CLAMP(clamp_i64, int64_t, INT64_MIN, INT64_MAX)
DEFINE_CLAMP(clamp_u64, uint64_t, 0, UINT64_MAX)

/* Each type: its C type; the value of an element x; the element for a value v. */
#define TYPES(X)                                                                                   \
	X(EMU_F16, uint16_t, emu_f16_to_f32(x), emu_f32_to_f16((float)v))                          \
	X(EMU_BF16, uint16_t, emu_bf16_to_f32(x), emu_f32_to_bf16((float)v))                       \
	X(EMU_F32, float, x, (float)v)                                                             \
	X(EMU_F64, double, x, (double)v)                                                           \
	X(EMU_E4M3, uint8_t, emu_f8_to_f32(type, x), emu_f32_to_f8(type, (float)v))                \
	X(EMU_E5M2, uint8_t, emu_f8_to_f32(type, x), emu_f32_to_f8(type, (float)v))                \
	X(EMU_I8, int8_t, x, clamp_i8((double)v))                                                  \
	X(EMU_U8, uint8_t, x, clamp_u8((double)v))                                                 \
	X(EMU_I16, int16_t, x, clamp_i16((double)v))                                               \
	X(EMU_I32, int32_t, x, clamp_i32((double)v))                                               \
	X(EMU_U32, uint32_t, x, clamp_u32((double)v))                                              \
	X(EMU_I64, int64_t, x, clamp_i64((double)v))                                               \
	X(EMU_U64, uint64_t, x, clamp_u64((double)v))                                              \
	X(EMU_C32, float complex, crealf(x), (float)v)                                             \
	X(EMU_C64, double complex, creal(x), (double)v)

/* The loop with a stride, and without, which the compiler can vectorise. */
#define EACH(C, ...)                                                                               \
	if (stride == 1)                                                                           \
		for (size_t i = 0; i < n; i++) {                                                   \
			C *at = (C *)data + i;                                                     \
			__VA_ARGS__;                                                               \
		}                                                                                  \
	else                                                                                       \
		for (size_t i = 0; i < n; i++) {                                                   \
			C *at = (C *)data + (int64_t)i * stride;                                   \
			__VA_ARGS__;                                                               \
		}                                                                                  \
	break;

#define LOAD(kind, C, load, store)                                                                 \
	case kind:                                                                                 \
		EACH(const C, const C x = *at; out[i] = (__typeof__(*out))(load))
#define STORE(kind, C, load, store)                                                                \
	case kind:                                                                                 \
		EACH(C, const __typeof__(*in) v = in[i]; *at = (store))

#define DEFINE(to, from, T)                                                                        \
	void to(enum emu_type type, const void *data, int64_t stride, size_t n, T *out)            \
	{                                                                                          \
		switch (type) {                                                                    \
			TYPES(LOAD)                                                                \
		default:                                                                           \
			break;                                                                     \
		}                                                                                  \
	}                                                                                          \
	void from(enum emu_type type, void *data, int64_t stride, size_t n, const T *in)           \
	{                                                                                          \
		switch (type) {                                                                    \
			TYPES(STORE)                                                               \
		default:                                                                           \
			break;                                                                     \
		}                                                                                  \
	}

DEFINE(emu_to_f32, emu_from_f32, float)
DEFINE(emu_to_f64, emu_from_f64, double)
