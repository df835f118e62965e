/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/path.h"

#include "replay/clock/cause.h"

#include "formats/trace/wrap.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/scope.h"

#include <stdalign.h>

#define NOTHING SIM_REF_MASK /* no earlier moment */

/* A time, and the time before it on the path. */
struct time {
	int64_t at_ns; /* on the common clock */
	uint64_t from; /* SIM_REF, or NOTHING; the kind of the time in between in the highest 4 bits
			*/
};

/* A slice. */
struct part {
	uint64_t first; /* moment */
	uint32_t n_slots;
	uint32_t *templates; /* of its events */
	struct time *times;  /* by run, then slot */
};

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
	uint64_t *last; /* by track: moment of its last point, or NOTHING */
	struct span *spans;
	uint64_t last_within; /* as the function returned for the last iteration */
	int64_t n_iterations;
	int64_t clock_ns;
};

struct path {
	struct arena arena; /* of the parts' arrays */
	const struct fmt_names *names;
	struct path_rank *ranks;
	uint32_t n_ranks, n_runs;
	uint8_t *kinds; /* of the events of the current slice */
	size_t kinds_cap;
};

void path_free(struct path *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; p->ranks && i < p->n_ranks; i++) {
		struct path_rank *r = &p->ranks[i];

		free(r->parts);
		free(r->last);
		free(r->spans);
	}
	free(p->ranks);
	free(p->kinds);
	arena_done(&p->arena);
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
		uint32_t n = fmt_n_tracks(names, source[i]);

		r->n_tracks = n;
		r->first = first[i];
		r->last = malloc((n + 1ul) * sizeof(*r->last));
		r->spans = calloc(n_runs, sizeof(*r->spans));
		if (!r->last || !r->spans)
			return -ENOMEM;
		memset(r->last, 0xff, n * sizeof(*r->last));
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

/* Returns the kind of an operation's duration. */
static enum path_kind work_kind(uint8_t kind)
{
	return kind == FMT_COLLECTIVE ? PATH_NETWORK : kind == FMT_MEMCPY ? PATH_COPY : PATH_GPU;
}

/* Returns the kind of the time before a point: `end` of its event, of the kind `kind`, `inside`
 * another call, determined by the wait, if any; `from`: the kind of the event that it waited
 * for. */
static enum path_kind before_point(uint8_t kind, int end, int inside, const struct sim_wait *w,
				   uint8_t from)
{
	if (FMT_IS_OP(kind) && end)
		return work_kind(kind);
	if (FMT_IS_OP(kind))
		return !w		   ? PATH_GAP
		       : w->kind == SIM_AT ? PATH_START
		       : !FMT_IS_OP(from)  ? PATH_LATENCY
		       : w->scale	   ? PATH_GPU
					   : PATH_GAP;
	if (end)
		return w ? PATH_BLOCKING : PATH_LAUNCH;
	return inside ? PATH_LAUNCH : w && w->kind == SIM_AT ? PATH_START : PATH_HOST;
}

/* A block in one run. */
struct recording {
	const struct sim *sim;
	const struct sim_block *b;
	const uint8_t *kinds; /* of its events */
	const int64_t *times;
	struct time *to;
	int64_t clock_ns;
	uint32_t rank, run;
};

/* Returns the kind of the event of a moment; FMT_KERNEL in an earlier slice. */
static uint8_t kind_at(const struct recording *r, uint64_t ref)
{
	uint64_t slot = SIM_REF_MOMENT(ref) - r->b->first;

	return slot < r->b->n_slots ? r->kinds[slot / 2] : FMT_CALL;
}

static inline void record_point(const struct recording *r, uint32_t at, uint64_t before, int inside)
{
	const struct sim_point *point = &r->b->program->points[at];
	uint32_t slot = point->slot;
	uint64_t ref = before;
	const struct sim_wait *w =
		point->wait == SIM_NONE ? NULL
					: sim_find_cause(r->sim, r->rank, r->b, at, r->run, &ref);
	enum path_kind kind = before_point(r->kinds[slot / 2], slot & 1, inside, w,
					   w && w->kind != SIM_AT ? kind_at(r, ref) : 0);

	if (!w)
		ref = before == NOTHING ? NOTHING : SIM_REF(r->rank, before);
	else if (w->kind == SIM_AT)
		ref = NOTHING;
	r->to[slot] = (struct time){
		.at_ns = fmt_sub(r->times[slot], r->clock_ns),
		.from = ref | (uint64_t)kind << 60,
	};
}

/* Records the points of a track. Those of a thread are nested. */
static void record_track(struct recording r, const struct sim_range *range, uint64_t before)
{
	int depth = 0;

	for (uint32_t at = range->at; at < range->end; at++) {
		uint32_t slot = r.b->program->points[at].slot;

		record_point(&r, at, before, depth > 0);
		depth += slot & 1 ? -1 : 1;
		before = r.b->first + slot;
	}
}

