/* SPDX-License-Identifier: Apache-2.0 */

/* The programs of clock.c as dependency graphs: tracks and waits. A thread is a rank, with a
 * track for the host, for each stream and for each resource of a GPU. */
#include "replay/clock/sim.h"
#include "replay/emugpu/driver/device.h"
#include "tests/emugpu/check_driver.h"
#include "tests/emugpu/clock.h"

#include <inttypes.h>
#include <string.h>

enum {
	HOST = 0,
	TRACKS = 1 + MAX_GPUS * (STREAMS + EMU_RESOURCES),
	POINTS = 5 * MAX_STEPS,
	MAX_WAITS = 2 * STREAMS + 4,
	SLOTS = 8 * MAX_STEPS,
};

struct point {
	int64_t own_ns;
	uint32_t slot, n;
	struct sim_wait waits[MAX_WAITS];
};

struct track {
	uint32_t n;
	struct point points[POINTS];
};

struct graph {
	const struct program *p;
	const struct costs *c;
	uint32_t n_slots, n_waits;
	struct track tracks[TRACKS];
	uint32_t events[MAX_GPUS][EVENTS];	       /* slots, or SIM_NONE */
	uint32_t starts[MAX_STEPS], afters[MAX_STEPS]; /* slots */
};

static uint32_t stream_track(uint32_t gpu, uint32_t stream)
{
	return 1 + gpu * (STREAMS + EMU_RESOURCES) + stream;
}

static uint32_t resource_track(uint32_t gpu, enum emu_resource which)
{
	return stream_track(gpu, STREAMS) + which;
}

/* Adds a point to a track. Returns its slot. */
static uint32_t add_point(struct graph *g, uint32_t track, int64_t own_ns)
{
	struct track *l = &g->tracks[track];

	TRUE(l->n < POINTS && g->n_slots < SLOTS);
	l->points[l->n++] = (struct point){.own_ns = own_ns, .slot = g->n_slots};
	return g->n_slots++;
}

/* Adds a wait to the last point of a track. */
static void add_wait(struct graph *g, uint32_t track, enum sim_wait_kind kind, uint32_t on,
		     int64_t lag_ns)
{
	struct track *l = &g->tracks[track];
	struct point *p = &l->points[l->n - 1];

	TRUE(p->n < MAX_WAITS);
	p->waits[p->n++] =
		(struct sim_wait){.lag_ns = lag_ns, .operand = on, .kind = (uint8_t)kind};
	g->n_waits++;
}

/* Returns the slot of the last point of a track, or SIM_NONE. */
static uint32_t last_point(const struct graph *g, uint32_t track)
{
	const struct track *l = &g->tracks[track];

	return l->n ? l->points[l->n - 1].slot : SIM_NONE;
}

static void add_wait_for_tail(struct graph *g, uint32_t track, uint32_t other, int64_t lag_ns)
{
	if (last_point(g, other) != SIM_NONE)
		add_wait(g, track, SIM_MOMENT, last_point(g, other), lag_ns);
}

/* Adds the waits of an operation besides stream order: for its launch if `launched`, and for the
 * null stream or its blocking streams. */
static void add_op_waits(struct graph *g, const struct step *s, int launched)
{
	uint32_t track = stream_track(s->gpu, s->stream);

	if (launched)
		add_wait(g, track, SIM_MOMENT, last_point(g, HOST), g->c->launch_ns);
	if (s->stream < 2)
		add_wait_for_tail(g, track, stream_track(s->gpu, !s->stream), 0);
}

/* Adds an operation that uses a resource, and the resource `peer` unless that is SIM_NONE. */
static uint32_t add_op(struct graph *g, const struct step *s, uint32_t resource, uint32_t peer,
		       uint32_t share, int64_t ns)
{
	uint32_t track = stream_track(s->gpu, s->stream), at = add_point(g, track, g->c->gap_ns);
	uint32_t ends[2], n = 0;

	add_op_waits(g, s, 1);
	for (uint32_t e = resource; e != SIM_NONE; e = e == resource ? peer : SIM_NONE) {
		uint32_t start = add_point(g, e, SIM_INDEPENDENT);

		add_wait(g, e, SIM_MOMENT, at, 0);
		add_wait(g, e, SIM_FREE, 0, 0);
		at = start;
		ends[n++] = add_point(g, e, 0);
		add_wait(g, e, SIM_CAPACITY, share, ns);
	}
	add_point(g, track, 0);
	while (n-- > 0)
		add_wait(g, track, SIM_MOMENT, ends[n], 0);
	return at;
}

