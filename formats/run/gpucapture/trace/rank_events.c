/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/rank_events.h"

#include "base/array.h"
#include "base/scope.h"

/* Average moves for each event, after the first MOST_MOVES_AT_START; beyond that, sorting is
 * faster. */
#define MOST_MOVES 8
#define MOST_MOVES_AT_START 4096

/* Cache: the track of a rank that was last found for a track of the process. */
struct rec_rank_event_track {
	uint32_t rank; /* 1 + index; 0: none yet */
	uint32_t track;
};

void rec_rank_events_done(struct rec_rank_events *p)
{
	for (size_t i = 0; p->tracks && i < p->n; i++)
		free(p->tracks[i]);
	free(p->tracks);
	free(p->first);
	free(p->first_value);
	free(p->event_index);
	*p = (struct rec_rank_events){0};
}

uint32_t *rec_rank_event_index(const struct rec_rank_events *p, const struct rec_process *process,
			       uint32_t event)
{
	return &p->event_index[p->first[process->index] + event];
}

int rec_rank_events_track(struct rec_rank_events *p, uint32_t rank,
			  const struct rec_process *process, uint32_t track, uint32_t *ret)
{
	struct rec_rank_event_track *known = &p->tracks[process->index][track];
	const struct rec_track *l = &process->tracks[track];
	const struct fmt_track named = {.kind = l->kind,
					.pid = l->kind == FMT_STREAM ? l->device : process->pid,
					.tid = l->number,
					.name = l->name};
	int r = 0;

	if (known->rank != rank + 1)
		r = fmt_names_track(p->segment->run.names, rank, &named, &known->track);
	if (r < 0)
		return r;
	known->rank = rank + 1;
	*ret = known->track;
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
static int is_kept(const struct rec_rank_events *p, const struct rec_process *process,
		   const struct rec_event *e, uint32_t rank)
{
	const struct rec_segment_rank *of = &p->segment->ranks[rank];
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
	const struct rec_event *of;
	uint32_t process, event;
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
static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const struct rec_event *e = x->of, *f = y->of;
	int longer = array_order(f->duration_ns, e->duration_ns);

	return array_order(e->start_ns, f->start_ns) ?: (FMT_IS_OP(e->kind) ? -longer : longer)
	       ?: array_order(e->correlation, f->correlation)
	       ?: array_order(x->process, y->process) ?: array_order(x->event, y->event);
}

/* The events of a track are in the order in which their calls ended. Most are sorted; an outer call
 * belongs a few places before. */
static int insert_item(struct list *list, const struct item *item)
{
	struct item *at;

	if (array_reserve(&list->items, list->n + 1, &list->cap) < 0)
		return -ENOMEM;
	at = list->items + list->n++;
	for (; !list->is_unsorted && at > list->items && compare(at - 1, item) > 0; at--) {
		list->is_unsorted = ++list->moves > MOST_MOVES * list->n + MOST_MOVES_AT_START;
		*at = at[-1];
	}
	*at = *item;
	return 0;
}

/* Adds an event to the list of its track, unless it is left out. */
static int add_item(struct rec_rank_events *p, struct all_lists *l, const struct item *item)
{
	const struct rec_process *process = p->processes[item->process];
	uint32_t rank = rec_rank_of(p->ranks, process, item->of), track;
	struct lists *of;
	int r;

	if (rank == REC_NONE || rec_launch_time(process, item->of) >= p->segment->ranks[rank].to_ns)
		return 0;
	r = is_kept(p, process, item->of, rank);
	if (r == 1)
		r = rec_rank_events_track(p, rank, process, item->of->track, &track) ?: 1;
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
static int sort_events(struct rec_rank_events *p, struct all_lists *l)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct rec_process *process = p->processes[i];

		for (uint32_t k = 0; k < p->ends[i] && r == 0; k++)
			r = add_item(p, l, &(struct item){&process->events[k], i, k});
	}
	for (uint32_t i = 0; i < l->n && r == 0; i++)
		for (size_t k = 0; k < l->lists[i].n; k++) {
			struct list *list = &l->lists[i].of_track[k];

			if (list->is_unsorted)
				qsort(list->items, list->n, sizeof(*list->items), compare);
		}
	return r;
}

/* ---- events of the run */

