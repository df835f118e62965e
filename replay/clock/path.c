/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/path.h"

#include "replay/clock/last_arrival.h"
#include "replay/clock/sim_impl.h"

#include "formats/trace/wrap.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/scope.h"

#include <stdalign.h>

#define NOTHING SIM_REF_MASK /* no earlier moment */

/* A slice. */
struct part {
	const struct sim_block *block; /* kept by the clock */
	uint32_t *templates;	       /* of its events */
	uint32_t *by_slot; /* the number of the point, and whether it is INSIDE a call; NULL: not
			      listed yet */
};

#define INSIDE (1u << 31)

/* An iteration of a rank in a run, or several. */
struct span {
	int64_t start_ns, end_ns; /* on the common clock */
	int64_t number;		  /* of the last */
	uint64_t last;		  /* moment before the end; NOTHING: there is no span */
};

struct path_rank {
	struct part *parts;
	size_t n_parts, cap;
	uint32_t first; /* slice */
	uint32_t n_tracks;
	struct span *spans;
	uint64_t last_within; /* as the function returned for the last iteration */
	int64_t n_iterations;
	int64_t clock_ns;
};

struct path {
	struct arena arena; /* of the parts' arrays */
	const struct sim *sim;
	const struct fmt_names *names;
	struct path_rank *ranks;
	uint32_t n_ranks, n_runs;
	struct path_summary summary;
};

void path_free(struct path *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; p->ranks && i < p->n_ranks; i++) {
		struct path_rank *r = &p->ranks[i];

		free(r->parts);
		free(r->spans);
	}
	free(p->ranks);
	arena_done(&p->arena);
	path_summary_done(&p->summary);
	free(p);
}

define_cleanup(path_free_ptr, struct path *, path_free);

int path_new(const struct fmt_names *names, uint32_t n_ranks, uint32_t n_runs,
	     const uint32_t *first, const uint32_t *source, struct path **ret)
{
	scoped(path_free_ptr) struct path *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = names;
	p->n_ranks = n_ranks;
	p->n_runs = n_runs;
	p->ranks = calloc(n_ranks + 1ul, sizeof(*p->ranks));
	for (uint32_t i = 0; p->ranks && i < n_ranks; i++) {
		struct path_rank *r = &p->ranks[i];

		r->n_tracks = fmt_n_tracks(names, source[i]);
		r->first = first[i];
		r->spans = calloc(n_runs, sizeof(*r->spans));
		if (!r->spans)
			return -ENOMEM;
		for (uint32_t k = 0; k < n_runs; k++)
			r->spans[k].last = NOTHING;
	}
	if (!p->ranks)
		return -ENOMEM;
	*ret = take(p);
	return 0;
}

/* ---- recording ---- */

static uint8_t kind_of(const struct path *p, uint32_t template)
{
	const struct fmt_template *t = fmt_template(p->names, template);

	return t ? t->kind : FMT_CALL;
}

int path_add_block(struct path *p, const struct sim *sim, uint32_t rank,
		   const struct fmt_slice *slice, struct sim_block *b)
{
	struct path_rank *r = &p->ranks[rank];
	struct part part = {.block = b};

	if (slice->index < r->first)
		return 0;
	part.templates =
		arena_take(&p->arena, slice->n_events * sizeof(*part.templates), alignof(uint32_t));
	if (!part.templates || array_reserve(&r->parts, r->n_parts + 1, &r->cap) < 0)
		return -ENOMEM;
	p->sim = sim;
	r->clock_ns = sim_clock_ns(sim, rank);
	for (size_t i = 0; i < slice->n_events; i++)
		part.templates[i] = slice->events[i].template;
	b->kept = 1;
	r->parts[r->n_parts++] = part;
	return 0;
}

/* Returns the moment of the last event of the thread that ended within the iteration, as
 * recorded. */
