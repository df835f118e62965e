/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a small run of calls, operations and edges from the bytes, and emulates it twice: emulation
 * must end, both times with the same times, and no event may start before its dependencies. */
#include "base/array.h"

#include "formats/run/infer/constants.h"

#include "replay/engine/simulate.h"

#include <stdio.h>
#include <stdlib.h>

#define RANKS 3
#define TRACKS 4
#define SLICES 3
#define EVENTS 12
#define EDGES 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct bytes {
	const uint8_t *at;
	size_t left;
};

struct run {
	struct fmt_names *names;
	uint32_t templates[FMT_KINDS];
	struct fmt_slice slices[RANKS][SLICES];
	struct fmt_event events[RANKS][SLICES][EVENTS];
	struct fmt_edge edges[RANKS][SLICES][EDGES];
	int64_t values[RANKS][SLICES][2 * EVENTS];
	uint32_t given[RANKS], taken[RANKS];
	int64_t times[RANKS][2 * SLICES * EVENTS];
};

#define must(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static uint8_t byte(struct bytes *b)
{
	return b->left > 0 ? (b->left--, *b->at++) : 0;
}

static int by_track(const void *x, const void *y)
{
	const struct fmt_event *a = x, *b = y;

	return array_order(a->track, b->track) ?: array_order(a->start_ns, b->start_ns)
	       ?: array_order(b->duration_ns, a->duration_ns);
}

static int by_to(const void *x, const void *y)
{
	const struct fmt_edge *a = x, *b = y;

	return array_order(a->to, b->to);
}

static void make_events(struct run *run, struct bytes *b, uint32_t rank, uint32_t k,
			struct fmt_slice *s)
{
	static const uint8_t kinds[2][4] = {{FMT_CALL, FMT_CALL, FMT_CALL, FMT_SYNC},
					    {FMT_KERNEL, FMT_COLLECTIVE, FMT_MEMCPY, FMT_SYNC}};
	uint32_t n = byte(b) % (EVENTS + 1);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t what = byte(b);
		struct fmt_event *e = &s->events[s->n_events++];
		int stream = what & 1;
		uint8_t kind = kinds[stream][what >> 1 & 3];

		*e = (struct fmt_event){
			.start_ns = k * 300 + byte(b),
			.duration_ns = byte(b) % 64,
			.correlation = byte(b) % 16,
			.template = run->templates[kind],
			.track = (uint32_t)(2 * stream + (what >> 3 & 1)),
			.first_value = (uint32_t)s->n_values,
		};
		if (kind == FMT_COLLECTIVE) {
			s->values[s->n_values++] = (int64_t)(what >> 4 & 3) - 1;
			s->values[s->n_values++] = byte(b) % 8;
		}
	}
	qsort(s->events, s->n_events, sizeof(*s->events), by_track);
}

/* One in sixteen is from another rank, or from one that does not exist. */
static void make_edges(struct bytes *b, struct fmt_slice *s)
{
	uint32_t n = s->n_events > 0 ? byte(b) % (EDGES + 1) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fmt_edge *e = &s->edges[s->n_edges++];

		e->from = byte(b) % (SLICES * EVENTS + 1);
		e->to = s->first_number + byte(b) % s->n_events;
		e->lag_ns = (int8_t)byte(b);
		e->kind = byte(b);
		e->rank = e->kind >> 4 == 15 ? (int32_t)(e->kind >> 2 & 3) - (int32_t)s->rank : 0;
		e->kind %= FMT_EDGE_KINDS;
	}
	qsort(s->edges, s->n_edges, sizeof(*s->edges), by_to);
}

static void make_slices(struct run *run, struct bytes *b)
{
	for (uint32_t r = 0; r < RANKS; r++) {
		fmt_number first = 0;

		for (uint32_t k = 0; k < SLICES; k++) {
			struct fmt_slice *s = &run->slices[r][k];

			s->rank = r;
			s->index = k;
			s->first_number = first;
			s->events = run->events[r][k];
			s->edges = run->edges[r][k];
			s->values = run->values[r][k];
			make_events(run, b, r, k, s);
			make_edges(b, s);
			first += s->n_events;
		}
	}
}

