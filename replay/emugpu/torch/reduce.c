/* SPDX-License-Identifier: Apache-2.0 */

/* Reductions, of aten/src/ATen/native/cuda/Reduce.cuh. The parameter is a ReduceOp: the function
 * and its neutral element, of various sizes; a ReduceConfig; an OffsetCalculator of the inputs of
 * one output, and one of the outputs and the start of their inputs; then, from the end, addresses
 * and flags. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
	SUM,
	NAN_SUM,
	MEAN,
	PRODUCT,
	ALL,
	ANY,
	COUNT,
	NORM,
	MAX,
	MIN,
	ARG_MAX,
	ARG_MIN,
	BOTH_MAX,
	BOTH_MIN,
	ABSOLUTE_MAX,
	ABSOLUTE_MIN,
	RANGE,
	VARIANCE
};

static const struct {
	const char *name;
	int op;
	float power; /* of NORM; 0: the first bytes of the function */
} functions[] = {
	{"::sum_functor<", SUM},	{"::NanSumOps<", NAN_SUM},	{"::MeanOps<", MEAN},
	{"::prod_functor<", PRODUCT},	{"::and_kernel_cuda(", ALL},	{"::or_kernel_cuda(", ANY},
	{"::MaxNanFunctor<", MAX},	{"::MinNanFunctor<", MIN},	{"::ArgMaxOps<", ARG_MAX},
	{"::ArgMinOps<", ARG_MIN},	{"::MaxOps<", BOTH_MAX},	{"::MinOps<", BOTH_MIN},
	{"::AbsMaxOps<", ABSOLUTE_MAX}, {"::AbsMinOps<", ABSOLUTE_MIN}, {"::MinMaxOps<", RANGE},
	{"::WelfordOps<", VARIANCE},	{"::NormOneOps<", NORM, 1},	{"::NormTwoOps<", NORM, 2},
	{"::NormOps<", NORM},		{"::NormZeroOps<", COUNT},
};

struct config { /* ReduceConfig */
	int32_t element_bytes, inputs, outputs, others[8], block_width, block_height;
};

enum { CONFIG_BYTES = 64 };

/* The end of a ReduceOp. */
struct tail {
	const char *src;
	char *dst[2];
	void *acc_buf, *cta_buf, *semaphores;
	int64_t base_idx;
	uint8_t accumulate, final_output;
	int32_t noutputs;
};

struct view {
	const struct emu_torch *t;
	struct config config;
	struct tail tail;
	const char *input, *output; /* the calculators */
	double power;		    /* of NORM */
	double correction;	    /* of VARIANCE: subtracted from the number of elements */
	int takes_root;		    /* of VARIANCE */
};

/* `total` starts as the neutral element. */
static double add(const struct view *v, double total, double x)
{
	switch (v->t->op) {
	case PRODUCT:
		return total * x;
	case ALL:
		return total != 0 && x != 0;
	case ANY:
		return total != 0 || x != 0;
	case NAN_SUM:
		return isnan(x) ? total : total + x;
	case COUNT:
		return total + (x != 0);
	case NORM:
		return total + (v->power == 2 ? x * x : pow(fabs(x), v->power));
	default:
		return total + x;
	}
}

/* Returns 1 if `v` replaces the best value; NaN is the best. */
static int is_better(int op, double v, double best)
{
	if (isnan(best))
		return 0;
	if (isnan(v))
		return 1;
	return op == MAX || op == ARG_MAX || op == BOTH_MAX || op == ABSOLUTE_MAX ? v > best
										  : v < best;
}

/* The results of one output. */
struct result {
	double value, second; /* the second of RANGE and VARIANCE */
	int64_t integer, index;
};

static const char *element(const struct view *v, uint64_t start, int32_t i)
{
	uint64_t offset;

	emu_offsets_of(v->input, 1, (uint32_t)i, &offset);
	return v->tail.src + start + offset;
}

static struct result reduce_integers(const struct view *v, uint64_t start)
{
	struct result r = {.integer = v->t->op == PRODUCT};
	int largest = v->t->op == MAX || v->t->op == ARG_MAX || v->t->op == BOTH_MAX;

	for (int32_t i = 0; i < v->config.inputs; i++) {
		int64_t x = emu_torch_load_integer(v->t->in[0], element(v, start, i));

		if (v->t->op == SUM) {
			r.integer = (int64_t)((uint64_t)r.integer + (uint64_t)x);
		} else if (v->t->op == PRODUCT) {
			r.integer = (int64_t)((uint64_t)r.integer * (uint64_t)x);
		} else if (i == 0 || (largest ? x > r.integer : x < r.integer)) {
			r.integer = x;
			r.index = i + v->tail.base_idx;
		}
	}
	return r;
}

/* The variance and the mean. */
static struct result variance(const struct view *v, uint64_t start)
{
	double n = v->config.inputs, mean = 0, squares = 0, x;

	for (int32_t i = 0; i < v->config.inputs; i++)
		mean += emu_load(v->t->in[0], element(v, start, i), 0) / n;
	for (int32_t i = 0; i < v->config.inputs; i++) {
		x = emu_load(v->t->in[0], element(v, start, i), 0) - mean;
		squares += x * x;
	}
	x = squares / fmax(n - v->correction, 0);
	return (struct result){.value = v->takes_root ? sqrt(x) : x, .second = mean};
}

