/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/compile.h"

#include "base/array.h"

static int64_t end_of(const struct fmt_event *e)
{
	return fmt_add(e->start_ns, e->duration_ns);
}

/* ---- edges ---- */

/* Moves to the first edge from `edge` on that ends in event i or later. */
static void seek_edge(struct compile *c, size_t edge, size_t i)
{
	const struct fmt_slice *s = c->slice;

	while (edge < s->n_edges && s->edges[edge].to < s->first_number + i)
		edge++;
	c->edge = edge;
	c->edge_end = edge < s->n_edges ? s->edges[edge].to - s->first_number : SIZE_MAX;
}

void compile_seek_edges(struct compile *c, fmt_number number)
{
	size_t edge = array_bound(i, 0, c->slice->n_edges, c->slice->edges[i].to < number);

	seek_edge(c, edge, number - c->slice->first_number);
}

/* Returns the first edge that ends in event i, SIZE_MAX without one; call with ascending i. */
static size_t edges_of(struct compile *c, size_t i)
{
	if (c->edge_end < i)
		seek_edge(c, c->edge, i);
	return c->edge_end == i ? c->edge : SIZE_MAX;
}

static const struct fmt_edge *edge_into(const struct compile *c, size_t edge, size_t i)
{
	const struct fmt_slice *s = c->slice;

	return edge < s->n_edges && s->edges[edge].to == s->first_number + i ? &s->edges[edge]
									     : NULL;
}

static int is_return_edge(const struct fmt_edge *e)
{
	return e->kind == FMT_EDGE_RETURN && !fmt_edge_is_own(e);
}

void compile_wait_moment(struct compile *c, struct sim_point *point, uint64_t moment,
			 int64_t lag_ns, uint16_t scale)
{
	struct sim_wait w = {.lag_ns = lag_ns, .kind = SIM_MOMENT, .scale = scale};

	if (moment - c->block->first < c->block->n_slots) {
		w.operand = (uint32_t)(moment - c->block->first);
	} else {
		w.kind = SIM_FAR;
		if (sim_reserve(c->p->sim, c->to, 0, 0, c->to->n_far + 1ul) < 0) {
			c->error = -ENOMEM;
			return;
		}
		w.operand = c->to->n_far;
		c->to->far[c->to->n_far++] = moment;
	}
	compile_wait(c, point, w);
}

/* The scale of the lag of an edge to an operation. */
static uint16_t edge_scale(const struct compile *c, const struct fmt_edge *e)
{
	const struct fmt_slice *s = c->slice;
	uint64_t from = e->from - s->first_number;

	if (c->p->scales[e->rule] == PROGRAM_CONSTANT)
		return 0;
	return c->p->scales[e->rule] == PROGRAM_FROM && e->rank == 0 && from < s->n_events
		       ? change_op_scale(c->p->change, c->index, s->events[from].template,
					 s->events[from].duration_ns)
		       : change_device_scale(c->p->change, c->index);
}

/* Adds the wait for an edge. An edge from an event to itself starts at the rank's anchor. */
static void wait_edge(struct compile *c, struct sim_point *point, const struct fmt_edge *e,
		      uint16_t scale)
{
	if (e->rank != 0)
		compile_wait_other(c, point, e, scale);
	else if (e->from != e->to)
		compile_wait_moment(c, point, 2 * e->from + (e->kind != FMT_EDGE_SPAWN), e->lag_ns,
				    scale);
	else if (e->kind == FMT_EDGE_SPAWN)
		compile_wait(c, point,
			     (struct sim_wait){
				     .kind = SIM_AT,
				     .lag_ns = fmt_add(c->rank->anchor_ns, e->lag_ns),
			     });
}

/* ---- threads ---- */

/* A thread begins at its recorded start. Its earlier time in its first iteration is its own
 * time. */
static void begin_at(struct compile *c, struct sim_point *point, int64_t start_ns)
{
	const struct fmt_iteration *it = &c->slice->iteration;
	int64_t own_ns = it->number >= 0 ? fmt_sub(start_ns, it->start_ns) : 0;

	compile_wait(c, point,
		     (struct sim_wait){
			     .kind = SIM_AT,
			     .lag_ns = start_ns,
			     .operand = own_ns > 0 && own_ns < UINT32_MAX ? (uint32_t)own_ns : 0,
			     .scale = c->host,
		     });
}

/* A call starts its own time after the previous point of its thread. If another thread hands over
 * to it, the time before was spent waiting. `inside` another call, it is time of that call. */
