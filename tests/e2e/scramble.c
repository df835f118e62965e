/* SPDX-License-Identifier: Apache-2.0 */

/* Randomises everything in a trace that the emulator must not read.
 *
 *     scramble IN OUT SEED      writes IN with random wait times to OUT
 *
 * Changed are the start of each operation, the duration of each call that waits, the time a thread
 * waits for another thread, and the duration of each collective except on its shortest rank. Kept
 * are the order within each track, durations of other operations, and the host's own time;
 * annotations keep their distance to the event before them.
 */
#include "base/array.h"
#include "base/scope.h"

#include "formats/trace/store/names_code.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* From this time on, a track's events are shifted by this amount. */
struct jump {
	int64_t at_ns, by_ns;
};

struct jumps {
	struct jump *jump;
	size_t n, cap;
};

struct shortest {
	int64_t comm, seq, duration_ns;
	uint32_t rank;
};

struct scramble {
	struct fmt_trace *trace;
	struct fmt_names *names;
	struct shortest *shortest;
	size_t n_shortest, shortest_cap;
	uint64_t seed;
	struct fmt_error err;
};

static void die(struct scramble *s, const char *what)
{
	fprintf(stderr, "scramble: %s: %s\n", what, s->err.what);
	exit(2);
}

static int64_t dice(struct scramble *s, int64_t below)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((s->seed >> 33) % (uint64_t)below);
}

/* ---- which rank was shortest in a collective ---- */

static const int64_t *collective_key(const struct fmt_slice *s, const struct fmt_event *e,
				     const struct fmt_names *names)
{
	const struct fmt_template *template = fmt_template(names, e->template);
	const int64_t *values = s->values + e->first_value;

	return template->kind == FMT_COLLECTIVE && values[FMT_COLLECTIVE_COMM] >= 0 ? values : NULL;
}

static struct shortest *find_shortest(struct scramble *s, const int64_t *key)
{
	for (size_t i = 0; i < s->n_shortest; i++) {
		if (s->shortest[i].comm == key[FMT_COLLECTIVE_COMM] &&
		    s->shortest[i].seq == key[FMT_COLLECTIVE_SEQ])
			return &s->shortest[i];
	}
	return NULL;
}

static void note_shortest(struct scramble *s, uint32_t rank, const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const int64_t *m = collective_key(slice, e, s->names);
		struct shortest *known = m ? find_shortest(s, m) : NULL;

		if (!m)
			continue;
		if (!known) {
			if (array_reserve(&s->shortest, s->n_shortest + 1, &s->shortest_cap) < 0)
				die(s, "no memory");
			known = &s->shortest[s->n_shortest++];
			*known = (struct shortest){m[0], m[1], INT64_MAX, 0};
		}
		if (e->duration_ns < known->duration_ns) {
			known->duration_ns = e->duration_ns;
			known->rank = rank;
		}
	}
}

/* ---- one rank ---- */

static struct fmt_slice **load(struct scramble *s, struct fmt_trace *t, uint32_t rank)
{
	uint32_t n = fmt_trace_rank(t, rank)->n_slices;
	struct fmt_slice **slices = calloc(n + 1ul, sizeof(*slices));

	for (uint32_t i = 0; slices && i < n; i++) {
		if (fmt_slice_load(t, rank, i, FMT_WANT_ALL, &slices[i], &s->err) < 0)
			die(s, "load");
	}
	return slices;
}

static void unload(struct fmt_slice **slices)
{
	for (size_t i = 0; slices[i]; i++)
		fmt_slice_free(slices[i]);
	free(slices);
}

static int64_t end_of(const struct fmt_event *e)
{
	return e->start_ns + e->duration_ns;
}

static void jump(struct jumps *j, int64_t at_ns, int64_t by_ns)
{
	if (array_reserve(&j->jump, j->n + 1, &j->cap) < 0)
		exit(2);
	j->jump[j->n++] = (struct jump){at_ns, by_ns};
}

static int64_t moved(const struct jumps *j, int64_t at_ns)
{
	size_t low = 0, n = j->n;

	while (n > 0) {
		size_t half = n / 2;

		if (j->jump[low + half].at_ns <= at_ns) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low ? at_ns + j->jump[low - 1].by_ns : at_ns;
}

static int is_marked_inside(const struct fmt_slice *s, const struct fmt_event *call)
{
	for (size_t i = 0; i < s->n_ranges; i++) {
		const struct fmt_event *e = &s->ranges[i];

		if (e->track == call->track &&
		    ((e->start_ns > call->start_ns && e->start_ns < end_of(call)) ||
		     (end_of(e) > call->start_ns && end_of(e) < end_of(call))))
			return 1;
	}
	return 0;
}

/* Reads the edges into event `to`: whether it waits, and how long before its start another thread
 * handed over to it (-1: none did). */
static int waits_for(const struct fmt_slice *s, fmt_number to, int64_t *handed_ns)
{
	int found = 0;

	*handed_ns = -1;
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct fmt_edge *e = &s->edges[i];

		if (e->to != to || e->from == to)
			continue;
		if (e->kind == FMT_EDGE_RETURN)
			found = 1;
		else if (*handed_ns < 0 || e->lag_ns < *handed_ns)
			*handed_ns = e->lag_ns < 0 ? 0 : e->lag_ns;
	}
	return found;
}

/* Computes how a thread's times shift: after each wait, later events are shifted. */
static void jumps_of_thread(struct scramble *s, struct fmt_slice **slices, uint32_t track,
			    struct jumps *j)
{
	int64_t by_ns = 0, end_ns = INT64_MIN;

