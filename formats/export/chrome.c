/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/chrome.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/export/chrome_head.h"
#include "formats/export/chrome_site.h"
#include "formats/value.h"

/* A correlation that a slice has seen. */
struct seen {
	uint64_t correlation; /* 0: a free place */
	bool call, op;
};

struct fmt_chrome {
	const struct fmt_trace *trace;
	bool merged;
	uint32_t rank; /* unless merged */
	struct fmt_chrome_base base;
	struct fmt_chrome_lanes lanes;
	struct fmt_chrome_site **sites; /* by number; NULL until first used */
	uint32_t n_sites;
	struct seen *seen;
	size_t seen_cap; /* a power of two */
};

define_cleanup(chrome_freep, struct fmt_chrome *, fmt_chrome_free);

void fmt_chrome_free(struct fmt_chrome *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; x->sites && i < x->n_sites; i++)
		fmt_chrome_site_free(x->sites[i]);
	free(x->sites);
	free(x->seen);
	fmt_chrome_lanes_done(&x->lanes);
	free(x);
}

int fmt_chrome_new(const struct fmt_trace *t, enum fmt_chrome_form form, uint32_t rank,
		   struct fmt_chrome **ret)
{
	scoped(chrome_freep) struct fmt_chrome *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	if (form == FMT_CHROME_RANK && rank >= fmt_trace_n_ranks(t))
		return -EINVAL;
	x->trace = t;
	x->merged = form == FMT_CHROME_MERGED && fmt_trace_n_ranks(t) != 1;
	x->rank = form == FMT_CHROME_RANK ? rank : 0;
	x->base = fmt_chrome_base(t, x->merged, x->rank);
	x->n_sites = fmt_n_sites(fmt_trace_names(t));
	x->sites = calloc(x->n_sites + 1u, sizeof(struct fmt_chrome_site *));
	if (!x->sites)
		return -ENOMEM;
	r = fmt_chrome_lanes_init(&x->lanes, t, x->merged);
	if (r < 0)
		return r;
	*ret = take(x);
	return 0;
}

void fmt_chrome_head(struct fmt_chrome *x, const struct fmt_part *part, struct text *out)
{
	if (x->merged)
		fmt_chrome_head_merged(x->trace, &x->lanes, part, &x->base, out);
	else
		fmt_chrome_head_rank(x->trace, x->rank, out);
}

void fmt_chrome_tail(struct text *out)
{
	text_str(out, "\n]}\n");
}

/* ---- which calls and operations belong together */

static struct seen *find(struct fmt_chrome *x, uint64_t correlation)
{
	size_t at = (size_t)(correlation * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	for (;; at++) {
		struct seen *s = &x->seen[at & (x->seen_cap - 1)];

		if (s->correlation == correlation || !s->correlation)
			return s;
	}
}

static int note_correlations(struct fmt_chrome *x, const struct fmt_slice *slice)
{
	size_t want = 64;

	while (want < slice->n_events * 2)
		want *= 2;
	if (want > x->seen_cap) {
		free(x->seen);
		x->seen_cap = 0;
		x->seen = malloc(want * sizeof(*x->seen));
		if (!x->seen)
			return -ENOMEM;
		x->seen_cap = want;
	}
	memset(x->seen, 0, x->seen_cap * sizeof(*x->seen));
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_chrome_site *s = x->sites[e->site];
		struct seen *seen;

		if (!e->correlation)
			continue;
		seen = find(x, e->correlation);
		seen->correlation = e->correlation;
		seen->call |= s->site->kind == FMT_CALL;
		seen->op |= FMT_IS_OP(s->site->kind);
	}
	return 0;
}

/* ---- events */

static void put_time(const struct fmt_chrome *x, struct text *out, int64_t ns)
{
	if (!x->base.known && ns % 1000 == 0)
		text_i64(out, ns / 1000);
	else
		text_us(out, ns);
}

static void put_lane(const struct fmt_chrome *x, uint32_t rank, uint32_t lane, struct text *out)
{
	const struct fmt_chrome_lane *l = &x->lanes.of[rank][lane];

	text_bytes(out, x->lanes.pool.data + l->at, l->len);
}

