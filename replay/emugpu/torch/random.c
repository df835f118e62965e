/* SPDX-License-Identifier: Apache-2.0 */

/* Random numbers as PyTorch computes them: Philox, with a sequence for each thread. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/math/philox.h"
#include "replay/emugpu/torch/offsets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NORMAL, UNIFORM, BERNOULLI, EXPONENTIAL, INTEGER };

int emu_torch_random_state_of(const void *param, size_t bytes, struct emu_torch_random_state *ret)
{
	const uint8_t *at = param;
	uint64_t added = 0;

	if (bytes != 24 && bytes != 32)
		return -ENOTSUP;
	memcpy(ret, at, sizeof(*ret));
	memcpy(&added, at + 16, bytes == 24 ? 4 : 8);
	if (at[bytes == 24 ? 20 : 24]) {
		ret->seed = *(const uint64_t *)(uintptr_t)ret->seed;
		ret->offset = *(const uint64_t *)(uintptr_t)ret->offset + added;
	}
	return 0;
}

/* The numbers of call `number` of a thread. */
static void philox(const struct emu_torch_random_state *s, uint64_t thread, uint64_t number,
		   uint32_t ret[4])
{
	emu_philox(s->seed, thread, s->offset / 4 + number, ret);
}

static double uniform64(const uint32_t x[2])
{
	return (double)(x[0] ^ (uint64_t)x[1] << 21) * 0x1p-53 + 0x1p-54;
}

/* Converts two uniform numbers to two normal numbers (Box and Muller). */
static void make_normal(double *u)
{
	double length = sqrt(-2 * log(u[0])), angle = 2 * M_PI * u[1];

	u[0] = length * sin(angle);
	u[1] = length * cos(angle);
}

/* The numbers of one call, uniform or normal: two doubles, or four floats (`t->vector`). */
static void draw(const struct emu_torch *t, const struct emu_torch_random_state *s, uint64_t thread,
		 uint64_t number, double ret[4])
{
	uint32_t x[4];

	philox(s, thread, number, x);
	for (int i = 0; i < t->vector; i++)
		ret[i] = t->vector == 2 ? uniform64(x + 2 * i) : emu_philox_uniform(x[i]);
	for (int i = 0; t->op == NORMAL && i < t->vector; i += 2)
		make_normal(ret + i);
}

/* `p`: the mean and standard deviation; the range and the bounds; the probability; the rate. */
static double transform(const struct emu_torch *t, double x, const double p[3])
{
	switch (t->op) {
	case NORMAL:
		return x * p[1] + p[0];
	case UNIFORM:
		return x * p[0] + p[1];
	case BERNOULLI:
		return x < p[0];
	default:
		return -(x >= 1 - 0x1p-24 ? -0x1p-24 : log(x)) / p[0];
	}
}

/* The parameter after the generator: the destination, in bytes. */
struct target {
	char *data;
	int32_t stride;
	const char *calculator; /* or NULL */
	const char *transform;
};

static char *address_of(const struct target *to, uint32_t i)
{
	uint64_t offset = (uint64_t)i * (uint64_t)to->stride;

	if (to->calculator)
		emu_offsets_of(to->calculator, 1, i, &offset);
	return to->data + offset;
}

/* A lambda: {address, stride, transform}, or {calculator, address, transform}. */
static struct target target_of(const char *lambda, size_t bytes, size_t align)
{
	size_t at = (emu_offsets_bytes(1) + 7) / 8 * 8;
	struct target to = {.transform = lambda + 8 + (4 + align - 1) / align * align};

	if (bytes > at) {
		to.calculator = lambda;
		to.transform = lambda + at + 8;
	} else {
		memcpy(&to.stride, lambda + 8, sizeof(to.stride));
	}
	memcpy(&to.data, to.calculator ? lambda + at : lambda, sizeof(to.data));
	return to;
}

static void store_integer(const struct emu_torch *t, const uint32_t x[4], int i, const char *of,
			  char *to)
{
	uint64_t range, v = x[i];
	int64_t base;

	memcpy(&range, of, sizeof(range));
	memcpy(&base, of + 8, sizeof(base));
	if (t->vector == 2)
		v = (uint64_t)x[2 * i] << 32 | x[2 * i + 1];
	v = v % range + (uint64_t)base;
	if (t->out == EMU_I64)
		memcpy(to, &v, sizeof(v));
	else
		emu_store(t->out, to, 0, (double)(int64_t)v);
}

