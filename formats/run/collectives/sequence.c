/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/collectives/by_ends.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/wrap.h"

#include <inttypes.h>
#include <math.h>

#define US 1000		       /* in ns */
#define MOST_NS (5000 * US)    /* between ends of one collective with all ranks */
#define FAR_NS (100 * US)      /* larger distances count as this */
#define UNMATCHED_NS (50 * US) /* distance that an unmatched operation counts as */
#define MOST_SHIFT 8	       /* recordings begin, or end, at most this many collectives apart */
#define SAMPLES 256
#define LEAST_QUARTER 4	 /* samples that show a drift */
#define SAME_NS (US / 2) /* smaller differences are ignored */
#define MEET_NS (8 * US) /* ends of rows of different communicators are further apart */
#define NEIGHBOURS 4

/* Removes a constant drift of the clocks from the differences d[] of n samples, which are apart by
 * equal numbers of collectives, if it is clear: from the medians of the first and last quarter. */
static void remove_drift(int64_t *d, size_t n)
{
	int64_t first[SAMPLES / 4], last[SAMPLES / 4];
	size_t quarter = n / 4, apart = n - quarter;
	double slope;

	if (quarter < LEAST_QUARTER)
		return;
	memcpy(first, d, quarter * sizeof(*d));
	memcpy(last, &d[apart], quarter * sizeof(*d));
	qsort(first, quarter, sizeof(*d), array_by_i64);
	qsort(last, quarter, sizeof(*d), array_by_i64);
	slope = (double)fmt_sub(last[quarter / 2], first[quarter / 2]) / (double)apart;
	for (size_t i = 0; i < n && fabs(slope) < MOST_NS / (double)n; i++)
		d[i] = fmt_sub(d[i], (int64_t)(slope * ((double)i - (double)n / 2)));
}

/* Compares rows at a given shift. Returns 1, or 0 if they do not agree. */
static int compare_at(const struct fmt_ends *e, const struct fmt_ends_row *a,
		      const struct fmt_ends_row *b, int64_t shift, struct fmt_sequence *ret)
{
	int64_t from = shift < 0 ? -shift : 0, to = b->n - shift < a->n ? b->n - shift : a->n;
	int64_t d[SAMPLES], step = (to - from) / SAMPLES + 1, median;
	int64_t shorter = a->n < b->n ? a->n : b->n;
	int64_t apart = (shorter - (to - from)) / step * UNMATCHED_NS;
	uint32_t n = 0, near = 0, differ = 0;

	if (4 * (to - from) < 3 * shorter || to <= from)
		return 0;
	for (int64_t k = from; k < to; k += step) {
		const struct fmt_ends_op *x = &e->ops[a->first + k];
		const struct fmt_ends_op *y = &e->ops[b->first + k + shift];

		differ += x->name != y->name || x->kind != y->kind;
		d[n++] = fmt_sub(y->end_ns, x->end_ns);
	}
	remove_drift(d, n);
	qsort(d, n, sizeof(*d), array_by_i64);
	median = d[n / 2];
	for (size_t i = 0; i < n; i++) {
		d[i] = d[i] < median ? fmt_sub(median, d[i]) : fmt_sub(d[i], median);
		near += d[i] <= MOST_NS;
		apart += d[i] < FAR_NS ? d[i] : FAR_NS;
	}
	*ret = (struct fmt_sequence){shift, median, apart / n, n};
	return differ * 50 <= n && near * 10 >= n * 9;
}

/* Returns 1 if `a` agrees better than `b`. Regularly repeated collectives agree at several shifts;
 * then prefers the smallest difference between clocks. */
static int is_better(const struct fmt_sequence *a, const struct fmt_sequence *b)
{
	if (a->apart_ns < b->apart_ns - SAME_NS || a->apart_ns > b->apart_ns + SAME_NS)
		return a->apart_ns < b->apart_ns;
	return imaxabs(a->ahead_ns) < imaxabs(b->ahead_ns);
}

int fmt_sequences_compare(const struct fmt_ends *e, const struct fmt_ends_row *a,
			  const struct fmt_ends_row *b, struct fmt_sequence *ret)
{
	int64_t end = (int64_t)b->n - a->n;
	struct fmt_sequence s;
	int found = 0;

	for (int64_t k = 0; k <= MOST_SHIFT; k++) {
		const int64_t shifts[] = {k, -k, end + k, end - k};

		for (size_t i = 0; i < ARRAY_SIZE(shifts); i++) {
			if (!compare_at(e, a, b, shifts[i], &s) || (found && !is_better(&s, ret)))
				continue;
			*ret = s;
			found = 1;
		}
	}
	return found;
}

