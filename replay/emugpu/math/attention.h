/* SPDX-License-Identifier: Apache-2.0 */

/* Scaled dot-product attention and its gradients, computed in double precision:
 *
 *     scores = scale Q K^T + bias, minus infinity where masked
 *     out = (softmax(scores) x dropout) V
 *
 * A row without unmasked keys gives zeros. Dropout takes number `n` of the sequence (seed, offset)
 * for element n of [batch, head, query, key], so both directions drop the same elements. */
#pragma once

#include "replay/emugpu/math/element.h"

/* Strides in elements; the elements of a row are adjacent. */
struct emu_attention_tensor {
	void *data; /* NULL: not used, not written */
	int64_t batch, head, row;
};

struct emu_attention {
	enum emu_type type;
	int64_t batch, heads, queries, keys, width, value_width;
	int64_t group;	    /* query heads with the same keys and values */
	int64_t grad_group; /* query heads that are added up in k_grad and v_grad: 1 or `group` */
	double scale;
	/* Query i uses keys [i - before, i + after] only. */
	int64_t before, after;
	double dropout; /* probability of zero */
	uint64_t seed, offset;
	struct emu_attention_tensor q, k, v, bias, out;
	/* The logarithm of the sum of exp(score) of each query, adjacent floats; infinity for a row
	 * without keys. Written forward, read backward. */
	struct emu_attention_tensor sums;
	struct emu_attention_tensor out_grad, q_grad, k_grad, v_grad, bias_grad;
};

/* Return 0 or -ENOMEM. */
int emu_attention_forward(const struct emu_attention *a);
int emu_attention_backward(const struct emu_attention *a);

/* Operations of the products of the forward direction. */
double emu_attention_operations(const struct emu_attention *a);