/* Remembers the last point of each track for the next slice. */
static void keep_last(struct path_rank *r, const struct sim_block *b)
{
	for (uint32_t i = 0; i < r->n_tracks; i++)
		if (b->ranges[i].at < b->ranges[i].end)
			r->last[i] = b->first + b->program->points[b->ranges[i].end - 1].slot;
}

int path_add_block(struct path *p, const struct sim *sim, uint32_t rank,
		   const struct fmt_slice *slice, const struct sim_block *b)
{
	struct path_rank *r = &p->ranks[rank];
	struct part part = {.first = b->first, .n_slots = b->n_slots};

	if (slice->index < r->first) {
		keep_last(r, b);
		return 0;
	}
	if (array_reserve(&r->parts, r->n_parts + 1, &r->cap) < 0 ||
	    array_reserve(&p->kinds, slice->n_events, &p->kinds_cap) < 0)
		return -ENOMEM;
	part.templates = arena_take(&p->arena, (b->n_slots / 2 + 1ul) * sizeof(*part.templates),
				    alignof(uint32_t));
	part.times =
		arena_take(&p->arena, ((size_t)b->n_slots * p->n_runs + 1) * sizeof(*part.times),
			   alignof(struct time));
	if (!part.templates || !part.times)
		return -ENOMEM;
	if (r->n_parts == 0)
		r->clock_ns = sim_clock_ns(sim, rank);
	r->parts[r->n_parts++] = part;
	for (size_t i = 0; i < slice->n_events; i++) {
		part.templates[i] = slice->events[i].template;
		p->kinds[i] = kind_of(p, part.templates[i]);
	}
	for (uint32_t run = 0; run < p->n_runs; run++) {
		struct recording recording = {
			.sim = sim,
			.b = b,
			.kinds = p->kinds,
			.times = run == 0 ? b->times : b->variants + (run - 1) * (size_t)b->n_slots,
			.to = part.times + (size_t)run * b->n_slots,
			.clock_ns = r->clock_ns,
			.rank = rank,
			.run = run,
		};

		for (uint32_t i = 0; i < r->n_tracks; i++)
			record_track(recording, &b->ranges[i], r->last[i]);
	}
	keep_last(r, b);
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

static const struct time *find_time(const struct path *p, uint32_t run, uint64_t ref,
				    uint32_t *template)
{
	const struct path_rank *r = &p->ranks[SIM_REF_RANK(ref)];
	uint64_t moment = SIM_REF_MOMENT(ref);
	size_t i = array_bound(k, 0, r->n_parts, r->parts[k].first <= moment);
	const struct part *part = i > 0 ? &r->parts[i - 1] : NULL;

	if (!part || moment - part->first >= part->n_slots)
		return NULL;
	*template = part->templates[(moment - part->first) / 2];
	return &part->times[(size_t)run * part->n_slots + (moment - part->first)];
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
static void add(struct path_summary *s, int64_t *sums, uint32_t run, uint32_t rank,
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
static void follow(const struct path *p, uint32_t run, uint32_t rank, int64_t *sums,
		   struct path_summary *s)
{
	const struct span *span = &p->ranks[rank].spans[run];
	uint64_t ref = SIM_REF(rank, span->last);
	uint32_t template, earlier;
	const struct time *t = find_time(p, run, ref, &template);

	if (t)
		add(s, sums, run, rank, PATH_HOST, fmt_n_templates(p->names),
		    fmt_sub(span->end_ns, t->at_ns));
	while (t && t->at_ns > span->start_ns) {
		enum path_kind kind = (enum path_kind)(t->from >> 60);
		uint64_t from = t->from & SIM_REF_MASK;
		const struct time *before =
			from == NOTHING ? NULL : find_time(p, run, from, &earlier);
		int64_t since =
			before && before->at_ns > span->start_ns ? before->at_ns : span->start_ns;
		/* A kernel that fills the device delays the later one. */
		uint32_t of = before && kind == PATH_GPU && SIM_REF_MOMENT(ref) % 2 == 0 ? earlier
											 : template;

		add(s, sums, run, SIM_REF_RANK(ref), kind, of, fmt_sub(t->at_ns, since));
		ref = from;
		t = before;
		template = earlier;
	}
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

int path_finish(const struct path *p, struct path_summary *ret)
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
		follow(p, run, rank, sums, &s);
		r = add_rows(p, run, sums, &s);
	}
	if (r < 0)
		return r;
	path_summary_sort(&s);
	*ret = s;
	s = (struct path_summary){0};
	return 0;
}
