/* SPDX-License-Identifier: Apache-2.0 */

/* Decoding a slice. */
#include "formats/trace/store/columns.h"
#include "formats/trace/store/patch.h"
#include "formats/trace/store/slice_code.h"
#include "formats/trace/store/trace.h"

#include "base/array.h"

/* An argument that varies. */
struct slot {
	struct fmt_column *column;
	int64_t last;
	int is_text;
};

/* An event template that the slice uses. */
struct card {
	const struct fmt_template *template;
	uint32_t number; /* of the template */
	uint32_t n;	 /* items */
	uint32_t next_begin, next_end;
	size_t first_slot;
	int64_t last_ends, last_correlation;
};

/* An item that encloses later items. */
struct open_item {
	struct fmt_event *event;
	struct card *card;
};

struct reading {
	const struct fmt_names *names;
	uint32_t n_strings; /* of names */
	struct fmt_columns columns;
	struct fmt_column *ends, *correlations, *range_correlations;
	struct card *cards;
	size_t n_cards, cards_cap;
	uint32_t *card_of; /* by template: its card plus 1; 0: not used */
	struct slot *slots;
	size_t n_slots, slots_cap;
	uint32_t *items; /* cards */
	uint64_t n_items;
	int64_t *deltas; /* of all points, by group */
	int64_t unit;
	struct open_item *open;
	size_t n_open;
	struct fmt_slice *slice;
	uint64_t n_events, n_ranges, n_values; /* number in the slice */
};

static void reading_done(struct reading *r)
{
	fmt_columns_done(&r->columns);
	free(r->cards);
	free(r->card_of);
	free(r->slots);
	free(r->items);
	free(r->deltas);
	free(r->open);
	fmt_slice_free(r->slice);
}

int fmt_slice_head_get(struct fmt_cursor in, struct fmt_slice_head *ret)
{
	uint64_t structure, times;
	const uint8_t *at;

	ret->back = fmt_varint(&in);
	structure = fmt_varint(&in);
	ret->times_kind = fmt_u8(&in);
	ret->split = (ret->times_kind & FMT_TIMES_SPLIT) != 0;
	ret->times_kind &= (uint8_t)~FMT_TIMES_SPLIT;
	times = fmt_varint(&in);
	at = fmt_bytes(&in, structure);
	ret->structure = fmt_cursor(at, at ? structure : 0);
	at = fmt_bytes(&in, times);
	ret->times = fmt_cursor(at, at ? times : 0);
	ret->low_bytes = fmt_cursor(in.at, fmt_left(&in));
	return in.bad || ret->times_kind >= FMT_COLUMN_KINDS ? -EBADMSG : 0;
}

