/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/data.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements that a host computes in about 5 ms. */
#define MOST_ELEMENTS 3e5
/* The limit with gpuemu --no-data. Small kernels compute, because processes agree on sizes by their
 * results. */
#define MOST_SIZES 1024

int emu_torch_computes_work(double elements)
{
	const char *value = getenv("GPUEMU_COMPUTE");

	if (!emu_has_data())
		return elements <= MOST_SIZES;
	if (value && strcmp(value, "all") == 0)
		return 1;
	return (!value || strcmp(value, "0") != 0) && elements <= MOST_ELEMENTS;
}

/* ---- parts of names ---- */

struct emu_part emu_part_argument(struct emu_part p, int i)
{
	const char *end = p.at + p.len, *c = memchr(p.at, '<', p.len), *from = c ? c + 1 : end;
	int depth = 0;

	for (c = from; c && c < end; c++) {
		if (*c == '<' || *c == '(' || *c == '{') {
			depth++;
		} else if (depth > 0 && (*c == '>' || *c == ')' || *c == '}')) {
			depth--;
		} else if (depth == 0 && (*c == ',' || *c == '>')) {
			while (from < c && *from == ' ')
				from++;
			while (c > from && c[-1] == ' ' && *c == '>')
				c--;
			if (i-- == 0)
				return (struct emu_part){from, (size_t)(c - from)};
			if (*c != ',')
				break;
			from = c + 1;
		}
	}
	return (struct emu_part){end, 0};
}

struct emu_part emu_part_after(struct emu_part p, const char *text)
{
	const char *found = memmem(p.at, p.len, text, strlen(text));

	if (!found)
		return (struct emu_part){p.at + p.len, 0};
	found += strlen(text);
	return (struct emu_part){found, (size_t)(p.at + p.len - found)};
}

int emu_part_has(struct emu_part p, const char *text)
{
	return memmem(p.at, p.len, text, strlen(text)) != NULL;
}

int emu_part_type(struct emu_part p, enum emu_type *ret)
{
	static const struct {
		const char *name;
		enum emu_type type;
	} types[] = {
		{"float", EMU_F32},	     {"double", EMU_F64},	 {"c10::Half", EMU_F16},
		{"c10::BFloat16", EMU_BF16}, {"bool", EMU_U8},		 {"unsigned char", EMU_U8},
		{"signed char", EMU_I8},     {"int", EMU_I32},		 {"long", EMU_I64},
		{"unsigned int", EMU_U32},   {"unsigned long", EMU_U64},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == p.len && memcmp(types[i].name, p.at, p.len) == 0) {
			*ret = types[i].type;
			return 0;
		}
	return -ENOTSUP;
}

/* ---- arithmetic ---- */

static double compare(int op, double a, double b)
{
	return op == 0 ? a >= b : op == 1 ? a > b : op == 2 ? a <= b : a < b;
}

static double clamp(const double s[3], double a)
{
	if (isnan(a))
		return a;
	if (s[0] == 0)
		return a < s[1] ? s[1] : a;
	if (s[0] == 1)
		return a > s[1] ? s[1] : a;
	a = a < s[1] ? s[1] : a;
	return a > s[2] ? s[2] : a;
}

/* The standard normal distribution below a. */
static double normal_below(double a)
{
	return (1 + erf(a * M_SQRT1_2)) / 2;
}

static double gelu_inner(double a)
{
	return M_SQRT1_2 * M_2_SQRTPI * (a + 0.044715 * a * a * a);
}

static double gelu_slope(enum emu_torch_op op, double a)
{
	double t = tanh(gelu_inner(a));

	if (op == EMU_OP_GELU_GRAD)
		return normal_below(a) + a * M_SQRT1_2 * M_2_SQRTPI / 2 * exp(-a * a / 2);
	return (1 + t) / 2 +
	       a / 2 * (1 - t * t) * M_SQRT1_2 * M_2_SQRTPI * (1 + 3 * 0.044715 * a * a);
}

static double of_one(enum emu_torch_op op, double a, double s)
{
	switch (op) {
	case EMU_OP_NEG:
		return -a;
	case EMU_OP_ABS:
		return fabs(a);
	case EMU_OP_EXP:
		return exp(a);
	case EMU_OP_LOG:
		return log(a);
	case EMU_OP_SQRT:
		return sqrt(a);
	case EMU_OP_RSQRT:
		return 1 / sqrt(a);
	case EMU_OP_TANH:
		return tanh(a);
	case EMU_OP_SIGMOID:
		return 1 / (1 + exp(-a));
	case EMU_OP_RECIPROCAL:
		return 1 / a;
	case EMU_OP_NOT:
		return a == 0;
	case EMU_OP_SQUARE:
		return a * a;
	case EMU_OP_CUBE:
		return a * a * a;
	case EMU_OP_INVERSE_SQUARE:
		return 1 / (a * a);
	case EMU_OP_GELU:
		return a * normal_below(a);
	case EMU_OP_GELU_TANH:
		return a / 2 * (1 + tanh(gelu_inner(a)));
	case EMU_OP_POW:
		return pow(a, s);
	default:
		return a;
	}
}

