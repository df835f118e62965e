/* SPDX-License-Identifier: Apache-2.0 */

/* Edges. Those of an event are guessed to be those of the event of the reference that it repeats;
 * runs of right guesses are coded, and in full what breaks them. The far end of an edge is told
 * from the event of its lane that started last before the edge's own moment. */
#include "formats/store/slice_impl.h"

#include "base/array.h"
#include "base/scope.h"

/* What the numbers of an edge are coded by. */
enum { RUN = 0, COUNT = 1, LANE = 0x100, PLACE = 0x200, LAG = 0x300, FAR = 0x400 };
enum { RULE_LOW, RULE_HIGH, KIND };

#define OUTSIDE 4 /* beside the kind: `from` lies in another slice */

struct edges {
	struct fmt_run_code *r;
	uint32_t *item_of; /* by number in the slice */
	uint32_t *number;  /* of each item; of a range, that of the event after it */
	uint32_t *repeats; /* by item of the reference: the item that repeats it */
	uint32_t n_events;
	struct fmt_item_edge *out; /* all, by `to` */
	size_t n, cap;
};

static int64_t code(struct fmt_run_code *r, uint32_t what, uint32_t pair, int64_t v)
{
	return fmt_code_int(&r->coder, &r->contexts, FMT_EDGE, what, pair, v);
}

/* The guessed edges of the event `number`: *n of them in room for `max`. */
static size_t guess_edges(const struct edges *e, uint32_t number, struct fmt_item_edge *ret,
			  size_t max)
{
	const struct fmt_reference *ref = e->r->reference;
	uint32_t match = e->r->items[e->item_of[number]].match;
	size_t n = 0;

	if (!ref || match == FMT_NONE)
		return 0;
	for (uint32_t i = ref->first_edge[match]; i < ref->first_edge[match + 1] && n < max; i++) {
		struct fmt_item_edge edge = ref->edges[i];

		if (edge.from == FMT_NONE || e->repeats[edge.from] == FMT_NONE)
			continue;
		edge.from = e->repeats[edge.from];
		edge.to = e->item_of[number];
		ret[n++] = edge;
	}
	return n;
}

static int same_edges(const struct fmt_item_edge *a, const struct fmt_item_edge *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].to != b[i].to || a[i].from != b[i].from || a[i].lag_ns != b[i].lag_ns ||
		    a[i].kind != b[i].kind || a[i].rule != b[i].rule)
			return 0;
	return 1;
}

/* The number that follows the event of `lane` that started last, but not after `at_ns`. */
static uint32_t number_at(const struct edges *e, const struct fmt_item_lane *lane, int64_t at_ns)
{
	return e->number[array_bound(i, lane->first, lane->first + lane->n,
				     e->r->items[i].start <= at_ns)];
}

