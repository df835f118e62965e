/* SPDX-License-Identifier: Apache-2.0 */

/* Attention in one kernel: FlashAttention 2 (pytorch_flash) and memory-efficient attention
 * (fmha_cutlass). Their parameter is a struct of PyTorch (flash_attn/flash.h and
 * mem_eff_attention/kernel_forward.h, kernel_backward.h); a parameter of another size computes
 * nothing.
 *
 * Sequences of different lengths in one launch, paged keys, soft caps, and alibi are not computed.
 * FlashAttention's dropout drops other elements than a GPU, with the same probability. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/math/attention.h"

#include <errno.h>
#include <string.h>

/* Operations that take as long as one element of an element-wise kernel. */
#define OPERATIONS_PER_ELEMENT 1000

/* PyTorch's PhiloxCudaState, and addresses for its numbers. */
struct philox {
	uint64_t seed, offset, added;
	uint8_t captured;
};

/* ---- FlashAttention ---- */

struct flash {
	void *q, *k, *v;
	int64_t q_batch, k_batch, v_batch, q_row, k_row, v_row, q_head, k_head, v_head;
	int32_t heads, key_heads, group;
	void *out, *out_parts;
	int64_t out_batch, out_row, out_head;
	void *weights, *sums, *sum_parts;
	int32_t batch, queries, keys, new_keys, width, rounded[3], rotary, total;
	float scale, scale_log2;
	const int32_t *query_starts, *key_starts, *padding, *used, *blocks;
	void *new_k, *new_v;
	int64_t new_strides[6];
	void *rotary_tables[2];
	int32_t *cache_index, *pages;
	int64_t page_stride;
	int32_t page_size;
	float keep;
	uint8_t keep_of_255;
	float keep_inverse, scale_keep;
	int32_t before, after; /* -1: unlimited */
	float cap;
	struct philox random;
	uint64_t *random_state;
	uint8_t bf16, causal, cumulative, interleaved;
	int32_t parts;
	void *alibi;
	int64_t alibi_stride;
	uint8_t packed_sums, swapped;
};

struct flash_gradient {
	struct flash forward;
	void *out_grad, *q_grad, *k_grad, *v_grad, *accumulators[3];
	int64_t out_batch, out_row, out_head, q_batch, k_batch, v_batch, q_row, k_row, v_row,
		q_head, k_head, v_head;
	void *products;
	uint8_t deterministic;
	int64_t split_stride;
};

static int64_t limit(int32_t window)
{
	return window < 0 ? INT32_MAX : window;
}

static int flash_of(const struct flash *f, int backward, struct emu_attention *ret)
{
	struct emu_torch_random_state random;

	if (f->query_starts || f->key_starts || f->padding || f->used || f->pages || f->new_k ||
	    f->alibi || f->cap != 0 || f->batch < 1 || f->heads < 1 || f->group < 1)
		return -ENOTSUP;
	*ret = (struct emu_attention){
		.type = f->bf16 ? EMU_BF16 : EMU_F16,
		.batch = f->batch,
		.heads = f->heads,
		.queries = f->queries,
		.keys = f->keys,
		.width = f->width,
		.value_width = f->width,
		.group = f->group,
		.grad_group = 1,
		.scale = f->scale,
		.before = limit(f->before) + f->queries - f->keys,
		.after = limit(f->after) + f->keys - f->queries,
		.dropout = 1 - (double)f->keep,
		.q = {f->q, f->q_batch, f->q_head, f->q_row},
		.k = {f->k, f->k_batch, f->k_head, f->k_row},
		.v = {f->v, f->v_batch, f->v_head, f->v_row},
		.out = {f->out, f->out_batch, f->out_head, f->out_row},
		.sums = {f->sums, (int64_t)f->heads * f->queries, f->queries, 1},
	};
	if (!(f->keep < 1))
		return 0;
	if (emu_torch_random_state_of(&f->random, sizeof(f->random), &random) < 0)
		return -ENOTSUP;
	ret->seed = backward && f->random_state ? f->random_state[0] : random.seed;
	ret->offset = backward && f->random_state ? f->random_state[1] : random.offset;
	if (!backward && f->random_state) {
		f->random_state[0] = ret->seed;
		f->random_state[1] = ret->offset;
	}
	return 0;
}

static int too_large(const struct emu_attention *a)
{
	return !emu_torch_computes_work(emu_attention_operations(a) / OPERATIONS_PER_ELEMENT);
}