static void call_start(struct compile *c, struct program_track *track, size_t i, size_t edge,
		       const struct sim_point *before, int inside)
{
	const struct fmt_event *e = &c->slice->events[i];
	int64_t own_ns = track->begun ? fmt_sub(e->start_ns, track->last_ns) : 0;
	struct sim_point *point =
		compile_point(c, (uint32_t)(2 * i), own_ns, inside ? c->launch : c->host);
	const struct fmt_edge *in;
	int handed = 0;

	for (; (in = edge_into(c, edge, i)); edge++) {
		if (in->kind == FMT_EDGE_RETURN)
			continue;
		handed |= !fmt_edge_is_own(in);
		wait_edge(c, point, in, fmt_edge_is_own(in) ? 0 : c->host);
	}
	if (handed)
		point->own_ns = 0;
	else if (!track->begun)
		begin_at(c, point, e->start_ns);
	else if (own_ns < 0 && before)
		compile_wait(c, point, (struct sim_wait){.operand = before->slot & ~1u});
	track->begun = 1;
	track->last_ns = e->start_ns;
}

/* Adds the waits of a call; stores a copy that the call itself launched. */
static void call_waits(struct compile *c, size_t i, size_t edge, struct sim_point *point)
{
	const struct fmt_slice *s = c->slice;
	const struct fmt_edge *in;

	for (; (in = edge_into(c, edge, i)); edge++) {
		uint64_t from = in->from - s->first_number;

		if (!is_return_edge(in))
			continue;
		wait_edge(c, point, in, 0);
		if (in->rank != 0 || from >= s->n_events || s->events[i].correlation == 0 ||
		    s->events[from].correlation != s->events[i].correlation)
			continue;
		launches_put(&c->p->launches, s->events[i].correlation, OWN_COPY | (uint32_t)i);
	}
}

static const struct fmt_edge *edge_blocks(const struct compile *c, size_t i, size_t edge)
{
	const struct fmt_edge *in;

	while ((in = edge_into(c, edge, i)) && !is_return_edge(in))
		edge++;
	return in;
}

/* A call returns its own time after its start or after the last nested call; a waiting call, its
 * own time after the end of the wait. */
static void call_end(struct compile *c, struct program_track *track, size_t i, size_t edge)
{
	const struct fmt_event *e = &c->slice->events[i];
	const struct fmt_edge *in = edge_blocks(c, i, edge);
	struct sim_point *point;
	uint32_t start = (uint32_t)(2 * i);

	if (e->correlation != 0)
		launches_put(&c->p->launches, e->correlation, (uint32_t)i + 1);
	point = compile_point(c, start + 1, fmt_sub(end_of(e), track->last_ns), in ? 0 : c->launch);
	track->last_ns = end_of(e);
	if (!in)
		return;
	if (in->lag_ns > 0)
		c->p->counts.blocking_ns += in->lag_ns;
	point->own_ns = 0;
	compile_wait(c, point,
		     (struct sim_wait){
			     .operand = start,
			     .lag_ns = in->lag_ns > 0 ? in->lag_ns : 0,
		     });
	call_waits(c, i, edge, point);
}

/* Ends the open calls that do not contain event i; all calls if i == SIZE_MAX. A call that was
 * recorded at the very end of a blocking call comes after its wait, even if their times are
 * equal. */
static size_t leave_calls(struct compile *c, struct program_track *track, size_t depth, size_t i)
{
	const struct fmt_event *events = c->slice->events;

	for (; depth > 0; depth--) {
		const struct nest *open = &c->p->nest[depth - 1];
		const struct fmt_event *outer = &events[open->event];

		if (i != SIZE_MAX && events[i].start_ns < end_of(outer) &&
		    end_of(&events[i]) <= end_of(outer) &&
		    (!edge_blocks(c, open->event, open->edges) ||
		     fmt_sub(events[i].start_ns, outer->start_ns) <=
			     fmt_sub(end_of(outer), end_of(&events[i]))))
			break;
		call_end(c, track, open->event, open->edges);
	}
	return depth;
}

static void no_time(struct compile *c, size_t i)
{
	c->block->times[2 * i] = c->block->times[2 * i + 1] = SIM_NEVER;
	for (size_t k = 0; k < sim_n_variants(c->p->sim); k++) {
		int64_t *times = c->block->variants + k * c->block->n_slots;

		times[2 * i] = times[2 * i + 1] = SIM_NEVER;
	}
}

void compile_thread(struct compile *c, uint32_t track_index, size_t at, size_t end)
{
	struct program_track *track = &c->rank->tracks[track_index];
	const struct fmt_event *events = c->slice->events;
	size_t first = c->n_points, depth = 0;

	for (size_t i = at; i < end; i++) {
		size_t edge;

		if (c->p->templates[events[i].template].kind == FMT_SYNC) {
			no_time(c, i);
			continue;
		}
		edge = edges_of(c, i);
		if (depth > 0)
			depth = leave_calls(c, track, depth, i);
		call_start(c, track, i, edge,
			   c->n_points > first ? &c->points[c->n_points - 1] : NULL, depth > 0);
		if (i + 1 == end || events[i + 1].start_ns >= end_of(&events[i]))
			call_end(c, track, i, edge);
		else
			c->p->nest[depth++] = (struct nest){(uint32_t)i, edge};
	}
	leave_calls(c, track, depth, SIZE_MAX);
}