static uint64_t last_within(const struct path *p, const struct fmt_slice *slice, uint32_t thread)
{
	int64_t end_ns = fmt_add(slice->iteration.start_ns, slice->iteration.duration_ns);
	uint64_t found = NOTHING;

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];

		if (e->track == thread && e->start_ns <= end_ns &&
		    kind_of(p, e->template) != FMT_SYNC)
			found = 2 * (slice->first_number + i) +
				(fmt_add(e->start_ns, e->duration_ns) <= end_ns);
	}
	return found;
}

void path_set_iteration(struct path *p, uint32_t run, uint32_t rank, const struct fmt_slice *slice,
			uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	struct path_rank *r = &p->ranks[rank];
	struct span *s = &r->spans[run];

	if (slice->index < r->first)
		return;
	if (run == 0)
		r->last_within = last_within(p, slice, thread);
	if (r->last_within == NOTHING)
		return;
	if (s->last == NOTHING)
		s->start_ns = fmt_sub(start_ns, r->clock_ns);
	s->end_ns = fmt_sub(end_ns, r->clock_ns);
	s->number = slice->iteration.number;
	s->last = r->last_within;
	r->n_iterations += run == 0;
}

/* ---- the path ---- */

/* Returns the slice with a moment and its slot; NULL if it is not stored. */
static struct part *find_part(const struct path *p, uint64_t ref, uint32_t *slot)
{
	const struct path_rank *r = &p->ranks[SIM_REF_RANK(ref)];
	uint64_t moment = SIM_REF_MOMENT(ref);
	size_t i = array_bound(k, 0, r->n_parts, r->parts[k].block->first <= moment);
	struct part *part = i > 0 ? &r->parts[i - 1] : NULL;

	if (!part || moment - part->block->first >= part->block->n_slots)
		return NULL;
	*slot = (uint32_t)(moment - part->block->first);
	return part;
}

/* Returns the time of a slot in a run, on the rank's clock. */
static int64_t time_at(const struct part *part, uint32_t run, uint32_t slot)
{
	const struct sim_block *b = part->block;

	return run == 0 ? b->times[slot] : b->variants[(size_t)(run - 1) * b->n_slots + slot];
}

/* Lists the points of a slice by slot. Those of a thread are nested. */
static int list_slots(struct path *p, struct part *part)
{
	const struct sim_block *b = part->block;
	uint32_t depth = 0;

	if (part->by_slot)
		return 0;
	part->by_slot = arena_take(&p->arena, (b->n_slots + 1ul) * sizeof(*part->by_slot),
				   alignof(uint32_t));
	if (!part->by_slot)
		return -ENOMEM;
	memset(part->by_slot, 0, b->n_slots * sizeof(*part->by_slot));
	for (uint32_t at = 0; at < b->program->n_points; at++) {
		uint32_t slot = b->program->points[at].slot;

		part->by_slot[slot] = at | (depth > 0 ? INSIDE : 0);
		depth += slot & 1 ? -1u : 1;
	}
	return 0;
}

/* Returns the moment of the point before point `at` of a slice on the same track; NOTHING if it is
 * not stored. */
static uint64_t moment_before(const struct path_rank *r, const struct part *part, uint32_t at)
{
	const struct sim_block *b = part->block;
	uint32_t track = UINT32_MAX, first = 0;

	for (uint32_t i = 0; i < r->n_tracks; i++) {
		uint32_t end = b->ranges[i].end;

		if (end > at && (track == UINT32_MAX || end < b->ranges[track].end))
			track = i;
		if (end <= at && end > first)
			first = end;
	}
	if (at > first)
		return b->first + b->program->points[at - 1].slot;
	while (track < r->n_tracks && part-- > r->parts) {
		b = part->block;
		if (b->ranges[track].end > 0)
			return b->first + b->program->points[b->ranges[track].end - 1].slot;
	}
	return NOTHING;
}

/* Returns the wait that determined the time of point `at` of a slice in the run; sets *ref to the
 * moment that it waited for. NULL: the previous point determined it. */
