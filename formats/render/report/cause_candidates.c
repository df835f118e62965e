/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_candidates.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/render/report/brief.h"
#include "formats/render/report/cause_call.h"
#include "formats/render/report/cause_side.h"

#include <inttypes.h>

#define NAME_WIDTH 120

/* Two sides of a rank, and two matching tracks. */
struct pair {
	const struct fmt_cause_side *a, *b;
	const struct fmt_cause_track *x, *y;
	uint32_t track; /* of a; of b if x is empty */
};

void fmt_cause_candidates_done(struct fmt_cause_candidates *f)
{
	for (size_t i = 0; i < f->n; i++)
		fmt_cause_done(&f->items[i].about);
	free(f->items);
	free(f->tainted);
}

/* ---- describing */

static void describe_item(const struct fmt_cause_side *s, const struct fmt_cause_item *x,
			  uint32_t key, const struct fmt_brief *brief, struct text *out)
{
	scoped(text_done) struct text name = {0};
	int64_t bytes;

	if (!x) {
		text_str(out, "nothing");
		return;
	}
	fmt_brief_put(brief, key, NAME_WIDTH, &name);
	text_str(out, fmt_kind_name((enum fmt_kind)x->template->kind));
	text_char(out, ' ');
	fmt_text_sanitised(out, name.data ? name.data : "", name.len, SIZE_MAX);
	bytes = fmt_cause_side_bytes(s, x);
	if (bytes >= 0)
		text_printf(out, " of %" PRId64 " byte%s", bytes, bytes == 1 ? "" : "s");
}

static int add_name(const struct fmt_cause_side *s, const struct fmt_cause_item *x, uint32_t key,
		    struct fmt_brief *brief)
{
	size_t len = 0;
	const char *name = x ? fmt_string(s->names, x->template->name, &len) : "";

	return fmt_brief_add(brief, key, name, len);
}

/* Different names get different short forms. */
static int describe_both(const struct pair *p, const struct fmt_cause_item *x,
			 const struct fmt_cause_item *y, struct fmt_cause *c)
{
	scoped(fmt_brief_done) struct fmt_brief brief = {0};

	if (add_name(p->a, x, 0, &brief) < 0 || add_name(p->b, y, 1, &brief) < 0 ||
	    fmt_brief_shorten(&brief, NAME_WIDTH) < 0)
		return -ENOMEM;
	describe_item(p->a, x, 0, &brief, &c->first);
	describe_item(p->b, y, 1, &brief, &c->second);
	return 0;
}

/* Adds a candidate; the caller completes *ret. */
static int add_candidate(struct fmt_cause_candidates *f, const struct pair *p,
			 const struct fmt_cause_item *x, const struct fmt_cause_item *y,
			 enum fmt_cause_kind kind, struct fmt_cause **ret)
{
	const struct fmt_cause_item *any = x ? x : y;
	struct fmt_cause_candidate *c;

	if (array_reserve(&f->items, f->n + 1, &f->cap) < 0)
		return -ENOMEM;
	c = &f->items[f->n++];
	*c = (struct fmt_cause_candidate){
		.rank = p->a->rank,
		.template = any->event->template,
		.from_host = any->template->kind == FMT_MEMCPY &&
			     strstr(fmt_string((x ? p->a : p->b)->names, any->template->name, NULL),
				    "HtoD"),
		.comm = fmt_cause_side_value(x ? p->a : p->b, any, FMT_KEY_COMM),
		.seq = fmt_cause_side_value(x ? p->a : p->b, any, FMT_KEY_SEQ),
		.about = {.kind = kind,
			  .writer.rank = -1,
			  .rank = (int64_t)f->ret->ranks[p->a->rank].number,
			  .iteration = any->slice->iteration.number,
			  .start_ns = any->event->start_ns,
			  .number = fmt_cause_number(any)},
	};
	fmt_cause_side_track(x ? p->a : p->b, p->track, c->about.track, sizeof(c->about.track));
	*ret = &c->about;
	return describe_both(p, x, y, &c->about);
}