static uint32_t lane_of(const struct fmt_run_code *r, uint32_t item)
{
	uint32_t low = 0, high = (uint32_t)r->n_lanes;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (r->lanes[mid].first <= item)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void code_inside(struct edges *e, struct fmt_item_edge *edge)
{
	struct fmt_run_code *r = e->r;
	const struct fmt_item *to = &r->items[edge->to];
	uint32_t own = lane_of(r, edge->to), lane = 0, guess;
	int64_t number = 0;

	if (!r->coder.decoding) {
		lane = lane_of(r, edge->from);
		number = e->number[edge->from];
	}
	lane = own + (uint32_t)code(r, LANE + edge->rule, own, (int64_t)lane - own);
	edge->from = FMT_NONE;
	if (lane >= r->n_lanes) {
		r->coder.in.bad = 1;
		return;
	}
	guess = number_at(e, &r->lanes[lane], edge->kind == FMT_EDGE_RETURN ? to->end : to->start);
	number = fmt_add(guess, code(r, PLACE + edge->rule, FMT_NO_PAIR, number - guess));
	if (number < 0 || number >= e->n_events)
		r->coder.in.bad = 1;
	else
		edge->from = e->item_of[number];
}

static void code_edge(struct edges *e, struct fmt_item_edge *edge)
{
	struct fmt_run_code *r = e->r;
	uint32_t own = r->items[edge->to].kind, low, high, kind;

	low = fmt_code_kind(&r->coder, &r->contexts, FMT_EDGE, RULE_LOW, own, edge->rule & 15);
	high = fmt_code_kind(&r->coder, &r->contexts, FMT_EDGE, RULE_HIGH, low, edge->rule >> 4);
	edge->rule = (uint8_t)(high << 4 | low);
	kind = edge->kind | (edge->from == FMT_NONE ? OUTSIDE : 0);
	kind = fmt_code_kind(&r->coder, &r->contexts, FMT_EDGE, KIND, edge->rule, kind);
	edge->kind = kind & 3;
	if (kind & OUTSIDE) {
		edge->from = FMT_NONE;
		edge->far = code(r, FAR + edge->rule, FMT_NO_PAIR, edge->far);
	} else {
		code_inside(e, edge);
	}
	edge->lag_ns = code(r, LAG + edge->rule, FMT_NO_PAIR, edge->lag_ns);
}

static int add_edge(struct edges *e, const struct fmt_item_edge *edge, size_t limit)
{
	if (e->n >= limit)
		return -EBADMSG;
	if (array_reserve(&e->out, e->n + 1, &e->cap) < 0)
		return -ENOMEM;
	e->out[e->n++] = *edge;
	return 0;
}

#define GUESS_MAX 64

/* How many events from `number` on have just the guessed edges; *at moves over these. */
static uint32_t run_length(const struct edges *e, uint32_t number, const struct fmt_item_edge *all,
			   size_t n, size_t at)
{
	uint32_t from = number;

	for (; number < e->n_events; number++) {
		struct fmt_item_edge guess[GUESS_MAX];
		size_t k = 0, g = guess_edges(e, number, guess, GUESS_MAX);

		while (at + k < n && all[at + k].to == e->item_of[number])
			k++;
		if (k != g || !same_edges(all + at, guess, k))
			break;
		at += k;
	}
	return number - from;
}

static int code_all(struct edges *e, const struct fmt_item_edge *all, size_t n)
{
	struct fmt_run_code *r = e->r;
	uint32_t number = 0;

	while (number < e->n_events) {
		struct fmt_item_edge guess[GUESS_MAX];
		int64_t run = 0, count = 0;
		int error;

		if (!r->coder.decoding)
			run = run_length(e, number, all, n, e->n);
		run = code(r, RUN, FMT_NO_PAIR, run);
		if (run < 0 || run > e->n_events - number || r->coder.in.bad)
			return -EBADMSG;
		for (; run > 0; run--, number++) {
			size_t g = guess_edges(e, number, guess, GUESS_MAX);

			for (size_t k = 0; k < g; k++)
				if ((error = add_edge(e, &guess[k], n)) < 0)
					return error;
		}
		if (number == e->n_events)
			break;
		while (!r->coder.decoding && e->n + (size_t)count < n &&
		       all[e->n + (size_t)count].to == e->item_of[number])
			count++;
		count = code(r, COUNT, FMT_NO_PAIR, count);
		if (count < 0 || (uint64_t)count > n - e->n)
			return -EBADMSG;
		for (; count > 0; count--) {
			struct fmt_item_edge edge = {.to = e->item_of[number], .from = FMT_NONE};

			if (!r->coder.decoding)
				edge = all[e->n];
			code_edge(e, &edge);
			if ((error = add_edge(e, &edge, n)) < 0)
				return error;
		}
		number++;
	}
	return e->n == n ? 0 : -EBADMSG;
}

static int number_items(struct edges *e)
{
	struct fmt_run_code *r = e->r;

	e->item_of = malloc(sizeof(*e->item_of) * ((size_t)r->n_items + 1));
	e->number = malloc(sizeof(*e->number) * ((size_t)r->n_items + 1));
	if (!e->item_of || !e->number)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_items; i++) {
		e->number[i] = e->n_events;
		if (r->items[i].kind < FMT_RANGE)
			e->item_of[e->n_events++] = i;
	}
	e->number[r->n_items] = e->n_events;
	if (!r->reference)
		return 0;
	e->repeats = malloc(sizeof(*e->repeats) * ((size_t)r->reference->n_items + 1));
	if (!e->repeats)
		return -ENOMEM;
	memset(e->repeats, 0xff, sizeof(*e->repeats) * ((size_t)r->reference->n_items + 1));
	for (uint32_t i = 0; i < r->n_items; i++)
		if (r->items[i].match != FMT_NONE)
			e->repeats[r->items[i].match] = i;
	return 0;
}

static void edges_done(struct edges *e)
{
	free(e->item_of);
	free(e->number);
	free(e->repeats);
	free(e->out);
}

/* The slice's edges, by items; those from outside by how far. */
static int take_slice_edges(struct edges *e, const struct fmt_slice *s, struct fmt_item_edge *ret)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct fmt_edge *from = &s->edges[i];
		uint64_t to = from->to - s->first_number, at = from->from - s->first_number;

		if (to >= e->n_events || from->kind >= FMT_EDGE_KINDS ||
		    (i > 0 && from->to < from[-1].to))
			return -EINVAL;
		ret[i] = (struct fmt_item_edge){
			.to = e->item_of[to],
			.from = at < e->n_events ? e->item_of[at] : FMT_NONE,
			.far = (int64_t)(from->to - from->from),
			.lag_ns = from->lag_ns,
			.kind = from->kind,
			.rule = from->rule,
		};
		if (at < e->n_events)
			ret[i].far = 0;
	}
	return 0;
}

static int give_slice_edges(const struct edges *e, struct fmt_slice *s)
{
	const struct fmt_names_map *m = e->r->map;

	for (size_t i = 0; i < e->n; i++) {
		const struct fmt_item_edge *from = &e->out[i];
		struct fmt_edge *edge = &s->edges[i];

		if (from->kind >= FMT_EDGE_KINDS || from->rule >= m->n_rules)
			return -EBADMSG;
		edge->to = s->first_number + e->number[from->to];
		edge->from = from->from == FMT_NONE ? edge->to - (uint64_t)from->far
						    : s->first_number + e->number[from->from];
		edge->lag_ns = from->lag_ns;
		edge->kind = from->kind;
		edge->rule = m->rules[from->rule];
	}
	return 0;
}

int fmt_code_edges(struct fmt_run_code *r, struct fmt_slice *s)
{
	scoped(edges_done) struct edges e = {.r = r};
	scoped(free_ptr) struct fmt_item_edge *all = NULL;
	int error = number_items(&e);

	if (error == 0 && !r->coder.decoding) {
		all = malloc(sizeof(*all) * (s->n_edges + 1));
		error = all ? take_slice_edges(&e, s, all) : -ENOMEM;
	}
	if (error == 0)
		error = code_all(&e, all, s->n_edges);
	if (error == 0 && r->coder.decoding) {
		s->edges = calloc(e.n + 1, sizeof(*s->edges));
		error = s->edges ? give_slice_edges(&e, s) : -ENOMEM;
	}
	if (error == 0) {
		r->edges = take(e.out);
		r->n_edges = e.n;
	}
	return error;
}
