/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/clocks.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/robust.h"
#include "formats/trace/store/cursor.h"

#include <math.h>

#define BINS 32u	/* maximum number of bins of consecutive moments, for medians */
#define BIN_LEAST 4u	/* minimum number of moments in a bin */
#define MOST_DRIFT 1e-3 /* a larger drift is noise or a broken clock */
#define BALANCE_ROUNDS 50
#define APART_NS 10000 /* random difference between clocks at one event */
#define BETTER 0.7     /* a line is used if its error is below this part of a constant's */

/* An event recorded on two clocks. */
struct pair {
	uint32_t a, b;	  /* a < b */
	int64_t at_ns;	  /* on a */
	int64_t ahead_ns; /* b of a */
};

/* Two clocks with common events: `line` is b relative to a, its at_ns on a. */
struct link {
	uint32_t a, b;
	struct fmt_clock line;
	size_t n; /* number of events recorded on both */
};

/* Rounds with saturation. */
static int64_t whole_ns(double ns)
{
	return ns >= 0x1p63 ? INT64_MAX : ns < -0x1p63 ? INT64_MIN : (int64_t)ns;
}

int64_t fmt_clock_ns(const struct fmt_clock *c, int64_t at_ns)
{
	double gained = c->drift * (double)fmt_sub(at_ns, c->at_ns);

	return fmt_sub(at_ns, fmt_add(c->ahead_ns, whole_ns(floor(gained))));
}

static int by_moment(const void *x, const void *y)
{
	const struct fmt_clock_sample *a = x, *b = y;

	return array_order(a->moment, b->moment) ?: array_order(a->clock, b->clock)
	       ?: array_order(b->at_ns, a->at_ns);
}

/* Returns the next sighting after `i` of the same event on another clock, or n. */
static size_t next_clock(const struct fmt_clock_sample *s, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && s[k].moment == s[i].moment && s[k].clock == s[i].clock)
		k++;
	return k < n && s[k].moment == s[i].moment ? k : n;
}

static size_t next_moment(const struct fmt_clock_sample *s, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && s[k].moment == s[i].moment)
		k++;
	return k;
}

/* The first clock of each moment with each of the others. */
static size_t list_pairs(const struct fmt_clock_sample *s, size_t n, struct pair *p)
{
	size_t n_pairs = 0;

	for (size_t i = 0; i < n; i = next_moment(s, n, i))
		for (size_t k = next_clock(s, n, i); k < n; k = next_clock(s, n, k))
			p[n_pairs++] = (struct pair){s[i].clock, s[k].clock, s[i].at_ns,
						     fmt_sub(s[k].at_ns, s[i].at_ns)};
	return n_pairs;
}

static int by_clocks(const struct pair *p, const struct pair *q)
{
	return array_order(p->a, q->a) ?: array_order(p->b, q->b);
}

static int by_ahead(const void *x, const void *y)
{
	const struct pair *p = x, *q = y;
	int c = by_clocks(p, q);

	return c ? c : p->ahead_ns < q->ahead_ns ? -1 : p->ahead_ns > q->ahead_ns;
}

static int by_time(const void *x, const void *y)
{
	const struct pair *p = x, *q = y;
	int c = by_clocks(p, q);

	return c ? c : p->at_ns < q->at_ns ? -1 : p->at_ns > q->at_ns;
}

/* Returns the median distance of pairs from the line. `space` is for n values. */
static double distance(const struct pair *p, size_t n, const struct fmt_clock *line, double *space)
{
	for (size_t i = 0; i < n; i++) {
		double gained = line->drift * (double)fmt_sub(p[i].at_ns, line->at_ns);

		space[i] = fabs((double)fmt_sub(p[i].ahead_ns, line->ahead_ns) - gained);
	}
	return robust_median(space, n);
}

/* Returns the median of the slopes between the medians of bins (Theil and Sen), through the overall
 * median. `p` is sorted by time, with at least BIN_LEAST * 4 pairs; `space` is for n values. */
