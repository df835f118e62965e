/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/reduce.h"

enum { BLOCK = 512 };

#define COMBINE(expression)                                                                        \
	for (size_t i = 0; i < count; i++)                                                         \
		sum[i] = (expression);                                                             \
	break

/* sum = sum (op) in, for a block of one type of C. WRAP is the type in which adding cannot trap. */
#define DEFINE_FOLD(name, T, WRAP)                                                                 \
	static void name(enum emu_reduction op, T *sum, const T *in, size_t count)                 \
	{                                                                                          \
		switch (op) {                                                                      \
		case EMU_PROD:                                                                     \
			COMBINE((T)((WRAP)sum[i] * (WRAP)in[i]));                                  \
		case EMU_MAX:                                                                      \
			COMBINE(in[i] > sum[i] || in[i] != in[i] ? in[i] : sum[i]);                \
		case EMU_MIN:                                                                      \
			COMBINE(in[i] < sum[i] || in[i] != in[i] ? in[i] : sum[i]);                \
		default:                                                                           \
			COMBINE((T)((WRAP)sum[i] + (WRAP)in[i]));                                  \
		}                                                                                  \
	}

DEFINE_FOLD(fold_f32, float, float)
DEFINE_FOLD(fold_f64, double, double)
DEFINE_FOLD(fold_i64, int64_t, uint64_t)
DEFINE_FOLD(fold_u64, uint64_t, uint64_t)

/* Reduces one block: widened by LOAD, folded, divided or not, and narrowed by KEEP. */
#define DEFINE_REDUCE(name, T, WRAP, FOLD, LOAD, KEEP)                                             \
	static void name(enum emu_type type, enum emu_reduction op, void *out,                     \
			 const void *const *inputs, unsigned n, size_t at, size_t count,           \
			 const double *scalars)                                                    \
	{                                                                                          \
		size_t bytes = emu_type_bytes(type);                                               \
		T sum[BLOCK], in[BLOCK];                                                           \
                                                                                                   \
		for (unsigned r = 0; r < n; r++) {                                                 \
			T *to = r == 0 ? sum : in;                                                 \
                                                                                                   \
			LOAD(type, (const char *)inputs[r] + at * bytes, 1, count, to);            \
			for (size_t i = 0; op == EMU_PREMUL && i < count; i++)                     \
				to[i] = (T)((WRAP)to[i] * (WRAP)(T)scalars[r]);                    \
			if (r > 0)                                                                 \
				FOLD(op, sum, in, count);                                          \
		}                                                                                  \
		for (size_t i = 0; op == EMU_AVG && i < count; i++)                                \
			sum[i] /= (T)n;                                                            \
		KEEP(type, (char *)out + at * bytes, 1, count, sum);                               \
	}

/* emu_to_f64() and emu_from_f64() for integers of 8, 32 and 64 bits, without loss. */
#define DEFINE_INTEGERS(load, keep, T8, T32, T64)                                                  \
	static void load(enum emu_type type, const void *data, int64_t stride, size_t n, T64 *out) \
	{                                                                                          \
		size_t bytes = emu_type_bytes(type);                                               \
                                                                                                   \
		for (size_t i = 0; i < n;                                                          \
		     i++, data = (const char *)data + stride * (int64_t)bytes)                     \
			out[i] = bytes == 1   ? *(const T8 *)data                                  \
				 : bytes == 4 ? *(const T32 *)data                                 \
					      : *(const T64 *)data;                                \
	}                                                                                          \
	static void keep(enum emu_type type, void *data, int64_t stride, size_t n, const T64 *in)  \
	{                                                                                          \
		size_t bytes = emu_type_bytes(type);                                               \
                                                                                                   \
		for (size_t i = 0; i < n; i++, data = (char *)data + stride * (int64_t)bytes)      \
			memcpy(data, &in[i], bytes); /* little-endian, as all hosts of GPUs are */ \
	}

DEFINE_INTEGERS(load_i64, keep_i64, int8_t, int32_t, int64_t)
DEFINE_INTEGERS(load_u64, keep_u64, uint8_t, uint32_t, uint64_t)

DEFINE_REDUCE(reduce_f32, float, float, fold_f32, emu_to_f32, emu_from_f32)
DEFINE_REDUCE(reduce_f64, double, double, fold_f64, emu_to_f64, emu_from_f64)
DEFINE_REDUCE(reduce_i64, int64_t, uint64_t, fold_i64, load_i64, keep_i64)
DEFINE_REDUCE(reduce_u64, uint64_t, uint64_t, fold_u64, load_u64, keep_u64)

void emu_reduce(enum emu_type type, enum emu_reduction op, void *out, const void *const *inputs,
		unsigned n, size_t count, const double *scalars)
{
	for (size_t at = 0; at < count; at += BLOCK) {
		size_t block = count - at < BLOCK ? count - at : BLOCK;

		switch (type) {
		case EMU_F64:
			reduce_f64(type, op, out, inputs, n, at, block, scalars);
			break;
		case EMU_I8:
		case EMU_I32:
		case EMU_I64:
			reduce_i64(type, op, out, inputs, n, at, block, scalars);
			break;
		case EMU_U8:
		case EMU_U32:
		case EMU_U64:
			reduce_u64(type, op, out, inputs, n, at, block, scalars);
			break;
		default:
			reduce_f32(type, op, out, inputs, n, at, block, scalars);
		}
	}
}