static const struct sim_wait *find_cause(const struct path *p, uint32_t run, uint32_t rank,
					 const struct part *part, uint32_t at, uint64_t *ref)
{
	const struct sim_program *program = part->block->program;
	const struct sim_point *point = &program->points[at];
	int64_t t = time_at(part, run, point->slot);

	for (const struct sim_wait *w = &program->waits[point->wait]; point->wait != SIM_NONE;
	     w++) {
		int64_t lag_ns = run == 0 ? w->lag_ns : sim_variants_lag(p->sim, run - 1, w);
		int64_t when_ns = 0;
		const struct part *from;
		uint32_t slot;

		if (w->kind == SIM_COLLECTIVE || w->kind == SIM_TRANSFER) {
			*ref = sim_last_arrival(p->sim, w->operand, run);
			return w;
		}
		*ref = w->kind == SIM_AT      ? NOTHING
		       : w->kind == SIM_OTHER ? program->far[w->operand]
		       : w->kind == SIM_FAR   ? SIM_REF(rank, program->far[w->operand])
					      : SIM_REF(rank, part->block->first + w->operand);
		from = w->kind == SIM_AT ? NULL : find_part(p, *ref, &slot);
		if (from)
			when_ns = time_at(from, run, slot);
		if ((from || w->kind == SIM_AT) && when_ns > SIM_NEVER &&
		    fmt_add(when_ns, lag_ns) == t)
			return w;
		if (w->last)
			break;
	}
	return NULL;
}

/* Returns the kind of the event of a moment; FMT_CALL if it is not stored. */
static uint8_t kind_at(const struct path *p, uint64_t ref)
{
	uint32_t slot;
	const struct part *part = ref == NOTHING ? NULL : find_part(p, ref, &slot);

	return part ? kind_of(p, part->templates[slot / 2]) : FMT_CALL;
}

/* A moment on the path. */
struct moment {
	uint64_t ref;
	int64_t at_ns; /* on the common clock */
	uint32_t template;
};

/* Sets *ret to a moment of a run. Returns 0 if it is not stored. */
static int find_moment(const struct path *p, uint32_t run, uint64_t ref, struct moment *ret)
{
	uint32_t slot;
	const struct part *part = ref == NOTHING ? NULL : find_part(p, ref, &slot);

	if (!part)
		return 0;
	*ret = (struct moment){
		.ref = ref,
		.at_ns = fmt_sub(time_at(part, run, slot), p->ranks[SIM_REF_RANK(ref)].clock_ns),
		.template = part->templates[slot / 2],
	};
	return 1;
}

/* Finds the moment before one on the path, or NOTHING, and the kind of the time between them. */
static int step_back(struct path *p, uint32_t run, uint64_t ref, uint64_t *before,
		     enum path_kind *kind)
{
	uint32_t rank = SIM_REF_RANK(ref), slot, at;
	struct part *part = find_part(p, ref, &slot);
	const struct sim_wait *w;

	*before = NOTHING;
	if (list_slots(p, part) < 0)
		return -ENOMEM;
	at = part->by_slot[slot] & ~INSIDE;
	w = find_cause(p, run, rank, part, at, before);
	*kind = path_kind_before(kind_of(p, part->templates[slot / 2]), slot & 1,
				 (part->by_slot[slot] & INSIDE) != 0, w,
				 w ? kind_at(p, *before) : 0);
	if (!w) {
		*before = moment_before(&p->ranks[rank], part, at);
		if (*before != NOTHING)
			*before = SIM_REF(rank, *before);
	}
	return 0;
}

/* Returns the name for the time between two events: of the earlier one, if it fills the device,
 * else of the later one. */
static fmt_str name_of(const struct path *p, uint32_t template, enum path_kind kind)
{
	const struct fmt_template *t = fmt_template(p->names, template);
	int64_t op = 0;

	if (kind == PATH_NETWORK)
		fmt_template_const(p->names, t, FMT_KEY_OP, &op);
	return op ? (fmt_str)op : t->name;
}

/* Adds time to the totals, and to those of the kind and the template. */
static void add_time(struct path_summary *s, int64_t *sums, uint32_t run, uint32_t rank,
		     enum path_kind kind, uint32_t template, int64_t ns)
{
	sums[(size_t) template * PATH_KINDS + kind] += ns;
	s->kinds_ns[run * PATH_KINDS + kind] += ns;
	s->total_ns[run] += ns;
	if (kind <= PATH_NETWORK)
		s->ranks_ns[(size_t)run * s->n_ranks + rank] += ns;
}

