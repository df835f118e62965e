/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/repetition.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/write.h"

#include <stdbool.h>

/* Chance repetitions are short, or cover little. So a period has a least length, and must cover a
 * share of the sequence (percent): lower limits if it occurs three times than if it occurs twice.
 */
#define SHORT 3
#define MOST 60
#define SHORT_TWICE 8
#define MOST_TWICE 90
#define ANCHORED 50

void fmt_iterations_done(struct fmt_iterations *s)
{
	free(s->list);
}

int fmt_iterations_add(struct fmt_iterations *s, int64_t number, int64_t start_ns,
		       int64_t duration_ns)
{
	if (array_reserve(&s->list, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->list[s->n++] = (struct fmt_iteration){number, start_ns, duration_ns};
	return 0;
}

/* z[p]: the length for which the sequence, read from its end, agrees with itself p positions
 * further. */
static void suffix_agreement(const uint32_t *s, size_t n, uint32_t *z)
{
	size_t from = 0, to = 0;

	z[0] = (uint32_t)n;
	for (size_t p = 1; p < n; p++) {
		size_t k = 0;

		if (p < to)
			k = z[p - from] < to - p ? z[p - from] : to - p;
		while (p + k < n && s[n - 1 - k] == s[n - 1 - p - k])
			k++;
		z[p] = (uint32_t)k;
		if (p + k > to) {
			from = p;
			to = p + k;
		}
	}
}

static bool is_repetition(size_t period, size_t covered, size_t n)
{
	if (covered / period >= 3)
		return period >= SHORT && covered >= n / 100.0 * MOST;
	return covered / period == 2 && period >= SHORT_TWICE && covered >= n / 100.0 * MOST_TWICE;
}

/* Returns the shortest period that covers nearly as much as the best; 0 if no period is good. */
static size_t best_period(const uint32_t *z, size_t n)
{
	size_t best = 0;

	for (size_t p = 1; p <= n / 2; p++) {
		if (p + z[p] > best && is_repetition(p, p + z[p], n))
			best = p + z[p];
	}
	for (size_t p = 1; p <= n / 2 && best > 0; p++) {
		if (p + z[p] >= best - best / 20 && is_repetition(p, p + z[p], n))
			return p;
	}
	return 0;
}

static int by_period(size_t period, size_t covered, size_t n, size_t **ret, size_t *n_ret)
{
	size_t count = covered / period;
	size_t *starts = malloc(count * sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		starts[i] = n - covered + i * period;
	*ret = starts;
	*n_ret = count;
	return 0;
}

/* Counts the occurrences of each symbol, and the positions of symbols that occur k times. */
static bool common_count(const uint32_t *s, size_t n, const uint32_t *counts, uint32_t *positions,
			 uint32_t *ret)
{
	uint32_t best = 0;

	for (size_t i = 0; i < n; i++)
		positions[counts[s[i]]]++;
	for (size_t k = 3; k <= n; k++) {
		if (positions[k] > positions[best] || best == 0)
			best = positions[k] > 0 ? (uint32_t)k : best;
	}
	*ret = best;
	return best > 0 && n / best >= SHORT && positions[best] >= n / 100.0 * ANCHORED;
}

static int by_anchor(const uint32_t *s, size_t n, size_t **ret, size_t *n_ret)
{
	scoped(free_ptr) uint32_t *counts = NULL, *positions = NULL;
	size_t n_symbols = 0, at = 0;
	uint32_t often;
	size_t *starts;

	for (size_t i = 0; i < n; i++)
		n_symbols = s[i] >= n_symbols ? (size_t)s[i] + 1 : n_symbols;
	counts = calloc(n_symbols + 1, sizeof(*counts));
	positions = calloc(n + 1, sizeof(*positions));
	if (!counts || !positions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		counts[s[i]]++;
	if (!common_count(s, n, counts, positions, &often))
		return 0;
	starts = malloc(often * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	while (counts[s[at]] != often)
		at++;
	for (size_t i = at; i < n; i++) {
		if (s[i] == s[at])
			starts[(*n_ret)++] = i;
	}
	*ret = starts;
	return 0;
}

/* For sequences that do not repeat up to their end, because the run was killed within an iteration
 * or ended differently: omits the last sixteenth or quarter, then follows the period while it is
 * complete. */
static int by_period_before(const uint32_t *s, size_t n, uint32_t *z, size_t **ret, size_t *n_ret)
{
	for (size_t part = 16; part >= 4; part /= 4) {
		size_t end = n - n / part, period, first;

		suffix_agreement(s, end, z);
		period = best_period(z, end);
		if (!period)
			continue;
		first = end - period - z[period];
		for (size_t at = end - (end - first) % period;
		     at + period <= n && memcmp(s + at, s + at - period, period * sizeof(*s)) == 0;
		     at += period)
			end = at + period;
		return by_period(period, end - first, end, ret, n_ret);
	}
	return 0;
}

int fmt_iterations_find(const uint32_t *symbols, size_t n, size_t **ret, size_t *n_ret)
{
	scoped(free_ptr) uint32_t *z = NULL;
	size_t period;
	int r;

	*ret = NULL;
	*n_ret = 0;
	if (n < 4 || n > UINT32_MAX)
		return 0;
	z = malloc(n * sizeof(*z));
	if (!z)
		return -ENOMEM;
	suffix_agreement(symbols, n, z);
	period = best_period(z, n);
	if (period)
		return by_period(period, period + z[period], n, ret, n_ret);
	r = by_anchor(symbols, n, ret, n_ret);
	return r < 0 || *n_ret > 0 ? r : by_period_before(symbols, n, z, ret, n_ret);
}

static int by_launch(const void *a, const void *b)
{
	const struct fmt_run_launch *x = a, *y = b;

	return array_order(x->call, y->call) ?: array_order(x->event, y->event);
}

int fmt_iterations_launches(const struct fmt_event *events, size_t n, const uint32_t *call_of,
			    struct fmt_run_launch **ret, size_t *n_ret)
{
	scoped(free_ptr) struct fmt_run_launch *list = malloc((n + 1) * sizeof(*list));
	scoped(free_ptr) uint32_t *counts = NULL;
	uint32_t n_tracks = 0, busiest = 0;

	for (size_t i = 0; i < n; i++)
		n_tracks = events[i].track >= n_tracks ? events[i].track + 1 : n_tracks;
	counts = calloc(n_tracks + (size_t)1, sizeof(*counts));
	if (!list || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (call_of[i] != FMT_RUN_NONE)
			counts[events[call_of[i]].track]++;
	for (uint32_t i = 1; i < n_tracks; i++)
		busiest = counts[i] > counts[busiest] ? i : busiest;
	*n_ret = 0;
	for (uint32_t i = 0; i < n; i++)
		if (call_of[i] != FMT_RUN_NONE && events[call_of[i]].track == busiest)
			list[(*n_ret)++] = (struct fmt_run_launch){call_of[i], i};
	if (*n_ret > 0)
		qsort(list, *n_ret, sizeof(*list), by_launch);
	*ret = take(list);
	return 0;
}
