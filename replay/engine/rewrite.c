/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/rewrite.h"

#include "formats/trace/json.h"
#include "formats/trace/store/names_code.h"
#include "formats/trace/store/writer.h"

#include "formats/trace/wrap.h"
#include "replay/clock/sim.h"
#include "replay/engine/timemap.h"
#include "replay/program/launches.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdio.h>

/* New positions of the events of a slice that had to be sorted again. */
struct moved {
	fmt_number first;
	uint32_t *to; /* owned */
	uint32_t n;
};

#define REMEMBERED 16

struct rank_rewrite {
	struct fmt_rank_writer *out;
	struct timemap *maps; /* by track */
	uint32_t n_tracks;
	struct moved moved[REMEMBERED]; /* of the latest slices that need one, in a ring */
	uint32_t n_moved;
	struct fmt_slice **held; /* owned: slices that wait for slices of other ranks */
	size_t n_held, held_cap;
	fmt_number done; /* events below have their new positions */
};

struct rewrite {
	const struct fmt_trace *trace;
	struct fmt_names *names;
	struct fmt_writer *writer;
	struct rank_rewrite *ranks;
	uint32_t n_ranks;
	size_t n_held; /* number of such slices, of all ranks */

	/* State of the current slice. */
	struct launches calls;
	uint32_t *position;
	size_t position_cap;
};

void rewrite_free(struct rewrite *w)
{
	if (!w)
		return;
	if (w->writer)
		fmt_writer_abandon(w->writer);
	for (uint32_t i = 0; w->ranks && i < w->n_ranks; i++) {
		for (uint32_t k = 0; w->ranks[i].maps && k < w->ranks[i].n_tracks; k++)
			timemap_done(&w->ranks[i].maps[k]);
		free(w->ranks[i].maps);
		for (size_t k = 0; k < REMEMBERED; k++)
			free(w->ranks[i].moved[k].to);
		for (size_t k = 0; k < w->ranks[i].n_held; k++)
			fmt_slice_free(w->ranks[i].held[k]);
		free(w->ranks[i].held);
	}
	fmt_names_free(w->names);
	launches_done(&w->calls);
	free(w->ranks);
	free(w->position);
	free(w);
}

define_cleanup(rewrite_free_ptr, struct rewrite *, rewrite_free);

static int add_fact(struct fmt_names *n, const char *key, const char *value)
{
	return fmt_names_fact_json(n, FMT_WHOLE_TRACE, key, value, strlen(value));
}

static int add_facts(struct rewrite *w)
{
	char id[80];
	int r = add_fact(w->names, "gputrace.emulated", "true");

	snprintf(id, sizeof(id), "\"%.64s\"", fmt_trace_id(w->trace));
	return r < 0 ? r : add_fact(w->names, "gputrace.emulated_from", id);
}

static int add_what_if(struct fmt_names *n, const char *what_if)
{
	scoped(text_done) struct text json = {0};

	fmt_json_string(&json, what_if, strlen(what_if));
	return fmt_names_fact_text(n, FMT_WHOLE_TRACE, "gputrace.what_if", &json);
}

static int add_ranks(struct rewrite *w, const struct change *change, struct fmt_error *err)
{
	w->n_ranks = fmt_trace_n_ranks(w->trace);
	w->ranks = calloc(w->n_ranks + 1ul, sizeof(*w->ranks));
	if (!w->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n_ranks; i++) {
		struct rank_rewrite *rank = &w->ranks[i];
		int r = fmt_writer_rank(w->writer, i, fmt_trace_rank(w->trace, i)->number,
					&rank->out, err);

		if (r < 0)
			return r;
		rank->n_tracks = fmt_n_tracks(w->names, i);
		rank->maps = calloc(rank->n_tracks + 1ul, sizeof(*rank->maps));
		if (!rank->maps)
			return -ENOMEM;
		for (uint32_t k = 0; k < rank->n_tracks; k++)
			rank->maps[k] = (struct timemap){
				.stream = fmt_track(w->names, i, k)->kind == FMT_STREAM,
				.host = change ? change_host_factor(change, 0, i) : 1,
			};
	}
	return 0;
}

int rewrite_new(const struct fmt_trace *trace, const char *path, const char *what_if,
		const struct change *change, struct rewrite **ret, struct fmt_error *err)
{
	scoped(rewrite_free_ptr) struct rewrite *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->trace = trace;
	r = fmt_names_copy(fmt_trace_names(trace), &w->names);
	if (r == 0)
		r = add_facts(w);
	if (r == 0 && what_if)
		r = add_what_if(w->names, what_if);
	if (r == 0)
		r = fmt_writer_open(path, w->names, 0, &w->writer, err);
	if (r == 0)
		r = add_ranks(w, what_if ? change : NULL, err);
	if (r == 0)
		*ret = take(w);
	return r;
}

