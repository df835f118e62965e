/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/steps.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/iterations.h"
#include "formats/run_write.h"

#include <ctype.h>
#include <stdbool.h>

/* Where more iterations than this are found, one has at least so many calls and operations. */
#define MANY 4096
#define LEAST 1024

struct steps {
	struct fmt_iteration *steps;
	size_t n, cap;
};

static void steps_done(struct steps *s)
{
	free(s->steps);
}

static int append(struct steps *s, int64_t number, int64_t start_ns, int64_t end_ns)
{
	if (array_reserve(&s->steps, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->steps[s->n++] =
		(struct fmt_iteration){number, start_ns, end_ns > start_ns ? end_ns - start_ns : 0};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns);
}

/* ---- marks */

static int from_marks(struct steps *s, const struct rec_process *p, const struct fmt_run_part *part)
{
	int r = 0;

	for (size_t i = 0; i < p->n_marks && r == 0; i++)
		r = append(s, p->marks[i].number, p->marks[i].start_ns, 0);
	if (r < 0 || s->n == 0)
		return r;
	qsort(s->steps, s->n, sizeof(*s->steps), by_start);
	for (size_t i = 0; i < s->n; i++) {
		int64_t end = i + 1 < s->n ? s->steps[i + 1].start_ns : part->last_ns;

		s->steps[i].duration_ns =
			end > s->steps[i].start_ns ? end - s->steps[i].start_ns : 0;
	}
	return 0;
}

/* ---- ranges that are numbered: "step 4", "ProfilerStep#4" */

static bool is_numbered(const struct fmt_names *names, const struct fmt_event *e, size_t *prefix,
			int64_t *number)
{
	size_t len;
	const char *name = fmt_string(names, fmt_site(names, e->site)->name, &len);
	size_t at = len;

	while (at > 0 && isdigit((unsigned char)name[at - 1]))
		at--;
	if (at == len || at == 0 || len - at > 9)
		return false;
	*prefix = at;
	*number = strtoll(name + at, NULL, 10);
	return true;
}

/* Those that begin as the range `like` does, one after the other with rising numbers; what time
 * they cover, or -1. */
static int64_t collect(const struct fmt_names *names, const struct fmt_run_part *part,
		       const struct fmt_event *like, struct steps *s)
{
	const char *wanted = fmt_string(names, fmt_site(names, like->site)->name, NULL);
	int64_t number, wanted_number, covers = 0;
	size_t prefix, wanted_prefix;

	s->n = 0;
	is_numbered(names, like, &wanted_prefix, &wanted_number);
	for (size_t i = 0; i < part->n_ranges; i++) {
		const struct fmt_event *e = &part->ranges[i];
		const struct fmt_iteration *last = s->n > 0 ? &s->steps[s->n - 1] : NULL;

		if (!is_numbered(names, e, &prefix, &number) || prefix != wanted_prefix ||
		    strncmp(fmt_string(names, fmt_site(names, e->site)->name, NULL), wanted,
			    prefix) != 0)
			continue;
		if (last &&
		    (number <= last->number || e->start_ns < last->start_ns + last->duration_ns))
			return -1;
		if (append(s, number, e->start_ns, e->start_ns + e->duration_ns) < 0)
			return -1;
		covers += e->duration_ns;
	}
	return s->n < 2 ? -1 : covers;
}

static int from_ranges(struct steps *s, const struct fmt_names *names,
		       const struct fmt_run_part *part)
{
	const struct fmt_event *best = NULL;
	int64_t most = (part->last_ns - part->first_ns) / 4, number;
	size_t prefix, tried = 0;

	/* Whichever prefix covers the most; a run has few of them. */
	for (size_t i = 0; i < part->n_ranges && tried < 256; i++) {
		int64_t covers;

		if (!is_numbered(names, &part->ranges[i], &prefix, &number))
			continue;
		tried++;
		covers = collect(names, part, &part->ranges[i], s);
		if (covers > most) {
			most = covers;
			best = &part->ranges[i];
		}
	}
	s->n = 0;
	if (best)
		collect(names, part, best, s);
	return 0;
}

/* ---- repetition */

struct launch {
	int64_t at_ns;	/* start of the outermost call around the launch */
	uint32_t event; /* the operation */
	uint32_t call;	/* the outermost call */
};

static int by_launch(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return array_order(x->call, y->call) ?: array_order(x->event, y->event);
}

/* Calls of a lane stand in order, enclosing before enclosed. */
static uint32_t outermost(const struct fmt_run_rank *run, uint32_t call)
{
	const struct fmt_event *e = run->events, *inner = &e[call];
	uint32_t best = call;

	for (uint32_t i = call, back = 0; i-- > 0 && e[i].lane == inner->lane && back < 4096;
	     back++)
		if (e[i].start_ns + e[i].duration_ns >= inner->start_ns + inner->duration_ns)
			best = i;
		else if (e[i].start_ns + e[i].duration_ns <= inner->start_ns && best != call)
			break;
	return best;
}

/* The thread that launches most. */
static int busiest(const struct fmt_run_rank *run, const struct fmt_run_part *part, uint32_t *ret)
{
	uint32_t lanes = 0, best = 0;
	scoped(free_ptr) uint32_t *counts = NULL;

	for (size_t i = 0; i < run->n_events; i++)
		lanes = run->events[i].lane >= lanes ? run->events[i].lane + 1 : lanes;
	counts = calloc(lanes + (size_t)1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < run->n_events; i++)
		if (part->call_of[i] != FMT_RUN_NONE)
			counts[run->events[part->call_of[i]].lane]++;
	for (uint32_t i = 1; i < lanes; i++)
		best = counts[i] > counts[best] ? i : best;
	*ret = best;
	return 0;
}

static int list_launches(const struct fmt_run_rank *run, const struct fmt_run_part *part,
			 struct launch *list, size_t *n)
{
	uint32_t lane;
	int r = busiest(run, part, &lane);

	*n = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < run->n_events; i++) {
		uint32_t call = part->call_of[i];

		if (call == FMT_RUN_NONE || run->events[call].lane != lane)
			continue;
		list[(*n)++] = (struct launch){run->events[call].start_ns, (uint32_t)i, call};
	}
	if (*n > 0)
		qsort(list, *n, sizeof(*list), by_launch);
	return 0;
}

