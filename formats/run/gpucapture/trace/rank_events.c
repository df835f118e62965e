/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/rank_events.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_MOVES 8 /* average moves for each event; beyond that, sorting is faster */

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
		r = fmt_names_track(p->run->names, rank, &named, &known->track);
	if (r < 0)
		return r;
	known->rank = rank + 1;
	*ret = known->track;
	return 0;
}

/* Finds the rank and its track. Returns 0 if the event is left out. */
static int find_track(struct rec_rank_events *p, const struct rec_process *process,
		      const struct rec_event *e, uint32_t *rank, uint32_t *track)
{
	int r;

	*rank = rec_rank_of(p->ranks, process, e);
	if (*rank == REC_NONE || (FMT_IS_OP(e->kind) && e->duration_ns == REC_NO_TIME))
		return 0;
	r = rec_rank_events_track(p, *rank, process, e->track, track);
	return r < 0 ? r : 1;
}

/* ---- by rank and track */

/* An event of a process. */
struct source {
	uint32_t process, event;
};

/* The events of a track. */
struct list {
	struct source *events; /* owned */
	size_t n, cap;
};

struct lists {
	struct list *of_track; /* owned */
	size_t n, cap;
};

/* By rank. */
struct all_lists {
	struct lists *lists; /* owned */
	uint32_t n;
};

static void lists_done(struct all_lists *l)
{
	for (uint32_t i = 0; l->lists && i < l->n; i++) {
		for (size_t k = 0; k < l->lists[i].n; k++)
			free(l->lists[i].of_track[k].events);
		free(l->lists[i].of_track);
	}
	free(l->lists);
}

static int append(struct lists *l, uint32_t track, struct source event)
{
	struct list *list;

	if (array_reserve(&l->of_track, (size_t)track + 1, &l->cap) < 0)
		return -ENOMEM;
	while (l->n <= track)
		l->of_track[l->n++] = (struct list){0};
	list = &l->of_track[track];
	if (array_reserve(&list->events, list->n + 1, &list->cap) < 0)
		return -ENOMEM;
	list->events[list->n++] = event;
	return 0;
}

/* Lists the events that are not left out. */
static int list_events(struct rec_rank_events *p, struct all_lists *l)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rec_process *process = p->processes[i];
		size_t end = p->ends ? p->ends[i] : process->n_events;

		for (uint32_t k = 0; k < end; k++) {
			uint32_t rank, track;
			int r = find_track(p, process, &process->events[k], &rank, &track);

			if (r == 1)
				r = append(&l->lists[rank], track, (struct source){(uint32_t)i, k});
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Nested calls sort after the enclosing call; on a stream, an operation without duration sorts
 * before the next. */
static int compare(const void *a, const void *b, void *places)
{
	const struct rec_rank_events *p = places;
	const struct source *x = a, *y = b;
	const struct rec_event *e = &p->processes[x->process]->events[x->event];
	const struct rec_event *f = &p->processes[y->process]->events[y->event];
	int longer = array_order(f->duration_ns, e->duration_ns);

	return array_order(e->start_ns, f->start_ns) ?: (FMT_IS_OP(e->kind) ? -longer : longer)
	       ?: array_order(e->correlation, f->correlation)
	       ?: array_order(x->process, y->process) ?: array_order(x->event, y->event);
}

/* The events of a track are in the order in which their calls ended. Most are sorted; an outer call
 * belongs a few places before. */
static void sort(struct rec_rank_events *p, struct list *l)
{
	size_t i, moves = 0;

	for (i = 1; i < l->n && moves <= MOST_MOVES * l->n; i++) {
		struct source event = l->events[i];
		size_t k = i;

		for (; k > 0 && compare(&l->events[k - 1], &event, p) > 0; k--)
			l->events[k] = l->events[k - 1];
		l->events[k] = event;
		moves += i - k;
	}
	if (i < l->n)
		qsort_r(l->events, l->n, sizeof(*l->events), compare, p);
}

/* ---- events of the run */

static int add_event(struct rec_rank_events *p, const struct source *s, uint32_t track,
		     uint32_t rank, size_t *cap)
{
	struct fmt_run_rank *run = &p->run->ranks[rank];
	const struct rec_process *process = p->processes[s->process];
	const struct rec_event *e = &process->events[s->event];
	uint32_t n_values = fmt_template(p->run->names, e->template)->n_values;
	struct fmt_event *to = &run->events[run->n_events];

	if (run->n_values + n_values > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&run->values, run->n_values + n_values, cap) < 0)
		return -ENOMEM;
	*to = (struct fmt_event){.start_ns = e->start_ns,
				 .duration_ns = e->duration_ns,
				 .correlation = e->correlation,
				 .template = e->template,
				 .track = track,
				 .first_value = (uint32_t)run->n_values};
	if (process->index != p->ranks->ranks[rank].process)
		to->correlation = 0; /* correlations are only unique within one process */
	if (n_values > 0)
		memcpy(run->values + run->n_values, process->values + e->first_value,
		       n_values * sizeof(*run->values));
	run->n_values += n_values;
	*rec_rank_event_index(p, process, s->event) = (uint32_t)run->n_events;
	p->parts[rank].keeps[run->n_events++] = e->keeps;
	fmt_run_part_extend(&p->parts[rank], to);
	return 0;
}

