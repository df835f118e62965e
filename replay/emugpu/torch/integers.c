/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/torch/integers.h"

static int64_t divide(int64_t a, int64_t b)
{
	if (b == 0 || b == -1) /* division by zero is undefined; the negative of INT64_MIN wraps */
		return b ? (int64_t)(0 - (uint64_t)a) : 0;
	return a / b;
}

static int64_t modulo(int64_t a, int64_t b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t power(int64_t a, int64_t exponent)
{
	uint64_t result = 1, base = (uint64_t)a;

	if (exponent < 0)
		return a == 1 ? 1 : a == -1 ? 1 - 2 * (exponent & 1) : 0;
	for (; exponent; exponent >>= 1, base *= base)
		result *= exponent & 1 ? base : 1;
	return (int64_t)result;
}

static int64_t clamp(const int64_t s[4], int64_t a)
{
	if (s[0] != 1 && a < s[1])
		a = s[1];
	if (s[0] == 1 && a > s[1])
		a = s[1];
	return s[0] == 2 && a > s[2] ? s[2] : a;
}

static int compare(int64_t op, int64_t a, int64_t b)
{
	return op == 0 ? a >= b : op == 1 ? a > b : op == 2 ? a <= b : a < b;
}

/* Functions of one element, and of one and scalars. */
static int of_one(enum emu_torch_op op, int64_t a, const int64_t s[4], int64_t *ret)
{
	uint64_t x = (uint64_t)a;

	switch (op) {
	case EMU_OP_COPY:
	case EMU_OP_FLOOR:
	case EMU_OP_CEIL:
	case EMU_OP_ROUND:
	case EMU_OP_TRUNC:
		return *ret = a, 1;
	case EMU_OP_FILL:
		return *ret = s[0], 1;
	case EMU_OP_ADD_SCALED:
		return *ret = (int64_t)(x + (uint64_t)s[0] * (uint64_t)s[1]), 1;
	case EMU_OP_SCALED_ADD:
		return *ret = (int64_t)((uint64_t)s[0] + (uint64_t)s[1] * x), 1;
	case EMU_OP_CLAMP:
		return *ret = clamp(s, a), 1;
	case EMU_OP_NEG:
		return *ret = (int64_t)(0 - x), 1;
	case EMU_OP_ABS:
		return *ret = a < 0 ? (int64_t)(0 - x) : a, 1;
	case EMU_OP_NOT:
		return *ret = a == 0, 1;
	case EMU_OP_BIT_NOT:
		return *ret = ~a, 1;
	case EMU_OP_SIGN:
		return *ret = (a > 0) - (a < 0), 1;
	case EMU_OP_SIGN_BIT:
		return *ret = a < 0, 1;
	case EMU_OP_SQUARE:
		return *ret = (int64_t)(x * x), 1;
	case EMU_OP_CUBE:
		return *ret = (int64_t)(x * x * x), 1;
	case EMU_OP_POW:
		return *ret = power(a, s[0]), 1;
	default:
		return 0;
	}
}

static int of_two(enum emu_torch_op op, int64_t a, int64_t b, const int64_t s[4], int64_t *ret)
{
	int64_t rest;

	switch (op) {
	case EMU_OP_ADD:
		return *ret = (int64_t)((uint64_t)a + (uint64_t)s[0] * (uint64_t)b), 1;
	case EMU_OP_SUBTRACT:
		return *ret = (int64_t)((uint64_t)a - (uint64_t)b), 1;
	case EMU_OP_MUL:
		return *ret = (int64_t)((uint64_t)a * (uint64_t)b), 1;
	case EMU_OP_DIV_TRUNC:
		return *ret = divide(a, b), 1;
	case EMU_OP_DIV_FLOOR:
		rest = modulo(a, b);
		return *ret = divide(a, b) - (rest != 0 && (rest < 0) != (b < 0)), 1;
	case EMU_OP_FMOD:
		return *ret = modulo(a, b), 1;
	case EMU_OP_REMAINDER:
		rest = modulo(a, b);
		return *ret = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest, 1;
	case EMU_OP_COMPARE:
		return *ret = compare(s[0], a, b), 1;
	case EMU_OP_EQUAL:
		return *ret = s[0] == 0 ? a == b : a != b, 1;
	case EMU_OP_AND:
		return *ret = a & b, 1;
	case EMU_OP_OR:
		return *ret = a | b, 1;
	case EMU_OP_XOR:
		return *ret = a ^ b, 1;
	case EMU_OP_MAX:
	case EMU_OP_MAX_NUMBER:
		return *ret = a > b ? a : b, 1;
	case EMU_OP_MIN:
	case EMU_OP_MIN_NUMBER:
		return *ret = a < b ? a : b, 1;
	case EMU_OP_MASK_FILL:
		return *ret = b != 0 ? s[0] : a, 1;
	case EMU_OP_POWER:
		return *ret = power(a, b), 1;
	case EMU_OP_POWER_OF:
		return *ret = power(b, a), 1;
	case EMU_OP_SHIFT_LEFT:
		return *ret = (uint64_t)b < 64 ? (int64_t)((uint64_t)a << b) : 0, 1;
	case EMU_OP_SHIFT_RIGHT:
		return *ret = a >> ((uint64_t)b < 64 ? b : 63), 1;
	default:
		return of_one(op, a, s, ret);
	}
}

int emu_torch_apply_integers(enum emu_torch_op op, const int64_t in[EMU_TORCH_INPUTS],
			     const int64_t s[4], int64_t *ret)
{
	switch (op) {
	case EMU_OP_SELECT:
		return *ret = in[0] != 0 ? in[1] : in[2], 1;
	case EMU_OP_THRESHOLD:
		return *ret = in[0] <= s[0] ? s[1] : in[1], 1;
	case EMU_OP_ADDCMUL:
		return *ret = (int64_t)((uint64_t)in[0] +
					(uint64_t)s[0] * (uint64_t)in[1] * (uint64_t)in[2]),
		       1;
	default:
		return of_two(op, in[0], in[1], s, ret);
	}
}
