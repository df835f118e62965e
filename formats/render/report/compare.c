/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/compare.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/render/report/brief.h"
#include "formats/render/report/contents.h"
#include "formats/trace/value.h"

#include <inttypes.h>
#include <stdbool.h>

/* The events of one track in one iteration. */
struct track {
	uint32_t track;
	int64_t match; /* index of the other side's track, or -1 */
	const struct fmt_event **events;
	const struct fmt_slice **slices; /* of each event */
	size_t n, events_cap, slices_cap;
};

/* One iteration of one rank in one of the traces. */
struct side {
	struct fmt_trace *trace;
	const struct fmt_names *names;
	uint32_t rank; /* index */
	bool calls;    /* compare these, too */
	uint32_t next; /* slice */
	int64_t iteration;
	struct fmt_slice **slices;
	size_t n_slices, slices_cap;
	struct track *tracks; /* by track; those without events too */
	uint32_t n_tracks;
	struct fmt_contents contents;
};

void fmt_difference_done(struct fmt_difference *d)
{
	text_done(&d->first);
	text_done(&d->second);
}

static void side_empty(struct side *s)
{
	for (size_t i = 0; i < s->n_slices; i++)
		fmt_slice_free(s->slices[i]);
	for (uint32_t i = 0; i < s->n_tracks; i++) {
		free(s->tracks[i].events);
		free(s->tracks[i].slices);
	}
	free(take(s->tracks));
	fmt_contents_done(&s->contents);
	s->n_slices = 0;
	s->n_tracks = 0;
}

static void side_done(struct side *s)
{
	side_empty(s);
	free(s->slices);
}

/* ---- reading an iteration */

/* Whether something has come to pass is asked as often as there is time: what depends on chance is
 * left out. */
static bool is_polling(const struct side *s, const struct fmt_template *template)
{
	const char *name = fmt_string(s->names, template->name, NULL);

	return strstr(name, "EventQuery") || strstr(name, "StreamQuery");
}

static bool has_argument(const struct side *s, const struct fmt_template *template, const char *key)
{
	for (uint32_t i = 0; i < template->n_args; i++)
		if (strcmp(fmt_string(s->names, template->args[i].key, NULL), key) == 0)
			return true;
	return false;
}

/* An NCCL call that starts an operation. It is compared because it carries the digests of what the
 * operation read and wrote. */
static bool is_exchange(const struct side *s, const struct fmt_template *template)
{
	return template->kind == FMT_CALL &&
	       strcmp(fmt_string(s->names, template->category, NULL), "nccl") == 0 &&
	       has_argument(s, template, "datatype");
}

static bool is_compared(const struct side *s, const struct fmt_event *e)
{
	const struct fmt_template *template = fmt_template(s->names, e->template);

	if (e->track >= s->n_tracks || !template)
		return false;
	if (s->calls)
		return !is_polling(s, template);
	return FMT_IS_OP(template->kind) || is_exchange(s, template);
}

static int add_event(struct side *s, const struct fmt_slice *slice, const struct fmt_event *e)
{
	struct track *t;

	if (!is_compared(s, e))
		return 0;
	t = &s->tracks[e->track];
	if (array_reserve(&t->events, t->n + 1, &t->events_cap) < 0 ||
	    array_reserve(&t->slices, t->n + 1, &t->slices_cap) < 0)
		return -ENOMEM;
	t->events[t->n] = e;
	t->slices[t->n++] = slice;
	return 0;
}

static int load(struct side *s, struct fmt_error *err)
{
	struct fmt_slice *slice;
	int r = fmt_slice_load(s->trace, s->rank, s->next,
			       FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_DIGESTS, &slice, err);

	if (r < 0)
		return r;
	if (array_reserve(&s->slices, s->n_slices + 1, &s->slices_cap) < 0) {
		fmt_slice_free(slice);
		return -ENOMEM;
	}
	s->slices[s->n_slices++] = slice;
	r = fmt_contents_add(&s->contents, slice);
	for (size_t i = 0; i < slice->n_events && r == 0; i++)
		r = add_event(s, slice, &slice->events[i]);
	return r;
}

