/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/rank_events.h"

#include "base/array.h"
#include "base/scope.h"

/* Average moves for each event, after the first MOST_MOVES_AT_START; beyond that, sorting is
 * faster. */
#define MOST_MOVES 8
#define MOST_MOVES_AT_START 4096

/* Events of a track are prefetched: they are far apart in the order of the process. */
#define FETCHED 24

/* The events on their way to their ranks. */
struct adding {
	struct rec_segment *segment;
	const struct rec_ranks *ranks;
	struct rec_process *const *processes;
	size_t n;
	uint32_t *first_value; /* owned: of each process, the offset of its values */
};

static void adding_done(struct adding *a)
{
	free(a->first_value);
}

/* Finds the rank's track for a track of the process, or adds it. */
static int find_track(const struct rec_segment *s, uint32_t rank, struct rec_process *p,
		      uint32_t track, uint32_t *ret)
{
	struct rec_track *l = &p->tracks[track];
	const struct fmt_track named = {.kind = l->kind,
					.pid = l->kind == FMT_STREAM ? l->device : p->pid,
					.tid = l->number,
					.name = l->name};
	int r = 0;

	if (l->rank != rank + 1)
		r = fmt_names_track(s->run.names, rank, &named, &l->index);
	if (r < 0)
		return r;
	l->rank = rank + 1;
	*ret = l->index;
	return 0;
}

static bool is_message(const struct fmt_names *names, const struct fmt_template *template)
{
	int64_t peers;

	return fmt_template_const(names, template, FMT_KEY_TO, &peers) ||
	       fmt_template_const(names, template, FMT_KEY_FROM, &peers);
}

/* Counts a collective before the window, unless it is a message. */
static int count_skipped(const struct rec_process *process, const struct rec_event *e,
			 struct rec_skipped *to)
{
	const struct fmt_template *template = fmt_template(process->names, e->template);
	int64_t comm = process->values[e->first_value + FMT_COLLECTIVE_COMM];

	if (comm < 0 || is_message(process->names, template))
		return 0;
	if (array_reserve(&to->counts, (size_t)comm + 1, &to->cap) < 0)
		return -ENOMEM;
	while (to->n <= (size_t)comm)
		to->counts[to->n++] = 0;
	to->counts[comm]++;
	return 0;
}

/* Returns 1 if the rank keeps the event, which is in the segment; 0 if it is outside of the window,
 * or an operation without times. */
static int is_kept(const struct rec_segment_rank *of, const struct rec_process *process,
		   const struct rec_event *e)
{
	int64_t at_ns = rec_launch_time(process, e);

	if (FMT_IS_OP(e->kind) && e->duration_ns == REC_NO_TIME)
		return 0;
	if (at_ns >= of->first_ns || e->keeps)
		return at_ns < of->last_ns;
	return e->kind == FMT_COLLECTIVE ? count_skipped(process, e, of->skipped) : 0;
}

/* ---- by rank and track */

/* An event of a process. */
struct item {
	struct rec_event *of;
	uint32_t process;
};

/* The events of a track. */
struct list {
	struct item *items; /* owned */
	size_t n, cap;
	size_t moves;	  /* by insertions */
	bool is_unsorted; /* too many moves */
};

/* By rank. */
struct lists {
	struct list *of_track; /* owned */
	size_t n, cap;
};

struct all_lists {
	struct lists *lists; /* owned */
	uint32_t n;
};

static void lists_done(struct all_lists *l)
{
	for (uint32_t i = 0; l->lists && i < l->n; i++) {
		for (size_t k = 0; k < l->lists[i].n; k++)
			free(l->lists[i].of_track[k].items);
		free(l->lists[i].of_track);
	}
	free(l->lists);
}

/* Nested calls sort after the enclosing call; on a stream, an operation without duration sorts
 * before the next. */
static int compare_events(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const struct rec_event *e = x->of, *f = y->of;
	int longer = array_order(f->duration_ns, e->duration_ns);

	return array_order(e->start_ns, f->start_ns) ?: (FMT_IS_OP(e->kind) ? -longer : longer)
	       ?: array_order(e->correlation, f->correlation)
	       ?: array_order(x->process, y->process) ?: array_order(e, f);
}