static double slope_of(const struct pair *p, size_t n, double *space)
{
	size_t n_bins = n / BIN_LEAST < BINS ? n / BIN_LEAST : BINS, n_slopes = 0;
	double at[BINS], ahead[BINS], slopes[BINS * (BINS - 1) / 2];

	for (size_t b = 0; b < n_bins; b++) {
		size_t from = b * n / n_bins, to = (b + 1) * n / n_bins;

		for (size_t i = from; i < to; i++)
			space[i - from] = (double)fmt_sub(p[i].ahead_ns, p[0].ahead_ns);
		ahead[b] = robust_median(space, to - from);
		at[b] = (double)fmt_sub(p[(from + to) / 2].at_ns, p[0].at_ns);
	}
	for (size_t b = 1; b < n_bins; b++)
		for (size_t c = 0; c < b; c++)
			if (at[b] > at[c])
				slopes[n_slopes++] = (ahead[b] - ahead[c]) / (at[b] - at[c]);
	return n_slopes > 0 ? robust_median(slopes, n_slopes) : 0;
}

/* Fits a line to the differences from a constant, and uses it if it is closer to most pairs. */
static void fit_drift(struct pair *p, size_t n, double *space, struct fmt_clock *line)
{
	struct fmt_clock drifting = *line;

	if (n < BIN_LEAST * 4)
		return;
	qsort(p, n, sizeof(*p), by_time);
	drifting.at_ns = p[n / 2].at_ns;
	drifting.drift = slope_of(p, n, space);
	if (fabs(drifting.drift) > MOST_DRIFT)
		return;
	for (size_t i = 0; i < n; i++)
		space[i] = (double)fmt_sub(p[i].ahead_ns, line->ahead_ns) -
			   drifting.drift * (double)fmt_sub(p[i].at_ns, drifting.at_ns);
	drifting.ahead_ns = fmt_add(line->ahead_ns, whole_ns(round(robust_median(space, n))));
	if (distance(p, n, &drifting, space) < BETTER * distance(p, n, line, space))
		*line = drifting;
}

/* The mean of the differences near the median, minus the median. `p` is sorted by ahead_ns; `space`
 * holds 2 n values. */
static int64_t middle_from(const struct pair *p, size_t n, double *space)
{
	for (size_t i = 0; i < n; i++)
		space[i] = (double)fmt_sub(p[i].ahead_ns, p[n / 2].ahead_ns);
	return whole_ns(round(robust_mean(space, n, APART_NS, space + n)));
}

/* Links every two clocks with common events. Returns the number of links. */
static size_t link_all(struct pair *p, size_t n, bool drifting, double *space, struct link *links)
{
	size_t n_links = 0, end;

	if (n > 0)
		qsort(p, n, sizeof(*p), by_ahead);
	for (size_t first = 0; first < n; first = end) {
		struct link *l = &links[n_links++];

		for (end = first; end < n && by_clocks(&p[end], &p[first]) == 0;)
			end++;
		*l = (struct link){p[first].a, p[first].b, {.known = true}, end - first};
		l->line.ahead_ns = fmt_add(p[first + (end - first) / 2].ahead_ns,
					   middle_from(&p[first], end - first, space));
		l->line.at_ns = p[first + (end - first) / 2].at_ns;
		if (drifting)
			fit_drift(&p[first], end - first, space, &l->line);
	}
	return n_links;
}

static int by_strength(const void *x, const void *y)
{
	const struct link *l = x, *m = y;

	return array_order(m->n, l->n) ?: array_order(l->a, m->a) ?: array_order(l->b, m->b);
}

/* Sets the clock at the unset end of a link from the other one. */
static void set_linked_clock(const struct link *l, struct fmt_clock *clocks, bool backwards)
{
	const struct fmt_clock *from = &clocks[backwards ? l->b : l->a];
	struct fmt_clock *to = &clocks[backwards ? l->a : l->b];
	int64_t here = backwards ? fmt_add(l->line.at_ns, l->line.ahead_ns) : l->line.at_ns;
	int64_t there = backwards ? l->line.at_ns : fmt_add(l->line.at_ns, l->line.ahead_ns);

	/* While `from` gains 1 - from->drift on the reference, `to` gains `rate` on `from`. */
	double rate = backwards ? 1 / (1 + l->line.drift) : 1 + l->line.drift;

	to->at_ns = there;
	to->ahead_ns = fmt_sub(there, fmt_clock_ns(from, here));
	to->drift = 1 - (1 - from->drift) / rate;
	to->known = from->known;
}

/* Sets all clocks that are linked, directly or indirectly, to clocks already set, each time by the
 * strongest link; `links` are sorted by strength. */
