/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/slice_code.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace.h"

static void put_events(const struct fmt_event *e, size_t n, struct text *out)
{
	int64_t last = 0;

	for (size_t i = 0; i < n; i++)
		fmt_put_varint(out, e[i].lane);
	for (size_t i = 0; i < n; i++)
		fmt_put_varint(out, e[i].site);
	for (size_t i = 0; i < n; last = e[i++].start_ns)
		fmt_put_svarint(out, fmt_sub(e[i].start_ns, last));
	for (size_t i = 0; i < n; i++)
		fmt_put_svarint(out, e[i].duration_ns);
	last = 0;
	for (size_t i = 0; i < n; last = (int64_t)e[i++].correlation)
		fmt_put_svarint(out, fmt_sub((int64_t)e[i].correlation, last));
}

static int put_values(const struct fmt_event *e, size_t n, const struct fmt_slice *s,
		      const struct fmt_names *names, struct text *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct fmt_site *site = fmt_site(names, e[i].site);

		if (!site || site->n_values > s->n_values ||
		    e[i].first_value > s->n_values - site->n_values)
			return -EINVAL;
		for (uint32_t k = 0; k < site->n_values; k++)
			fmt_put_svarint(out, s->values[e[i].first_value + k]);
	}
	return 0;
}

static void put_edges(const struct fmt_slice *s, struct text *out)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct fmt_edge *e = &s->edges[i];

		fmt_put_varint(out, e->to - s->first_number);
		fmt_put_svarint(out, (int64_t)(e->to - e->from));
		fmt_put_svarint(out, e->lag_ns);
		fmt_put_u8(out, e->kind);
		fmt_put_u8(out, e->rule);
	}
}

int fmt_slice_put(const struct fmt_slice *s, const struct fmt_names *n, uint32_t rank,
		  struct text *out, size_t *cuts, size_t *n_cuts)
{
	int r;

	put_events(s->events, s->n_events, out);
	put_events(s->ranges, s->n_ranges, out);
	r = put_values(s->events, s->n_events, s, n, out);
	if (r == 0)
		r = put_values(s->ranges, s->n_ranges, s, n, out);
	put_edges(s, out);
	cuts[0] = out->len;
	*n_cuts = 1;
	return r < 0 ? r : out->error;
}

static int get_events(struct fmt_cursor *c, struct fmt_event *e, size_t n,
		      const struct fmt_names_map *m, uint32_t n_lanes)
{
	int64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t lane = fmt_varint(c);

		if (lane >= n_lanes)
			return -EBADMSG;
		e[i].lane = (uint32_t)lane;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t site = fmt_varint(c);

		if (site >= m->n_sites)
			return -EBADMSG;
		e[i].site = m->sites[site];
	}
	for (size_t i = 0; i < n; i++)
		e[i].start_ns = last = fmt_add(last, fmt_svarint(c));
	for (size_t i = 0; i < n; i++)
		e[i].duration_ns = fmt_svarint(c);
	last = 0;
	for (size_t i = 0; i < n; i++) {
		last = fmt_add(last, fmt_svarint(c));
		e[i].correlation = (uint64_t)last;
	}
	return c->bad ? -EBADMSG : 0;
}

/* A value that is a number of the file becomes the trace's. */
static int map_value(const struct fmt_names *n, const struct fmt_names_map *m,
		     const struct fmt_site *s, const struct fmt_arg *a, int64_t *v)
{
	if (a->type == FMT_STRING || a->type == FMT_JSON) {
		if ((uint64_t)*v >= m->n_strings)
			return -EBADMSG;
		*v = m->strings[*v];
	} else if (s->kind == FMT_COLLECTIVE && m->changes && *v >= 0 &&
		   strcmp(fmt_string(n, a->key, NULL), FMT_KEY_COMM) == 0) {
		if ((uint64_t)*v >= m->n_comms)
			return -EBADMSG;
		*v = m->comms[*v];
	}
	return 0;
}

static int get_values(struct fmt_cursor *c, struct fmt_event *e, size_t n, struct fmt_slice *s,
		      size_t *cap, const struct fmt_names *names, const struct fmt_names_map *m)
{
	for (size_t i = 0; i < n; i++) {
		const struct fmt_site *site = fmt_site(names, e[i].site);

		if (!site || site->n_values > fmt_left(c) ||
		    s->n_values > UINT32_MAX - site->n_values)
			return -EBADMSG;
		if (array_reserve(&s->values, s->n_values + site->n_values, cap) < 0)
			return -ENOMEM;
		e[i].first_value = (uint32_t)s->n_values;
		for (uint32_t k = 0; k < site->n_args; k++) {
			if (!site->args[k].varies)
				continue;
			s->values[s->n_values] = fmt_svarint(c);
			if (map_value(names, m, site, &site->args[k], &s->values[s->n_values++]) <
			    0)
				return -EBADMSG;
		}
	}
	return c->bad ? -EBADMSG : 0;
}

static int get_edges(struct fmt_cursor *c, struct fmt_slice *s, const struct fmt_names_map *m)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		struct fmt_edge *e = &s->edges[i];
		uint8_t rule;

		e->to = s->first_number + fmt_varint(c);
		e->from = e->to - (uint64_t)fmt_svarint(c);
		e->lag_ns = fmt_svarint(c);
		e->kind = fmt_u8(c);
		rule = fmt_u8(c);
		if (c->bad || e->kind >= FMT_EDGE_KINDS || rule >= m->n_rules)
			return -EBADMSG;
		e->rule = m->rules[rule];
	}
	return 0;
}

define_cleanup(slice_freep, struct fmt_slice *, fmt_slice_free)

	int fmt_slice_get(struct fmt_cursor *in, const struct fmt_chunk *c,
			  const struct fmt_names *n, const struct fmt_names_map *m, uint32_t rank,
			  unsigned want, struct fmt_slice **ret)
{
	scoped(slice_freep) struct fmt_slice *s = calloc(1, sizeof(*s));
	uint64_t events = 0, ranges = c->n_records[FMT_RANGE] + c->n_records[FMT_MARK];
	size_t cap = 0;
	int r;

	for (int k = 0; k < FMT_RANGE; k++)
		events += c->n_records[k];
	if (!s)
		return -ENOMEM;
	if (events > fmt_left(in) || ranges > fmt_left(in) || c->n_edges > fmt_left(in))
		return -EBADMSG;
	s->rank = rank;
	s->index = c->slice;
	s->iteration = c->iteration;
	s->first_number = c->first_number;
	s->n_events = events;
	s->n_ranges = ranges;
	s->n_edges = c->n_edges;
	s->events = calloc(events + 1, sizeof(*s->events));
	s->ranges = calloc(ranges + 1, sizeof(*s->ranges));
	s->edges = calloc(c->n_edges + 1, sizeof(*s->edges));
	if (!s->events || !s->ranges || !s->edges)
		return -ENOMEM;
	r = get_events(in, s->events, events, m, fmt_n_lanes(n, rank));
	if (r == 0)
		r = get_events(in, s->ranges, ranges, m, fmt_n_lanes(n, rank));
	if (r == 0)
		r = get_values(in, s->events, events, s, &cap, n, m);
	if (r == 0)
		r = get_values(in, s->ranges, ranges, s, &cap, n, m);
	if (r == 0)
		r = get_edges(in, s, m);
	if (r < 0)
		return r;
	*ret = take(s);
	return 0;
}