static struct result reduce_numbers(const struct view *v, uint64_t start)
{
	int op = v->t->op;
	struct result r = {.value = op == PRODUCT || op == ALL};

	for (int32_t i = 0; i < v->config.inputs; i++) {
		double x = emu_load(v->t->in[0], element(v, start, i), 0);

		if (op == ABSOLUTE_MAX || op == ABSOLUTE_MIN)
			x = fabs(x);
		if (op < MAX) {
			r.value = add(v, r.value, x);
		} else if (i == 0 || is_better(op, x, r.value)) {
			r.value = x;
			r.index = i + v->tail.base_idx;
		}
		if (op == RANGE && (i == 0 || is_better(MAX, x, r.second)))
			r.second = x;
	}
	if (op == MEAN)
		r.value /= v->config.inputs;
	if (op == NORM)
		r.value = v->power == 2 ? sqrt(r.value) : pow(r.value, 1 / v->power);
	return r;
}

static void reduce_one(const struct view *v, uint32_t number)
{
	int op = v->t->op;
	int integers = (op == SUM || op == PRODUCT || (op >= MAX && op <= BOTH_MIN)) &&
		       emu_torch_is_integer(v->t->in[0]) && emu_torch_is_integer(v->t->out);
	struct result r;
	uint64_t at[2];
	char *to;

	emu_offsets_of(v->output, 2, number, at);
	to = v->tail.dst[0] + at[0];
	r = op == VARIANCE ? variance(v, at[1])
	    : integers	   ? reduce_integers(v, at[1])
			   : reduce_numbers(v, at[1]);
	if (op == ARG_MAX || op == ARG_MIN)
		emu_store(EMU_I64, to, 0, (double)r.index);
	else if (integers)
		emu_torch_store_integer(v->t->out, to, r.integer);
	else
		emu_store(v->t->out, to, 0, r.value);
	if (v->tail.noutputs != 2)
		return;
	if (op == RANGE || op == VARIANCE)
		emu_store(v->t->out, v->tail.dst[1] + at[0], 0, r.second);
	else /* indices have another size */
		emu_store(EMU_I64,
			  v->tail.dst[1] + at[0] / emu_type_bytes(v->t->out) * sizeof(int64_t), 0,
			  (double)r.index);
}

/* The function is the first part of the parameter. WelfordOps and NormOps begin with a number of
 * the type in which PyTorch computes. */
static void read_function(const struct emu_torch *t, const char *param, struct view *ret)
{
	enum emu_type type = emu_torch_computes(t->in[0]);

	ret->power = t->scalars ? t->scalars : emu_load(type, param, 0);
	ret->correction = ret->power;
	ret->takes_root = param[emu_type_bytes(type)];
}

static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	size_t inputs = emu_offsets_bytes(1), outputs = emu_offsets_bytes(2);
	size_t bytes = l->arg_bytes ? l->arg_bytes(l, 0) : 0;
	size_t middle = CONFIG_BYTES + inputs + outputs, from;
	const char *param = args[0];
	struct view v = {.t = t};

	if (bytes < sizeof(v.tail) + middle || bytes > sizeof(v.tail) + middle + 64)
		return -ENOTSUP;
	memcpy(&v.tail, param + bytes - sizeof(v.tail), sizeof(v.tail));
	/* The tail is aligned to 8 bytes, the preceding part to 4. */
	for (from = bytes - sizeof(v.tail) - middle;; from -= 4) {
		memcpy(&v.config, param + from, sizeof(v.config));
		if (v.config.block_width == (int32_t)l->block[0] &&
		    v.config.block_height == (int32_t)l->block[1])
			break;
		if (from % 8 == 0 || from < 4)
			return -ENOTSUP;
	}
	v.input = param + from + CONFIG_BYTES;
	read_function(t, param, &v);
	v.output = v.input + inputs;
	if (v.tail.accumulate || !v.tail.final_output || v.config.inputs < 1 ||
	    !emu_torch_computes_work((double)v.config.inputs * v.config.outputs))
		return -ENOTSUP;
	for (int32_t i = 0; i < v.config.outputs; i++)
		reduce_one(&v, (uint32_t)i);
	return 0;
}

int emu_torch_reduce(struct emu_torch *t, struct emu_part name)
{
	struct emu_part op = emu_part_argument(name, 2);
	int found = -1;

	if (strncmp(name.at, "at::native::reduce_kernel<", 26) != 0)
		return -ENOTSUP;
	for (size_t i = 0; found < 0 && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (emu_part_has(emu_part_argument(op, 1), functions[i].name))
			found = (int)i;
	if (found < 0 || emu_part_type(emu_part_argument(op, 0), &t->in[0]) < 0 ||
	    emu_part_type(emu_part_argument(op, 3), &t->out) < 0)
		return -ENOTSUP;
	t->op = (uint8_t)functions[found].op;
	t->scalars = (uint8_t)functions[found].power;
	t->run = run;
	return 0;
}