/* ---- times ---- */

static int make_places(struct rank_rewrite *rank, const struct fmt_slice *s, const int64_t *times)
{
	size_t at = 0, end;

	for (uint32_t track = 0; track < rank->n_tracks; track++) {
		for (end = at; end < s->n_events && s->events[end].track == track; end++)
			;
		if (timemap_add_track(&rank->maps[track], NULL, s, at, end, times) < 0)
			return -ENOMEM;
		at = end;
	}
	return 0;
}

/* Returns the map of the track; of the first track with a point if the track has none yet. */
static const struct timemap *map_of(const struct rank_rewrite *rank, uint32_t track)
{
	if (track < rank->n_tracks && rank->maps[track].n > 0)
		return &rank->maps[track];
	for (uint32_t i = 0; i < rank->n_tracks; i++) {
		if (rank->maps[i].n > 0)
			return &rank->maps[i];
	}
	return &rank->maps[0];
}

static void move_event(const struct timemap *p, struct fmt_event *e)
{
	int64_t start_ns = timemap_emulated_ns(p, e->start_ns);
	int64_t end_ns = timemap_emulated_ns(p, fmt_add(e->start_ns, e->duration_ns));

	e->duration_ns = end_ns > start_ns ? fmt_sub(end_ns, start_ns) : 0;
	e->start_ns = start_ns;
}

/* Moves recorded synchronisations with the calls of the same correlation. */
static int index_calls(struct rewrite *w, const struct fmt_slice *s)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->n_events; i++) {
			const struct fmt_event *e = &s->events[i];
			const struct fmt_template *template = fmt_template(w->names, e->template);

			if (e->correlation == 0 || !template || template->kind != FMT_CALL)
				continue;
			if (pass == 1)
				launches_put(&w->calls, e->correlation, (uint32_t)i + 1);
			first = e->correlation < first ? e->correlation : first;
			last = e->correlation > last ? e->correlation : last;
			n++;
		}
		if (pass == 0 && launches_begin(&w->calls, n, first, last) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void set_times(struct rewrite *w, const struct rank_rewrite *rank, struct fmt_slice *s,
		      const int64_t *times)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct fmt_event *e = &s->events[i];
		size_t from = i;

		if (times[2 * i] <= SIM_NEVER) {
			from = launches_get(&w->calls, e->correlation);
			if (from-- == 0) {
				move_event(map_of(rank, e->track), e);
				continue;
			}
		}
		e->start_ns = times[2 * from];
		e->duration_ns = fmt_sub(times[2 * from + 1], times[2 * from]);
	}
	for (size_t i = 0; i < s->n_ranges; i++)
		move_event(map_of(rank, s->ranges[i].track), &s->ranges[i]);
}

/* The range of a slice: its annotation; for slices before and after the iterations, all events. */
static void set_iteration(const struct rank_rewrite *rank, uint32_t thread, struct fmt_slice *s)
{
	struct fmt_event as_range = {.start_ns = s->iteration.start_ns,
				     .duration_ns = s->iteration.duration_ns};
	int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

	if (s->iteration.number >= 0) {
		move_event(map_of(rank, thread), &as_range);
	} else {
		for (size_t i = 0; i < s->n_events + s->n_ranges; i++) {
			const struct fmt_event *e =
				i < s->n_events ? &s->events[i] : &s->ranges[i - s->n_events];
			int64_t end = fmt_add(e->start_ns, e->duration_ns);

			start_ns = e->start_ns < start_ns ? e->start_ns : start_ns;
			end_ns = end > end_ns ? end : end_ns;
		}
		if (start_ns <= end_ns) {
			as_range.start_ns = start_ns;
			as_range.duration_ns = fmt_sub(end_ns, start_ns);
		}
	}
	s->iteration.start_ns = as_range.start_ns;
	s->iteration.duration_ns = as_range.duration_ns;
}

/* ---- numbers ---- */

static fmt_number renumbered(const struct rank_rewrite *rank, fmt_number n)
{
	for (size_t i = 0; i < REMEMBERED; i++) {
		const struct moved *m = &rank->moved[i];

		if (m->to && n - m->first < m->n)
			return m->first + m->to[n - m->first];
	}
	return n;
}

static int keep_slice(struct rewrite *w, struct rank_rewrite *rank, const struct fmt_slice *s)
{
	struct moved *m = &rank->moved[rank->n_moved++ % REMEMBERED];

	free(m->to);
	*m = (struct moved){.first = s->first_number, .n = (uint32_t)s->n_events};
	m->to = malloc(s->n_events * sizeof(*m->to));
	if (!m->to)
		return -ENOMEM;
	memcpy(m->to, w->position, s->n_events * sizeof(*m->to));
	return 0;
}