static void copies(struct graph *g, const struct step *s)
{
	static const struct {
		enum emu_resource resource;
		double part;
	} how[STEP_KINDS] = {
		[COPY_IN] = {EMU_COPY_IN, 1},	 [COPY_OUT] = {EMU_COPY_OUT, 1},
		[COPY_WITHIN] = {EMU_MEMORY, 1}, [COPY_PEER] = {EMU_COPY_OUT, 1},
		[FILL] = {EMU_MEMORY, 1},
	};

	add_op(g, s, resource_track(s->gpu, how[s->kind].resource),
	       s->kind == COPY_PEER ? resource_track(s->other, EMU_COPY_IN) : SIM_NONE,
	       capacity_share(how[s->kind].part), g->c->copy_ns[s->kind][s->size]);
	add_point(g, HOST, g->c->call_copy_ns);
}

static void collective(struct graph *g, const struct step *s, uint32_t meeting)
{
	uint32_t track = stream_track(s->gpu, s->stream);

	add_point(g, HOST, g->c->call_collective_ns - g->c->call_launch_ns);
	add_point(g, track, g->c->gap_ns);
	add_op_waits(g, s, 1);
	add_point(g, track, g->p->collective_ns[s->size]);
	add_wait(g, track, SIM_COLLECTIVE, meeting, 0);
	add_point(g, HOST, g->c->call_launch_ns);
}

/* Adds a call that waits; the waits are edges to the host's new point. */
static void add_sync(struct graph *g, const struct step *s)
{
	const struct costs *c = g->c;
	uint32_t stream = stream_track(s->gpu, s->stream);

	if (s->kind == SYNC_STREAM && s->stream == 0) {
		add_point(g, stream, 0);
		add_op_waits(g, s, 0);
	}
	add_point(g, HOST, 0);
	if (s->kind == SYNC_STREAM)
		add_wait_for_tail(g, HOST, stream, c->sync_ns);
	for (uint32_t i = 0; s->kind == SYNC_GPU && i < STREAMS; i++)
		add_wait_for_tail(g, HOST, stream_track(s->gpu, i), c->sync_ns);
	if (s->kind == SYNC_EVENT && g->events[s->gpu][s->event] != SIM_NONE)
		add_wait(g, HOST, SIM_MOMENT, g->events[s->gpu][s->event], c->sync_ns);
	add_point(g, HOST, c->call_query_ns);
}

static void marks(struct graph *g, const struct step *s)
{
	uint32_t track = stream_track(s->gpu, s->stream);

	if (s->kind == RECORD) {
		g->events[s->gpu][s->event] = add_point(g, track, 0);
		add_op_waits(g, s, 1);
	} else if (g->events[s->other][s->event] != SIM_NONE) {
		add_point(g, track, 0);
		add_wait(g, track, SIM_MOMENT, g->events[s->other][s->event], g->c->event_ns);
		add_op_waits(g, s, 0);
	}
	add_point(g, HOST, g->c->call_event_ns);
}

static void add_step(struct graph *g, struct sim *sim, uint32_t rank, uint32_t i)
{
	const struct step *s = &g->p->thread[rank].steps[i];
	double part = s->blocks / g->c->blocks_held;
	uint32_t meeting;

	switch (s->kind) {
	case KERNEL:
		g->starts[i] = add_op(g, s, resource_track(s->gpu, EMU_COMPUTE), SIM_NONE,
				      capacity_share(part < 1 ? part : 1), s->ns);
		add_point(g, HOST, g->c->call_launch_ns);
		break;
	case HOST_FUNCTION:
		add_point(g, stream_track(s->gpu, s->stream), g->c->gap_ns);
		add_op_waits(g, s, 1);
		add_point(g, HOST, g->c->call_event_ns);
		break;
	case COLLECTIVE:
		TRUE(sim_declare(sim_collectives(sim),
				 sim_participant(sim_collectives(sim), rank, 0), i, &meeting) == 1);
		collective(g, s, meeting);
		break;
	case RECORD:
	case WAIT:
		marks(g, s);
		break;
	case SYNC_STREAM:
	case SYNC_EVENT:
	case SYNC_GPU:
		add_sync(g, s);
		break;
	default:
		copies(g, s);
		break;
	}
	g->afters[i] = last_point(g, HOST);
}

