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

enum { SUM, MEAN, PRODUCT, ALL, ANY, MAX, MIN, ARG_MAX, ARG_MIN, BOTH_MAX, BOTH_MIN, NORM2 };

static const struct {
	const char *name;
	int op;
} functions[] = {
	{"sum_functor<", SUM},	   {"MeanOps<", MEAN},	     {"prod_functor<", PRODUCT},
	{"and_kernel_cuda(", ALL}, {"or_kernel_cuda(", ANY}, {"MaxNanFunctor<", MAX},
	{"MinNanFunctor<", MIN},   {"ArgMaxOps<", ARG_MAX},  {"ArgMinOps<", ARG_MIN},
	{"MaxOps<", BOTH_MAX},	   {"MinOps<", BOTH_MIN},    {"NormTwoOps<", NORM2},
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

/* `total` starts as the first element. */
static double add(int op, double total, double v)
{
	switch (op) {
	case PRODUCT:
		return total * v;
	case ALL:
		return total != 0 && v != 0;
	case ANY:
		return total != 0 || v != 0;
	default:
		return total + v;
	}
}

/* Returns 1 if `v` replaces the best value; NaN is the best. */
static int is_better(int op, double v, double best)
{
	if (isnan(best))
		return 0;
	if (isnan(v))
		return 1;
	return op == MAX || op == ARG_MAX || op == BOTH_MAX ? v > best : v < best;
}

struct view {
	const struct emu_torch *t;
	struct config config;
	struct tail tail;
	const char *input, *output; /* the calculators */
};

static void reduce_one(const struct view *v, uint32_t number)
{
	int op = v->t->op;
	double best = op == NORM2 ? 0 : op == PRODUCT || op == ALL, x;
	int64_t index = 0;
	uint64_t at[2], offset;

	emu_offsets_of(v->output, 2, number, at);
	for (int32_t i = 0; i < v->config.inputs; i++) {
		emu_offsets_of(v->input, 1, (uint32_t)i, &offset);
		x = emu_load(v->t->in[0], v->tail.src + at[1] + offset, 0);
		if (op == NORM2) {
			best += x * x;
		} else if (op < MAX) {
			best = add(op, best, x);
		} else if (i == 0 || is_better(op, x, best)) {
			best = x;
			index = i + v->tail.base_idx;
		}
	}
	if (op == MEAN)
		best /= v->config.inputs;
	if (op == NORM2)
		best = sqrt(best);
	if (op == ARG_MAX || op == ARG_MIN)
		emu_store(EMU_I64, v->tail.dst[0] + at[0], 0, (double)index);
	else
		emu_store(v->t->out, v->tail.dst[0] + at[0], 0, best);
	/* The second result has elements of another size. */
	if (v->tail.noutputs == 2)
		emu_store(EMU_I64,
			  v->tail.dst[1] + at[0] / emu_type_bytes(v->t->out) * sizeof(int64_t), 0,
			  (double)index);
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
			found = functions[i].op;
	if (found < 0 || emu_part_type(emu_part_argument(op, 0), &t->in[0]) < 0 ||
	    emu_part_type(emu_part_argument(op, 3), &t->out) < 0)
		return -ENOTSUP;
	t->op = (uint8_t)found;
	t->run = run;
	return 0;
}