/* Sorts the slice: new times may swap neighbouring events. */
static int sort_slice(struct rewrite *w, struct rank_rewrite *rank, struct fmt_slice *s)
{
	size_t n_edges = s->n_edges;
	size_t i = 0;
	int r;

	if (array_reserve(&w->position, s->n_events, &w->position_cap) < 0)
		return -ENOMEM;
	s->n_edges = 0;
	r = fmt_slice_sort(s, w->position);
	s->n_edges = n_edges;
	if (r < 0)
		return r;
	rank->done = s->first_number + s->n_events;
	while (i < s->n_events && w->position[i] == i)
		i++;
	if (i < s->n_events && keep_slice(w, rank, s) < 0)
		return -ENOMEM;
	for (i = 0; i < s->n_edges; i++) {
		if (s->edges[i].rank == 0)
			s->edges[i].from = renumbered(rank, s->edges[i].from);
		s->edges[i].to = renumbered(rank, s->edges[i].to);
	}
	for (i = 0; i < s->n_digests; i++)
		s->digests[i].op = renumbered(rank, s->digests[i].op);
	return fmt_slice_sort(s, NULL);
}

/* Returns the other rank of an edge; NULL: the same rank. */
static struct rank_rewrite *other_rank(struct rewrite *w, uint32_t rank, const struct fmt_edge *e)
{
	int64_t other = (int64_t)rank + e->rank;

	return e->rank != 0 && other >= 0 && other < w->n_ranks ? &w->ranks[other] : NULL;
}

/* Returns 1 if the slice waits for events of other ranks that have no new positions yet. */
static int must_wait(struct rewrite *w, uint32_t rank, const struct fmt_slice *s)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct rank_rewrite *other = other_rank(w, rank, &s->edges[i]);

		if (other && s->edges[i].from >= other->done)
			return 1;
	}
	return 0;
}

static int write_slice(struct rewrite *w, uint32_t rank, struct fmt_slice *s, struct fmt_error *err)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct rank_rewrite *other = other_rank(w, rank, &s->edges[i]);

		if (other)
			s->edges[i].from = renumbered(other, s->edges[i].from);
	}
	fmt_edges_sort(s->edges, s->n_edges);
	return fmt_rank_writer_slice(w->ranks[rank].out, s, err);
}

/* Writes slices that no longer wait; with `all`, waiting ones too. */
static int write_held(struct rewrite *w, int all, struct fmt_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->n_ranks && r == 0; i++) {
		struct rank_rewrite *rank = &w->ranks[i];
		size_t n = 0;

		while (n < rank->n_held && r == 0 && (all || !must_wait(w, i, rank->held[n]))) {
			r = write_slice(w, i, rank->held[n], err);
			fmt_slice_free(rank->held[n++]);
		}
		if (n == 0)
			continue;
		rank->n_held -= n;
		memmove(rank->held, rank->held + n, rank->n_held * sizeof(struct fmt_slice *));
		w->n_held -= n;
	}
	return r;
}

static int hold_slice(struct rewrite *w, struct rank_rewrite *rank, const struct fmt_slice *s)
{
	struct fmt_slice *copy;

	if (array_reserve(&rank->held, rank->n_held + 1, &rank->held_cap) < 0)
		return -ENOMEM;
	copy = fmt_slice_copy(s);
	if (!copy)
		return -ENOMEM;
	rank->held[rank->n_held++] = copy;
	w->n_held++;
	return 0;
}

/* Returns the track of the slice's iteration annotation, or the first track. */
static uint32_t annotated_track(const struct fmt_slice *s)
{
	for (size_t i = 0; i < s->n_ranges; i++) {
		if (s->ranges[i].start_ns == s->iteration.start_ns &&
		    s->ranges[i].duration_ns == s->iteration.duration_ns)
			return s->ranges[i].track;
	}
	return 0;
}

int rewrite_add_slice(struct rewrite *w, uint32_t rank, struct fmt_slice *slice,
		      const int64_t *times, struct fmt_error *err)
{
	struct rank_rewrite *r = &w->ranks[rank];
	uint32_t thread = annotated_track(slice);
	int res;

	if (make_places(r, slice, times) < 0 || index_calls(w, slice) < 0)
		return -ENOMEM;
	set_times(w, r, slice, times);
	set_iteration(r, thread, slice);
	res = sort_slice(w, r, slice);
	if (res == 0)
		res = r->n_held > 0 || must_wait(w, rank, slice) ? hold_slice(w, r, slice)
								 : write_slice(w, rank, slice, err);
	return res == 0 && w->n_held > 0 ? write_held(w, 0, err) : res;
}

int rewrite_end(struct rewrite *w, struct fmt_error *err)
{
	int r = write_held(w, 1, err);

	if (r == 0)
		r = fmt_writer_close(take(w->writer), err);
	rewrite_free(w);
	return r;
}
