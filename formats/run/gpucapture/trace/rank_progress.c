/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/rank_progress.h"

#include "base/array.h"

static bool is_in_window(const struct rec_window *w, const struct fmt_iteration *of)
{
	return w->first < 0 || (of->number >= w->first && of->number <= w->last);
}

void rec_rank_progress_init(struct rec_rank_progress *p, const struct rec_iterations *of,
			    const struct rec_window *window)
{
	*p = (struct rec_rank_progress){
		.of = of, .first = of->all.n, .end = of->all.n, .from_ns = INT64_MIN};
	for (size_t i = 0; i < of->all.n; i++) {
		if (!is_in_window(window, &of->all.list[i]))
			continue;
		p->first = p->n_in_window++ == 0 ? i : p->first;
		p->end = i + 1;
	}
}

void rec_rank_progress_done(struct rec_rank_progress *p)
{
	free(p->skipped.counts);
}

int64_t rec_rank_progress_end(const struct rec_rank_progress *p, int64_t until_ns)
{
	const struct fmt_iterations *all = &p->of->all;
	size_t end = array_bound(i, p->next, all->n, all->list[i].start_ns <= until_ns);

	return end > p->next + 1 ? all->list[end - 1].start_ns : p->from_ns;
}

void rec_rank_progress_set_window(struct rec_rank_progress *p, const struct rec_window *window,
				  struct rec_segment_rank *ret)
{
	const struct fmt_iterations *all = &p->of->all;

	ret->skipped = &p->skipped;
	ret->first_ns = INT64_MIN;
	ret->last_ns = INT64_MAX;
	if (window->first < 0)
		return;
	ret->first_ns = p->first < p->end ? all->list[p->first].start_ns : INT64_MAX;
	if (p->first < p->end && !(p->end == all->n && rec_iterations_are_open(p->of)))
		ret->last_ns = all->list[p->end - 1].start_ns + all->list[p->end - 1].duration_ns;
}

/* Returns the first call that starts at that time; run->n_events: none. */
static size_t call_at(const struct fmt_names *names, const struct fmt_run_rank *run, int64_t at_ns)
{
	size_t i = 0;

	while (i < run->n_events &&
	       (run->events[i].start_ns != at_ns ||
		fmt_template(names, run->events[i].template)->kind != FMT_CALL))
		i++;
	return i;
}

/* Returns the end of the last repetition: where it stops repeating the one before, plus the rest of
 * that one's duration. Returns `otherwise` if they are not in the segment. */
static int64_t end_of_last(const struct fmt_names *names, const struct fmt_run_rank *run,
			   const int64_t starts_ns[2], int64_t otherwise)
{
	size_t before = call_at(names, run, starts_ns[0]), last = call_at(names, run, starts_ns[1]);
	const struct fmt_event *e = run->events;
	size_t same = 0;

	while (last + same < run->n_events && before + same < last &&
	       e[last + same].track == e[last].track &&
	       fmt_template(names, e[last + same].template)->name ==
		       fmt_template(names, e[before + same].template)->name)
		same++;
	return same > 0 ? e[last + same - 1].start_ns + e[last + same - 1].duration_ns +
				  starts_ns[1] - e[before + same - 1].start_ns -
				  e[before + same - 1].duration_ns
			: otherwise;
}

/* Extends the first iteration to the first event, if nothing marks its start. */
static void extend_first(const struct rec_rank_progress *p, struct fmt_iteration *first,
			 int64_t from_ns)
{
	if (p->of->method != REC_ITERATIONS_NONE || p->next > 0)
		return;
	first->duration_ns += first->start_ns - from_ns;
	first->start_ns = from_ns;
}

/* Extends the last iteration to the last event, if nothing marks its end. */
static void extend_last(const struct rec_rank_progress *p, const struct rec_segment *s,
			uint32_t rank, struct fmt_iteration *last)
{
	int64_t end_ns = last->start_ns + last->duration_ns;

	if (rec_iterations_are_open(p->of))
		end_ns = s->parts[rank].last_ns;
	else if (p->of->method == REC_ITERATIONS_REPEAT)
		end_ns = end_of_last(s->run.names, &s->run.ranks[rank], p->of->last_ns, end_ns);
	last->duration_ns = end_ns > last->start_ns ? end_ns - last->start_ns : 0;
}

static void extend_iterations(const struct rec_rank_progress *p, struct rec_segment *s,
			      uint32_t rank)
{
	struct fmt_run_rank *run = &s->run.ranks[rank];
	struct fmt_iteration *last = &run->iterations[run->n_iterations - 1];

	extend_first(p, run->iterations, s->parts[rank].first_ns);
	if (s->is_last && last->number == p->of->all.list[p->of->all.n - 1].number)
		extend_last(p, s, rank, last);
}

/* A segment within an iteration contains a part of it; one before the window, its part of the
 * prologue. */
static void add_part(const struct rec_rank_progress *p, struct rec_segment *s, uint32_t rank)
{
	const struct fmt_iteration *within = p->next > 0 ? &p->of->all.list[p->next - 1] : NULL;
	const struct fmt_rank_data *part = &s->parts[rank];
	struct fmt_run_rank *run = &s->run.ranks[rank];
	int64_t from_ns = p->from_ns == INT64_MIN ? part->first_ns : p->from_ns;
	int64_t to_ns = s->is_last ? part->last_ns : s->ranks[rank].to_ns;

	if (s->window->first >= 0 && p->next <= p->first) {
		from_ns = part->first_ns;
		to_ns = part->last_ns;
		within = NULL;
		if (run->n_events == 0)
			return;
	} else if (within && !is_in_window(s->window, within)) {
		return;
	}
	run->iterations[run->n_iterations++] =
		(struct fmt_iteration){.number = within ? within->number : FMT_BEFORE,
				       .start_ns = from_ns,
				       .duration_ns = to_ns > from_ns ? to_ns - from_ns : 0};
}

int rec_rank_progress_advance(struct rec_rank_progress *p, struct rec_segment *s, uint32_t rank)
{
	const struct fmt_iterations *all = &p->of->all;
	struct fmt_run_rank *run = &s->run.ranks[rank];
	struct rec_segment_rank *to = &s->ranks[rank];
	size_t end = array_bound(i, p->next, all->n, all->list[i].start_ns < to->to_ns);

	run->iterations = calloc(end - p->next + 1, sizeof(*run->iterations));
	if (!run->iterations)
		return -ENOMEM;
	if (to->to_ns == p->from_ns)
		return 0;
	for (size_t i = p->next; i < end; i++)
		if (is_in_window(s->window, &all->list[i]))
			run->iterations[run->n_iterations++] = all->list[i];
	if (run->n_iterations == 0)
		add_part(p, s, rank);
	else if (run->n_events + s->parts[rank].n_ranges > 0)
		extend_iterations(p, s, rank);
	to->has_before = p->next > 0 && is_in_window(s->window, &all->list[p->next - 1]);
	if (to->has_before)
		to->before = all->list[p->next - 1];
	p->next = end;
	p->from_ns = to->to_ns;
	return 0;
}