static void set_linked_clocks(const struct link *links, size_t n, struct fmt_clock *clocks,
			      bool *set)
{
	for (size_t k = 0; k < n; k++) {
		const struct link *l = &links[k];

		if (set[l->a] == set[l->b])
			continue;
		set_linked_clock(l, clocks, set[l->b]);
		set[l->a] = set[l->b] = true;
		k = (size_t)-1;
	}
}

/* Balances clocks with several links, also those that drift: moves each to the mean that its links
 * suggest, weighted by their events. This helps most for clocks connected to the reference by a
 * chain of weak links. */
static int balance(const struct link *links, size_t n, struct fmt_clock *clocks, uint32_t n_clocks)
{
	scoped(free_ptr) double *sum = malloc((n_clocks + (size_t)1) * 2 * sizeof(*sum));
	double *weight = sum + n_clocks;

	if (!sum)
		return -ENOMEM;
	for (int round = 0; round < BALANCE_ROUNDS; round++) {
		memset(sum, 0, n_clocks * 2 * sizeof(*sum));
		for (size_t k = 0; k < n; k++) {
			const struct link *l = &links[k];
			int64_t there = fmt_add(l->line.at_ns, l->line.ahead_ns);
			double off = (double)fmt_sub(fmt_clock_ns(&clocks[l->b], there),
						     fmt_clock_ns(&clocks[l->a], l->line.at_ns));

			sum[l->b] += off * (double)l->n;
			sum[l->a] -= off * (double)l->n;
			weight[l->a] += (double)l->n;
			weight[l->b] += (double)l->n;
		}
		for (uint32_t i = 1; i < n_clocks; i++)
			if (weight[i] > 0)
				clocks[i].ahead_ns = fmt_add(clocks[i].ahead_ns,
							     whole_ns(sum[i] / weight[i] / 2));
	}
	return 0;
}

int fmt_clocks_align(struct fmt_clock_sample *s, size_t n, bool drifting, struct fmt_clock *clocks,
		     uint32_t n_clocks)
{
	scoped(free_ptr) struct pair *pairs = malloc((n + 1) * sizeof(*pairs));
	scoped(free_ptr) struct link *links = malloc((n + 1) * sizeof(*links));
	scoped(free_ptr) double *space = malloc((n + 1) * 2 * sizeof(*space));
	scoped(free_ptr) bool *set = calloc(n_clocks + (size_t)1, sizeof(*set));
	size_t n_links;

	if (!pairs || !links || !space || !set)
		return -ENOMEM;
	if (n > 0)
		qsort(s, n, sizeof(*s), by_moment);
	n_links = link_all(pairs, list_pairs(s, n, pairs), drifting, space, links);
	if (n_links > 0)
		qsort(links, n_links, sizeof(*links), by_strength);
	for (uint32_t i = 0; i < n_clocks; i++) {
		if (set[i])
			continue;
		clocks[i].known = i == 0;
		set[i] = true;
		set_linked_clocks(links, n_links, clocks, set);
	}
	return balance(links, n_links, clocks, n_clocks);
}

int fmt_clocks_error(const struct fmt_clock_sample *s, size_t n, const struct fmt_clock *clocks,
		     struct fmt_clocks_error *ret)
{
	scoped(free_ptr) int64_t *apart = malloc((n + 1) * sizeof(*apart));
	size_t moments = 0;

	if (!apart)
		return -ENOMEM;
	for (size_t i = 0; i < n; i = next_moment(s, n, i)) {
		int64_t least = fmt_clock_ns(&clocks[s[i].clock], s[i].at_ns), most = least;

		if (next_clock(s, n, i) == n)
			continue;
		for (size_t k = next_clock(s, n, i); k < n; k = next_clock(s, n, k)) {
			int64_t at = fmt_clock_ns(&clocks[s[k].clock], s[k].at_ns);

			least = at < least ? at : least;
			most = at > most ? at : most;
		}
		apart[moments++] = fmt_sub(most, least);
	}
	*ret = (struct fmt_clocks_error){.moments = moments};
	if (moments == 0)
		return 0;
	qsort(apart, moments, sizeof(*apart), array_by_i64);
	ret->p50_ns = apart[moments / 2];
	ret->p95_ns = apart[moments * 95 / 100];
	ret->max_ns = apart[moments - 1];
	return 0;
}