static int add_slots(struct reading *r, const struct fmt_template *template)
{
	uint32_t n = template->n_values;

	if (array_reserve(&r->slots, r->n_slots + n + 1, &r->slots_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; n > 0; i++) {
		const struct fmt_arg *a = &template->args[i];
		struct slot slot = {0};

		if (!a->varies)
			continue;
		n--;
		slot.column = fmt_columns_find(&r->columns, FMT_SLICE_VALUES + (uint64_t)a->key);
		if (!slot.column)
			return -EBADMSG;
		slot.is_text = a->type == FMT_STRING || a->type == FMT_JSON;
		r->slots[r->n_slots++] = slot;
	}
	return 0;
}

/* The card of a template: its index, or -errno. */
static int64_t card_of(struct reading *r, uint64_t template)
{
	struct card card = {.first_slot = r->n_slots};
	int e;

	if (template >= fmt_n_templates(r->names))
		return -EBADMSG;
	if (r->card_of[template])
		return r->card_of[template] - 1;
	card.number = (uint32_t) template;
	card.template = fmt_template(r->names, card.number);
	e = add_slots(r, card.template);
	if (e < 0)
		return e;
	if (array_reserve(&r->cards, r->n_cards + 1, &r->cards_cap) < 0)
		return -ENOMEM;
	r->cards[r->n_cards++] = card;
	r->card_of[template] = (uint32_t)r->n_cards;
	return (int64_t)r->n_cards - 1;
}

/* Reads the template of each item. The chunk's header contains the numbers of items, events, ranges
 * and values; each has at least a byte. */
static int read_templates(struct reading *r, const struct fmt_chunk *c, size_t bytes)
{
	struct fmt_column *templates = fmt_columns_find(&r->columns, FMT_SLICE_TEMPLATES);
	uint64_t seen[FMT_KINDS] = {0};

	for (int k = 0; k < FMT_KINDS; k++) {
		if (c->n_records[k] > FMT_ITEMS_MAX)
			return -EBADMSG;
		*(k >= FMT_RANGE ? &r->n_ranges : &r->n_events) += c->n_records[k];
	}
	r->n_items = r->n_events + r->n_ranges;
	if (r->n_items > FMT_ITEMS_MAX || r->n_items > bytes || c->n_edges > bytes ||
	    (r->n_items > 0 && !templates))
		return -EBADMSG;
	r->items = malloc(sizeof(*r->items) * (r->n_items + 1));
	r->card_of = calloc((size_t)fmt_n_templates(r->names) + 1, sizeof(*r->card_of));
	if (!r->items || !r->card_of)
		return -ENOMEM;
	for (uint64_t i = 0; i < r->n_items; i++) {
		int64_t card = card_of(r, (uint64_t)fmt_column_next(templates));

		if (card < 0)
			return (int)card;
		r->items[i] = (uint32_t)card;
		r->cards[card].n++;
		r->n_values += r->cards[card].template->n_values;
		seen[r->cards[card].template->kind]++;
	}
	return r->n_values <= bytes && memcmp(seen, c->n_records, sizeof(seen)) == 0 ? 0 : -EBADMSG;
}

/* Groups of points are consecutive: the starts of each template, then the ends of each. */
static void order_groups(struct reading *r)
{
	uint32_t next = 0, n_templates = fmt_n_templates(r->names);

	for (int is_end = 0; is_end < 2; is_end++)
		for (uint32_t t = 0; t < n_templates; t++) {
			struct card *card = r->card_of[t] ? &r->cards[r->card_of[t] - 1] : NULL;

			if (!card)
				continue;
			*(is_end ? &card->next_end : &card->next_begin) = next;
			next += card->n;
		}
}

static inline void read_integers(struct fmt_cursor *in, uint8_t kind, int64_t *ret, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		ret[i] = fmt_column_integer(in, kind);
}

static int read_deltas(struct reading *r, const struct fmt_slice_head *head)
{
	struct fmt_cursor times = head->times, low = head->low_bytes;
	uint64_t n = 2 * r->n_items;

	if (n > fmt_left(&times) || fmt_left(&low) != (head->split ? n : 0))
		return -EBADMSG;
	r->deltas = malloc(sizeof(*r->deltas) * (n + 1));
	if (!r->deltas)
		return -ENOMEM;
	if (head->times_kind == FMT_COLUMN_VARINT)
		read_integers(&times, FMT_COLUMN_VARINT, r->deltas, n);
	else if (head->times_kind == FMT_COLUMN_SVARINT)
		read_integers(&times, FMT_COLUMN_SVARINT, r->deltas, n);
	else
		read_integers(&times, FMT_COLUMN_BYTE, r->deltas, n);
	for (uint64_t i = 0; head->split && i < n; i++)
		r->deltas[i] = (int64_t)((uint64_t)r->deltas[i] << 8 | *low.at++);
	order_groups(r);
	return times.bad || fmt_left(&times) > 0 ? -EBADMSG : 0;
}

static int64_t delta_ns(const struct reading *r, uint32_t *next)
{
	return (int64_t)((uint64_t)r->deltas[(*next)++] * (uint64_t)r->unit);
}

static void end_item(struct reading *r, int64_t *now_ns)
{
	const struct open_item *o = &r->open[--r->n_open];

	*now_ns = fmt_add(*now_ns, delta_ns(r, &o->card->next_end));
	o->event->duration_ns = fmt_sub(*now_ns, o->event->start_ns);
}

static int read_values(struct reading *r, const struct card *card, int64_t *values)
{
	struct slot *slots = r->slots + card->first_slot;

	for (uint32_t i = 0; i < card->template->n_values; i++) {
		int64_t v = fmt_column_value(slots[i].column, &slots[i].last);

		if (slots[i].is_text && (uint64_t)v >= r->n_strings)
			return -EBADMSG;
		values[i] = v;
	}
	return 0;
}

static int read_item(struct reading *r, struct card *card, uint32_t track, int64_t *now_ns)
{
	struct fmt_slice *s = r->slice;
	int is_range = card->template->kind >= FMT_RANGE;
	struct fmt_event *e = is_range ? &s->ranges[s->n_ranges++] : &s->events[s->n_events++];
	uint64_t ends = (uint64_t)fmt_column_value(r->ends, &card->last_ends);

	if (ends > r->n_open)
		return -EBADMSG;
	while (ends-- > 0)
		end_item(r, now_ns);
	*now_ns = fmt_add(*now_ns, delta_ns(r, &card->next_begin));
	e->start_ns = *now_ns;
	e->template = card->number;
	e->track = track;
	e->correlation = (uint64_t)fmt_column_value(
		is_range ? r->range_correlations : r->correlations, &card->last_correlation);
	e->first_value = card->template->n_values ? (uint32_t)s->n_values : 0;
	r->open[r->n_open++] = (struct open_item){e, card};
	s->n_values += card->template->n_values;
	return read_values(r, card, s->values + e->first_value);
}

/* Reads the items of all tracks: track, times and values. */
static int read_items(struct reading *r, uint32_t rank)
{
	struct fmt_column *tracks = fmt_columns_find(&r->columns, FMT_SLICE_TRACKS);
	struct fmt_column *counts = fmt_columns_find(&r->columns, FMT_SLICE_COUNTS);
	uint64_t item = 0;

	for (int64_t last = -1; tracks && fmt_left(&tracks->in) > 0;) {
		int64_t track = fmt_column_next(tracks), now_ns = r->slice->iteration.start_ns;
		uint64_t n = (uint64_t)fmt_column_next(counts);

		if (track <= last || track >= UINT32_MAX || n > r->n_items - item ||
		    !fmt_track(r->names, rank, (uint32_t)track))
			return -EBADMSG;
		for (last = track; n > 0; n--) {
			struct card *card = &r->cards[r->items[item++]];
			int e = read_item(r, card, (uint32_t)track, &now_ns);

			if (e < 0)
				return e;
		}
		while (r->n_open > 0)
			end_item(r, &now_ns);
	}
	return item == r->n_items ? 0 : -EBADMSG;
}

static int read_edges(struct reading *r)
{
	struct fmt_column *targets = fmt_columns_find(&r->columns, FMT_SLICE_EDGE_TARGETS);
	struct fmt_column *rules = fmt_columns_find(&r->columns, FMT_SLICE_EDGE_RULES);
	struct fmt_column *sources = fmt_columns_find(&r->columns, FMT_SLICE_EDGE_SOURCES);
	struct fmt_column *lags = fmt_columns_find(&r->columns, FMT_SLICE_EDGE_LAGS);
	struct fmt_column *ranks = fmt_columns_find(&r->columns, FMT_SLICE_EDGE_RANKS);
	int64_t last_source[UINT8_MAX + 1] = {0}, last_lag[UINT8_MAX + 1] = {0};
	struct fmt_slice *s = r->slice;
	uint64_t last = 0;

	for (size_t i = 0; i < s->n_edges; i++) {
		uint64_t target = (uint64_t)fmt_column_next(targets);
		uint64_t rule = (uint64_t)fmt_column_next(rules), kind = rule & 3;
		int64_t other = fmt_column_next(ranks);

		rule >>= 2;
		if (target >= s->n_events || target < last || rule > UINT8_MAX ||
		    !fmt_rule(r->names, (uint32_t)rule) || kind >= FMT_EDGE_KINDS ||
		    other < -(int64_t)s->rank || other > INT32_MAX)
			return -EBADMSG;
		s->edges[i].to = s->first_number + target;
		s->edges[i].from =
			s->edges[i].to - (uint64_t)fmt_column_value(sources, &last_source[rule]);
		s->edges[i].lag_ns = fmt_column_value(lags, &last_lag[rule]);
		s->edges[i].kind = (uint8_t)kind;
		s->edges[i].rule = (uint8_t)rule;
		s->edges[i].rank = (int32_t)other;
		last = target;
	}
	return 0;
}

static int make_slice(struct reading *r, const struct fmt_chunk *c, uint32_t rank)
{
	struct fmt_column *unit = fmt_columns_find(&r->columns, FMT_SLICE_UNIT);
	struct fmt_slice *s = calloc(1, sizeof(*s));

	r->slice = s;
	r->ends = fmt_columns_find(&r->columns, FMT_SLICE_ENDS);
	r->correlations = fmt_columns_find(&r->columns, FMT_SLICE_CORRELATIONS);
	r->range_correlations = fmt_columns_find(&r->columns, FMT_SLICE_RANGE_CORRELATIONS);
	r->unit = fmt_column_next(unit);
	r->open = malloc(sizeof(*r->open) * (r->n_items + 1));
	if (!s || !r->open)
		return -ENOMEM;
	s->rank = rank;
	s->index = (uint32_t)c->slice;
	s->iteration = c->iteration;
	s->first_number = c->first_number;
	s->n_edges = c->n_edges;
	s->events = calloc(r->n_events + 1, sizeof(*s->events));
	s->ranges = calloc(r->n_ranges + 1, sizeof(*s->ranges));
	s->values = malloc(sizeof(*s->values) * (r->n_values + 1));
	s->edges = calloc(c->n_edges + 1, sizeof(*s->edges));
	return s->events && s->ranges && s->values && s->edges ? 0 : -ENOMEM;
}

static int read_slice(struct reading *r, struct fmt_cursor structure,
		      const struct fmt_slice_head *head, const struct fmt_chunk *c, uint32_t rank)
{
	int e = fmt_columns_get(structure, &r->columns);

	if (e == 0)
		e = read_templates(r, c, fmt_left(&structure));
	if (e == 0)
		e = read_deltas(r, head);
	if (e == 0)
		e = make_slice(r, c, rank);
	if (e == 0)
		e = read_items(r, rank);
	if (e == 0)
		e = read_edges(r);
	return e < 0 ? e : fmt_columns_end(&r->columns);
}

/* Limits of the size of patched data: a fixed part, and a part for each byte of the patch. */
#define PATCHED_BYTES 65536
#define PATCHED_RATIO 1024

int fmt_slice_get(const struct fmt_slice_head *head, const struct fmt_chunk *c,
		  const struct fmt_names *n, uint32_t rank, const struct fmt_cursor *base,
		  struct fmt_slice **ret)
{
	scoped(reading_done) struct reading r = {.names = n, .n_strings = fmt_n_strings(n)};
	scoped(text_done) struct text patched = {0};
	struct fmt_cursor structure = head->structure;
	uint64_t limit = PATCHED_BYTES + PATCHED_RATIO * (uint64_t)c->raw_bytes;
	int e = 0;

	if (!base != !head->back)
		return -EBADMSG;
	if (base) {
		e = fmt_patch_apply(head->structure, base->base, fmt_left(base), limit, &patched);
		structure = fmt_cursor(patched.data, patched.len);
	}
	if (e == 0)
		e = read_slice(&r, structure, head, c, rank);
	if (e == 0)
		*ret = take(r.slice);
	return e;
}