static int64_t end_of(const struct fmt_event *e)
{
	return e->start_ns + e->duration_ns;
}

/* When the last iteration ends: where it no longer does what the one before it did, with the time
 * that was left there. */
static int64_t end_of_last(const struct fmt_names *names, const struct fmt_run_rank *rank,
			   uint32_t before, uint32_t last)
{
	const struct fmt_event *e = rank->events;
	uint32_t same = 0;

	while (last + same < rank->n_events && before + same < last &&
	       e[last + same].lane == e[last].lane &&
	       fmt_site(names, e[last + same].site)->name ==
		       fmt_site(names, e[before + same].site)->name)
		same++;
	if (same == 0)
		return end_of(&e[last]);
	return end_of(&e[last + same - 1]) + e[last].start_ns - end_of(&e[before + same - 1]);
}

static int from_repetition(struct steps *s, const struct fmt_run *run,
			   const struct fmt_run_rank *rank, const struct fmt_run_part *part)
{
	scoped(free_ptr) struct launch *list = malloc((rank->n_events + 1) * sizeof(*list));
	scoped(free_ptr) uint32_t *symbols = malloc((rank->n_events + 1) * sizeof(*symbols));
	scoped(free_ptr) size_t *starts = NULL;
	size_t n = 0, n_starts = 0;
	int r = list && symbols ? list_launches(rank, part, list, &n) : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		symbols[i] = fmt_site(run->names, rank->events[list[i].event].site)->name;
	if (r == 0)
		r = fmt_iterations_find(symbols, n, &starts, &n_starts);
	for (size_t i = 0; i < n_starts && r == 0; i++)
		list[i].call = outermost(rank, list[starts[i]].call);
	for (size_t i = 0; i < n_starts && r == 0; i++) {
		int64_t start = rank->events[list[i].call].start_ns;
		int64_t end = i + 1 < n_starts ? rank->events[list[i + 1].call].start_ns
					       : end_of_last(run->names, rank,
							     list[i - (i > 0)].call, list[i].call);

		r = append(s, (int64_t)i, start, end);
	}
	return r;
}

/* How many repetitions are to be one iteration, so that slices are worth having. */
static size_t group_of(const struct fmt_run_rank *rank)
{
	size_t n = rank->n_iterations, each = n > 0 ? rank->n_events / n : 0;

	return n <= MANY || each >= LEAST ? 1 : (LEAST + each) / (each + 1);
}

/* Makes one iteration of each `size`, counted from the last, which is the same on all ranks. */
static void group(struct fmt_run_rank *rank, size_t size)
{
	struct fmt_iteration *all = rank->iterations;
	size_t n = 0, end;

	for (size_t i = 0; i < rank->n_iterations; i = end) {
		size_t first = rank->n_iterations % size;
		const struct fmt_iteration *last;

		end = i > 0 || first == 0 ? i + size : first;
		last = &all[end - 1];
		all[n] = all[i];
		all[n++].duration_ns = last->start_ns + last->duration_ns - all[i].start_ns;
	}
	rank->n_iterations = n;
}

/* The iterations of one rank: 1 when they were found by repetition. */
static int find_one(const struct fmt_run *run, struct fmt_run_rank *rank,
		    const struct rec_process *process, const struct fmt_run_part *part)
{
	scoped(steps_done) struct steps s = {0};
	int r = from_marks(&s, process, part), repeats = 0;

	if (r == 0 && s.n == 0)
		r = from_ranges(&s, run->names, part);
	if (r == 0 && s.n == 0) {
		r = from_repetition(&s, run, rank, part);
		repeats = s.n > 0;
	}
	if (r == 0 && s.n == 0)
		r = append(&s, 0, part->first_ns, part->last_ns);
	if (r < 0)
		return r;
	rank->n_iterations = s.n;
	rank->iterations = take(s.steps);
	return repeats;
}

int rec_steps_find(struct fmt_run *run, const struct rec_ranks *ranks,
		   const struct fmt_run_part *parts, size_t *ret)
{
	scoped(free_ptr) bool *repeats = calloc(run->n_ranks + (size_t)1, sizeof(*repeats));
	size_t size = 1;

	*ret = 0;
	if (!repeats)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		int r = find_one(run, &run->ranks[i], ranks->ranks[i].process, &parts[i]);
		size_t wanted = r == 1 ? group_of(&run->ranks[i]) : 0;

		if (r < 0)
			return r;
		repeats[i] = r == 1;
		size = wanted > size ? wanted : size;
		*ret = r == 1 || *ret ? size : 0;
	}
	for (uint32_t i = 0; i < run->n_ranks; i++)
		if (repeats[i])
			group(&run->ranks[i], size);
	if (*ret)
		fmt_iterations_align(run);
	return 0;
}