/* ---- digests of two operations */

static bool same_digest(const struct fmt_cause_digest *d, const struct fmt_cause_digest *e)
{
	return d->digest->digest[0] == e->digest->digest[0] &&
	       d->digest->digest[1] == e->digest->digest[1];
}

static bool same_buffer(const struct pair *p, const struct fmt_cause_digest *d,
			const struct fmt_cause_digest *e)
{
	return e->digest->access == d->digest->access &&
	       e->digest->offset_bytes == d->digest->offset_bytes &&
	       e->digest->length_bytes == d->digest->length_bytes &&
	       fmt_cause_memory_same(&p->a->memory, d->digest->allocation, &p->b->memory,
				     e->digest->allocation, p->a->threads);
}

/* Returns the first page whose sums differ, among the pages of both. */
static uint32_t first_page(const struct fmt_cause_digest *d, const struct fmt_cause_digest *e)
{
	uint32_t n = d->digest->n_pages < e->digest->n_pages ? d->digest->n_pages
							     : e->digest->n_pages,
		 i = 0;

	while (i < n && memcmp(d->pages + 2 * i, e->pages + 2 * i, 16) == 0)
		i++;
	return i < n ? i : 0;
}

/* Returns true if functions of the host, which `b` did not execute, may have written the buffer: in
 * a graph, the recording does not tell their effects from those of copies to the host. */
static bool is_of_host(const struct pair *p, const struct fmt_cause_item *x,
		       const struct fmt_cause_digest *d)
{
	return p->a->scope.no_host && d->digest->access == FMT_WRITTEN &&
	       fmt_cause_memory_is_host(&p->a->memory, d->digest->allocation) &&
	       fmt_cause_side_has_host_node(p->a, x);
}

/* Compares the digests of two operations: WRITTEN, READ or NONE. Finds the first such buffer. */
static enum fmt_cause_kind compare_bytes(const struct pair *p, const struct fmt_cause_item *x,
					 const struct fmt_cause_item *y,
					 struct fmt_cause_rank *counts, struct fmt_cause *found)
{
	size_t n, m, both = 0, of_host = 0;
	const struct fmt_cause_digest *d = fmt_cause_side_digests(p->a, x, &n);
	const struct fmt_cause_digest *e = fmt_cause_side_digests(p->b, y, &m);

	found->kind = FMT_CAUSE_NONE;
	for (size_t i = 0; i < n; i++) {
		bool is_read = d[i].digest->access != FMT_WRITTEN; /* also live memory */
		size_t k = 0;

		while (k < m && !same_buffer(p, &d[i], &e[k]))
			k++;
		if (k < m && !same_digest(&d[i], &e[k]) && is_of_host(p, x, &d[i])) {
			counts->of_host++;
			of_host++;
			continue;
		}
		both += k < m;
		if (k == m || same_digest(&d[i], &e[k]) || found->kind == FMT_CAUSE_READ ||
		    (found->kind == FMT_CAUSE_WRITTEN && !is_read))
			continue;
		found->kind = is_read ? FMT_CAUSE_READ : FMT_CAUSE_WRITTEN;
		found->buffer = *d[i].digest;
		found->page = first_page(&d[i], &e[k]);
	}
	counts->digests += both;
	both += of_host;
	counts->alone += n - both + (m > both ? m - both : 0);
	return found->kind;
}

/* Returns true if the operation overwrites all different bytes that it reads: nothing depends on
 * them. They may be those of memory that no operation has written. */
