/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/writer.h"

#include "base/array.h"
#include "base/scope.h"

/* The sort key of an event, and its original index. */
struct key {
	uint32_t track, template;
	int64_t start_ns, duration_ns;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(y->duration_ns, x->duration_ns)
	       ?: array_order(x->template, y->template)
	       ?: array_order(x->at, y->at);
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
			.track = events[i].track,
			.template = events[i].template,
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

	return array_order(x->to, y->to) ?: array_order(x->rank, y->rank)
	       ?: array_order(x->from, y->from)
	       ?: array_order(x->kind, y->kind) ?: array_order(x->rule, y->rule)
	       ?: array_order(x->lag_ns, y->lag_ns);
}

void fmt_edges_sort(struct fmt_edge *edges, size_t n)
{
	if (n > 0)
		qsort(edges, n, sizeof(*edges), by_to);
}

int fmt_slice_sort(struct fmt_slice *s, uint32_t *position)
{
	int r = sort_events(s->events, s->n_events, position);

	if (r == 0)
		r = sort_events(s->ranges, s->n_ranges, NULL);
	if (r == 0)
		fmt_edges_sort(s->edges, s->n_edges);
	return r;
}
