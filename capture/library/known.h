/* SPDX-License-Identifier: Apache-2.0 */

/* The layouts of kernel parameters that a thread's ring was told, and parameters written by them:
 * what of params.c is on the hot path. */
#pragma once

#include "capture/library/state.h"

#include <string.h>

/* Of the function that a number of CAP_LAYOUTS was last given to. */
struct cap_known {
	uint64_t function;
	const struct cap_param *params;
	struct cap_record head; /* of its CAP_PARAMS: all but the argument */
	uint32_t generation;	/* it holds if this is cap_layouts_now */
	uint16_t n;
	bool is_plain; /* all parameters have 4 or 8 bytes, as pointers and numbers do */
};

extern uint32_t cap_layouts_now;

static inline uint32_t cap_layout_number(uint64_t function)
{
	return (uint32_t)(function * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* NULL: the ring must be told first. */
static inline const struct cap_known *cap_known_of(const struct cap_thread *t, uint64_t function)
{
	const struct cap_known *k;

	if (unlikely(!t->known))
		return NULL;
	k = &t->known[cap_layout_number(function)];
	if (unlikely(k->function != function ||
		     k->generation != __atomic_load_n(&cap_layouts_now, __ATOMIC_RELAXED)))
		return NULL;
	return k;
}

/* The record, at `r`, of parameters of 4 and 8 bytes. */
static inline void cap_fill_plain(struct cap_params_record *r, const struct cap_known *k,
				  unsigned arg, uint64_t id, void **params)
{
	const struct cap_param *p = k->params, *end = p + k->n;

	r->head = k->head;
	r->head.depth = (uint8_t)arg;
	r->id = id;
	for (; p < end; p++, params++) {
		if (unlikely(!*params))
			continue;
		if (p->size == 8)
			memcpy(r->data + p->offset, *params, 8);
		else
			memcpy(r->data + p->offset, *params, 4);
	}
}