/* Joins the values of several processes; the ranks share them. */
static int join_values(struct rec_rank_events *p)
{
	struct rec_segment *s = p->segment;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < p->n; i++) {
		p->first_value[i] = (uint32_t)n;
		n += p->processes[i]->n_values;
	}
	if (n > UINT32_MAX)
		return -EOVERFLOW;
	s->borrows_values = p->n == 1;
	s->values = p->n == 1 ? p->processes[0]->values : malloc((n + 1) * sizeof(*s->values));
	if (!s->values && n > 0)
		return -ENOMEM;
	for (size_t i = 0; p->n > 1 && i < p->n; at += p->processes[i++]->n_values)
		if (p->processes[i]->n_values > 0)
			memcpy(s->values + at, p->processes[i]->values,
			       p->processes[i]->n_values * sizeof(*s->values));
	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		s->run.ranks[i].values = s->values;
		s->run.ranks[i].n_values = n;
	}
	return 0;
}

static void add_event(struct rec_rank_events *p, const struct item *item, uint32_t rank,
		      uint32_t track)
{
	struct fmt_run_rank *run = &p->segment->run.ranks[rank];
	struct fmt_run_part *part = &p->segment->parts[rank];
	const struct rec_process *process = p->processes[item->process];
	const struct rec_event *e = item->of;
	struct fmt_event *to = &run->events[run->n_events];

	*to = (struct fmt_event){.start_ns = e->start_ns,
				 .duration_ns = e->duration_ns,
				 .correlation = e->correlation,
				 .template = e->template,
				 .track = track,
				 .first_value = p->first_value[item->process] + e->first_value};
	if (process->index != p->ranks->ranks[rank].process)
		to->correlation = 0; /* correlations are only unique within one process */
	*rec_rank_event_index(p, process, item->event) = (uint32_t)run->n_events;
	part->call_of[run->n_events++] = e->call == REC_NONE ? FMT_RUN_NONE : e->call;
	fmt_run_part_extend(part, to);
}

static int add_events(struct rec_rank_events *p, const struct lists *l, uint32_t rank)
{
	struct fmt_run_rank *run = &p->segment->run.ranks[rank];
	struct fmt_run_part *part = &p->segment->parts[rank];
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->of_track[i].n;
	run->events = malloc((n + 1) * sizeof(*run->events));
	part->call_of = malloc((n + 1) * sizeof(*part->call_of));
	if (!run->events || !part->call_of)
		return -ENOMEM;
	for (uint32_t track = 0; track < l->n; track++)
		for (size_t i = 0; i < l->of_track[track].n; i++)
			add_event(p, &l->of_track[track].items[i], rank, track);
	return 0;
}

/* Turns the calls of operations from events of their process into those of the rank. */
static void find_calls(const struct rec_rank_events *p, const struct lists *l, uint32_t *call_of)
{
	for (size_t track = 0; track < l->n; track++)
		for (size_t i = 0; i < l->of_track[track].n; i++, call_of++) {
			uint32_t process = l->of_track[track].items[i].process;

			if (*call_of != FMT_RUN_NONE)
				*call_of =
					*rec_rank_event_index(p, p->processes[process], *call_of);
		}
}

/* ---- all events */

static int allocate(struct rec_rank_events *p)
{
	size_t n = 0;

	p->first = calloc(p->n + 1, sizeof(*p->first));
	p->first_value = calloc(p->n + 1, sizeof(*p->first_value));
	p->tracks = calloc(p->n + 1, sizeof(*p->tracks));
	if (!p->first || !p->first_value || !p->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		const struct rec_process *process = p->processes[i];

		p->first[i] = (uint32_t)n;
		n += process->n_events;
		p->tracks[i] = calloc(process->n_tracks + 1, sizeof(**p->tracks));
		if (!p->tracks[i])
			return -ENOMEM;
	}
	if (n >= FMT_RUN_NONE)
		return -EOVERFLOW;
	p->event_index = malloc((n + 1) * sizeof(*p->event_index));
	if (p->event_index)
		memset(p->event_index, 0xff, n * sizeof(*p->event_index));
	return p->event_index ? 0 : -ENOMEM;
}

int rec_rank_events_add(struct rec_rank_events *p)
{
	struct rec_segment *s = p->segment;
	scoped(lists_done) struct all_lists l = {.n = s->run.n_ranks};
	int r;

	l.lists = calloc(l.n + (size_t)1, sizeof(*l.lists));
	r = l.lists ? allocate(p) : -ENOMEM;
	if (r == 0)
		r = sort_events(p, &l);
	if (r == 0)
		r = join_values(p);
	for (uint32_t i = 0; i < l.n && r == 0; i++)
		r = add_events(p, &l.lists[i], i);
	for (uint32_t i = 0; i < l.n && r == 0; i++)
		find_calls(p, &l.lists[i], s->parts[i].call_of);
	return r;
}
