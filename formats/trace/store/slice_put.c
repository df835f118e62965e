/* SPDX-License-Identifier: Apache-2.0 */

/* Coding a slice. */
#include "formats/trace/store/columns.h"
#include "formats/trace/store/slice_code.h"

#include "base/array.h"

/* An event template that the slice uses. */
struct card {
	const struct fmt_template *template;
	uint32_t n;		       /* items */
	uint32_t next_begin, next_end; /* slots among the points */
	size_t first_value;	       /* index among the arguments */
	int64_t last_ends, last_correlation;
};

/* The begin or the end of an item: nanoseconds since the point before it on its track. */
struct point {
	int64_t delta_ns;
	uint32_t card;
	uint32_t is_end;
};

/* An item that encloses later items. */
struct open_item {
	int64_t end_ns;
	uint32_t card;
};

/* A varying argument of a card. */
struct argument {
	struct fmt_column_out *column;
	int64_t last;
};

struct writing {
	const struct fmt_slice *slice;
	const struct fmt_names *names;
	uint32_t rank;
	size_t next_event, next_range;
	struct fmt_columns_out columns;
	struct fmt_column_out *column[FMT_SLICE_VALUES]; /* columns other than those of arguments */
	struct card *cards;
	size_t n_cards, cards_cap;
	uint32_t *card_of;	    /* by template: its card plus 1; 0: not used */
	struct argument *arguments; /* by card */
	size_t n_arguments, arguments_cap;
	struct point *points;
	size_t n_points;
	struct open_item *open;
	size_t n_open;
};

static void writing_done(struct writing *w)
{
	fmt_columns_out_done(&w->columns);
	free(w->cards);
	free(w->card_of);
	free(w->arguments);
	free(w->points);
	free(w->open);
}

void fmt_slice_parts_done(struct fmt_slice_parts *p)
{
	text_done(&p->structure);
	text_done(&p->times);
	text_done(&p->low_bytes);
}

static int starts_before(const struct fmt_event *a, const struct fmt_event *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->duration_ns > b->duration_ns;
}

/* Prefetches the values of a later event, which may be far apart in memory. */
static void fetch_values(const struct fmt_slice *s, size_t event)
{
	if (event >= s->n_events || s->n_values == 0)
		return;
	for (size_t i = 0; i < 32; i += 8)
		__builtin_prefetch(s->values + s->events[event].first_value + i);
}

/* The next event or range of the track, or NULL. */
static const struct fmt_event *next_item(struct writing *w, uint32_t track)
{
	const struct fmt_slice *s = w->slice;
	const struct fmt_event *e = w->next_event < s->n_events ? &s->events[w->next_event] : NULL;
	const struct fmt_event *g = w->next_range < s->n_ranges ? &s->ranges[w->next_range] : NULL;

	if (e && e->track != track)
		e = NULL;
	if (g && g->track != track)
		g = NULL;
	if (g && (!e || !starts_before(e, g))) {
		w->next_range++;
		return g;
	}
	fetch_values(s, w->next_event + 16);
	w->next_event += e != NULL;
	return e;
}

