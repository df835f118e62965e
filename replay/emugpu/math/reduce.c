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

/* Reduces one block: widened by LOAD, folded, divided if needed, and narrowed by KEEP. */
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

#define CONVERT(to, TO, from, FROM)                                                                \
	for (size_t i = 0; i < n; i++)                                                             \
		((TO *)(to))[i] = (TO)((const FROM *)(from))[i];                                   \
	break

/* emu_to_f64() and emu_from_f64() for integers of 8, 32 and 64 bits, without loss; stride is 1. */
#define DEFINE_INTEGERS(load, keep, T8, T32, T64)                                                  \
	static void load(enum emu_type type, const void *data, int64_t stride, size_t n, T64 *out) \
	{                                                                                          \
		switch (emu_type_bytes(type)) {                                                    \
		case 1:                                                                            \
			CONVERT(out, T64, data, T8);                                               \
		case 4:                                                                            \
			CONVERT(out, T64, data, T32);                                              \
		default:                                                                           \
			CONVERT(out, T64, data, T64);                                              \
		}                                                                                  \
	}                                                                                          \
	static void keep(enum emu_type type, void *data, int64_t stride, size_t n, const T64 *in)  \
	{                                                                                          \
		switch (emu_type_bytes(type)) {                                                    \
		case 1:                                                                            \
			CONVERT(data, T8, in, T64);                                                \
		case 4:                                                                            \
			CONVERT(data, T32, in, T64);                                               \
		default:                                                                           \
			CONVERT(data, T64, in, T64);                                               \
		}                                                                                  \
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