/* Reads the next iteration, which may be several slices: 1, or 0 at the end. */
static int next_iteration(struct side *s, struct fmt_error *err)
{
	uint32_t n = fmt_trace_rank(s->trace, s->rank)->n_slices;

	side_empty(s);
	if (s->next >= n)
		return 0;
	s->n_tracks = fmt_n_tracks(s->names, s->rank);
	s->tracks = calloc(s->n_tracks + 1u, sizeof(*s->tracks));
	if (!s->tracks) {
		s->n_tracks = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->n_tracks; i++)
		s->tracks[i].track = i;
	s->iteration = fmt_trace_slice(s->trace, s->rank, s->next)->iteration.number;
	for (; s->next < n; s->next++) {
		int r;

		if (fmt_trace_slice(s->trace, s->rank, s->next)->iteration.number != s->iteration)
			break;
		r = load(s, err);
		if (r < 0)
			return r;
	}
	return 1;
}

/* Whether slices outside of iterations hold nothing to compare: only operations are compared, and
 * they have none. Where host calls are cut off differs from run to run. */
static bool is_skipped(const struct side *s)
{
	if (s->calls || (s->iteration != FMT_BEFORE && s->iteration != FMT_AFTER))
		return false;
	for (uint32_t i = 0; i < s->n_tracks; i++)
		if (s->tracks[i].n > 0)
			return false;
	return true;
}

/* Reads the next iteration that has something to compare: 1, or 0 at the end. */
static int next_compared(struct side *s, struct fmt_error *err)
{
	int r;

	do
		r = next_iteration(s, err);
	while (r > 0 && is_skipped(s));
	return r;
}

/* ---- matching tracks */

static bool same_string(const struct side *a, fmt_str x, const struct side *b, fmt_str y)
{
	size_t n, m;
	const char *s = fmt_string(a->names, x, &n), *t = fmt_string(b->names, y, &m);

	return n == m && memcmp(s, t, n) == 0;
}

static bool same_track(const struct side *a, const struct track *x, const struct side *b,
		       const struct track *y)
{
	const struct fmt_track *l = fmt_track(a->names, a->rank, x->track);
	const struct fmt_track *m = fmt_track(b->names, b->rank, y->track);

	return l->kind == m->kind && l->tid == m->tid && l->text_ids == m->text_ids &&
	       same_string(a, l->tid_text, b, m->tid_text) &&
	       (l->kind == FMT_STREAM || l->pid == m->pid);
}

/* Of the tracks that have no match yet and are of that kind, the one that did most. */
static int64_t busiest(const struct side *s, uint8_t kind)
{
	int64_t best = -1;

	for (uint32_t i = 0; i < s->n_tracks; i++) {
		const struct track *t = &s->tracks[i];

		if (t->match < 0 && t->n > 0 && fmt_track(s->names, s->rank, i)->kind == kind &&
		    (best < 0 || t->n > s->tracks[best].n))
			best = i;
	}
	return best;
}

static void match(struct side *a, struct side *b)
{
	for (uint32_t i = 0; i < a->n_tracks; i++)
		a->tracks[i].match = -1;
	for (uint32_t i = 0; i < b->n_tracks; i++)
		b->tracks[i].match = -1;
	for (uint32_t i = 0; i < a->n_tracks; i++) {
		for (uint32_t k = 0; k < b->n_tracks && a->tracks[i].match < 0; k++) {
			if (b->tracks[k].match < 0 &&
			    same_track(a, &a->tracks[i], b, &b->tracks[k])) {
				a->tracks[i].match = k;
				b->tracks[k].match = i;
			}
		}
	}
	for (;;) {
		int64_t i = busiest(a, FMT_THREAD), k = busiest(b, FMT_THREAD);

		if (i < 0 || k < 0)
			return;
		a->tracks[i].match = k;
		b->tracks[k].match = i;
	}
}

/* ---- comparing */

static int64_t size_of(const struct side *s, const struct fmt_slice *slice,
		       const struct fmt_event *e)
{
	const struct fmt_template *template = fmt_template(s->names, e->template);
	const char *key = template->kind == FMT_COLLECTIVE ? FMT_KEY_BYTES : "bytes";
	int64_t bytes;

	/* An argument of a call that is called so may be where a size is put. */
	if (!FMT_IS_OP(template->kind) ||
	    (uint64_t)e->first_value + template->n_values > slice->n_values ||
	    !fmt_value_int(s->names, e, template, fmt_event_values(slice, e), key, &bytes))
		return -1;
	return bytes;
}

