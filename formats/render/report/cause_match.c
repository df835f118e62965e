/* SPDX-License-Identifier: Apache-2.0 */

/* Pairs the streams and threads of two traces. */
#include "formats/render/report/cause_side.h"

#include <string.h>

static bool has_number(const struct fmt_cause_side *a, uint32_t x, const struct fmt_cause_side *b,
		       uint32_t y)
{
	const struct fmt_track *l = fmt_track(a->names, a->rank, x);
	const struct fmt_track *m = fmt_track(b->names, b->rank, y);

	return l->tid == m->tid;
}

/* Counts the equal operations at the start of two tracks. */
static size_t common_prefix(const struct fmt_cause_side *a, const struct fmt_cause_track *x,
			    const struct fmt_cause_side *b, const struct fmt_cause_track *y)
{
	size_t n = x->n < y->n ? x->n : y->n, i = 0;

	while (i < n && fmt_cause_side_same(a, &x->items[i], b, &y->items[i]))
		i++;
	return i;
}

static bool same_digests(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y)
{
	size_t n, m;
	const struct fmt_cause_digest *p = fmt_cause_side_digests(a, x, &n);
	const struct fmt_cause_digest *q = fmt_cause_side_digests(b, y, &m);

	for (size_t i = 0; i < n && n == m; i++)
		if (memcmp(p[i].digest->digest, q[i].digest->digest, sizeof(p[i].digest->digest)) !=
		    0)
			return false;
	return n == m;
}

/* Counts equal digests among the first `n` operations of two tracks. */
static size_t shared_digests(const struct fmt_cause_side *a, const struct fmt_cause_track *x,
			     const struct fmt_cause_side *b, const struct fmt_cause_track *y,
			     size_t n)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += same_digests(a, &x->items[i], b, &y->items[i]);
	return same;
}

#define NOT_COUNTED SIZE_MAX

/* Returns the unmatched track of `b` with the longest equal start; of several, the one with most
 * equal digests there, then the one with the same number. -1: none. If tracks may end earlier, the
 * track of `b` that repeats this one may be missing, so another one without an equal start does not
 * match. */
static int64_t best_match(const struct fmt_cause_side *a, uint32_t x,
			  const struct fmt_cause_side *b)
{
	struct {
		int64_t track;
		size_t shared, digests; /* NOT_COUNTED before another track shares as much */
	} best = {.track = -1};

	for (uint32_t y = 0; y < b->n_tracks; y++) {
		const struct fmt_cause_track *t = &b->tracks[y], *of = &a->tracks[x];
		size_t n, digests = NOT_COUNTED;
		bool is_same_number;

		if (t->match >= 0 || t->n == 0 ||
		    fmt_track(a->names, a->rank, x)->kind != fmt_track(b->names, b->rank, y)->kind)
			continue;
		n = common_prefix(a, of, b, t);
		if (n == 0 && a->scope.may_end_earlier)
			continue;
		is_same_number = has_number(a, x, b, y);
		if (best.track >= 0 && n == best.shared) {
			if (best.digests == NOT_COUNTED)
				best.digests = shared_digests(a, of, b, &b->tracks[best.track], n);
			digests = shared_digests(a, of, b, t, n);
		}
		if (best.track >= 0 &&
		    (n < best.shared ||
		     (n == best.shared &&
		      (digests < best.digests || (digests == best.digests && !is_same_number)))))
			continue;
		best.track = y;
		best.shared = n;
		best.digests = digests;
	}
	return best.track;
}

/* Threads that launch operations of a pair of tracks make a pair. */
static void match_threads(struct fmt_cause_side *a, const struct fmt_cause_track *x,
			  const struct fmt_cause_track *y)
{
	for (size_t i = 0; i < x->n && i < y->n; i++) {
		const struct fmt_cause_call *c = x->items[i].call, *d = y->items[i].call;

		if (c && d && a->threads[c->event->track] < 0)
			a->threads[c->event->track] = d->event->track;
	}
}

void fmt_cause_side_match(struct fmt_cause_side *a, struct fmt_cause_side *b)
{
	for (uint32_t i = 0; i < b->n_tracks; i++)
		b->tracks[i].match = -1;
	for (uint32_t i = 0; i < a->n_tracks; i++)
		a->threads[i] = -1;
	for (uint32_t i = 0; i < a->n_tracks; i++) {
		int64_t k = a->tracks[i].n > 0 ? best_match(a, i, b) : -1;

		a->tracks[i].match = k;
		if (k < 0)
			continue;
		b->tracks[k].match = i;
		match_threads(a, &a->tracks[i], &b->tracks[k]);
	}
}
