/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/collectives/ends.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/wrap.h"

#include <inttypes.h>

#define US 1000		       /* in ns */
#define MOST_NS (5000 * US)    /* between ends of one collective with all ranks */
#define FAR_NS (100 * US)      /* larger distances count as this */
#define UNMATCHED_NS (50 * US) /* distance that an unmatched operation counts as */
#define MOST_SHIFT 8	       /* recordings begin, or end, at most this many collectives apart */
#define SAMPLES 256
#define SAME_NS (US / 2) /* smaller differences are ignored */
#define MEET_NS (8 * US) /* ends of rows of different communicators are further apart */
#define NEIGHBOURS 4

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
	int64_t ahead_ns;
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
				*ret = (struct tie){a, b, s.ahead_ns, apart};
		}
	return ret->apart >= 0;
}

/* Moves the clocks of the set of ranks with the higher numbers to those of the other set. */
static void join(const struct tie *t, uint32_t n_ranks, uint32_t *set, int64_t *ahead_ns)
{
	uint32_t a = set[t->a], b = set[t->b], from = a > b ? a : b;
	int64_t move = fmt_sub(fmt_add(ahead_ns[t->a], t->ahead_ns), ahead_ns[t->b]);

	if (a == b)
		return;
	for (uint32_t k = 0; k < n_ranks; k++)
		if (set[k] == from) {
			set[k] = a < b ? a : b;
			ahead_ns[k] =
				b > a ? fmt_add(ahead_ns[k], move) : fmt_sub(ahead_ns[k], move);
		}
}

int fmt_sequences_align_clocks(const struct fmt_ends *e, int64_t *ahead_ns)
{
	scoped(free_ptr) uint32_t *first = calloc(e->n_ranks + (size_t)2, sizeof(*first));
	scoped(free_ptr) uint32_t *set = calloc(e->n_ranks + (size_t)1, sizeof(*set));
	scoped(free_ptr) struct tie *ties = NULL;
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
		join(&ties[i], e->n_ranks, set, ahead_ns);
	return 0;
}