static int run_flash(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	struct emu_attention a;

	if (l->arg_bytes(l, 0) != sizeof(struct flash) || flash_of(args[0], 0, &a) < 0 ||
	    too_large(&a))
		return -ENOTSUP;
	return emu_attention_forward(&a);
}

static int run_flash_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
			      void *const *args)
{
	const struct flash_gradient *g = args[0];
	struct emu_attention a;

	if (l->arg_bytes(l, 0) != sizeof(*g) || flash_of(&g->forward, 1, &a) < 0 || too_large(&a))
		return -ENOTSUP;
	a.out_grad =
		(struct emu_attention_tensor){g->out_grad, g->out_batch, g->out_head, g->out_row};
	a.q_grad = (struct emu_attention_tensor){g->q_grad, g->q_batch, g->q_head, g->q_row};
	a.k_grad = (struct emu_attention_tensor){g->k_grad, g->k_batch, g->k_head, g->k_row};
	a.v_grad = (struct emu_attention_tensor){g->v_grad, g->v_batch, g->v_head, g->v_row};
	return emu_attention_backward(&a);
}

/* Kernels that prepare or finish intermediate results, which the host kernels above do not use. */
static int run_nothing(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	return 0;
}

/* ---- memory-efficient attention ---- */

enum { NO_MASK, FROM_TOP_LEFT, FROM_BOTTOM_RIGHT };

/* Rows of the sums of a head are padded. */
enum { SUMS_ALIGN = 32 };

struct efficient {
	void *q, *k, *v, *bias;
	const int32_t *query_starts, *key_starts, *key_counts;
	int32_t diagonal;
	void *out, *accumulator;
	float *sums;
	int32_t window;
	float scale;
	int32_t width, value_width, queries, keys, absolute_keys;
	uint8_t mask;
	int32_t q_row, k_row, v_row, bias_row, out_row, q_head, k_head, v_head;
	int64_t bias_head, q_batch, k_batch, v_batch, bias_batch;
	int32_t batch, first_batch, first_head, heads, group;
	uint8_t drops;
	uint64_t random_offset;
	float dropout;
	struct philox random;
	int64_t *offset, *seed;
};

struct efficient_gradient {
	void *q, *k, *v, *bias;
	float *sums;
	void *out, *out_grad, *products;
	const int32_t *query_starts, *key_starts;
	void *q_grad, *k_grad, *v_grad, *bias_grad, *workspaces[3];
	int32_t window;
	float scale;
	int32_t width, value_width, queries, keys, heads, group;
	uint8_t mask;
	int64_t q_row, k_row, v_row, bias_row, out_grad_row, bias_grad_row;
	int8_t row_factor;
	struct philox random;
	uint64_t random_offset;
	float dropout;
	int64_t out_head;
	int32_t q_head, k_head, v_head;
	int64_t bias_head, out_batch, q_batch, k_batch, v_batch, bias_batch, sums_batch, sums_head,
		products_batch, products_head;
	int32_t batch, first_batch, first_head;
	int16_t parts;
	int64_t out_grad_batch, q_grad_batch, k_grad_batch, v_grad_batch, bias_grad_batch,
		out_grad_head, q_grad_head, k_grad_head, v_grad_head, bias_grad_head;
};

/* Sets the mask, and the random numbers of dropout. */
static int mask_of(uint8_t mask, int32_t window, int32_t diagonal, const struct philox *random,
		   struct emu_attention *a)
{
	struct emu_torch_random_state s = {0};

	if (mask == FROM_BOTTOM_RIGHT)
		diagonal = (int32_t)(a->keys - a->queries);
	a->after = mask == NO_MASK ? INT32_MAX : diagonal;
	a->before = window > 0 ? window - 1 - diagonal : INT32_MAX;
	if (a->dropout > 0 && emu_torch_random_state_of(random, sizeof(*random), &s) < 0)
		return -ENOTSUP;
	a->seed = s.seed;
	a->offset = s.offset;
	return a->batch < 1 || a->heads < 1 || a->group < 1 || too_large(a) ? -ENOTSUP : 0;
}

static struct emu_attention efficient_of(const struct emu_torch *t, const struct efficient *e)
{
	int64_t sums = ((int64_t)e->queries + SUMS_ALIGN - 1) / SUMS_ALIGN * SUMS_ALIGN;

