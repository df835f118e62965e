/* SPDX-License-Identifier: Apache-2.0 */

/* Starts and ends. Within a lane a start is told from the end of what came before, or from the
 * start of what encloses it; an end from the start where nothing is inside, else from the end of
 * the last thing inside. The start of an op is told from the end before it on its stream, or from
 * its call's start where that is later. */
#include "formats/store/slice_impl.h"

/* Sums and products of numbers from a file wrap. */
static int64_t times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t code_time(struct fmt_run_code *r, enum fmt_class class, const struct fmt_item *item,
			 uint32_t pair, int64_t v)
{
	return fmt_code_int_at(&r->coder, &r->contexts, class, item->site,
			       &fmt_card(r, item)->times[class], pair, v);
}

static int64_t code_host(struct fmt_run_code *r, enum fmt_class class, const struct fmt_item *item,
			 uint32_t pair, int64_t ns)
{
	int64_t unit = r->host_unit;

	return times(code_time(r, class, item, pair, unit == 1 ? ns : ns / unit), unit);
}

/* `guess` is taken off before the difference is coded, in whole units. */
static int64_t code_device(struct fmt_run_code *r, enum fmt_class class,
			   const struct fmt_item *item, uint32_t pair, int64_t ns, int64_t guess)
{
	int64_t unit = r->device_unit, rest = 0, v;

	guess = guess / unit;
	if (r->device_rests) {
		rest = ns % unit;
		if (rest > unit / 2)
			rest -= unit;
		else if (rest < -(unit / 2))
			rest += unit;
		ns = fmt_sub(ns, rest);
	}
	v = code_time(r, class, item, pair, fmt_sub(ns / unit, guess));
	if (r->device_rests)
		rest = fmt_code_int(&r->coder, &r->contexts, FMT_REST, (uint32_t) class,
				    FMT_NO_PAIR, rest);
	return fmt_add(times(fmt_add(v, guess), unit), rest);
}

void fmt_nest(struct fmt_run_code *r, const struct fmt_item_lane *lane)
{
	uint32_t top = FMT_NONE;

	for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
		struct fmt_item *item = &r->items[i];

		for (uint32_t k = 0; k < item->pops && top != FMT_NONE; k++)
			top = r->items[top].parent;
		item->leaf = 1;
		item->parent = top;
		if (top != FMT_NONE)
			r->items[top].leaf = 0;
		top = i;
	}
}

/* Where one is in a lane: what is open, and what ended last. */
struct place {
	uint32_t top;
	int64_t end_ns;
	uint32_t site; /* of what ended last, or FMT_NO_PAIR - 1 */
};

static void close_one(struct fmt_run_code *r, struct place *p, uint32_t parent)
{
	struct fmt_item *item = &r->items[p->top];

	if (!item->leaf)
		item->end = fmt_add(p->end_ns, code_host(r, FMT_TIME_TAIL, item, p->site,
							 fmt_sub(item->end, p->end_ns)));
	p->end_ns = item->end;
	p->site = item->site;
	p->top = parent;
}

#define NOTHING_BEFORE (FMT_NO_PAIR - 1)

void fmt_code_times(struct fmt_run_code *r, const struct fmt_item_lane *lane)
{
	struct place p = {.top = FMT_NONE, .end_ns = r->origin_ns, .site = NOTHING_BEFORE};

	for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
		struct fmt_item *item = &r->items[i];
		enum fmt_class class = FMT_TIME_NEXT;
		int64_t from;
		uint32_t pair;

		for (uint32_t k = 0; k < item->pops; k++)
			close_one(r, &p, r->items[p.top].parent);
		from = p.end_ns;
		pair = p.site;
		if (p.top != FMT_NONE && p.top == i - 1) {
			class = FMT_TIME_FIRST;
			from = r->items[p.top].start;
			pair = r->items[p.top].site;
		}
		item->start =
			fmt_add(from, code_host(r, class, item, pair, fmt_sub(item->start, from)));
		if (item->leaf)
			item->end =
				fmt_add(item->start, code_host(r, FMT_TIME_LEAF, item, FMT_NO_PAIR,
							       fmt_sub(item->end, item->start)));
		p.top = i;
	}
	while (p.top != FMT_NONE)
		close_one(r, &p, r->items[p.top].parent);
}

static void close_op(struct fmt_run_code *r, struct place *p, const uint32_t *below)
{
	struct fmt_item *item = &r->items[p->top];

	if (!item->leaf)
		item->end = fmt_add(p->end_ns, code_device(r, FMT_TIME_TAIL, item, p->site,
							   fmt_sub(item->end, p->end_ns), 0));
	p->end_ns = item->end;
	p->site = item->site;
	p->top = below[p->top];
}

void fmt_code_op_times(struct fmt_run_code *r, const struct fmt_item_lane *lane,
		       const uint32_t *below)
{
	struct place p = {.top = FMT_NONE, .end_ns = r->origin_ns, .site = NOTHING_BEFORE};

	for (uint32_t i = lane->first; i < lane->first + lane->n; i++) {
		struct fmt_item *item = &r->items[i];
		enum fmt_class class = FMT_OP_ALONE;
		int64_t from, guess = 0, call;

		for (uint32_t k = 0; k < item->pops; k++)
			close_op(r, &p, below);
		from = p.end_ns;
		if (p.top != FMT_NONE && p.top == i - 1)
			from = r->items[p.top].start;
		if (item->parent != FMT_NONE) {
			call = r->items[item->parent].start;
			class = call > from ? FMT_OP_LAUNCHED : FMT_OP_QUEUED;
			guess = call > from ? fmt_sub(call, from) : 0;
		}
		item->start = fmt_add(from, code_device(r, class, item, p.site,
							fmt_sub(item->start, from), guess));
		if (item->leaf)
			item->end = fmt_add(item->start,
					    code_device(r, FMT_OP_LEAF, item, FMT_NO_PAIR,
							fmt_sub(item->end, item->start), 0));
		p.top = i;
	}
	while (p.top != FMT_NONE)
		close_op(r, &p, below);
}