/* The events of a track are in the order in which their calls ended. Most are sorted; an outer call
 * belongs a few places before. */
static int insert_item(struct list *list, const struct item *item)
{
	struct item *at;

	if (array_reserve(&list->items, list->n + 1, &list->cap) < 0)
		return -ENOMEM;
	at = list->items + list->n++;
	for (; !list->is_unsorted && at > list->items && compare_events(at - 1, item) > 0; at--) {
		list->is_unsorted = ++list->moves > MOST_MOVES * list->n + MOST_MOVES_AT_START;
		*at = at[-1];
	}
	*at = *item;
	return 0;
}

/* Adds an event to the list of its track, unless it is left out. */
static int add_item(const struct adding *a, struct all_lists *l, const struct item *item)
{
	struct rec_process *p = a->processes[item->process];
	uint32_t rank = rec_rank_of(a->ranks, p, item->of), track;
	struct lists *of;
	int r;

	if (rank == REC_NONE || rec_launch_time(p, item->of) >= a->segment->ranks[rank].to_ns)
		return 0;
	r = is_kept(&a->segment->ranks[rank], p, item->of);
	if (r == 1)
		r = find_track(a->segment, rank, p, item->of->track, &track) ?: 1;
	if (r <= 0)
		return r;
	of = &l->lists[rank];
	if (array_reserve(&of->of_track, (size_t)track + 1, &of->cap) < 0)
		return -ENOMEM;
	while (of->n <= track)
		of->of_track[of->n++] = (struct list){0};
	return insert_item(&of->of_track[track], item);
}

/* Sorts the events of each track. */
static int sort_events(const struct adding *a, const uint32_t *ends, struct all_lists *l)
{
	int r = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		struct rec_process *p = a->processes[i];

		for (size_t k = 0; k < p->n_events && r == 0; k++) {
			p->events[k].index = REC_NONE;
			if (k < ends[i])
				r = add_item(a, l, &(struct item){&p->events[k], i});
		}
	}
	for (uint32_t i = 0; i < l->n && r == 0; i++)
		for (size_t k = 0; k < l->lists[i].n; k++) {
			struct list *list = &l->lists[i].of_track[k];

			if (list->is_unsorted)
				qsort(list->items, list->n, sizeof(*list->items), compare_events);
		}
	return r;
}

/* ---- events of the run */

/* Joins the values of several processes; the ranks share them. */
static int join_values(struct adding *a)
{
	struct rec_segment *s = a->segment;
	size_t n = 0;

	a->first_value = calloc(a->n + 1, sizeof(*a->first_value));
	for (size_t i = 0; i < a->n && a->first_value; i++) {
		a->first_value[i] = (uint32_t)n;
		n += a->processes[i]->n_values;
	}
	if (n > UINT32_MAX)
		return -EOVERFLOW;
	s->borrows_values = a->n == 1;
	s->values = a->n == 1 ? a->processes[0]->values : malloc((n + 1) * sizeof(*s->values));
	if (!a->first_value || (!s->values && n > 0))
		return -ENOMEM;
	for (size_t i = 0; a->n > 1 && i < a->n; i++)
		if (a->processes[i]->n_values > 0)
			memcpy(s->values + a->first_value[i], a->processes[i]->values,
			       a->processes[i]->n_values * sizeof(*s->values));
	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		s->run.ranks[i].values = s->values;
		s->run.ranks[i].n_values = n;
	}
	return 0;
}

static void add_event(const struct adding *a, const struct item *item, uint32_t rank,
		      uint32_t track)
{
	struct fmt_run_rank *run = &a->segment->run.ranks[rank];
	struct fmt_rank_data *part = &a->segment->parts[rank];
	struct rec_event *e = item->of;
	struct fmt_event *to = &run->events[run->n_events];

	*to = (struct fmt_event){.start_ns = e->start_ns,
				 .duration_ns = e->duration_ns,
				 .correlation = e->correlation,
				 .template = e->template,
				 .track = track,
				 .first_value = a->first_value[item->process] + e->first_value};
	if (item->process != a->ranks->ranks[rank].process)
		to->correlation = 0; /* correlations are only unique within one process */
	e->index = (uint32_t)run->n_events;
	part->call_of[run->n_events++] = e->call;
	fmt_rank_data_extend(part, to);
}