static bool overwrites_inputs(const struct pair *p, const struct fmt_cause_item *x,
			      const struct fmt_cause_item *y)
{
	size_t n, m;
	const struct fmt_cause_digest *d = fmt_cause_side_digests(p->a, x, &n);
	const struct fmt_cause_digest *e = fmt_cause_side_digests(p->b, y, &m);

	for (size_t i = 0; i < n; i++) {
		bool is_same = false, is_overwritten = false;

		for (size_t k = 0; k < m; k++) {
			const struct fmt_digest *read = d[i].digest, *other = e[k].digest;
			struct fmt_digest written = *read;

			written.access = FMT_WRITTEN;
			is_same |= same_buffer(p, &d[i], &e[k]) && same_digest(&d[i], &e[k]);
			is_overwritten |=
				other->access == FMT_WRITTEN &&
				same_buffer(p, &(struct fmt_cause_digest){.digest = &written},
					    &e[k]);
		}
		if (!is_same && (d[i].digest->access != FMT_READ || !is_overwritten))
			return false;
	}
	return x->template->kind != FMT_COLLECTIVE;
}

static int note_other_input(struct fmt_cause_candidates *f, const struct fmt_cause_side *s,
			    const struct fmt_cause_item *x)
{
	struct fmt_cause_tainted t = {fmt_cause_side_value(s, x, FMT_KEY_COMM),
				      fmt_cause_side_value(s, x, FMT_KEY_SEQ)};

	if (x->template->kind != FMT_COLLECTIVE || t.comm < 0)
		return 0;
	if (array_reserve(&f->tainted, f->n_tainted + 1, &f->tainted_cap) < 0)
		return -ENOMEM;
	f->tainted[f->n_tainted++] = t;
	return 0;
}

/* Returns true if the operation is known to be nondeterministic. */
static bool is_unordered(struct fmt_cause_candidates *f, const struct pair *p,
			 const struct fmt_cause_item *x, const struct fmt_cause_item *y)
{
	if (!f->scope.known || !fmt_unordered_has(f->scope.known, p->b->rank, fmt_cause_number(y)))
		return false;
	if (x->event->start_ns < f->unordered_ns)
		f->unordered_ns = x->event->start_ns;
	return true;
}

/* An index beside enum fmt_cause_kind: inputs that are overwritten. */
#define OVERWRITES (FMT_CAUSE_READ + 1)

/* Keeps the first candidate of each kind on the track; all collectives, since other ranks decide,
 * and all nondeterministic operations. */
static int add_bytes(struct fmt_cause_candidates *f, const struct pair *p,
		     const struct fmt_cause_item *x, const struct fmt_cause_item *y, bool seen[])
{
	struct fmt_cause_rank *counts = &f->ret->ranks[p->a->rank];
	struct fmt_cause found, *about;
	bool overwrites;
	int r = 0;

	if (compare_bytes(p, x, y, counts, &found) == FMT_CAUSE_NONE)
		return 0;
	counts->differing++;
	if (found.kind == FMT_CAUSE_WRITTEN && is_unordered(f, p, x, y)) {
		counts->unordered++;
		return 0;
	}
	counts->causes += found.kind == FMT_CAUSE_WRITTEN;
	if (found.kind == FMT_CAUSE_READ)
		r = note_other_input(f, p->a, x);
	overwrites = found.kind == FMT_CAUSE_READ && overwrites_inputs(p, x, y);
	if (r < 0 || seen[overwrites ? OVERWRITES : found.kind])
		return r;
	seen[overwrites ? OVERWRITES : found.kind] =
		found.kind == FMT_CAUSE_READ ||
		(x->template->kind != FMT_COLLECTIVE && !f->scope.learned);
	r = add_candidate(f, p, x, y, found.kind, &about);
	if (r < 0)
		return r;
	f->items[f->n - 1].overwrites = overwrites;
	about->buffer = found.buffer;
	about->page = found.page;
	return 0;
}

/* ---- waits */

/* The waits of a stream that have not been assigned to an operation yet. */
struct waits {
	const struct fmt_cause_wait *at, *end;
};

static struct waits waits_of(const struct fmt_cause_side *s, uint32_t track)
{
	size_t first = array_bound(i, 0, s->n_waits, s->waits[i].track < track);
	size_t end = array_bound(i, first, s->n_waits, s->waits[i].track <= track);

	return (struct waits){s->waits + first, s->waits + end};
}

