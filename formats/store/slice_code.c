/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/slice_code.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/store/slice_impl.h"

void fmt_reference_free(struct fmt_reference *ref)
{
	if (!ref)
		return;
	fmt_contexts_done(&ref->contexts);
	fmt_history_free(ref->history);
	free(ref->steps);
	free(ref->values);
	free(ref->sites);
	free(ref->call_steps);
	free(ref->first_edge);
	free(ref->edges);
	free(ref);
}

size_t fmt_reference_bytes(const struct fmt_reference *ref)
{
	return sizeof(*ref) + fmt_contexts_bytes(&ref->contexts) + ref->n_values * 8 +
	       (size_t)ref->n_items * 48;
}

void fmt_run_done(struct fmt_run_code *r)
{
	fmt_coder_done(&r->coder);
	fmt_contexts_done(&r->contexts);
	fmt_history_free(r->history);
	free(r->lanes);
	free(r->items);
	free(r->cards);
	free(r->slots);
	free(r->card_of);
	free(r->order);
	free(r->calls);
	free(r->taken);
	free(r->below);
	free(r->values);
	free(r->steps);
	free(r->call_steps);
	free(r->edges);
}

/* Adds the bits that were coded since the last time to a column. */
static void column(struct fmt_run_code *r, enum fmt_column which)
{
	if (!r->bits)
		return;
	r->bits[which] += r->bits_now - r->bits_before;
	r->bits_before = r->bits_now;
}

int fmt_run_code(struct fmt_run_code *r, struct fmt_slice *s,
		 int (*know_calls)(struct fmt_run_code *r))
{
	int e = 0;

	r->taken = calloc((size_t)r->n_items + 1, 1);
	r->below = malloc(sizeof(*r->below) * ((size_t)r->n_items + 1));
	r->call_steps = calloc((size_t)r->n_items + 1, sizeof(*r->call_steps));
	if (!r->taken || !r->below || !r->call_steps)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < r->n_lanes; i++) {
		e = fmt_code_tokens(r, &r->lanes[i]);
		if (e == 0)
			fmt_nest(r, &r->lanes[i]);
	}
	column(r, FMT_COLUMN_SITES);
	for (size_t i = 0; e == 0 && i < r->n_lanes; i++)
		if (!r->lanes[i].device)
			fmt_code_times(r, &r->lanes[i]);
	column(r, FMT_COLUMN_HOST_TIMES);
	if (e == 0)
		e = fmt_order_items(r);
	if (e == 0)
		e = fmt_code_values(r);
	column(r, FMT_COLUMN_VALUES);
	if (e == 0 && know_calls)
		e = know_calls(r);
	for (size_t i = 0; e == 0 && i < r->n_lanes; i++) {
		const struct fmt_item_lane *lane = &r->lanes[i];

		if (!lane->device)
			continue;
		for (uint32_t k = lane->first; k < lane->first + lane->n; k++)
			r->below[k] = r->items[k].parent;
		fmt_code_calls(r, lane);
		column(r, FMT_COLUMN_CALLS);
		fmt_code_op_times(r, lane, r->below);
		column(r, FMT_COLUMN_OP_TIMES);
		e = fmt_code_op_values(r, lane);
		column(r, FMT_COLUMN_OP_VALUES);
	}
	if (e == 0)
		e = fmt_code_edges(r, s);
	column(r, FMT_COLUMN_EDGES);
	return e < 0 ? e : r->contexts.error;
}

int fmt_run_keep(struct fmt_run_code *r, uint32_t slice, struct fmt_reference **ret)
{
	scoped(fmt_reference_freep) struct fmt_reference *ref = calloc(1, sizeof(*ref));
	uint32_t edge = 0;

	if (!ref)
		return -ENOMEM;
	ref->sites = malloc(sizeof(*ref->sites) * ((size_t)r->n_items + 1));
	ref->values = malloc(sizeof(*ref->values) * ((size_t)r->n_items + 1));
	ref->first_edge = malloc(sizeof(*ref->first_edge) * ((size_t)r->n_items + 2));
	if (!ref->sites || !ref->values || !ref->first_edge)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_items; i++) {
		ref->sites[i] = r->items[i].site;
		ref->values[i] = r->items[i].values;
		while (edge < r->n_edges && r->edges[edge].to < i)
			edge++;
		ref->first_edge[i] = edge;
	}
	ref->first_edge[r->n_items] = (uint32_t)r->n_edges;
	ref->n_items = r->n_items;
	ref->n_values = r->n_values;
	ref->slice = slice;
	ref->contexts = r->contexts;
	memset(&r->contexts, 0, sizeof(r->contexts));
	ref->history = take(r->history);
	ref->steps = take(r->steps);
	ref->call_steps = take(r->call_steps);
	ref->edges = take(r->edges);
	*ret = take(ref);
	return 0;
}
