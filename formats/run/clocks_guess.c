/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/clocks.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/wrap.h"

#include <math.h>

#define US 1000 /* in ns */
#define APART_NS                                                                                   \
	(500000 * (int64_t)US)	       /* iterations of ranks on one clock start closer than this */
#define NEAR_NS (100000 * (int64_t)US) /* ... and those of the same number start within this */
#define BIN_NS (50 * US)
#define BINS (2 * NEAR_NS / BIN_NS + 1)
#define CANDIDATES 64
#define TOGETHER_NS (200 * US) /* ends of one collective on ranks of one host */
#define NEIGHBOURS 4
#define SEARCH_NS (10000 * (int64_t)US) /* clocks that NTP keeps are this close */
#define FINE_NS (10 * US)
#define FINE_BINS (2 * SEARCH_NS / FINE_NS + 1)
#define FAR_NS (50 * US) /* ends that are further apart are none of one collective */
#define MEET_NS                                                                                    \
	(8 * US)     /* without names of groups, ends that are further apart on average may be     \
		      * those of another group */
#define SAMPLES 4096 /* ends that are compared */
#define AROUND 64    /* ends of the other rank on each side */
#define TRIES 24
#define CLEARLY 0.8

/* The median difference of the starts of iterations that both have; 0 without any. */
static int offset_of_iterations(const struct fmt_clock_seen *a, const struct fmt_clock_seen *b,
				int64_t *ret)
{
	scoped(free_ptr) int64_t *d = malloc((a->n_iterations + 1) * sizeof(*d));
	size_t n = 0, k = 0;

	if (!d)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < a->n_iterations; i++) {
		while (k < b->n_iterations && b->iterations[k].number < a->iterations[i].number)
			k++;
		if (k < b->n_iterations && b->iterations[k].number == a->iterations[i].number)
			d[n++] = b->iterations[k].start_ns / 4 - a->iterations[i].start_ns / 4;
	}
	if (n > 0) {
		qsort(d, n, sizeof(*d), array_by_i64);
		*ret = d[n / 2] > INT64_MAX / 16    ? INT64_MAX / 4
		       : d[n / 2] < -INT64_MAX / 16 ? -INT64_MAX / 4
						    : d[n / 2] * 4;
	}
	return 0;
}

static int by_name_and_end(const void *x, const void *y)
{
	const struct fmt_ending *a = x, *b = y;

	return array_order(a->name, b->name) ?: array_order(a->end_ns, b->end_ns);
}

/* The difference near `coarse_ns` at which most ends of `y` are those of `x`; 0 when few are. */
static int offset_of_endings(const struct fmt_clock_seen *x, const struct fmt_clock_seen *y,
			     int64_t coarse_ns, int64_t *ret)
{
	scoped(free_ptr) uint32_t *bins = calloc(BINS, sizeof(*bins));
	const struct fmt_ending *a = x->endings, *b = y->endings;
	size_t n_a = x->n_endings, n_b = y->n_endings, from = 0, best = 0;

	if (!bins)
		return -ENOMEM;
	for (size_t i = 0; i < n_b; i++) {
		while (from < n_a && (a[from].name < b[i].name ||
				      (a[from].name == b[i].name &&
				       a[from].end_ns < b[i].end_ns - coarse_ns - NEAR_NS)))
			from++;
		for (size_t k = from; k < n_a && k < from + CANDIDATES && a[k].name == b[i].name;
		     k++) {
			int64_t d = b[i].end_ns - coarse_ns - a[k].end_ns;

			if (d > NEAR_NS || d < -NEAR_NS)
				break;
			bins[(d + NEAR_NS) / BIN_NS]++;
		}
	}
	for (size_t i = 0; i + 1 < BINS; i++)
		if (bins[i] + bins[i + 1] > bins[best] + bins[best + 1])
			best = i;
	if ((bins[best] + bins[best + 1]) * 4 < (n_a < n_b ? n_a : n_b))
		return 0;
	*ret = coarse_ns + (int64_t)(best + 1) * BIN_NS - NEAR_NS;
	return 1;
}

/* Number of ends of `a` that are near an end of `b`, with the given offsets. */
static size_t count_near(const struct fmt_clock_seen *a, int64_t a_offset_ns,
			 const struct fmt_clock_seen *b, int64_t b_offset_ns)
{
	size_t near = 0, k = 0;

	for (size_t i = 0; i < a->n_endings; i++) {
		int64_t end_ns = a->endings[i].end_ns - a_offset_ns;

		while (k < b->n_endings &&
		       (b->endings[k].name < a->endings[i].name ||
			(b->endings[k].name == a->endings[i].name &&
			 b->endings[k].end_ns - b_offset_ns < end_ns - TOGETHER_NS)))
			k++;
		near += k < b->n_endings && b->endings[k].name == a->endings[i].name &&
			b->endings[k].end_ns - b_offset_ns <= end_ns + TOGETHER_NS;
	}
	return near;
}

