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
			LOAD(type, (const char *)inputs[r] + at * bytes, count, to);               \
			for (size_t i = 0; op == EMU_PREMUL && i < count; i++)                     \
				to[i] = (T)((WRAP)to[i] * (WRAP)(T)scalars[r]);                    \
			if (r > 0)                                                                 \
				FOLD(op, sum, in, count);                                          \
		}                                                                                  \
		for (size_t i = 0; op == EMU_AVG && i < count; i++)                                \
			sum[i] /= (T)n;                                                            \
		KEEP(type, (char *)out + at * bytes, count, sum);                                  \
	}

static void load_f32(enum emu_type type, const void *data, size_t n, float *out)
{
	emu_to_f32(type, data, 1, n, out);
}

static void keep_f32(enum emu_type type, void *data, size_t n, const float *in)
{
	emu_from_f32(type, data, 1, n, in);
}

static void load_f64(enum emu_type type, const void *data, size_t n, double *out)
{
	emu_to_f64(type, data, 1, n, out);
}

static void keep_f64(enum emu_type type, void *data, size_t n, const double *in)
{
	emu_from_f64(type, data, 1, n, in);
}

#define WIDEN(T)                                                                                   \
	for (size_t i = 0; i < n; i++)                                                             \
		out[i] = ((const T *)data)[i];                                                     \
	break

#define NARROW(T)                                                                                  \
	for (size_t i = 0; i < n; i++)                                                             \
		((T *)data)[i] = (T)in[i];                                                         \
	break

static void load_i64(enum emu_type type, const void *data, size_t n, int64_t *out)
{
	switch (type) {
	case EMU_I8:
		WIDEN(int8_t);
	case EMU_I32:
		WIDEN(int32_t);
	default:
		WIDEN(int64_t);
	}
}

static void keep_i64(enum emu_type type, void *data, size_t n, const int64_t *in)
{
	switch (type) {
	case EMU_I8:
		NARROW(int8_t);
	case EMU_I32:
		NARROW(int32_t);
	default:
		NARROW(int64_t);
	}
}

static void load_u64(enum emu_type type, const void *data, size_t n, uint64_t *out)
{
	switch (type) {
	case EMU_U8:
		WIDEN(uint8_t);
	case EMU_U32:
		WIDEN(uint32_t);
	default:
		WIDEN(uint64_t);
	}
}

static void keep_u64(enum emu_type type, void *data, size_t n, const uint64_t *in)
{
	switch (type) {
	case EMU_U8:
		NARROW(uint8_t);
	case EMU_U32:
		NARROW(uint32_t);
	default:
		NARROW(uint64_t);
	}
}

DEFINE_REDUCE(reduce_f32, float, float, fold_f32, load_f32, keep_f32)
DEFINE_REDUCE(reduce_f64, double, double, fold_f64, load_f64, keep_f64)
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