/* ---- streams ---- */

static int wait_for_launch(struct compile *c, struct sim_point *point, uint64_t correlation)
{
	int64_t launch_ns = c->rank->constants->launch_ns;
	uint32_t at = c->rank->constants->from_start
			      ? 2
			      : 1; /* distance back from the next event's slots */
	uint32_t found = correlation ? launches_get(&c->p->launches, correlation) : 0;

	if (found & OWN_COPY) {
		compile_wait(c, point,
			     (struct sim_wait){
				     .operand = 2 * (found & ~OWN_COPY),
				     .lag_ns = c->rank->constants->copy_ns,
			     });
		return 1;
	}
	if (found) {
		compile_wait(c, point,
			     (struct sim_wait){.operand = 2 * found - at, .lag_ns = launch_ns});
		return 1;
	}
	found = correlation ? launches_get(&c->rank->before, correlation) : 0;
	if (!found || found & OWN_COPY)
		return 0;
	compile_wait_moment(c, point, c->rank->before_first + 2 * found - at, launch_ns, 0);
	return 1;
}

static int64_t gap_before(const struct compile *c, const struct program_track *track,
			  const struct fmt_event *e, uint8_t class)
{
	int64_t gap_ns = c->rank->constants->gap_ns[track->class][class];

	if (!track->begun)
		return 0;
	return c->p->templates[e->template].kind == FMT_COLLECTIVE
		       ? gap_ns
		       : fmt_add(gap_ns, fmt_template_gap(&c->p->template_gaps, track->template));
}

/* Returns the edge that says how long the operation takes, if that is not its recorded duration: an
 * edge of kind FMT_EDGE_RETURN from the operation to itself. For a collective, from the last
 * arrival. */
static const struct fmt_edge *op_start(struct compile *c, struct program_track *track, size_t i)
{
	const struct fmt_event *e = &c->slice->events[i];
	uint8_t class = (uint8_t)fmt_gap_class(c->p->templates[e->template].kind, e->duration_ns);
	struct sim_point *point =
		compile_point(c, (uint32_t)(2 * i), gap_before(c, track, e, class), 0);
	size_t edge = edges_of(c, i);
	int held = track->begun;
	const struct fmt_edge *in, *takes = NULL;

	if (c->p->overlap != OVERLAP_FULL || !overlap_ignores_launch(c, edge, i))
		held |= wait_for_launch(c, point, e->correlation);
	if (c->p->overlap == OVERLAP_OFF)
		overlap_wait(c, point, i);
	for (; (in = edge_into(c, edge, i)); edge++) {
		if (in->kind == FMT_EDGE_RETURN)
			takes = fmt_edge_is_own(in) ? in : takes;
		if (in->kind == FMT_EDGE_RETURN ||
		    (c->p->overlap == OVERLAP_FULL && overlap_ignores_edge(c, in, i)))
			continue;
		wait_edge(c, point, in, edge_scale(c, in));
		held |= !fmt_edge_is_own(in) || in->kind == FMT_EDGE_SPAWN;
	}
	if (!held) {
		compile_wait(c, point,
			     (struct sim_wait){
				     .kind = SIM_AT,
				     .lag_ns = c->rank->anchor_ns,
			     });
		c->p->counts.rootless++;
	}
	track->begun = 1;
	track->class = class;
	track->template = e->template;
	return takes;
}

/* `takes`: as op_start() returned it. */
static void op_end(struct compile *c, size_t i, const struct fmt_edge *takes)
{
	const struct fmt_event *e = &c->slice->events[i];
	const struct template *template = &c->p->templates[e->template];
	int64_t ns = takes && template->kind != FMT_COLLECTIVE ? takes->lag_ns : e->duration_ns;
	struct sim_point *point = compile_point(c, (uint32_t)(2 * i + 1), ns, 0);

	compile_ranks(c, point, i, takes);
}

void compile_stream(struct compile *c, uint32_t track_index, size_t at, size_t end)
{
	struct program_track *track = &c->rank->tracks[track_index];

	for (size_t i = at; i < end; i++) {
		if (c->p->templates[c->slice->events[i].template].kind == FMT_SYNC) {
			no_time(c, i);
			continue;
		}
		op_end(c, i, op_start(c, track, i));
		c->p->counts.ops++;
	}
}