/* Whether a rank's collectives end together with those of some of its neighbours, or of the first
 * rank. */
static int has_company(const struct fmt_clock_seen *all, const int64_t *offset_ns, uint32_t n,
		       uint32_t rank)
{
	for (uint32_t i = 0; i <= 2 * NEIGHBOURS + 1; i++) {
		uint32_t other = i == 0 ? 0 : rank + i - 1 - NEIGHBOURS;

		if (other < n && other != rank &&
		    count_near(&all[rank], offset_ns[rank], &all[other], offset_ns[other]) * 2 >=
			    all[rank].n_endings)
			return 1;
	}
	return 0;
}

/* Guesses the clock of a rank whose collectives end at other times than all others. */
static int guess_clock(const struct fmt_clock_seen *all, uint32_t n, uint32_t rank,
		       int64_t *offset_ns)
{
	int64_t coarse = 0;

	for (uint32_t i = 0; i <= NEIGHBOURS && i < n; i++) {
		int64_t apart;
		int r;

		if (i == rank)
			continue;
		r = offset_of_iterations(&all[i], &all[rank], &apart);
		coarse = coarse ? coarse : apart;
		if (r == 0)
			r = offset_of_endings(&all[i], &all[rank], apart, &apart);
		if (r < 0)
			return r;
		if (r == 1) {
			offset_ns[rank] = offset_ns[i] + apart;
			return 0;
		}
	}
	if (coarse > APART_NS || coarse < -APART_NS)
		offset_ns[rank] += coarse;
	return 0;
}

/* ---- fine search ---- */

/* The first ending of `s` that is not before (name, end_ns). */
static size_t ending_at(const struct fmt_clock_seen *s, uint64_t name, int64_t end_ns)
{
	return array_bound(i, 0, s->n_endings,
			   s->endings[i].name < name ||
				   (s->endings[i].name == name && s->endings[i].end_ns < end_ns));
}

/* Two clocks: b against a. */
struct search {
	const struct fmt_clock_seen *a, *b;
	size_t step;	/* of b's endings every so many is used */
	uint32_t *bins; /* distances around the centre */
	int64_t *apart; /* space for a distance of each ending */
};

/* What is known of an offset: `cost_ns` is how far ends are from the nearest one on the other
 * clock, FAR_NS at most, on average. */
struct offset {
	int64_t ahead_ns;
	double cost_ns;
	size_t shared; /* ends that both clocks could have seen */
};

static void fill_bins(struct search *s, int64_t centre_ns)
{
	memset(s->bins, 0, (FINE_BINS + 2) * sizeof(*s->bins));
	for (size_t i = 0; i < s->b->n_endings; i += s->step) {
		const struct fmt_ending *e = &s->b->endings[i];
		int64_t end_ns = fmt_sub(e->end_ns, centre_ns);
		size_t at = ending_at(s->a, e->name, end_ns);

		for (size_t k = at > AROUND ? at - AROUND : 0;
		     k < at + AROUND && k < s->a->n_endings; k++) {
			int64_t d = fmt_sub(end_ns, s->a->endings[k].end_ns);

			if (s->a->endings[k].name == e->name && d <= SEARCH_NS && d >= -SEARCH_NS)
				s->bins[(d + SEARCH_NS) / FINE_NS + 1]++;
		}
	}
}

/* The distance of an ending of `b`, moved to a's clock, from the nearest of its name: 1, or 0 if
 * there is none. */
static int nearest(const struct search *s, const struct fmt_ending *e, int64_t ahead_ns,
		   int64_t *ret)
{
	int64_t end_ns = fmt_sub(e->end_ns, ahead_ns);
	size_t at = ending_at(s->a, e->name, end_ns);
	int found = 0;

	for (size_t k = at > 0 ? at - 1 : 0; k <= at && k < s->a->n_endings; k++) {
		int64_t d = fmt_sub(end_ns, s->a->endings[k].end_ns);

		if (s->a->endings[k].name != e->name ||
		    (found && fabs((double)d) >= fabs((double)*ret)))
			continue;
		*ret = d;
		found = 1;
	}
	return found;
}

/* Moves the offset to the median distance nearby, and says how well ends meet there. */
static struct offset assess(const struct search *s, int64_t ahead_ns)
{
	struct offset ret = {.ahead_ns = ahead_ns};
	size_t n = 0;
	int64_t d;

	for (size_t i = 0; i < s->b->n_endings; i += s->step)
		if (nearest(s, &s->b->endings[i], ahead_ns, &d) && d <= FAR_NS && d >= -FAR_NS)
			s->apart[n++] = d;
	if (n > 0) {
		qsort(s->apart, n, sizeof(*s->apart), array_by_i64);
		ret.ahead_ns = fmt_add(ahead_ns, s->apart[n / 2]);
	}
	for (size_t i = 0; i < s->b->n_endings; i += s->step) {
		double off;

		if (!nearest(s, &s->b->endings[i], ret.ahead_ns, &d))
			continue;
		off = fabs((double)d);
		ret.cost_ns += off < FAR_NS ? off : FAR_NS;
		ret.shared++;
	}
	ret.cost_ns = ret.shared > 0 ? ret.cost_ns / (double)ret.shared : FAR_NS;
	return ret;
}