static int add_events(const struct adding *a, const struct lists *l, uint32_t rank)
{
	struct fmt_run_rank *run = &a->segment->run.ranks[rank];
	struct fmt_rank_data *part = &a->segment->parts[rank];
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->of_track[i].n;
	if (n >= FMT_RUN_NONE)
		return -EOVERFLOW;
	run->events = malloc((n + 1) * sizeof(*run->events));
	part->call_of = malloc((n + 1) * sizeof(*part->call_of));
	if (!run->events || !part->call_of)
		return -ENOMEM;
	for (uint32_t track = 0; track < l->n; track++)
		for (size_t i = 0; i < l->of_track[track].n; i++) {
			const struct item *item = &l->of_track[track].items[i];

			if (i + FETCHED < l->of_track[track].n)
				__builtin_prefetch(item[FETCHED].of, 1);
			add_event(a, item, rank, track);
		}
	return 0;
}

/* Turns the calls of operations from events of their process into those of the rank. */
static void find_calls(const struct adding *a, const struct lists *l, uint32_t *call_of)
{
	for (size_t track = 0; track < l->n; track++)
		for (size_t i = 0; i < l->of_track[track].n; i++, call_of++) {
			uint32_t process = l->of_track[track].items[i].process;
			const struct rec_event *events = a->processes[process]->events;

			if (i + FETCHED < l->of_track[track].n && call_of[FETCHED] != FMT_RUN_NONE)
				__builtin_prefetch(&events[call_of[FETCHED]].index);
			if (*call_of != FMT_RUN_NONE)
				*call_of = events[*call_of].index;
		}
}

static int distribute_events(struct adding *a, const uint32_t *ends)
{
	struct rec_segment *s = a->segment;
	scoped(lists_done) struct all_lists l = {.n = s->run.n_ranks};
	int r;

	l.lists = calloc(l.n + (size_t)1, sizeof(*l.lists));
	r = l.lists ? sort_events(a, ends, &l) : -ENOMEM;
	if (r == 0)
		r = join_values(a);
	for (uint32_t i = 0; i < l.n && r == 0; i++)
		r = add_events(a, &l.lists[i], i);
	for (uint32_t i = 0; i < l.n && r == 0; i++)
		find_calls(a, &l.lists[i], s->parts[i].call_of);
	return r;
}

/* ---- ranges, and all */

static int add_ranges(struct rec_segment *s, const struct rec_ranks *ranks, struct rec_process *p)
{
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct rec_event *e = &p->ranges[i];
		uint32_t rank = rec_rank_of(ranks, p, e);
		struct fmt_event made = {.start_ns = e->start_ns,
					 .duration_ns = e->duration_ns,
					 .template = e->template};
		struct fmt_rank_data *part;
		int r;

		if (rank == REC_NONE || e->start_ns >= s->ranks[rank].to_ns ||
		    e->start_ns < s->ranks[rank].first_ns || e->start_ns >= s->ranks[rank].last_ns)
			continue;
		part = &s->parts[rank];
		r = find_track(s, rank, p, e->track, &made.track);
		if (r == 0 &&
		    array_reserve(&part->ranges, part->n_ranges + 1, &part->ranges_cap) < 0)
			r = -ENOMEM;
		if (r < 0)
			return r;
		part->ranges[part->n_ranges++] = made;
		fmt_rank_data_extend(part, &made);
	}
	return 0;
}

int rec_rank_events_add(struct rec_segment *s, struct rec_process *const *processes, size_t n,
			const uint32_t *ends, const struct rec_plan *plan, uint64_t *unmatched)
{
	scoped(adding_done) struct adding a = {s, &plan->ranks, processes, n, NULL};
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = rec_pairing_apply(&plan->pairing, processes[i], ends[i], unmatched);
	if (r == 0)
		r = distribute_events(&a, ends);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = add_ranges(s, &plan->ranks, processes[i]);
		if (r == 0)
			r = rec_rank_add_digests(s, plan, processes[i]);
	}
	for (uint32_t i = 0; i < s->run.n_ranks && r == 0; i++)
		fmt_rank_data_sort(&s->parts[i]);
	return r;
}
