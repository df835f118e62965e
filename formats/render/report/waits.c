/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/waits.h"

#include "base/array.h"
#include "formats/render/time.h"

int fmt_waits_add(struct fmt_waits *w, uint32_t rank, int64_t start_ns, int64_t length_ns)
{
	if (length_ns <= 0)
		return 0;
	if (array_reserve(&w->items, w->n + 1, &w->cap) < 0)
		return -ENOMEM;
	w->items[w->n++] = (struct fmt_wait){rank, start_ns, fmt_add_ns(start_ns, length_ns)};
	return 0;
}

static int by_rank_and_start(const void *a, const void *b)
{
	const struct fmt_wait *x = a, *y = b;

	return array_order(x->rank, y->rank) ?: array_order(x->start_ns, y->start_ns);
}

void fmt_waits_merge(struct fmt_waits *w)
{
	size_t kept = 0;

	if (w->n > 0)
		qsort(w->items, w->n, sizeof(*w->items), by_rank_and_start);
	for (size_t i = 0; i < w->n; i++) {
		struct fmt_wait *last = kept ? &w->items[kept - 1] : NULL;

		if (!last || last->rank != w->items[i].rank || w->items[i].start_ns > last->end_ns)
			w->items[kept++] = w->items[i];
		else if (w->items[i].end_ns > last->end_ns)
			last->end_ns = w->items[i].end_ns;
	}
	w->n = kept;
}

int64_t fmt_waits_within(const struct fmt_waits *w, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
	const struct fmt_wait *items = w->items;
	size_t at = array_bound(i, 0, w->n,
				items[i].rank < rank ||
					(items[i].rank == rank && items[i].end_ns <= start_ns));
	int64_t sum_ns = 0;

	for (; at < w->n && items[at].rank == rank && items[at].start_ns < end_ns; at++) {
		int64_t from_ns = items[at].start_ns > start_ns ? items[at].start_ns : start_ns;
		int64_t upto_ns = items[at].end_ns < end_ns ? items[at].end_ns : end_ns;

		sum_ns += upto_ns - from_ns;
	}
	return sum_ns;
}

void fmt_waits_done(struct fmt_waits *w)
{
	free(w->items);
	*w = (struct fmt_waits){0};
}
