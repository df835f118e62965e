/* SPDX-License-Identifier: Apache-2.0 */

/* Ranks do not leave a collective at quite the same moment. When they go from one straight to the
 * next, the latest of them decides each time, so on average a row of collectives takes longer than
 * their shortest durations say. What that adds to one is measured here: how much later the next
 * collective began than it would have, had all ranks left together.
 */
#include "formats/infer/match.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/infer/calibrate.h"

#define US INFER_US
#define MOST_NS (150 * US)
#define LEAST 10 /* so many collectives tell */

struct visit {
	uint32_t comm, view, op;
	int64_t seq;
	size_t at; /* in the matches */
};

static int by_collective(const void *x, const void *y)
{
	const struct visit *a = x, *b = y;

	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->view < b->view ? -1 : a->view > b->view;
}

static int64_t start_of(const struct infer_view *views, const struct visit *v)
{
	return views[v->view].ops[v->op].start_ns - views[v->view].constants.clock_ns;
}

static int64_t end_of(const struct infer_view *views, const struct infer_match *m)
{
	return views[m->view].ops[m->op].end_ns - views[m->view].constants.clock_ns;
}

/* When the collective at [first, end) would have ended for all. */
static int64_t common_end(const struct infer_view *views, const struct visit *first, size_t n)
{
	int64_t latest = INT64_MIN, shortest = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct infer_op *op = &views[first[i].view].ops[first[i].op];
		int64_t start = start_of(views, &first[i]);

		latest = start > latest ? start : latest;
		if (op->end_ns - op->start_ns < shortest)
			shortest = op->end_ns - op->start_ns;
	}
	return latest + shortest;
}

/* How much earlier the collective could have begun on this rank, had the one before it on the
 * stream ended at `common_ns` (INT64_MIN: nobody else was there). */
static int64_t late(const struct infer_view *views, const struct infer_match *m,
		    const struct visit *v, const int64_t *common_ns)
{
	const struct infer_view *view = &views[v->view];
	const struct infer_op *op = &view->ops[v->op];
	const struct infer_match *before = v->at > 0 ? &m[v->at - 1] : NULL;

	if (!before || before->view != v->view || view->ops[before->op].stream != op->stream ||
	    common_ns[v->at - 1] == INT64_MIN || op->call == INFER_NONE)
		return 0;
	if (op->start_ns - view->calls[op->call].end_ns - view->constants.launch_ns < 20 * US)
		return 0; /* its launch came late */
	return end_of(views, before) - common_ns[v->at - 1];
}

static size_t same(const struct visit *v, size_t first, size_t n)
{
	size_t end = first;

	while (end < n && v[end].comm == v[first].comm && v[end].seq == v[first].seq)
		end++;
	return end;
}

static size_t observe(const struct infer_view *views, const struct infer_match *m,
		      const struct visit *v, size_t n, const int64_t *common_ns, int64_t *seen)
{
	size_t n_seen = 0;

	for (size_t first = 0, end; first < n; first = end) {
		int64_t start = INT64_MIN, could = INT64_MIN;

		end = same(v, first, n);
		for (size_t i = first; i < end; i++) {
			int64_t s = start_of(views, &v[i]);
			int64_t c = s - late(views, m, &v[i], common_ns);

			start = s > start ? s : start;
			could = c > could ? c : could;
		}
		if (end - first > 1 && start - could < MOST_NS && could - start < MOST_NS)
			seen[n_seen++] = start - could;
	}
	return n_seen;
}

int infer_meet(const struct infer_match *m, size_t n, struct infer_view *views, uint32_t n_views)
{
	scoped(free_ptr) struct visit *v = malloc((n + 1) * sizeof(*v));
	scoped(free_ptr) int64_t *common_ns = malloc((n + 1) * sizeof(*common_ns));
	scoped(free_ptr) int64_t *seen = malloc((n + 1) * sizeof(*seen));
	int64_t meet_ns = 0;
	size_t n_seen;

	if (!v || !common_ns || !seen)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct visit){m[i].comm, m[i].view, m[i].op, m[i].seq, i};
	if (n > 0)
		qsort(v, n, sizeof(*v), by_collective);
	for (size_t first = 0, end; first < n; first = end) {
		end = same(v, first, n);
		int64_t common =
			end - first > 1 ? common_end(views, &v[first], end - first) : INT64_MIN;

		for (size_t i = first; i < end; i++)
			common_ns[v[i].at] = common;
	}
	n_seen = observe(views, m, v, n, common_ns, seen);
	if (n_seen >= LEAST)
		meet_ns = infer_typical(seen, n_seen, MOST_NS);
	for (uint32_t i = 0; i < n_views; i++)
		views[i].constants.meet_ns = meet_ns;
	return 0;
}