/* Two ranks with rows that agree. */
struct tie {
	uint32_t a, b;
	const struct fmt_ends_row *row_a, *row_b;
	int64_t shift;
	double apart; /* the less, the better; more of few operations */
};

static int by_apart(const void *x, const void *y)
{
	const struct tie *a = x, *b = y;

	return array_order(a->apart, b->apart) ?: array_order(a->b, b->b)
	       ?: array_order(a->a, b->a);
}

/* Finds the best agreement between rows of two ranks. Returns 1, or 0 if no rows
 * agree. */
static int tie_ranks(const struct fmt_ends *e, const uint32_t *first, uint32_t a, uint32_t b,
		     struct tie *ret)
{
	ret->apart = -1;
	for (uint32_t i = first[a]; i < first[a + 1]; i++)
		for (uint32_t k = first[b]; k < first[b + 1]; k++) {
			const struct fmt_ends_row *x = &e->rows[i], *y = &e->rows[k];
			struct fmt_sequence s;
			double apart;

			if (x->group != y->group || x->ranks != y->ranks ||
			    !fmt_sequences_compare(e, x, y, &s) ||
			    (!x->group && (s.n < 2 || s.apart_ns > MEET_NS)))
				continue;
			apart = (double)(s.apart_ns + US) * (1 + 4. / s.n);
			if (ret->apart < 0 || apart < ret->apart)
				*ret = (struct tie){a, b, x, y, s.shift, apart};
		}
	return ret->apart >= 0;
}

/* Joins the sets of two ranks. Returns false if they are in one set. */
static bool join_sets(const struct tie *t, uint32_t n_ranks, uint32_t *set)
{
	uint32_t from = set[t->b];

	if (set[t->a] == from)
		return false;
	for (uint32_t k = 0; k < n_ranks; k++)
		if (set[k] == from)
			set[k] = set[t->a];
	return true;
}

/* The ends of two rows, as sightings of the same events. */
struct sightings {
	struct fmt_clock_sample *s;
	size_t n, cap;
};

static int add_sightings(const struct fmt_ends *e, const struct tie *t, struct sightings *to)
{
	const struct fmt_ends_row *a = t->row_a, *b = t->row_b;
	int64_t from = t->shift < 0 ? -t->shift : 0, end = b->n - t->shift;

	end = end < a->n ? end : a->n;
	if (array_reserve(&to->s, to->n + 2 * (size_t)(end - from), &to->cap) < 0)
		return -ENOMEM;
	for (int64_t k = from; k < end; k++, to->n += 2) {
		to->s[to->n] = (struct fmt_clock_sample){to->n, e->ops[a->first + k].end_ns, t->a};
		to->s[to->n + 1] = (struct fmt_clock_sample){
			to->n, e->ops[b->first + k + t->shift].end_ns, t->b};
	}
	return 0;
}

static void sightings_done(struct sightings *s)
{
	free(s->s);
}

int fmt_sequences_align_clocks(const struct fmt_ends *e, struct fmt_clock *clocks)
{
	scoped(free_ptr) uint32_t *first = calloc(e->n_ranks + (size_t)2, sizeof(*first));
	scoped(free_ptr) uint32_t *set = calloc(e->n_ranks + (size_t)1, sizeof(*set));
	scoped(free_ptr) struct tie *ties = NULL;
	scoped(sightings_done) struct sightings ends = {0};
	size_t n = 0, cap = 0;

	if (!first || !set)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->n_rows; i++)
		first[e->rows[i].rank + 1]++;
	for (uint32_t i = 0; i < e->n_ranks; i++) {
		first[i + 1] += first[i];
		set[i] = i;
	}
	for (uint32_t b = 1; b < e->n_ranks; b++)
		for (uint32_t back = 1; back <= b; back = back < NEIGHBOURS ? back + 1 : back * 2) {
			if (array_reserve(&ties, n + 1, &cap) < 0)
				return -ENOMEM;
			n += (size_t)tie_ranks(e, first, b - back, b, &ties[n]);
		}
	if (n > 0)
		qsort(ties, n, sizeof(*ties), by_apart);
	for (size_t i = 0; i < n; i++)
		if (join_sets(&ties[i], e->n_ranks, set) && add_sightings(e, &ties[i], &ends) < 0)
			return -ENOMEM;
	return fmt_clocks_align(ends.s, ends.n, true, clocks, e->n_ranks);
}