#define NAME_WIDTH 80

static const struct fmt_template *template_of(const struct side *s, const struct track *t, size_t i)
{
	return i < t->n ? fmt_template(s->names, t->events[i]->template) : NULL;
}

static int add_name(const struct side *s, const struct track *t, size_t i, uint32_t key,
		    struct fmt_brief *brief)
{
	const struct fmt_template *template = template_of(s, t, i);
	size_t len;
	const char *name = fmt_string(s->names, template ? template->name : 0, &len);

	return fmt_brief_add(brief, key, name, len);
}

static void describe(const struct side *s, const struct track *t, size_t i, uint32_t key,
		     const struct fmt_brief *brief, struct text *out)
{
	const struct fmt_template *template = template_of(s, t, i);
	scoped(text_done) struct text name = {0};
	int64_t bytes;

	if (!template) {
		text_str(out, "nothing");
		return;
	}
	fmt_brief_put(brief, key, NAME_WIDTH, &name);
	bytes = size_of(s, t->slices[i], t->events[i]);
	text_str(out, fmt_kind_name(template->kind));
	text_char(out, ' ');
	fmt_text_harmless(out, name.data ? name.data : "", name.len, SIZE_MAX);
	if (bytes >= 0)
		text_printf(out, " of %" PRId64 " byte%s", bytes, bytes == 1 ? "" : "s");
}

/* Describes the event `i` of both sides; different names get different short forms. */
static int describe_both(const struct side *a, const struct track *x, const struct side *b,
			 const struct track *y, size_t i, struct fmt_difference *d)
{
	scoped(fmt_brief_done) struct fmt_brief brief = {0};

	if (add_name(a, x, i, 0, &brief) < 0 || add_name(b, y, i, 1, &brief) < 0 ||
	    fmt_brief_settle(&brief, NAME_WIDTH) < 0)
		return -ENOMEM;
	d->event = i;
	d->first.len = d->second.len = 0;
	describe(a, x, i, 0, &brief, &d->first);
	describe(b, y, i, 1, &brief, &d->second);
	return 0;
}

static bool same_event(const struct side *a, const struct track *x, const struct side *b,
		       const struct track *y, size_t i)
{
	const struct fmt_template *s, *t;

	if (i >= x->n || i >= y->n)
		return false;
	s = fmt_template(a->names, x->events[i]->template);
	t = fmt_template(b->names, y->events[i]->template);
	return s && t && s->kind == t->kind && same_string(a, s->name, b, t->name) &&
	       size_of(a, x->slices[i], x->events[i]) == size_of(b, y->slices[i], y->events[i]);
}

static void name_track(const struct side *s, uint32_t track, struct fmt_difference *d)
{
	const struct fmt_track *l = fmt_track(s->names, s->rank, track);
	const char *kind = l->kind == FMT_STREAM ? "stream" : "thread";

	if (l->text_ids & 2)
		snprintf(d->track, sizeof(d->track), "%s %.40s", kind,
			 fmt_string(s->names, l->tid_text, NULL));
	else
		snprintf(d->track, sizeof(d->track), "%s %" PRId64, kind, l->tid);
}

/* Of two tracks (either may be NULL) the first event at which they part: 1, or 0. */
static int compare_tracks(const struct side *a, const struct track *x, const struct side *b,
			  const struct track *y, struct fmt_difference *d)
{
	static const struct track none;
	size_t i = 0;

	x = x ? x : &none;
	y = y ? y : &none;
	while ((i < x->n || i < y->n) && same_event(a, x, b, y, i))
		i++;
	if (i >= x->n && i >= y->n)
		return 0;
	if (x != &none)
		name_track(a, x->track, d);
	else
		name_track(b, y->track, d);
	return describe_both(a, x, b, y, i, d) < 0 ? -ENOMEM : 1;
}

static fmt_number number_of(const struct track *t, size_t i)
{
	return t->slices[i]->first_number + (fmt_number)(t->events[i] - t->slices[i]->events);
}

/* Of the operations that did the same, the first by its start that did it with other bytes: 1, or
 * 0. */
