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

/* With the sign of b. */
static int64_t floor_modulo(int64_t a, int64_t b)
{
	int64_t rest = modulo(a, b);

	return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
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

int emu_torch_apply_integers(enum emu_torch_op op, const int64_t in[EMU_TORCH_INPUTS],
			     const int64_t s[4], int64_t *ret)
{
	int64_t a = in[0], b = in[1], c = in[2];

	switch (op) {
#define U(x) ((uint64_t)(x))
#define OP(name, value)
#define OP_OF_INTEGERS(name, value, of_integers)                                                   \
	case EMU_OP_##name:                                                                        \
		*ret = (int64_t)(of_integers);                                                     \
		return 1;
#include "replay/emugpu/torch/functions.def"
#undef OP
#undef OP_OF_INTEGERS
	default:
		return 0;
	}
}
