/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_side.h"

#include "base/array.h"
#include "formats/render/grid.h"
#include "formats/trace/value.h"

#include <inttypes.h>

#define NAME_BYTES 120

void fmt_cause_side_done(struct fmt_cause_side *s)
{
	for (uint32_t i = 0; i < s->n_tracks; i++) {
		for (size_t k = 0; k < s->tracks[i].n; k++)
			free(s->tracks[i].ops[k].digests);
		free(s->tracks[i].ops);
	}
	free(s->tracks);
	for (size_t i = 0; i < s->n_slices; i++)
		fmt_slice_free(s->slices[i]);
	free(s->slices);
	memset(s, 0, sizeof(*s));
}

/* ---- reading */

static int64_t value_of(const struct fmt_cause_side *s, const struct fmt_slice *slice,
			const struct fmt_event *e, const char *key)
{
	const struct fmt_template *t = fmt_template(s->names, e->template);
	int64_t value;

	if ((uint64_t)e->first_value + t->n_values > slice->n_values ||
	    !fmt_value_int(s->names, e, t, fmt_event_values(slice, e), key, &value))
		return -1;
	return value;
}

static int add_op(struct fmt_cause_side *s, const struct fmt_slice *slice,
		  const struct fmt_event *e)
{
	const struct fmt_template *t = fmt_template(s->names, e->template);
	struct fmt_cause_track *track;

	if (!t || !FMT_IS_OP(t->kind) || e->track >= s->n_tracks)
		return 0;
	track = &s->tracks[e->track];
	if (array_reserve(&track->ops, track->n + 1, &track->cap) < 0)
		return -ENOMEM;
	track->ops[track->n++] = (struct fmt_cause_op){
		.template = t,
		.event = e,
		.slice = slice,
		.start_ns = e->start_ns,
		.iteration = slice->iteration.number,
		.comm = t->kind == FMT_COLLECTIVE ? value_of(s, slice, e, FMT_KEY_COMM) : -1,
		.seq = t->kind == FMT_COLLECTIVE ? value_of(s, slice, e, FMT_KEY_SEQ) : -1,
		.correlation = e->correlation,
		.track = e->track,
	};
	return 0;
}

/* An operation, for finding it by event or by correlation. */
struct by {
	uint64_t correlation;
	const struct fmt_event *event;
	struct fmt_cause_op *op;
};

static int by_correlation(const void *a, const void *b)
{
	const struct by *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->event, y->event);
}

static int list_ops(const struct fmt_cause_side *s, struct by **ret, size_t *n)
{
	size_t total = 0;

	for (uint32_t i = 0; i < s->n_tracks; i++)
		total += s->tracks[i].n;
	*ret = calloc(total + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_tracks; i++)
		for (size_t k = 0; k < s->tracks[i].n; k++) {
			struct fmt_cause_op *op = &s->tracks[i].ops[k];

			(*ret)[(*n)++] = (struct by){op->correlation, op->event, op};
		}
	qsort(*ret, *n, sizeof(**ret), by_correlation);
	return 0;
}

/* Adds a digest to the operation that it is of: the event itself, or what its call launched. */
static int add_digest(const struct fmt_slice *slice, const struct fmt_digest *d,
		      const struct by *list, size_t n)
{
	const struct fmt_event *e;
	struct fmt_cause_op *op = NULL;

	if (d->op < slice->first_number || d->op - slice->first_number >= slice->n_events)
		return 0;
	e = &slice->events[d->op - slice->first_number];
	for (size_t i = array_bound(k, 0, n, list[k].correlation < e->correlation);
	     i < n && list[i].correlation == e->correlation; i++)
		if (!op || list[i].event == e)
			op = list[i].op;
	if (!op)
		return 0;
	if (array_reserve(&op->digests, op->n_digests + 1, &op->digests_cap) < 0)
		return -ENOMEM;
	op->digests[op->n_digests++] = (struct fmt_cause_digest){d, slice->pages + d->first_page};
	return 0;
}

static int add_digests(struct fmt_cause_side *s)
{
	struct by *list = NULL;
	size_t n = 0;
	int r = list_ops(s, &list, &n);

	for (size_t i = 0; i < s->n_slices && r == 0; i++)
		for (size_t k = 0; k < s->slices[i]->n_digests && r == 0; k++)
			r = add_digest(s->slices[i], &s->slices[i]->digests[k], list, n);
	free(list);
	return r;
}

static int read_slice(struct fmt_cause_side *s, struct fmt_trace *t, uint32_t slice,
		      struct fmt_error *err)
{
	struct fmt_slice *read;
	int r = fmt_slice_load(t, s->rank, slice, FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_DIGESTS,
			       &read, err);

	if (r < 0)
		return r;
	if (array_reserve(&s->slices, s->n_slices + 1, &s->slices_cap) < 0) {
		fmt_slice_free(read);
		return -ENOMEM;
	}
	s->slices[s->n_slices++] = read;
	for (size_t i = 0; i < read->n_events && r == 0; i++)
		r = add_op(s, read, &read->events[i]);
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_cause_op *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns) ?: array_order(x->correlation, y->correlation);
}