/* The next wait before the operation; NULL. */
static const struct fmt_cause_wait *next_wait(struct waits *w, const struct fmt_cause_item *x)
{
	return w->at < w->end && w->at->at_ns < x->launch_ns ? w->at++ : NULL;
}

/* Returns the number of operations of the other stream that the wait covers. */
static size_t n_awaited(const struct fmt_cause_side *s, const struct fmt_cause_wait *w)
{
	return w && w->other < s->n_tracks ? fmt_cause_side_before(s, w->other, w->recorded_ns) : 0;
}

/* Returns true if these are all operations of the awaited stream in the trace. */
static bool awaits_whole_stream(const struct fmt_cause_side *s, const struct fmt_cause_wait *w,
				size_t n)
{
	return w->other < s->n_tracks && n == s->tracks[w->other].n;
}

/* Streams of which nothing is compared may be missing in one trace. */
static bool has_operations(const struct fmt_cause_side *s, const struct fmt_cause_wait *w)
{
	return w->other < s->n_tracks && s->tracks[w->other].n > 0;
}

static bool same_wait(const struct pair *p, const struct fmt_cause_wait *v,
		      const struct fmt_cause_wait *w, bool may_end_earlier)
{
	bool known = v->other < p->a->n_tracks && w->other < p->b->n_tracks;
	bool has = has_operations(p->a, v), other_has = has_operations(p->b, w);
	size_t n = n_awaited(p->a, v), m = n_awaited(p->b, w);

	if (may_end_earlier ? !has || !other_has : !has && !other_has)
		return true;
	if (known && has)
		known = p->a->tracks[v->other].match == w->other;
	if (!known && v->other != w->other)
		return false;
	/* The stream may have ended before the awaited operation. */
	return n == m || (may_end_earlier && (n < m ? awaits_whole_stream(p->a, v, n)
						    : awaits_whole_stream(p->b, w, m)));
}

static void describe_wait(const struct fmt_cause_side *s, const struct fmt_cause_wait *w,
			  struct text *out)
{
	size_t n = n_awaited(s, w);
	char track[64] = "an event";

	if (!w) {
		text_str(out, " without a wait");
		return;
	}
	if (w->other < s->n_tracks)
		fmt_cause_side_track(s, w->other, track, sizeof(track));
	text_str(out, " after a wait for ");
	fmt_text_sanitised(out, track, strlen(track), sizeof(track));
	if (n > 0)
		text_printf(out, ", number %" PRIu64,
			    fmt_cause_number(&s->tracks[w->other].items[n - 1]));
}

static int compare_waits(struct fmt_cause_candidates *f, const struct pair *p,
			 const struct fmt_cause_item *x, const struct fmt_cause_item *y,
			 struct waits w[2], bool seen[])
{
	for (;;) {
		const struct fmt_cause_wait *v = next_wait(&w[0], x), *u = next_wait(&w[1], y);
		struct fmt_cause *about;
		int r;

		if ((!v && !u) || seen[FMT_CAUSE_WAITS])
			return 0;
		if (v && u && same_wait(p, v, u, f->scope.may_end_earlier))
			continue;
		seen[FMT_CAUSE_WAITS] = true;
		r = add_candidate(f, p, x, y, FMT_CAUSE_WAITS, &about);
		if (r < 0)
			return r;
		describe_wait(p->a, v, &about->first);
		describe_wait(p->b, u, &about->second);
	}
}

/* ---- tracks */

static int compare_parameters(struct fmt_cause_candidates *f, const struct pair *p,
			      const struct fmt_cause_item *x, const struct fmt_cause_item *y,
			      bool seen[])
{
	scoped(text_done) struct text first = {0};
	scoped(text_done) struct text second = {0};
	struct fmt_cause *about;
	int r;

	if (seen[FMT_CAUSE_PARAMETERS] || fmt_cause_call_same(p->a, x, p->b, y, &first, &second))
		return 0;
	seen[FMT_CAUSE_PARAMETERS] = true;
	r = add_candidate(f, p, x, y, FMT_CAUSE_PARAMETERS, &about);
	if (r < 0)
		return r;
	text_bytes(&about->first, first.data, first.len);
	text_bytes(&about->second, second.data, second.len);
	return 0;
}