static void make_names(struct run *run, struct bytes *b)
{
	static const uint32_t ranks[] = {0, 1, 2};
	const struct fmt_comm comms[] = {{.n_ranks = 3, .ranks = ranks},
					 {.n_ranks = 2, .ranks = ranks + 1}};
	struct fmt_constants c = {.launch_ns = (int8_t)byte(b), .copy_ns = byte(b)};
	struct fmt_arg args[2] = {{.varies = 1}, {.varies = 1}};
	struct fmt_template_gaps gaps;
	uint32_t unused;

	must(fmt_names_new(&run->names) == 0);
	must(fmt_names_string(run->names, FMT_KEY_COMM, strlen(FMT_KEY_COMM), &args[0].key) == 0);
	must(fmt_names_string(run->names, FMT_KEY_SEQ, strlen(FMT_KEY_SEQ), &args[1].key) == 0);
	for (uint8_t i = 0; i < FMT_KINDS; i++) {
		struct fmt_template template = {
			.kind = i, .args = args, .n_args = i == FMT_COLLECTIVE ? 2 : 0};

		must(fmt_names_template(run->names, &template, &run->templates[i]) == 0);
	}
	must(fmt_template_gaps_init(&gaps, fmt_n_templates(run->names)) == 0);
	gaps.ns[run->templates[FMT_KERNEL]] = c.launch_ns;
	must(fmt_template_gaps_put(run->names, &gaps) == 0);
	fmt_template_gaps_done(&gaps);
	for (uint32_t r = 0; r < RANKS; r++) {
		for (int i = 0; i < TRACKS; i++) {
			struct fmt_track track = {.kind = i < 2 ? FMT_THREAD : FMT_STREAM,
						  .tid = i};

			must(fmt_names_track(run->names, r, &track, &unused) == 0);
		}
		must(fmt_constants_put(run->names, r, &c) == 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(comms); i++)
		must(fmt_names_comm(run->names, &comms[i], &unused) == 0);
}

static int next(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		struct fmt_error *err)
{
	struct run *run = context;

	if (run->given[rank] == SLICES)
		return 0;
	*more = run->given[rank] == 0;
	*ret = &run->slices[rank][run->given[rank]++];
	return 1;
}

static int take_slice(void *context, uint32_t rank, struct fmt_slice *s, const int64_t *times,
		      const int64_t *variants, struct fmt_error *err)
{
	struct run *run = context;

	must(s->index == run->taken[rank]++);
	for (size_t i = 0; i < 2 * s->n_events; i++)
		run->times[rank][2 * s->first_number + i] = times[i];
	return 0;
}

static void emulate(struct run *run, struct replay_counts *counts)
{
	static const uint32_t numbers[] = {0, 1, 2};
	struct replay_source source = {.names = run->names,
				       .n_ranks = RANKS,
				       .numbers = numbers,
				       .context = run,
				       .next = next,
				       .taken = take_slice};
	struct fmt_error err;

	memset(run->given, 0, sizeof(run->given));
	memset(run->taken, 0, sizeof(run->taken));
	memset(run->times, 0, sizeof(run->times));
	must(replay_simulate(&source, counts, &err) == 0);
	for (uint32_t r = 0; r < RANKS; r++)
		must(run->taken[r] == SLICES);
}

static uint64_t n_events(const struct run *run, uint32_t rank)
{
	const struct fmt_slice *last = &run->slices[rank][SLICES - 1];

	return last->first_number + last->n_events;
}

/* Checks every edge between events that take part. */
static void check_edges(const struct run *run, uint32_t rank, const struct fmt_slice *s)
{
	const int64_t *times = run->times[rank];

	for (size_t i = 0; i < 2 * s->n_events; i++)
		must(times[2 * s->first_number + i] != SIM_PENDING);
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct fmt_edge *e = &s->edges[i];
		uint32_t other = rank + (uint32_t)e->rank;
		int64_t from, to;

		if (other >= RANKS || e->from >= n_events(run, other) || fmt_edge_is_own(e))
			continue;
		from = run->times[other][2 * e->from + (e->kind != FMT_EDGE_SPAWN)];
		to = times[2 * e->to + (e->kind == FMT_EDGE_RETURN)];
		if (from <= SIM_NEVER || to <= SIM_NEVER)
			continue;
		if (e->kind == FMT_EDGE_RETURN && s->events[e->to - s->first_number].track >= 2)
			continue;
		must(to >= from + e->lag_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct run run;
	static int64_t before[RANKS][2 * SLICES * EVENTS];
	struct bytes b = {data, len};
	struct replay_counts counts, again;

	memset(&run, 0, sizeof(run));
	make_names(&run, &b);
	make_slices(&run, &b);
	emulate(&run, &counts);
	memcpy(before, run.times, sizeof(before));
	emulate(&run, &again);
	must(memcmp(before, run.times, sizeof(before)) == 0);
	must(counts.sim.broken == again.sim.broken);
	for (uint32_t r = 0; counts.sim.broken == 0 && r < RANKS; r++) {
		for (uint32_t k = 0; k < SLICES; k++)
			check_edges(&run, r, &run.slices[r][k]);
	}
	fmt_names_free(run.names);
	return 0;
}
