/* SPDX-License-Identifier: Apache-2.0 */

/* Decoding a slice. */
#include "formats/store/slice_impl.h"
#include "formats/store/trace.h"

#include "base/scope.h"

int fmt_slice_refers(struct fmt_cursor in, uint64_t *ret)
{
	uint64_t flags = fmt_varint(&in);

	if (flags & FMT_HAS_REFERENCE)
		*ret = fmt_varint(&in);
	return in.bad || flags & ~(uint64_t)FMT_SLICE_FLAGS ? -EBADMSG
							    : (flags & FMT_HAS_REFERENCE) != 0;
}

static uint64_t most_values(uint64_t n_items, uint64_t bytes)
{
	if (n_items > FMT_ITEMS_MAX || bytes > FMT_CHUNK_RAW_MAX)
		return FMT_VALUES_MAX;
	n_items = n_items * FMT_VALUES_PER_ITEM + bytes * FMT_VALUES_PER_BYTE;
	return n_items < FMT_VALUES_MAX ? n_items : FMT_VALUES_MAX;
}

static int get_head(struct fmt_run_code *r, struct fmt_cursor *in, uint32_t rank, uint64_t n_items)
{
	uint64_t flags = fmt_varint(in), count, last = 0, n = 0;
	uint64_t limit = (fmt_left(in) + 1) * FMT_ITEMS_PER_BYTE;

	if (flags & FMT_HAS_REFERENCE)
		fmt_varint(in);
	r->ranges_correlate = !!(flags & FMT_RANGES_CORRELATE);
	r->device_rests = !!(flags & FMT_DEVICE_RESTS);
	r->most_values = most_values(n_items, fmt_left(in));
	r->n_sites = (uint32_t)fmt_varint(in);
	r->host_unit = (int64_t)fmt_varint(in);
	r->device_unit = (int64_t)fmt_varint(in);
	count = fmt_count(in, 2);
	if (in->bad || r->n_sites > r->map->n_sites || r->host_unit < 1 || r->device_unit < 1 ||
	    n_items > limit || n_items > FMT_ITEMS_MAX)
		return -EBADMSG;
	r->lanes = calloc(count + 1, sizeof(*r->lanes));
	r->items = calloc(n_items + 1, sizeof(*r->items));
	if (!r->lanes || !r->items)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t step = fmt_varint(in), items = fmt_varint(in);
		const struct fmt_lane *lane;

		last += step;
		lane = last < UINT32_MAX ? fmt_lane(r->names, rank, (uint32_t)last) : NULL;
		if (in->bad || !lane || (i > 0 && step == 0) || items > n_items - n)
			return -EBADMSG;
		r->lanes[r->n_lanes++] = (struct fmt_item_lane){
			.number = (uint32_t)last,
			.first = (uint32_t)n,
			.n = (uint32_t)items,
			.device = lane->kind == FMT_STREAM,
		};
		n += items;
	}
	r->n_items = (uint32_t)n;
	return n == n_items ? 0 : -EBADMSG;
}

/* Values that are numbers of the file become the trace's. */
static int map_values(const struct fmt_run_code *r, const struct fmt_item *item,
		      const struct fmt_site *site)
{
	const struct fmt_names_map *m = r->map;
	int64_t *v = r->values + item->values;

	for (uint32_t i = 0, nth = 0; nth < site->n_values; i++) {
		const struct fmt_arg *a = &site->args[i];

		if (!a->varies)
			continue;
		if (a->type == FMT_STRING || a->type == FMT_JSON) {
			if ((uint64_t)v[nth] >= m->n_strings)
				return -EBADMSG;
			v[nth] = m->strings[v[nth]];
		} else if (site->kind == FMT_COLLECTIVE && i == FMT_COLLECTIVE_COMM && m->changes &&
			   v[nth] >= 0) {
			if ((uint64_t)v[nth] >= m->n_comms)
				return -EBADMSG;
			v[nth] = m->comms[v[nth]];
		}
		nth++;
	}
	return 0;
}

