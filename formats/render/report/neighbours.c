/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/neighbours.h"

#include "base/array.h"
#include "formats/trace/wrap.h"

int fmt_neighbours_init(struct fmt_neighbours *n, struct fmt_trace *t, const struct fmt_part *part)
{
	n->trace = t;
	n->part = *part;
	n->read = calloc(fmt_trace_n_ranks(t) + 1u, sizeof(*n->read));
	return n->read ? 0 : -ENOMEM;
}

void fmt_neighbours_done(struct fmt_neighbours *n)
{
	free(n->read);
	free(n->iterations);
	*n = (struct fmt_neighbours){0};
}

static int note_iteration(struct fmt_neighbours *n, int64_t number)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->iterations[i] == number)
			return 0;
	if (array_reserve(&n->iterations, n->n + 1, &n->cap) < 0)
		return -ENOMEM;
	n->iterations[n->n++] = number;
	return 0;
}

/* Loads a slice and hands it to `each`. *ret is NULL if the slice is damaged. */
static int visit_slice(struct fmt_neighbours *n, uint32_t rank, uint32_t slice,
		       fmt_slice_visitor *each, void *context, struct fmt_slice **ret,
		       struct fmt_error *err)
{
	int r = fmt_slice_load(n->trace, rank, slice, FMT_WANT_OPS, ret, err);

	if (r == -EBADMSG)
		return 0;
	return r < 0 ? r : each(context, *ret);
}

/* The streams of a rank whose operations in further slices may still be within the span. */
struct streams {
	uint8_t *closed; /* by track */
	uint32_t n_tracks, n_open;
};

static void streams_done(struct streams *s)
{
	free(s->closed);
}

static int streams_init(struct streams *s, const struct fmt_names *names, uint32_t rank)
{
	s->n_tracks = fmt_n_tracks(names, rank);
	s->closed = calloc(s->n_tracks + 1u, 1);
	if (!s->closed)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_tracks; i++) {
		s->closed[i] = fmt_track(names, rank, i)->kind != FMT_STREAM;
		s->n_open += !s->closed[i];
	}
	return 0;
}

/* Closes streams with an event beyond the span. */
static void streams_close(struct streams *s, const struct fmt_slice *slice, int step,
			  const struct fmt_busy_span *span)
{
	for (size_t i = 0; slice && i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		bool beyond = step < 0 ? fmt_add(e->start_ns, e->duration_ns) <= span->start_ns
				       : e->start_ns >= span->end_ns;

		if (beyond && e->track < s->n_tracks && !s->closed[e->track]) {
			s->closed[e->track] = 1;
			s->n_open--;
		}
	}
}

/* Visits the slice before (`step` -1) or after (1) the visited ones, and so on. */
static int visit_side(struct fmt_neighbours *n, uint32_t rank, int step,
		      const struct fmt_busy_span *span, fmt_slice_visitor *each, void *context,
		      struct fmt_error *err)
{
	uint32_t n_slices = fmt_trace_rank(n->trace, rank)->n_slices;
	scoped(streams_done) struct streams streams = {0};
	int r = streams_init(&streams, fmt_trace_names(n->trace), rank);

	for (int left = FMT_NEIGHBOURS; r == 0 && streams.n_open > 0 && left > 0; left--) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		uint32_t at = step < 0 ? n->read[rank].first - 1 : n->read[rank].end;
		const struct fmt_slice_info *info;

		if (at >= n_slices)
			break;
		info = fmt_trace_slice(n->trace, rank, at);
		if (step > 0 && info->iteration.start_ns >= span->end_ns)
			break;
		r = visit_slice(n, rank, at, each, context, &slice, err);
		if (r == 0)
			r = note_iteration(n, info->iteration.number);
		streams_close(&streams, slice, step, span);
		n->read[rank].first -= step < 0;
		n->read[rank].end += step > 0;
	}
	return r;
}

int fmt_neighbours_visit(struct fmt_neighbours *n, uint32_t rank, uint32_t first, uint32_t end,
			 const struct fmt_busy_span *span, fmt_slice_visitor *each, void *context,
			 struct fmt_error *err)
{
	int r = note_iteration(n, fmt_trace_slice(n->trace, rank, first)->iteration.number);

	n->read[rank].first = first;
	n->read[rank].end = end;
	if (r == 0 && span->any)
		r = visit_side(n, rank, -1, span, each, context, err);
	if (r == 0 && span->any)
		r = visit_side(n, rank, 1, span, each, context, err);
	return r;
}

/* Visits the unvisited slices of one iteration, or of all. */
static int visit_unvisited(struct fmt_neighbours *n, int64_t iteration, fmt_slice_visitor *each,
			   void *context, struct fmt_error *err)
{
	struct fmt_part part = {.iteration = iteration,
				.rank = FMT_ANY,
				.progress = n->part.progress,
				.context = n->part.context};
	struct fmt_walk w = fmt_walk(n->trace, &part);

	while (fmt_walk_next(&w)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
		int r;

		if ((iteration == FMT_ANY && w.rank == n->part.rank) ||
		    (w.slice >= n->read[w.rank].first && w.slice < n->read[w.rank].end))
			continue;
		r = visit_slice(n, w.rank, w.slice, each, context, &slice, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int fmt_neighbours_visit_others(struct fmt_neighbours *n, fmt_slice_visitor *each, void *context,
				struct fmt_error *err)
{
	int r = 0;

	if (n->part.iteration == FMT_ANY)
		return n->part.rank == FMT_ANY ? 0
					       : visit_unvisited(n, FMT_ANY, each, context, err);
	for (size_t i = 0; i < n->n && r == 0; i++)
		r = visit_unvisited(n, n->iterations[i], each, context, err);
	return r;
}