/* Ends in the bin and its neighbours. */
static uint32_t around(const struct search *s, size_t bin)
{
	return s->bins[bin - 1] + s->bins[bin] + s->bins[bin + 1];
}

/* The best of the offsets around the centre at which many ends meet. Collectives that follow each
 * other regularly meet at several, but only at one each with its own. */
static void search_around(struct search *s, int64_t centre_ns, struct offset *best)
{
	uint32_t most = 0;

	fill_bins(s, centre_ns);
	for (int tries = 0; tries < TRIES; tries++) {
		struct offset o;
		size_t peak = 1;

		for (size_t i = 2; i <= FINE_BINS; i++)
			if (around(s, i) > around(s, peak))
				peak = i;
		if (around(s, peak) == 0 || around(s, peak) * 3 < most * 2)
			return;
		most = most ? most : around(s, peak);
		o = assess(s, fmt_add(centre_ns, ((int64_t)peak - 1) * FINE_NS - SEARCH_NS));
		if (o.cost_ns < best->cost_ns)
			*best = o;
		s->bins[peak - 1] = s->bins[peak] = s->bins[peak + 1] = 0;
	}
}

/* How far the clock of a rank is ahead of another's: as was known unless another offset is clearly
 * better. */
static int compare_clocks(struct search *s, int64_t known_ns, struct offset *ret)
{
	struct offset best;
	int64_t iterations_ns;
	int r = offset_of_iterations(s->a, s->b, &iterations_ns);

	if (r < 0)
		return r;
	s->step = s->b->n_endings / SAMPLES + 1;
	*ret = assess(s, known_ns);
	best = *ret;
	if (ret->shared == 0)
		return 0;
	search_around(s, known_ns, &best);
	search_around(s, iterations_ns, &best);
	if (best.cost_ns < CLEARLY * ret->cost_ns)
		*ret = best;
	return 0;
}

static void search_done(struct search *s)
{
	free(s->bins);
	free(s->apart);
}

/* Sets the clock of a rank by that of a rank before it: the one with which it shares most
 * collectives. 1, or 0 if it shares none. */
static int refine_clock(const struct fmt_clock_seen *all, uint32_t rank, int64_t *offset_ns)
{
	scoped(search_done) struct search s = {.b = &all[rank]};
	struct offset best = {0};
	uint32_t from = rank;

	s.bins = malloc((FINE_BINS + 2) * sizeof(*s.bins));
	s.apart = malloc((s.b->n_endings + 1) * sizeof(*s.apart));
	if (!s.bins || !s.apart)
		return -ENOMEM;
	for (uint32_t back = 1; back <= rank; back = back < NEIGHBOURS ? back + 1 : back * 2) {
		struct offset o;
		int r;

		s.a = &all[rank - back];
		r = compare_clocks(&s, fmt_sub(offset_ns[rank], offset_ns[rank - back]), &o);
		if (r < 0)
			return r;
		if (o.shared <= best.shared || o.cost_ns > (s.b->groups ? FAR_NS / 2 : MEET_NS))
			continue;
		best = o;
		from = rank - back;
	}
	if (from == rank)
		return 0;
	offset_ns[rank] = fmt_add(offset_ns[from], best.ahead_ns);
	return 1;
}

/* Without names of groups, all clocks are set or none: clocks that agree within each group only
 * would hide that collectives across groups do not match. */
static int refine_clocks(const struct fmt_clock_seen *all, uint32_t n, int64_t *offset_ns)
{
	scoped(free_ptr) int64_t *refined = malloc((n + (size_t)1) * sizeof(*refined));

	if (!refined)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		refined[i] = offset_ns[i];
	for (uint32_t i = 1; i < n; i++) {
		int r = all[i].n_endings > 0 ? refine_clock(all, i, refined) : 1;

		if (r < 0)
			return r;
		if (r == 0 && !all[i].groups)
			return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		offset_ns[i] = refined[i];
	return 0;
}

int fmt_clocks_guess(struct fmt_clock_seen *seen, uint32_t n, int64_t *offset_ns)
{
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		if (seen[i].n_endings > 0)
			qsort(seen[i].endings, seen[i].n_endings, sizeof(*seen[i].endings),
			      by_name_and_end);
	for (uint32_t i = 1; i < n && r == 0; i++)
		if (seen[i].n_endings > 0 && !has_company(seen, offset_ns, n, i))
			r = guess_clock(seen, n, i, offset_ns);
	return r < 0 ? r : refine_clocks(seen, n, offset_ns);
}