/* Stores the tracks one after another. */
static void fill_block(const struct graph *g, struct sim *sim, struct sim_block *b)
{
	struct sim_program *p = b->program;

	TRUE(sim_reserve(sim, p, g->n_slots, g->n_waits, 0) == 0);
	for (uint32_t l = 0; l < TRACKS; l++) {
		b->ranges[l] = (struct sim_range){p->n_points, 0, 0, g->n_slots};
		for (uint32_t i = 0; i < g->tracks[l].n; i++) {
			const struct point *from = &g->tracks[l].points[i];

			p->points[p->n_points++] = (struct sim_point){
				from->own_ns, from->slot, from->n ? p->n_waits : SIM_NONE};
			for (uint32_t k = 0; k < from->n; k++) {
				p->waits[p->n_waits] = from->waits[k];
				p->waits[p->n_waits++].last = k + 1 == from->n;
			}
		}
		b->ranges[l].end = p->n_points;
	}
}

static void add_rank(struct graph *g, struct sim *sim, uint32_t rank)
{
	const struct thread *t = &g->p->thread[rank];
	struct sim_block *b;

	memset(g->events, 0xff, sizeof(g->events));
	add_point(g, HOST, 0);
	add_wait(g, HOST, SIM_AT, 0, t->begin_ns);
	for (uint32_t i = 0; i < t->n; i++)
		add_step(g, sim, rank, i);
	TRUE(sim_block_new(sim, rank, g->n_slots, &b) == 0);
	fill_block(g, sim, b);
	TRUE(sim_push(sim, rank, b) == 0);
	sim_end_rank(sim, rank);
}

static unsigned compare(const struct graph *g, uint32_t rank, const int64_t *times)
{
	const struct thread *t = &g->p->thread[rank];
	unsigned differ = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct step *s = &t->steps[i];
		int64_t start_ns = s->kind == KERNEL ? times[g->starts[i]] : s->start_ns;

		if (s->after_ns == times[g->afters[i]] && s->start_ns == start_ns)
			continue;
		if (!differ++)
			fprintf(stderr,
				"thread %u, step %u of kind %d: it started at %" PRId64
				", by replay/clock at %" PRId64 "; the host went on at %" PRId64
				", by replay/clock at %" PRId64 "\n",
				rank, i, (int)s->kind, s->start_ns, start_ns, s->after_ns,
				times[g->afters[i]]);
	}
	return differ;
}

unsigned graph_compare(const struct program *p, const struct costs *c)
{
	static const uint32_t ranks[MAX_GPUS] = {0, 1, 2, 3};
	struct graph *graphs = calloc(p->threads, sizeof(*graphs));
	struct sim_block *b;
	struct sim *sim;
	uint32_t group, rank;
	unsigned differ = 0, seen = 0;

	TRUE(graphs && sim_new(p->threads, &sim) == 0);
	for (uint32_t i = 0; i < p->threads; i++) {
		TRUE(sim_init_rank(sim, i, TRACKS, 0) == 0);
		for (uint32_t k = 0; k < MAX_GPUS * EMU_RESOURCES; k++)
			TRUE(sim_add_capacity(
				     sim, i,
				     resource_track(k / EMU_RESOURCES, k % EMU_RESOURCES)) == 0);
	}
	TRUE(sim_add_group(sim_collectives(sim), ranks, p->threads, &group) == 0);
	for (uint32_t i = 0; i < p->threads; i++) {
		graphs[i].p = p;
		graphs[i].c = c;
		add_rank(&graphs[i], sim, i);
	}
	TRUE(sim_advance(sim) == 0);
	while ((b = sim_next_finished(sim, &rank))) {
		differ += compare(&graphs[rank], rank, b->times);
		seen++;
		sim_release(sim, b);
	}
	TRUE(seen == p->threads && sim_counts(sim)->broken == 0);
	sim_free(sim);
	free(graphs);
	return differ;
}
