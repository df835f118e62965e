/* SPDX-License-Identifier: Apache-2.0 */

/* transfer: the time of a collective after all of its ranks have begun. Ranks do not leave it
 * together: each ends when the data of its last partner have arrived, which in an exchange of parts
 * of different sizes can be milliseconds apart. The transfer is measured for each rank, from the
 * start of the last rank that it waits for. */
#include "formats/run/infer/collectives.h"
#include "formats/run/infer/edge.h"

#include "formats/run/infer/network.h"
#include "formats/run/peers.h"

#include "base/scope.h"

static const char *peers_of(const struct infer_view *views, const struct fmt_participation *m)
{
	const struct infer_view *v = &views[m->rank];
	const struct fmt_event *e = &v->rank->events[v->ops[m->op].event];

	return fmt_template_peers(v->names, fmt_template(v->names, e->template));
}

int infer_waits_for(const struct infer_view *views, const struct fmt_participation *a,
		    const struct fmt_participation *b)
{
	const char *peers = peers_of(views, a);

	return a == b || !peers || fmt_peers_contain(peers, views[b->rank].rank->number);
}

/* Returns the latest start of m[0 .. n); if `waits` is not NULL, only of those that it waits
 * for. */
static int64_t latest_of(const struct fmt_participation *m, size_t n,
			 const struct infer_view *views, const struct fmt_participation *waits)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const struct infer_view *v = &views[m[i].rank];
		int64_t start = fmt_clock_ns(&v->clock, v->ops[m[i].op].start_ns);

		if (start > latest && (!waits || infer_waits_for(views, waits, &m[i])))
			latest = start;
	}
	return latest;
}

/* Adds the edges of one collective, m[0 .. n). */
static int add_collective(const struct fmt_participation *m, size_t n, struct infer_view *views)
{
	int64_t latest = latest_of(m, n, views, NULL);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct infer_view *v = &views[m[i].rank];
		const struct infer_op *op = &v->ops[m[i].op];
		int64_t from = peers_of(views, &m[i]) ? latest_of(m, n, views, &m[i]) : latest;

		r = infer_add_edge(v, &(struct infer_edge){
					      .from = op->event,
					      .to = op->event,
					      .from_op = m[i].op,
					      .to_op = m[i].op,
					      .lag_ns = fmt_clock_ns(&v->clock, op->end_ns) - from,
					      .kind = FMT_EDGE_RETURN,
					      .rule = INFER_TRANSFER});
	}
	return r;
}

/* Lists the collective m[0 .. n) if its kind is known and all of its ranks were recorded: then its
 * transfers contain no wait time. */
static size_t sample(const struct fmt_participation *m, size_t n, const struct infer_view *views,
		     const uint32_t *comm_of, struct fmt_network_sample *ret)
{
	const struct infer_view *v = &views[m->rank];
	uint32_t event = v->ops[m->op].event;
	int64_t latest = latest_of(m, n, views, NULL), least = INT64_MAX, second = INT64_MAX,
		most = INT64_MIN, bytes, op;
	double sum = 0;

	if (n < 2 || n < fmt_comm(v->names, comm_of[m->comm])->n_ranks || peers_of(views, m) ||
	    !infer_event_arg(v, event, FMT_KEY_OP, &op) || op <= 0)
		return 0;
	if (!infer_event_arg(v, event, FMT_KEY_BYTES, &bytes) || bytes <= 0)
		bytes = -1;
	for (size_t i = 0; i < n; i++) {
		const struct infer_view *of = &views[m[i].rank];
		int64_t ns = fmt_clock_ns(&of->clock, of->ops[m[i].op].end_ns) - latest;

		second = ns < least ? least : ns < second ? ns : second;
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		sum += (double)ns / (double)n;
	}
	*ret = (struct fmt_network_sample){
		.comm = comm_of[m->comm],
		.collective = (fmt_str)op,
		.bytes = bytes,
		.least_ns = least,
		.second_ns = second - least,
		.mean_ns = (int64_t)(sum - (double)least),
		.most_ns = most - least,
		.n_ranks = (uint32_t)n,
	};
	return least > 0;
}

int infer_fit_network(const struct fmt_participation *m, size_t n, const struct infer_view *views,
		      const uint32_t *comm_of, struct fmt_names *names)
{
	scoped(free_ptr) struct fmt_participation *sorted = fmt_participations_sort(m, n);
	scoped(free_ptr) struct fmt_network_sample *samples = malloc((n + 1) * sizeof(*samples));
	scoped(fmt_network_done) struct fmt_network network = {0};
	size_t n_samples = 0;
	int r;

	if (!sorted || !samples)
		return -ENOMEM;
	for (size_t first = 0, end; first < n; first = end) {
		end = fmt_participations_end(sorted, first, n);
		n_samples +=
			sample(&sorted[first], end - first, views, comm_of, &samples[n_samples]);
	}
	r = fmt_network_fit(names, samples, n_samples, &network);
	return r < 0 || network.n == 0 ? r : fmt_network_put(names, &network);
}

int infer_add_transfers(const struct fmt_participation *m, size_t n, struct infer_view *views)
{
	scoped(free_ptr) struct fmt_participation *sorted = fmt_participations_sort(m, n);
	int r = sorted ? 0 : -ENOMEM;

	for (size_t first = 0, end; first < n && r == 0; first = end) {
		end = fmt_participations_end(sorted, first, n);
		if (end - first > 1)
			r = add_collective(&sorted[first], end - first, views);
	}
	return r;
}