	return (struct emu_attention){
		.type = t->in[0],
		.batch = e->batch,
		.heads = e->heads,
		.queries = e->queries,
		.keys = e->keys,
		.width = e->width,
		.value_width = e->value_width,
		.group = e->group,
		.scale = e->scale,
		.dropout = e->drops ? e->dropout : 0,
		.q = {e->q, e->q_batch, e->q_head, e->q_row},
		.k = {e->k, e->k_batch, e->k_head, e->k_row},
		.v = {e->v, e->v_batch, e->v_head, e->v_row},
		.bias = {e->bias, e->bias_batch, e->bias_head, e->bias_row},
		.out = {e->out, (int64_t)e->queries * e->out_row, e->value_width, e->out_row},
		.sums = {e->sums, sums * e->heads, sums, 1},
	};
}

static int run_efficient(const struct emu_torch *t, const struct gpuemu_launch *l,
			 void *const *args)
{
	const struct efficient *e = args[0];
	struct emu_attention a;

	if (l->arg_bytes(l, 0) != sizeof(*e) || e->query_starts || e->key_counts)
		return -ENOTSUP;
	a = efficient_of(t, e);
	if (mask_of(e->mask, e->window, e->diagonal, &e->random, &a) < 0)
		return -ENOTSUP;
	if (e->drops && e->random.captured) {
		*e->seed = (int64_t)a.seed;
		*e->offset = (int64_t)a.offset;
	}
	return emu_attention_forward(&a);
}

static struct emu_attention gradient_of(const struct emu_torch *t,
					const struct efficient_gradient *e)
{
	int64_t row = (int64_t)e->row_factor * e->heads;

	return (struct emu_attention){
		.type = t->in[0],
		.batch = e->batch,
		.heads = e->heads,
		.queries = e->queries,
		.keys = e->keys,
		.width = e->width,
		.value_width = e->value_width,
		.group = e->group,
		.grad_group = 1,
		.scale = e->scale,
		.dropout = e->dropout,
		.q = {e->q, e->q_batch, e->q_head, e->q_row},
		.k = {e->k, e->k_batch, e->k_head, e->k_row},
		.v = {e->v, e->v_batch, e->v_head, e->v_row},
		.bias = {e->bias, e->bias_batch, e->bias_head, e->bias_row},
		.out = {e->out, e->out_batch, e->out_head, (int64_t)e->heads * e->value_width},
		.sums = {e->sums, e->sums_batch, e->sums_head, 1},
		.out_grad = {e->out_grad, e->out_grad_batch, e->out_grad_head, e->out_grad_row},
		.q_grad = {e->q_grad, e->q_grad_batch, e->q_grad_head, row * e->width},
		.k_grad = {e->k_grad, e->k_grad_batch, e->k_grad_head, row * e->width},
		.v_grad = {e->v_grad, e->v_grad_batch, e->v_grad_head, row * e->value_width},
		.bias_grad = {e->bias_grad, e->bias_grad_batch, e->bias_grad_head,
			      e->bias_grad_row},
	};
}

static int run_efficient_backward(const struct emu_torch *t, const struct gpuemu_launch *l,
				  void *const *args)
{
	const struct efficient_gradient *e = args[0];
	struct emu_attention a;

	if (l->arg_bytes(l, 0) != sizeof(*e) || e->query_starts)
		return -ENOTSUP;
	a = gradient_of(t, e);
	if (mask_of(e->mask, e->window, 0, &e->random, &a) < 0)
		return -ENOTSUP;
	return emu_attention_backward(&a);
}

/* ---- by name ---- */

int emu_torch_attention_values(struct emu_torch *t, struct emu_part name)
{
	static const struct {
		const char *name;
		int (*run)(const struct emu_torch *, const struct gpuemu_launch *, void *const *);
	} kernels[] = {
		{"pytorch_flash::flash_fwd_kernel<", run_flash},
		{"pytorch_flash::flash_fwd_splitkv_kernel<", run_flash},
		{"pytorch_flash::flash_fwd_splitkv_combine_kernel<", run_nothing},
		{"pytorch_flash::flash_bwd_dot_do_o_kernel<", run_nothing},
		{"pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<",
		 run_flash_backward},
		{"pytorch_flash::flash_bwd_convert_dq_kernel<", run_nothing},
		{"fmha_cutlassF_", run_efficient},
		{"fmha_cutlassB_", run_efficient_backward},
	};

	t->in[0] = emu_part_has(name, "_bf16_")	 ? EMU_BF16
		   : emu_part_has(name, "_f16_") ? EMU_F16
						 : EMU_F32;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (emu_part_has(name, kernels[i].name))
			t->run = kernels[i].run;
	return t->run ? 0 : -ENOTSUP;
}