static int compare_items(struct fmt_cause_candidates *f, const struct pair *p,
			 const struct fmt_cause_item *x, const struct fmt_cause_item *y,
			 struct waits waits[2], bool seen[])
{
	int r;

	if (!FMT_IS_OP(x->template->kind))
		return 0;
	f->ret->ranks[p->a->rank].operations++;
	r = compare_parameters(f, p, x, y, seen);
	if (r == 0)
		r = compare_waits(f, p, x, y, waits, seen);
	return r < 0 ? r : add_bytes(f, p, x, y, seen);
}

/* Returns true if the traces differ only because one of them ends later within their last
 * iteration. */
static bool is_later(const struct pair *p, const struct fmt_cause_item *x,
		     const struct fmt_cause_item *y)
{
	int64_t last = p->a->last_iteration, now = (x ? x : y)->slice->iteration.number;

	return !(x && y) && last >= 0 && last == p->b->last_iteration &&
	       (now == last || now == FMT_AFTER);
}

/* Compares two tracks; one of them may be empty. */
static int compare_tracks(struct fmt_cause_candidates *f, const struct pair *p)
{
	size_t n = p->x->n < p->y->n ? p->x->n : p->y->n, i = 0;
	struct fmt_cause_rank *counts = &f->ret->ranks[p->a->rank];
	const struct fmt_cause_item *x, *y;
	bool seen[OVERWRITES + 1] = {false};
	struct waits waits[2] = {{0}, {0}};
	struct fmt_cause *about;
	int r = 0;

	if (n > 0) {
		waits[0] = waits_of(p->a, p->track);
		waits[1] = waits_of(p->b, (uint32_t)p->x->match);
	}
	for (; i < n && r == 0 && fmt_cause_side_same(p->a, &p->x->items[i], p->b, &p->y->items[i]);
	     i++)
		r = compare_items(f, p, &p->x->items[i], &p->y->items[i], waits, seen);
	x = i < p->x->n ? &p->x->items[i] : NULL;
	y = i < p->y->n ? &p->y->items[i] : NULL;
	if (r < 0 || (!x && !y))
		return r;
	if (!is_later(p, x, y) && !(f->scope.may_end_earlier && !(x && y)))
		return add_candidate(f, p, x, y, FMT_CAUSE_SEQUENCE, &about);
	counts->later[0] += p->x->n - i;
	counts->later[1] += p->y->n - i;
	return 0;
}

int fmt_cause_candidates_add(struct fmt_cause_candidates *f, struct fmt_trace *a,
			     struct fmt_trace *b, uint32_t rank, uint32_t other,
			     struct fmt_error *err)
{
	static const struct fmt_cause_track none = {.match = -1};
	scoped(fmt_cause_side_done) struct fmt_cause_side x = {0};
	scoped(fmt_cause_side_done) struct fmt_cause_side y = {0};
	struct fmt_cause_scope whole = f->scope;
	int r = fmt_cause_side_read(a, rank, &f->scope, &x, err);

	whole.first =
		FMT_BEFORE; /* `b` contains nothing else, but may begin iterations elsewhere */
	whole.last = FMT_AFTER;
	if (r == 0)
		r = fmt_cause_side_read(b, other, &whole, &y, err);
	if (r < 0)
		return r;
	fmt_cause_side_match(&x, &y);
	for (uint32_t i = 0; i < x.n_tracks && r == 0; i++) {
		int64_t k = x.tracks[i].match;
		const struct pair p = {&x, &y, &x.tracks[i], k < 0 ? &none : &y.tracks[k], i};

		r = compare_tracks(f, &p);
	}
	for (uint32_t i = 0; i < y.n_tracks && r == 0; i++) {
		const struct pair p = {&x, &y, &none, &y.tracks[i], i};

		if (y.tracks[i].match < 0)
			r = compare_tracks(f, &p);
	}
	return r;
}
