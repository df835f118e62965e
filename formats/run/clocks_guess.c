/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/clocks.h"

#include "base/array.h"
#include "base/scope.h"

#define US 1000 /* in ns */
#define APART_NS                                                                                   \
	(500000 * (int64_t)US)	       /* iterations of ranks on one clock start closer than this */
#define NEAR_NS (100000 * (int64_t)US) /* ... and those of the same number start within this */
#define BIN_NS (50 * US)
#define BINS (2 * NEAR_NS / BIN_NS + 1)
#define CANDIDATES 64
#define TOGETHER_NS (200 * US) /* ends of one collective on ranks of one host */
#define NEIGHBOURS 4

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
	return r;
}