/* The arrow from a launch to what it started. */
static void put_flow(struct fmt_chrome *x, uint32_t rank, const struct fmt_event *e, uint8_t kind,
		     int64_t start_ns, struct text *out)
{
	const struct seen *seen = e->correlation ? find(x, e->correlation) : NULL;
	uint64_t id = e->correlation;

	if (!seen || !seen->call || !seen->op || !(kind == FMT_CALL || FMT_IS_OP(kind)))
		return;
	if (x->merged)
		id = (id & ((UINT64_C(1) << 40) - 1)) | (uint64_t)rank << 40;
	text_str(out, kind == FMT_CALL ? ",\n{\"ph\":\"s\",\"id\":"
				       : ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	text_u64(out, id);
	text_str(out, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":");
	put_lane(x, rank, e->lane, out);
	text_str(out, ",\"ts\":");
	put_time(x, out, start_ns);
	text_char(out, '}');
}

static void put_event(struct fmt_chrome *x, const struct fmt_slice *slice,
		      const struct fmt_event *e, struct text *out)
{
	const struct fmt_chrome_site *s = x->sites[e->site];
	int64_t start_ns = (int64_t)((uint64_t)e->start_ns - (uint64_t)x->base.ns);

	text_bytes(out, s->text, s->head_len);
	put_lane(x, slice->rank, e->lane, out);
	text_str(out, ",\"ts\":");
	put_time(x, out, start_ns);
	if (s->site->kind != FMT_MARK) {
		text_str(out, ",\"dur\":");
		put_time(x, out, e->duration_ns);
	}
	fmt_chrome_site_end(s, fmt_trace_names(x->trace), e, fmt_event_values(slice, e), out);
	put_flow(x, slice->rank, e, s->site->kind, start_ns, out);
}

/* Makes the sites that the events are of, and checks what the events refer to. */
static int prepare(struct fmt_chrome *x, const struct fmt_slice *slice,
		   const struct fmt_event *events, size_t n)
{
	const struct fmt_names *names = fmt_trace_names(x->trace);
	uint32_t n_lanes;

	if (slice->rank >= x->lanes.n_ranks)
		return -EBADMSG;
	n_lanes = fmt_n_lanes(names, slice->rank);
	for (size_t i = 0; i < n; i++) {
		const struct fmt_event *e = &events[i];

		if (e->site >= x->n_sites || e->lane >= n_lanes)
			return -EBADMSG;
		if (!x->sites[e->site]) {
			int r = fmt_chrome_site_new(names, fmt_site(names, e->site),
						    &x->sites[e->site]);

			if (r < 0)
				return r;
		}
		if ((uint64_t)e->first_value + x->sites[e->site]->site->n_values > slice->n_values)
			return -EBADMSG;
	}
	return 0;
}

int fmt_chrome_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct text *out)
{
	int r = prepare(x, slice, slice->events, slice->n_events);

	if (r == 0)
		r = prepare(x, slice, slice->ranges, slice->n_ranges);
	if (r == 0)
		r = note_correlations(x, slice);
	if (r < 0)
		return r;
	for (size_t i = 0; i < slice->n_events; i++)
		put_event(x, slice, &slice->events[i], out);
	for (size_t i = 0; i < slice->n_ranges; i++)
		put_event(x, slice, &slice->ranges[i], out);
	return out->error;
}

int fmt_chrome(struct fmt_trace *t, enum fmt_chrome_form form, const struct fmt_part *part,
	       struct text *out, struct fmt_error *err)
{
	scoped(chrome_freep) struct fmt_chrome *x = NULL;
	struct fmt_walk walk = fmt_walk(t, part);
	int r;

	r = fmt_chrome_new(t, form, part->rank == FMT_ANY ? 0 : (uint32_t)part->rank, &x);
	if (r < 0)
		return r;
	fmt_chrome_head(x, part, out);
	while (fmt_walk_next(&walk)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		r = fmt_slice_load(t, walk.rank, walk.slice,
				   FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_RANGES, &slice, err);
		if (r == 0)
			r = fmt_chrome_slice(x, slice, out);
		if (r < 0)
			return r;
	}
	fmt_chrome_tail(out);
	return text_flush(out);
}