static int add_events(struct rec_rank_events *p, struct lists *l, uint32_t rank)
{
	struct fmt_run_rank *run = &p->run->ranks[rank];
	size_t n = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->of_track[i].n;
	run->events = malloc((n + 1) * sizeof(*run->events));
	p->parts[rank].keeps = malloc(n + 1);
	if (!run->events || !p->parts[rank].keeps)
		return -ENOMEM;
	for (uint32_t track = 0; track < l->n; track++) {
		const struct list *list = &l->of_track[track];

		sort(p, &l->of_track[track]);
		for (size_t i = 0; i < list->n && r == 0; i++)
			r = add_event(p, &list->events[i], track, rank, &cap);
	}
	return r;
}

static int find_calls(struct rec_rank_events *p, const struct lists *l, uint32_t rank)
{
	uint32_t *call_of = malloc((p->run->ranks[rank].n_events + 1) * sizeof(*call_of));
	size_t n = 0;

	if (!call_of)
		return -ENOMEM;
	for (size_t track = 0; track < l->n; track++)
		for (size_t i = 0; i < l->of_track[track].n; i++) {
			const struct source *s = &l->of_track[track].events[i];
			const struct rec_process *process = p->processes[s->process];
			uint32_t call = process->events[s->event].call;

			call_of[n++] = call == REC_NONE ? FMT_RUN_NONE
							: *rec_rank_event_index(p, process, call);
		}
	p->parts[rank].call_of = call_of;
	return 0;
}

/* ---- all events */

static int allocate(struct rec_rank_events *p)
{
	size_t n = 0;

	p->first = calloc(p->n + 1, sizeof(*p->first));
	p->tracks = calloc(p->n + 1, sizeof(*p->tracks));
	if (!p->first || !p->tracks)
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

int rec_rank_events_new(struct rec_process *const *processes, size_t n, const uint32_t *ends,
			const struct rec_ranks *ranks, struct fmt_run *run,
			struct fmt_run_part *parts, struct rec_rank_events *ret)
{
	scoped(lists_done) struct all_lists l = {.n = run->n_ranks};
	int r;

	*ret = (struct rec_rank_events){.processes = processes,
					.ends = ends,
					.ranks = ranks,
					.run = run,
					.parts = parts,
					.n = n};
	l.lists = calloc(run->n_ranks + (size_t)1, sizeof(*l.lists));
	r = l.lists ? allocate(ret) : -ENOMEM;
	if (r == 0)
		r = list_events(ret, &l);
	for (uint32_t i = 0; i < run->n_ranks && r == 0; i++)
		r = add_events(ret, &l.lists[i], i);
	for (uint32_t i = 0; i < run->n_ranks && r == 0; i++)
		r = find_calls(ret, &l.lists[i], i);
	return r;
}