static int make_card(struct writing *w, uint32_t number)
{
	const struct fmt_template *template = fmt_template(w->names, number);
	size_t first = w->n_arguments;

	if (!template)
		return -EINVAL;
	if (array_reserve(&w->cards, w->n_cards + 1, &w->cards_cap) < 0 ||
	    array_reserve(&w->arguments, first + template->n_values, &w->arguments_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; w->n_arguments < first + template->n_values; i++)
		if (template->args[i].varies)
			w->arguments[w->n_arguments++] = (struct argument){fmt_column_out(
				&w->columns, FMT_SLICE_VALUES + template->args[i].key)};
	w->cards[w->n_cards++] = (struct card){.template = template, .first_value = first};
	w->card_of[number] = (uint32_t)w->n_cards;
	return w->columns.error;
}

static void add_values(struct writing *w, const struct card *card, const struct fmt_event *e)
{
	const int64_t *v = w->slice->values + e->first_value;
	struct argument *to = w->arguments + card->first_value;

	for (uint32_t i = 0; i < card->template->n_values; i++)
		fmt_column_add(to[i].column, v[i], &to[i].last);
}

static void add_point(struct writing *w, int64_t at_ns, int64_t *last_ns, uint32_t card, int is_end)
{
	w->points[w->n_points++] = (struct point){
		.delta_ns = fmt_sub(at_ns, *last_ns), .card = card, .is_end = (uint32_t)is_end};
	*last_ns = at_ns;
}

static void end_item(struct writing *w, int64_t *last_ns)
{
	const struct open_item *o = &w->open[--w->n_open];

	add_point(w, o->end_ns, last_ns, o->card, 1);
}

static int add_item(struct writing *w, const struct fmt_event *e, int64_t *last_ns)
{
	int r = e->template <fmt_n_templates(w->names) && w->card_of[e->template]
				     ? 0
				     : make_card(w, e->template);
	int64_t ends = 0;
	struct card *card;
	uint32_t number;

	if (r < 0)
		return r;
	number = w->card_of[e->template] - 1;
	card = &w->cards[number];
	for (; w->n_open > 0 && e->start_ns >= w->open[w->n_open - 1].end_ns; ends++)
		end_item(w, last_ns);
	add_point(w, e->start_ns, last_ns, number, 0);
	w->open[w->n_open++] = (struct open_item){fmt_add(e->start_ns, e->duration_ns), number};
	card->n++;
	fmt_column_add_plain(w->column[FMT_SLICE_TEMPLATES], e->template);
	fmt_column_add(w->column[FMT_SLICE_ENDS], ends, &card->last_ends);
	fmt_column_add(w->column[card->template->kind >= FMT_RANGE ? FMT_SLICE_RANGE_CORRELATIONS
								   : FMT_SLICE_CORRELATIONS],
		       (int64_t)e->correlation, &card->last_correlation);
	add_values(w, card, e);
	return 0;
}

/* Adds the items of the next track. */
static int add_track(struct writing *w)
{
	const struct fmt_slice *s = w->slice;
	uint32_t track = w->next_event < s->n_events ? s->events[w->next_event].track : UINT32_MAX;
	int64_t last_ns = s->iteration.start_ns, count = 0;
	const struct fmt_event *e;

	if (w->next_range < s->n_ranges && s->ranges[w->next_range].track < track)
		track = s->ranges[w->next_range].track;
	if (!fmt_track(w->names, w->rank, track))
		return -EINVAL;
	while ((e = next_item(w, track))) {
		int r = add_item(w, e, &last_ns);

		if (r < 0)
			return r;
		count++;
	}
	while (w->n_open > 0)
		end_item(w, &last_ns);
	fmt_column_add_plain(w->column[FMT_SLICE_TRACKS], track);
	fmt_column_add_plain(w->column[FMT_SLICE_COUNTS], count);
	return 0;
}

static int add_edges(struct writing *w)
{
	const struct fmt_slice *s = w->slice;
	int64_t sources[UINT8_MAX + 1] = {0}, lags[UINT8_MAX + 1] = {0};

	for (size_t i = 0; i < s->n_edges; i++) {
		const struct fmt_edge *e = &s->edges[i];

		if (e->to - s->first_number >= s->n_events || e->kind >= FMT_EDGE_KINDS ||
		    (i > 0 && e->to < e[-1].to))
			return -EINVAL;
		fmt_column_add_plain(w->column[FMT_SLICE_EDGE_TARGETS],
				     (int64_t)(e->to - s->first_number));
		fmt_column_add_plain(w->column[FMT_SLICE_EDGE_RULES], e->rule * 4 + e->kind);
		fmt_column_add(w->column[FMT_SLICE_EDGE_SOURCES], (int64_t)(e->to - e->from),
			       &sources[e->rule]);
		fmt_column_add(w->column[FMT_SLICE_EDGE_LAGS], e->lag_ns, &lags[e->rule]);
		fmt_column_add_plain(w->column[FMT_SLICE_EDGE_RANKS], e->rank);
	}
	return 0;
}

/* Returns the largest number of nanoseconds that divides every delta. */
static int64_t find_unit(const struct writing *w)
{
	uint64_t unit = 0;

	for (size_t i = 0; i < w->n_points && unit != 1; i++) {
		int64_t delta = w->points[i].delta_ns;
		uint64_t x = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;

		while (x) {
			uint64_t rest = unit % x;

			unit = x;
			x = rest;
		}
	}
	return unit > 0 && unit <= INT64_MAX ? (int64_t)unit : 1;
}

/* Groups of points are consecutive: the starts of each template, then the ends of each. */
static void order_groups(struct writing *w, uint32_t n_templates)
{
	uint32_t next = 0;

	for (int is_end = 0; is_end < 2; is_end++)
		for (uint32_t t = 0; t < n_templates; t++) {
			struct card *card = w->card_of[t] ? &w->cards[w->card_of[t] - 1] : NULL;

			if (!card)
				continue;
			*(is_end ? &card->next_end : &card->next_begin) = next;
			next += card->n;
		}
}

/* Stores random low bytes separately from the more regular rest, if most deltas are long enough. */
static void put_times(const struct writing *w, int64_t *deltas, struct fmt_slice_parts *ret)
{
	size_t n_long = 0;
	char *low = NULL;

	for (size_t i = 0; i < w->n_points; i++)
		n_long += fmt_fold(deltas[i]) > INT8_MAX;
	if (n_long > w->n_points / 2)
		low = text_reserve(&ret->low_bytes, w->n_points);
	for (size_t i = 0; low && i < w->n_points; i++) {
		*low++ = (char)(deltas[i] & 0xff);
		deltas[i] >>= 8;
	}
	text_end(&ret->low_bytes, low);
	ret->times_kind = fmt_column_put_integers(deltas, w->n_points, &ret->times);
}

static int code_times(struct writing *w, struct fmt_slice_parts *ret)
{
	scoped(free_ptr) int64_t *deltas = malloc(sizeof(*deltas) * (w->n_points + 1));
	int64_t unit = find_unit(w);

	if (!deltas)
		return -ENOMEM;
	order_groups(w, fmt_n_templates(w->names));
	for (size_t i = 0; i < w->n_points; i++) {
		const struct point *p = &w->points[i];
		struct card *card = &w->cards[p->card];

		deltas[p->is_end ? card->next_end++ : card->next_begin++] =
			unit == 1 ? p->delta_ns : p->delta_ns / unit;
	}
	fmt_column_add_plain(w->column[FMT_SLICE_UNIT], unit);
	put_times(w, deltas, ret);
	return ret->times.error ? ret->times.error : ret->low_bytes.error;
}

int fmt_slice_encode(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		     struct fmt_slice_parts *ret)
{
	size_t total = s->n_events + s->n_ranges;
	scoped(writing_done) struct writing w = {.slice = s, .names = n, .rank = rank};
	int r = 0;

	if (total > FMT_ITEMS_MAX)
		return -EOVERFLOW;
	w.card_of = calloc((size_t)fmt_n_templates(n) + 1, sizeof(*w.card_of));
	w.points = malloc(sizeof(*w.points) * (2 * total + 1));
	w.open = malloc(sizeof(*w.open) * (total + 1));
	if (!w.card_of || !w.points || !w.open)
		return -ENOMEM;
	for (uint64_t id = 0; id < FMT_SLICE_VALUES; id++)
		w.column[id] = fmt_column_out(&w.columns, id);
	if (w.columns.error)
		return w.columns.error;
	/* Absolute values repeat best from slice to slice. */
	w.column[FMT_SLICE_ENDS]->fixed_base = FMT_BASE_ZERO;
	w.column[FMT_SLICE_TEMPLATES]->fixed_base = FMT_BASE_ZERO;
	while (r == 0 && (w.next_event < s->n_events || w.next_range < s->n_ranges))
		r = add_track(&w);
	if (r == 0)
		r = add_edges(&w);
	if (r == 0)
		r = code_times(&w, ret);
	return r < 0 ? r : fmt_columns_put(&w.columns, FMT_SLICE_MAY_OMIT, &ret->structure);
}

int64_t fmt_slice_put(const struct fmt_slice_parts *p, struct fmt_patch_base *base, uint64_t back,
		      struct text *out)
{
	scoped(text_done) struct text patch = {0};
	const struct text *structure = base ? &patch : &p->structure;
	int64_t copied = 0;

	if (base)
		copied = fmt_patch_put(base, (const uint8_t *)p->structure.data, p->structure.len,
				       &patch);
	if (copied < 0)
		return copied;
	fmt_put_varint(out, base ? back : 0);
	fmt_put_varint(out, structure->len);
	fmt_put_u8(out, p->times_kind | (p->low_bytes.len > 0 ? FMT_TIMES_SPLIT : 0));
	fmt_put_varint(out, p->times.len);
	text_bytes(out, structure->data, structure->len);
	text_bytes(out, p->times.data, p->times.len);
	text_bytes(out, p->low_bytes.data, p->low_bytes.len);
	return out->error ? out->error : copied;
}