int fmt_cause_side_read(struct fmt_trace *t, uint32_t rank, struct fmt_cause_side *ret,
			struct fmt_error *err)
{
	int r = 0;

	ret->names = fmt_trace_names(t);
	ret->rank = rank;
	ret->number = fmt_trace_rank(t, rank)->number;
	ret->tracks = calloc(fmt_n_tracks(ret->names, rank) + 1u, sizeof(*ret->tracks));
	if (!ret->tracks)
		return -ENOMEM;
	ret->n_tracks = fmt_n_tracks(ret->names, rank);
	for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices && r == 0; i++)
		r = read_slice(ret, t, i, err);
	/* Slices are cut by the calls, whose order may differ where threads launch. */
	for (uint32_t i = 0; i < ret->n_tracks; i++)
		if (ret->tracks[i].n > 1)
			qsort(ret->tracks[i].ops, ret->tracks[i].n, sizeof(ret->tracks[i].ops[0]),
			      by_start);
	return r < 0 ? r : add_digests(ret);
}

/* ---- matching */

static bool has_number(const struct fmt_cause_side *a, uint32_t x, const struct fmt_cause_side *b,
		       uint32_t y)
{
	const struct fmt_track *l = fmt_track(a->names, a->rank, x);
	const struct fmt_track *m = fmt_track(b->names, b->rank, y);

	return l->kind == m->kind && l->tid == m->tid;
}

/* Counts the operations at the beginning of two streams that are the same. */
static size_t shared(const struct fmt_cause_side *a, const struct fmt_cause_track *x,
		     const struct fmt_cause_side *b, const struct fmt_cause_track *y)
{
	size_t n = x->n < y->n ? x->n : y->n, i = 0;

	while (i < n && fmt_cause_side_same(a, &x->ops[i], b, &y->ops[i]))
		i++;
	return i;
}

/* Of the streams of `b` that are left, the one that did the same for longest; one of the same
 * number if several did. -1: none. */
static int64_t best_match(const struct fmt_cause_side *a, uint32_t x,
			  const struct fmt_cause_side *b)
{
	int64_t best = -1;
	size_t most = 0;

	for (uint32_t y = 0; y < b->n_tracks; y++) {
		const struct fmt_cause_track *t = &b->tracks[y];
		size_t n;

		if (t->match >= 0 || t->n == 0)
			continue;
		n = 2 * shared(a, &a->tracks[x], b, t) + has_number(a, x, b, y);
		if (best < 0 || n > most) {
			best = y;
			most = n;
		}
	}
	return best;
}

void fmt_cause_side_match(struct fmt_cause_side *a, struct fmt_cause_side *b)
{
	for (uint32_t i = 0; i < b->n_tracks; i++)
		b->tracks[i].match = -1;
	for (uint32_t i = 0; i < a->n_tracks; i++) {
		int64_t k = a->tracks[i].n > 0 ? best_match(a, i, b) : -1;

		a->tracks[i].match = k;
		if (k >= 0)
			b->tracks[k].match = i;
	}
}

static int64_t bytes_of(const struct fmt_cause_side *s, const struct fmt_cause_op *x)
{
	return value_of(s, x->slice, x->event,
			x->template->kind == FMT_COLLECTIVE ? FMT_KEY_BYTES : "bytes");
}

bool fmt_cause_side_same(const struct fmt_cause_side *a, const struct fmt_cause_op *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_op *y)
{
	size_t n, m;
	const char *s = fmt_string(a->names, x->template->name, &n);
	const char *t = fmt_string(b->names, y->template->name, &m);

	return x->template->kind == y->template->kind && n == m && memcmp(s, t, n) == 0 &&
	       bytes_of(a, x) == bytes_of(b, y);
}

/* ---- describing */

void fmt_cause_side_track(const struct fmt_cause_side *s, const struct fmt_cause_op *x, char *ret,
			  size_t cap)
{
	const struct fmt_track *l = fmt_track(s->names, s->rank, x->track);

	if (l->text_ids & 2)
		snprintf(ret, cap, "stream %.40s", fmt_string(s->names, l->tid_text, NULL));
	else
		snprintf(ret, cap, "stream %" PRId64, l->tid);
}

void fmt_cause_side_describe(const struct fmt_cause_side *s, const struct fmt_cause_op *x,
			     struct text *out)
{
	size_t len;
	const char *name;
	int64_t bytes;

	if (!x) {
		text_str(out, "nothing");
		return;
	}
	name = fmt_string(s->names, x->template->name, &len);
	text_str(out, fmt_kind_name((enum fmt_kind)x->template->kind));
	text_char(out, ' ');
	fmt_text_harmless(out, name, len, NAME_BYTES);
	bytes = bytes_of(s, x);
	if (bytes >= 0)
		text_printf(out, " of %" PRId64 " byte%s", bytes, bytes == 1 ? "" : "s");
}