/* Follows the path of a run back from the end of a rank's last iteration to the start of its first.
 * The sums are by template, then kind; those without a template come last. */
static int follow_path(struct path *p, uint32_t run, uint32_t rank, int64_t *sums,
		       struct path_summary *s)
{
	const struct span *span = &p->ranks[rank].spans[run];
	struct moment t, before = {0};
	int known = find_moment(p, run, SIM_REF(rank, span->last), &t);

	if (known)
		add_time(s, sums, run, rank, PATH_HOST, fmt_n_templates(p->names),
			 fmt_sub(span->end_ns, t.at_ns));
	while (known && t.at_ns > span->start_ns) {
		enum path_kind kind;
		uint64_t from;
		int64_t since = span->start_ns;
		uint32_t of;

		if (step_back(p, run, t.ref, &from, &kind) < 0)
			return -ENOMEM;
		known = find_moment(p, run, from, &before);
		if (known && before.at_ns > since)
			since = before.at_ns;
		/* A kernel that fills the device delays the later one. */
		of = known && kind == PATH_GPU && SIM_REF_MOMENT(t.ref) % 2 == 0 ? before.template
										 : t.template;
		add_time(s, sums, run, SIM_REF_RANK(t.ref), kind, of, fmt_sub(t.at_ns, since));
		t = before;
	}
	return 0;
}

/* Adds the sums of a run to the rows, and clears them. */
static int add_rows(const struct path *p, uint32_t run, int64_t *sums, struct path_summary *s)
{
	uint32_t n = fmt_n_templates(p->names);

	for (size_t i = 0; i < (n + 1ul) * PATH_KINDS; i++) {
		uint32_t template = (uint32_t)(i / PATH_KINDS);
		enum path_kind kind = (enum path_kind)(i % PATH_KINDS);
		struct path_row *row;

		if (sums[i] == 0)
			continue;
		row = template == n ? path_summary_row(s, kind, 0, 0)
				    : path_summary_row(s, kind, kind_of(p, template) == FMT_KERNEL,
						       name_of(p, template, kind));
		if (!row)
			return -ENOMEM;
		row->ns[run] += sums[i];
		sums[i] = 0;
	}
	return 0;
}

/* Returns the rank whose last iteration ends last; p->n_ranks if none has one. */
static uint32_t last_rank(const struct path *p, uint32_t run)
{
	uint32_t best = p->n_ranks;

	for (uint32_t i = 0; i < p->n_ranks; i++) {
		const struct span *a = &p->ranks[i].spans[run];
		const struct span *b = best < p->n_ranks ? &p->ranks[best].spans[run] : NULL;

		if (a->last != NOTHING && (!b || a->number > b->number ||
					   (a->number == b->number && a->end_ns > b->end_ns)))
			best = i;
	}
	return best;
}

int path_follow(struct path *p)
{
	scoped(path_summary_done) struct path_summary s = {0};
	scoped(free_ptr) int64_t *sums =
		calloc((fmt_n_templates(p->names) + 1ul) * PATH_KINDS, sizeof(*sums));
	int r = sums ? path_summary_init(&s, p->n_runs, p->n_ranks) : -ENOMEM;

	for (uint32_t run = 0; r == 0 && run < p->n_runs; run++) {
		uint32_t rank = last_rank(p, run);

		if (rank == p->n_ranks)
			continue;
		if (run == 0)
			s.n_iterations = p->ranks[rank].n_iterations;
		r = follow_path(p, run, rank, sums, &s) ?: add_rows(p, run, sums, &s);
	}
	if (r < 0)
		return r;
	path_summary_sort(&s);
	p->summary = s;
	s = (struct path_summary){0};
	return 0;
}

struct path_summary path_take(struct path *p)
{
	struct path_summary s = p->summary;

	p->summary = (struct path_summary){0};
	return s;
}
