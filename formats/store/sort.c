/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/writer.h"

#include "base/array.h"
#include "base/scope.h"

/* What is sorted in place of an event: its keys, and where it stood. */
struct key {
	uint32_t lane, site;
	int64_t start_ns, duration_ns;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->duration_ns != y->duration_ns)
		return x->duration_ns > y->duration_ns ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int sort_events(struct fmt_event *events, size_t n, uint32_t *position)
{
	scoped(free_ptr) struct key *keys = NULL;
	scoped(free_ptr) struct fmt_event *sorted = NULL;

	if (n > UINT32_MAX)
		return -EOVERFLOW;
	keys = malloc(sizeof(*keys) * (n + 1));
	sorted = malloc(sizeof(*sorted) * (n + 1));
	if (!keys || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){
			.lane = events[i].lane,
			.site = events[i].site,
			.start_ns = events[i].start_ns,
			.duration_ns = events[i].duration_ns,
			.at = (uint32_t)i,
		};
	qsort(keys, n, sizeof(*keys), by_key);
	for (size_t i = 0; i < n; i++) {
		sorted[i] = events[keys[i].at];
		if (position)
			position[keys[i].at] = (uint32_t)i;
	}
	if (n > 0)
		memcpy(events, sorted, sizeof(*events) * n);
	return 0;
}

static int by_to(const void *a, const void *b)
{
	const struct fmt_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return x->lag_ns < y->lag_ns ? -1 : x->lag_ns > y->lag_ns;
}

int fmt_slice_sort(struct fmt_slice *s, const struct fmt_names *n, uint32_t *position)
{
	int r = sort_events(s->events, s->n_events, position);

	(void)n;
	if (r == 0)
		r = sort_events(s->ranges, s->n_ranges, NULL);
	if (r == 0 && s->n_edges > 0)
		qsort(s->edges, s->n_edges, sizeof(*s->edges), by_to);
	return r;
}
