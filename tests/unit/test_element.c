/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/element.h"
#include "replay/emugpu/math/reduce.h"
#include "tests/unit/test.h"

#include <math.h>

/* A value, and the value after conversion to the narrow type and back. */
static const struct {
	enum emu_type type;
	double in, out;
} rows[] = {
	{EMU_F16, 1.0, 1.0},
	{EMU_F16, 65504, 65504},
	{EMU_F16, 65520, INFINITY},
	{EMU_F16, 0x1p-24, 0x1p-24},
	{EMU_F16, 0x1p-26, 0},
	{EMU_F16, 0x1.8p-25, 0x1p-24},
	{EMU_F16, -0x1.ff8p-15, -0x1.ff8p-15},
	{EMU_F16, 1 + 0x1p-11, 1},
	{EMU_F16, 1 + 0x1.8p-10, 1 + 0x1p-9},
	{EMU_F16, -INFINITY, -INFINITY},
	{EMU_BF16, 1 + 0x1p-8, 1},
	{EMU_BF16, 1 + 0x1.8p-7, 1 + 0x1p-6},
	{EMU_BF16, 0x1.feep127, 0x1.fep127},
	{EMU_BF16, 0x1.ffp127, INFINITY},
	{EMU_E4M3, 448, 448},
	{EMU_E4M3, 1000, 448},
	{EMU_E4M3, 1.0625, 1},
	{EMU_E4M3, 1.1875, 1.25},
	{EMU_E4M3, 15.9, 16},
	{EMU_E4M3, 0x1p-9, 0x1p-9},
	{EMU_E5M2, 57344, 57344},
	{EMU_E5M2, -60000, -57344},
	{EMU_E5M2, 0x1p-16, 0x1p-16},
	{EMU_I8, 200, 127},
	{EMU_I8, -2.5, -2},
	{EMU_U8, -1, 0},
	{EMU_I32, 3e9, INT32_MAX},
	{EMU_U32, 3e9, 3e9},
	{EMU_I64, -5, -5},
	{EMU_F64, 0.1, 0.1},
};

TEST_ROWS(narrowing_conversions, rows)
{
	uint8_t memory[16];

	emu_store(row->type, memory, 0, row->in);
	ck_assert_msg(emu_load(row->type, memory, 0) == row->out, "row %d: %a became %a",
		      (int)(row - rows), row->in, emu_load(row->type, memory, 0));
}

/* Every value of the narrow floating-point types survives conversion to float and back. */
TEST(conversions_that_are_exact)
{
	for (uint32_t v = 0; v < 65536; v++) {
		float h = emu_f16_to_f32((uint16_t)v), b = emu_bf16_to_f32((uint16_t)v);

		ck_assert(h != h || emu_f32_to_f16(h) == v);
		ck_assert(b != b || emu_f32_to_bf16(b) == v);
		ck_assert(h == h || isnan(emu_f16_to_f32(emu_f32_to_f16(h))));
		ck_assert(b == b || isnan(emu_bf16_to_f32(emu_f32_to_bf16(b))));
	}
	for (uint32_t v = 0; v < 256; v++)
		for (enum emu_type t = EMU_E4M3; t <= EMU_E5M2; t++) {
			float f = emu_f8_to_f32(t, (uint8_t)v);

			if (isfinite(f))
				ck_assert_uint_eq(emu_f32_to_f8(t, f), v);
		}
}

/* Three ranks contribute 1 + i, 2 and 4 (modulo the type's range): each operation, each type. */
static double expected(enum emu_reduction op, double a)
{
	switch (op) {
	case EMU_SUM:
		return a + 2 + 4;
	case EMU_PROD:
		return a * 2 * 4;
	case EMU_MAX:
		return a > 4 ? a : 4;
	case EMU_MIN:
		return a < 2 ? a : 2;
	case EMU_AVG:
		return (a + 6) / 3;
	default:
		return a * 1 + 2 * 2 + 4 * 3;
	}
}

TEST_EACH(reductions, (EMU_C32 * EMU_REDUCTIONS))
{
	enum { N = 1025 };
	static const double scalars[] = {1, 2, 3};
	enum emu_type type = (enum emu_type)(_i / EMU_REDUCTIONS);
	enum emu_reduction op = (enum emu_reduction)(_i % EMU_REDUCTIONS);
	size_t bytes = emu_type_bytes(type);
	const void *inputs[3];
	void *memory[3];
	int whole = type >= EMU_I8 && type <= EMU_U64;

	for (int r = 0; r < 3; r++)
		inputs[r] = memory[r] = calloc(N, bytes);
	for (int i = 0; i < N; i++) {
		emu_store(type, memory[0], i, 1 + i % 8);
		emu_store(type, memory[1], i, 2);
		emu_store(type, memory[2], i, 4);
	}
	emu_reduce(type, op, memory[0], inputs, 3, N, scalars);
	for (int i = 0; i < N; i++) {
		double want = expected(op, 1 + i % 8), got = emu_load(type, memory[0], i);

		want = whole ? floor(want) : want;
		ck_assert_msg(fabs(got - want) <= fabs(want) * (whole ? 0 : 0.125),
			      "type %d, op %d: %g not %g", (int)type, op, got, want);
	}
	for (int r = 0; r < 3; r++)
		free(memory[r]);
}