double emu_torch_apply(enum emu_torch_op op, const double in[3], const double s[3])
{
	double a = in[0], b = in[1];

	switch (op) {
	case EMU_OP_FILL:
		return s[0];
	case EMU_OP_ADD:
		return a + s[0] * b;
	case EMU_OP_ADD_SCALED:
		return a + s[0] * s[1];
	case EMU_OP_SCALED_ADD:
		return s[0] + s[1] * a;
	case EMU_OP_MUL:
		return a * b;
	case EMU_OP_DIV:
		return a / b;
	case EMU_OP_COMPARE:
		return compare((int)s[0], a, b);
	case EMU_OP_EQUAL:
		return s[0] == 0 ? a == b : a != b;
	case EMU_OP_AND:
		return (double)((int64_t)a & (int64_t)b);
	case EMU_OP_OR:
		return (double)((int64_t)a | (int64_t)b);
	case EMU_OP_XOR:
		return (double)((int64_t)a ^ (int64_t)b);
	case EMU_OP_MAX:
		return isnan(a) || a > b ? a : b;
	case EMU_OP_MIN:
		return isnan(a) || a < b ? a : b;
	case EMU_OP_SELECT:
		return a != 0 ? b : in[2];
	case EMU_OP_MASK_FILL:
		return b != 0 ? s[0] : a;
	case EMU_OP_MASK_SCALE:
		return a * b * s[0];
	case EMU_OP_THRESHOLD:
		return a <= s[0] ? s[1] : b;
	case EMU_OP_CLAMP:
		return clamp(s, a);
	case EMU_OP_TANH_GRAD:
		return a * (1 - b * b);
	case EMU_OP_SIGMOID_GRAD:
		return a * (1 - b) * b;
	case EMU_OP_GELU_GRAD:
	case EMU_OP_GELU_TANH_GRAD:
		return a * gelu_slope(op, b);
	case EMU_OP_ADDCMUL:
		return a + s[0] * b * in[2];
	case EMU_OP_ADDCDIV:
		return a + s[0] * b / in[2];
	case EMU_OP_LERP:
		return a + s[0] * (b - a);
	default:
		return of_one(op, a, s[0]);
	}
}

/* ---- finding ---- */

static void run(struct gpuemu_launch *launch, void *const *args)
{
	const struct emu_torch *t = (const struct emu_torch *)launch->kernel;

	launch->skipped = t->run(t, launch, args) < 0;
}

static struct emu_torch *parse(const char *symbol, const char *name)
{
	static int (*const parsers[])(struct emu_torch *, struct emu_part) = {
		emu_torch_elementwise, emu_torch_reduce, emu_torch_lists,  emu_torch_indices,
		emu_torch_random,      emu_torch_rows,	 emu_torch_tensors};
	struct emu_torch *t = calloc(1, sizeof(*t));

	for (size_t i = 0; t && !t->run && i < sizeof(parsers) / sizeof(parsers[0]); i++)
		if (parsers[i](t, (struct emu_part){name, strlen(name)}) < 0)
			*t = (struct emu_torch){0};
	if (t && (t->symbol = strdup(symbol))) {
		t->kernel.name = t->symbol;
		t->kernel.run = run;
		t->kernel.flags = GPUEMU_SMALL;
		return t;
	}
	free(t);
	return NULL;
}

const struct gpuemu_kernel *emu_torch_kernel(const char *symbol, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct emu_torch *known[1024];
	uint64_t hash = 0xcbf29ce484222325;
	struct emu_torch *t;

	for (const char *c = symbol; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
	hash %= sizeof(known) / sizeof(known[0]);
	pthread_mutex_lock(&lock);
	for (t = known[hash]; t && strcmp(t->symbol, symbol) != 0; t = t->next)
		;
	if (!t && (t = parse(symbol, name))) {
		t->next = known[hash];
		known[hash] = t;
	}
	pthread_mutex_unlock(&lock);
	return t && t->run ? &t->kernel : NULL;
}