	for (; *slices; slices++) {
		const struct fmt_slice *slice = *slices;

		for (size_t i = 0; i < slice->n_events; i++) {
			const struct fmt_event *e = &slice->events[i];
			const struct fmt_event *after = i + 1 < slice->n_events ? e + 1 : NULL;
			int64_t handed_ns, change_ns;
			int blocks;

			if (e->track != track ||
			    fmt_template(s->names, e->template)->kind == FMT_SYNC)
				continue;
			blocks = waits_for(slice, slice->first_number + i, &handed_ns);
			if (handed_ns >= 0 && e->start_ns - handed_ns > end_ns &&
			    end_ns > INT64_MIN) {
				by_ns += dice(s, 300000);
				jump(j, e->start_ns - handed_ns, by_ns);
			}
			/* An event without duration may end when the call before it ends. */
			if (blocks && e->duration_ns > 0 && e->start_ns >= end_ns && after &&
			    after->track == track && after->start_ns >= end_of(e)) {
				change_ns = is_marked_inside(slice, e)
						    ? dice(s, 500000)
						    : 1 + dice(s, 2 * e->duration_ns + 50000) -
							      e->duration_ns;
				by_ns += change_ns;
				jump(j, end_of(e), by_ns);
			}
			end_ns = end_of(e) > end_ns ? end_of(e) : end_ns;
		}
	}
}

/* Computes how a stream's times shift: operations start later and later, and collectives last
 * longer except on the shortest rank. */
static void jumps_of_stream(struct scramble *s, uint32_t rank, struct fmt_slice **slices,
			    uint32_t track, struct jumps *j)
{
	int64_t by_ns = dice(s, 1000000), end_ns = INT64_MIN;

	for (; *slices; slices++) {
		const struct fmt_slice *slice = *slices;

		for (size_t i = 0; i < slice->n_events; i++) {
			const struct fmt_event *e = &slice->events[i];
			const int64_t *m = collective_key(slice, e, s->names);
			const struct shortest *known = m ? find_shortest(s, m) : NULL;

			if (e->track != track)
				continue;
			if (e->start_ns > end_ns) {
				by_ns += dice(s, 20000);
				jump(j, end_ns < 0 ? 0 : end_ns + (e->start_ns - end_ns) / 2 + 1,
				     by_ns);
			}
			end_ns = end_of(e);
			if (known && known->rank != rank) {
				by_ns += dice(s, 3000000);
				jump(j, end_of(e), by_ns);
			}
		}
	}
}

static void move(const struct jumps *j, struct fmt_event *e)
{
	int64_t end_ns = moved(j, end_of(e));

	e->start_ns = moved(j, e->start_ns);
	e->duration_ns = end_ns > e->start_ns ? end_ns - e->start_ns : 0;
}

static uint32_t annotated(struct fmt_slice *s)
{
	for (size_t i = 0; i < s->n_ranges; i++) {
		if (s->ranges[i].start_ns == s->iteration.start_ns &&
		    s->ranges[i].duration_ns == s->iteration.duration_ns)
			return s->ranges[i].track;
	}
	return 0;
}

static void scramble_rank(struct scramble *s, uint32_t rank, struct fmt_slice **slices,
			  struct fmt_rank_writer *out)
{
	uint32_t n_tracks = fmt_n_tracks(s->names, rank);
	struct jumps *j = calloc(n_tracks + 1ul, sizeof(*j));

	for (uint32_t i = 0; j && i < n_tracks; i++) {
		if (fmt_track(s->names, rank, i)->kind == FMT_THREAD)
			jumps_of_thread(s, slices, i, &j[i]);
		else
			jumps_of_stream(s, rank, slices, i, &j[i]);
	}
	for (; *slices; slices++) {
		struct fmt_slice *slice = *slices;
		struct fmt_event step = {.start_ns = slice->iteration.start_ns,
					 .duration_ns = slice->iteration.duration_ns};

		move(&j[annotated(slice)], &step);
		slice->iteration.start_ns = step.start_ns;
		slice->iteration.duration_ns = step.duration_ns;
		for (size_t i = 0; i < slice->n_events; i++)
			move(&j[slice->events[i].track], &slice->events[i]);
		for (size_t i = 0; i < slice->n_ranges; i++)
			move(&j[slice->ranges[i].track], &slice->ranges[i]);
		if (fmt_slice_sort(slice, NULL) < 0 ||
		    fmt_rank_writer_slice(out, slice, &s->err) < 0)
			die(s, "write");
	}
	for (uint32_t i = 0; i < n_tracks; i++)
		free(j[i].jump);
	free(j);
}

static void scramble(struct scramble *s, const char *path)
{
	uint32_t n = fmt_trace_n_ranks(s->trace);
	struct fmt_writer *w;

	if (fmt_names_copy(fmt_trace_names(s->trace), &s->names) < 0 ||
	    fmt_writer_open(path, s->names, 0, &w, &s->err) < 0)
		die(s, path);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			struct fmt_slice **slices = load(s, s->trace, i);
			struct fmt_rank_writer *out;

			for (size_t k = 0; pass == 0 && slices[k]; k++)
				note_shortest(s, i, slices[k]);
			if (pass == 1) {
				if (fmt_writer_rank(w, i, fmt_trace_rank(s->trace, i)->number, &out,
						    &s->err) < 0)
					die(s, path);
				scramble_rank(s, i, slices, out);
			}
			unload(slices);
		}
	}
	if (fmt_writer_close(w, &s->err) < 0)
		die(s, path);
	fmt_names_free(s->names);
	free(s->shortest);
}

int main(int argc, char **argv)
{
	struct scramble s = {0};

	if (argc != 4)
		return 2;
	if (fmt_trace_open(argv[1], &s.trace, &s.err) < 0)
		die(&s, argv[1]);
	s.seed = strtoull(argv[3], NULL, 10);
	scramble(&s, argv[2]);
	fmt_trace_close(s.trace);
	return 0;
}