static int compare_contents(struct side *a, struct side *b, struct fmt_difference *d)
{
	scoped(text_done) struct text first = {0};
	scoped(text_done) struct text second = {0};
	const struct fmt_event *found = NULL;

	for (uint32_t l = 0; l < a->n_tracks; l++) {
		const struct track *x = &a->tracks[l];
		const struct track *y = x->match < 0 ? NULL : &b->tracks[x->match];

		for (size_t i = 0; y && i < x->n; i++) {
			if ((found && x->events[i]->start_ns >= found->start_ns) ||
			    !fmt_contents_differ(&a->contents, number_of(x, i), &b->contents,
						 number_of(y, i), &first, &second))
				continue;
			found = x->events[i];
			name_track(a, x->track, d);
			if (describe_both(a, x, b, y, i, d) < 0)
				return -ENOMEM;
			text_bytes(&d->first, first.data, first.len);
			text_bytes(&d->second, second.data, second.len);
			first.len = second.len = 0;
		}
	}
	return found != NULL;
}

static int compare_iteration(struct side *a, struct side *b, struct fmt_difference *d)
{
	int r = 0;

	match(a, b);
	d->iteration = a->iteration;
	for (uint32_t i = 0; i < a->n_tracks && r == 0; i++) {
		int64_t k = a->tracks[i].match;

		r = compare_tracks(a, &a->tracks[i], b, k < 0 ? NULL : &b->tracks[k], d);
	}
	for (uint32_t k = 0; k < b->n_tracks && r == 0; k++) {
		if (b->tracks[k].match < 0)
			r = compare_tracks(a, NULL, b, &b->tracks[k], d);
	}
	if (r == 0 && a->contents.n > 0 && b->contents.n > 0)
		r = compare_contents(a, b, d);
	return r;
}

static int part(struct fmt_difference *d, int64_t rank, const char *first, const char *second)
{
	d->rank = rank;
	text_str(&d->first, first);
	text_str(&d->second, second);
	return 1;
}

static const char *name_iteration(int64_t number, char buf[32])
{
	if (number == FMT_BEFORE || number == FMT_AFTER)
		return number == FMT_BEFORE ? "events before iterations"
					    : "events after iterations";
	snprintf(buf, 32, "iteration %" PRId64, number);
	return buf;
}

static int compare_rank(struct side *a, struct side *b, struct fmt_difference *d,
			struct fmt_error *err)
{
	int64_t number = d->rank = fmt_trace_rank(a->trace, a->rank)->number;
	char first[32], second[32];

	for (;;) {
		int r = next_compared(a, err), q = r < 0 ? r : next_compared(b, err);

		if (q < 0)
			return q;
		if (r == 0 && q == 0)
			return 0;
		if (r == 0 || q == 0 || a->iteration != b->iteration)
			return part(d, number, r ? name_iteration(a->iteration, first) : "its end",
				    q ? name_iteration(b->iteration, second) : "its end");
		r = compare_iteration(a, b, d);
		if (r != 0)
			return r;
	}
}

int fmt_compare(struct fmt_trace *a, struct fmt_trace *b, bool calls, struct fmt_difference *ret,
		struct fmt_error *err)
{
	uint32_t n = fmt_trace_n_ranks(a), m = fmt_trace_n_ranks(b);
	char first[32], second[32];

	ret->rank = -1;
	snprintf(first, sizeof(first), "%" PRIu32 " rank%s", n, n == 1 ? "" : "s");
	snprintf(second, sizeof(second), "%" PRIu32 " rank%s", m, m == 1 ? "" : "s");
	if (n != m)
		return part(ret, -1, first, second);
	for (uint32_t i = 0; i < n; i++) {
		scoped(side_done) struct side x = {
			.trace = a, .names = fmt_trace_names(a), .rank = i, .calls = calls};
		scoped(side_done) struct side y = {
			.trace = b, .names = fmt_trace_names(b), .rank = i, .calls = calls};
		int r;

		snprintf(first, sizeof(first), "rank %" PRIu32, fmt_trace_rank(a, i)->number);
		snprintf(second, sizeof(second), "rank %" PRIu32, fmt_trace_rank(b, i)->number);
		if (strcmp(first, second) != 0)
			return part(ret, -1, first, second);
		r = compare_rank(&x, &y, ret, err);
		if (r != 0)
			return r;
	}
	return 0;
}