static int give_items(struct fmt_run_code *r, const struct fmt_chunk *c, struct fmt_slice *s)
{
	uint64_t seen[FMT_KINDS] = {0};

	for (uint32_t i = 0; i < r->n_items; i++)
		seen[r->items[i].kind]++;
	for (int k = 0; k < FMT_KINDS; k++)
		if (seen[k] != c->n_records[k])
			return -EBADMSG;
	for (size_t k = 0; k < r->n_lanes; k++)
		for (uint32_t i = r->lanes[k].first; i < r->lanes[k].first + r->lanes[k].n; i++) {
			const struct fmt_item *item = &r->items[i];
			const struct fmt_site *site = fmt_card(r, item)->site;
			struct fmt_event *e = item->kind >= FMT_RANGE ? &s->ranges[s->n_ranges++]
								      : &s->events[s->n_events++];

			e->start_ns = item->start;
			e->duration_ns = fmt_sub(item->end, item->start);
			e->correlation = item->correlation;
			e->site = r->map->sites[item->site];
			e->lane = r->lanes[k].number;
			e->first_value = site->n_values ? item->values : 0;
			if (site->n_values && map_values(r, item, site) < 0)
				return -EBADMSG;
		}
	s->values = take(r->values);
	s->n_values = r->n_values;
	return 0;
}

static struct fmt_slice *make_slice(const struct fmt_chunk *c, uint32_t rank, uint64_t events,
				    uint64_t ranges)
{
	struct fmt_slice *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->rank = rank;
	s->index = (uint32_t)c->slice;
	s->iteration = c->iteration;
	s->first_number = c->first_number;
	s->n_edges = c->n_edges;
	s->events = calloc(events + 1, sizeof(*s->events));
	s->ranges = calloc(ranges + 1, sizeof(*s->ranges));
	if (s->events && s->ranges)
		return s;
	fmt_slice_free(s);
	return NULL;
}

/* An edge says less than an item: this many are possible, and no more are made room for. */
static int counts_of(const struct fmt_chunk *c, uint64_t *events, uint64_t *ranges)
{
	*events = *ranges = 0;
	for (int k = 0; k < FMT_KINDS; k++) {
		if (c->n_records[k] > FMT_ITEMS_MAX)
			return -EBADMSG;
		*(k >= FMT_RANGE ? ranges : events) += c->n_records[k];
	}
	return c->n_edges > (uint64_t)FMT_ITEMS_MAX * 4 ? -EBADMSG : 0;
}

int fmt_slice_get(const struct fmt_cursor *in, const struct fmt_chunk *c, const struct fmt_names *n,
		  const struct fmt_names_map *m, uint32_t rank,
		  const struct fmt_reference *reference, struct fmt_reference **keep,
		  double bits[FMT_COLUMNS], struct fmt_slice **ret)
{
	scoped(fmt_run_done) struct fmt_run_code r = {
		.reference = reference,
		.names = n,
		.map = m,
		.origin_ns = c->iteration.start_ns,
		.bits = bits,
	};
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	struct fmt_cursor at = *in;
	uint64_t events, ranges;
	int e = counts_of(c, &events, &ranges);

	if (e == 0)
		e = get_head(&r, &at, rank, events + ranges);
	if (e == 0)
		e = fmt_contexts_init(&r.contexts, reference ? &reference->contexts : NULL);
	if (e < 0)
		return e;
	s = make_slice(c, rank, events, ranges);
	if (!s)
		return -ENOMEM;
	fmt_decoder_start(&r.coder, &at);
	if (bits) {
		bits[FMT_COLUMN_HEAD] += 8.0 * (double)fmt_offset(&at) + 64;
		r.coder.bits = &r.bits_now;
	}
	e = fmt_run_code(&r, s, NULL);
	if (e == 0 && fmt_coder_bad(&r.coder))
		e = -EBADMSG;
	if (e == 0 && keep && !reference)
		e = fmt_run_keep(&r, (uint32_t)c->slice, keep);
	if (e == 0)
		e = give_items(&r, c, s);
	if (e < 0)
		return e;
	*ret = take(s);
	return 0;
}