/* distribution_elementwise_grid_stride_kernel(elements, state, generator, lambda) */
static int run_distribution(const struct emu_torch *t, const struct gpuemu_launch *l,
			    void *const *args)
{
	static const uint8_t parameters[] = {2, 3, 1, 1, 0};
	enum emu_type computes = t->op == BERNOULLI ? EMU_F64 : t->in[0];
	size_t align = t->op == INTEGER ? 8 : emu_type_bytes(computes);
	struct target to = target_of(args[3], l->arg_bytes(l, 3), align);
	uint64_t threads = (uint64_t)l->grid[0] * l->block[0];
	int64_t n = emu_int_of(l, args, 0);
	double p[3] = {0}, x[4];
	uint32_t bits[4];
	struct emu_torch_random_state s;

	if (emu_torch_random_state_of(args[1], l->arg_bytes(l, 1), &s) < 0 ||
	    !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int i = 0; i < parameters[t->op]; i++) /* the bounds have the type of the elements */
		p[i] = t->op == UNIFORM && i > 0
			       ? emu_load(t->out, to.transform + emu_type_bytes(computes), i - 1)
			       : emu_load(computes, to.transform, i);
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		uint64_t thread = i % threads, part = i / threads % t->vector;
		char *at = address_of(&to, (uint32_t)i);

		if (t->op == INTEGER) {
			philox(&s, thread, i / threads / t->vector, bits);
			store_integer(t, bits, (int)part, to.transform, at);
			continue;
		}
		draw(t, &s, thread, i / threads / t->vector, x);
		emu_store(t->out, at, 0, transform(t, x[part], p));
		if (t->op == UNIFORM && emu_load(t->out, at, 0) == p[2])
			emu_store(t->out, at, 0, p[1]);
	}
	return 0;
}

/* fused_dropout_kernel[_vec](from, to, mask, elements, probability to keep, state): vectors of
 * `t->depth` elements in a thread, or single elements */
static int run_dropout(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const struct emu_tensor_info *from = args[0], *to = args[1], *mask = args[2];
	uint64_t threads = (uint64_t)l->grid[0] * l->block[0];
	double keep = emu_load(t->in[1], args[4], 0), x[4];
	int64_t n = emu_int_of(l, args, 3);
	struct emu_torch_random_state s;

	if (l->arg_bytes(l, 0) != sizeof(*from) || l->arg_bytes(l, 3) != 4 ||
	    emu_torch_random_state_of(args[5], l->arg_bytes(l, 5), &s) < 0 ||
	    !emu_torch_computes_work((double)n))
		return -ENOTSUP;
	for (int64_t i = 0; i < n; i++) {
		uint64_t vector = (uint64_t)i / (uint64_t)t->depth, call = vector / threads;
		uint64_t part = (uint64_t)i % (uint64_t)t->depth;

		if (t->depth < 4) { /* a call's numbers are used by several vectors */
			part += call % (4 / (uint64_t)t->depth) * (uint64_t)t->depth;
			call /= 4 / (uint64_t)t->depth;
		}
		draw(t, &s, vector % threads, call, x);
		emu_store(t->in[0], to->data, emu_tensor_offset(to, i),
			  x[part] < keep
				  ? emu_load(t->in[0], from->data, emu_tensor_offset(from, i)) /
					    keep
				  : 0);
		emu_store(EMU_U8, mask->data, emu_tensor_offset(mask, i), x[part] < keep);
	}
	return 0;
}

static int parse_dropout(struct emu_torch *t, struct emu_part name)
{
	struct emu_part kernel = emu_part_after(name, "fused_dropout_kernel");

	t->op = UNIFORM;
	t->vector = 4;
	t->depth = emu_part_has(name, "kernel_vec<") ? atoi(emu_part_argument(kernel, 4).at) : 1;
	t->run = run_dropout;
	if ((t->depth != 1 && t->depth != 2 && t->depth != 4) ||
	    emu_part_type(emu_part_argument(kernel, 1), &t->in[1]) < 0)
		return -ENOTSUP;
	return emu_part_type(emu_part_argument(kernel, 0), &t->in[0]);
}

/* unpack_cudnn(state, to the seed, to the offset) */
static int run_unpack(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct emu_torch_random_state s;

	if (emu_torch_random_state_of(args[0], l->arg_bytes(l, 0), &s) < 0)
		return -ENOTSUP;
	memcpy(emu_pointer_of(args, 1), &s.seed, sizeof(s.seed));
	memcpy(emu_pointer_of(args, 2), &s.offset, sizeof(s.offset));
	return 0;
}

int emu_torch_random(struct emu_torch *t, struct emu_part name)
{
	static const char *const kinds[] = {
		[NORMAL] = "::normal_kernel<",		[UNIFORM] = "::uniform_kernel<",
		[BERNOULLI] = "::bernoulli_kernel<",	[EXPONENTIAL] = "::exponential_kernel<",
		[INTEGER] = "::random_from_to_kernel<",
	};
	struct emu_part kernel = emu_part_after(name, "distribution_nullary_kernel");
	struct emu_part computes = emu_part_argument(kernel, 1);
	uint8_t op = 0;

	if (emu_part_has(name, "philox::unpack_cudnn")) {
		t->run = run_unpack;
		return 0;
	}
	if (emu_part_has(name, "::fused_dropout_kernel"))
		return parse_dropout(t, name);
	if (!emu_part_has(name, "::distribution_elementwise_grid_stride_kernel<"))
		return -ENOTSUP;
	while (op <= INTEGER && !emu_part_has(name, kinds[op]))
		op++;
	if (op > INTEGER || emu_part_type(computes, &t->in[0]) < 0)
		return -ENOTSUP;
	t->op = op;
	t->vector = (uint8_t)(16 / emu_type_bytes(t->in[0]));
	if (t->vector > 4)
		return -ENOTSUP;
	t->run = run_distribution;
	return emu_part_type(emu_part_argument(kernel, 0), &t->out);
}
