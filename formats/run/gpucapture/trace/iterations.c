/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/iterations.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/iteration_name.h"
#include "formats/run/gpucapture/trace/repeats.h"

/* Overlap of consecutive iterations is tolerated up to this fraction of an iteration. */
#define MOST_OVERLAP 10

/* If it ends before it starts, its duration is 0. */
static int add_iteration(struct fmt_iterations *s, int64_t number, int64_t start_ns, int64_t end_ns)
{
	return fmt_iterations_add(s, number, start_ns, end_ns > start_ns ? end_ns - start_ns : 0);
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns);
}

/* ---- marks */

static int from_marks(struct fmt_iterations *s, const struct rec_process *p,
		      const struct fmt_run_part *part, int64_t from_ns)
{
	int r = 0;

	for (size_t i = 0; p && i < p->n_marks && r == 0; i++)
		if (p->marks[i].start_ns >= from_ns)
			r = add_iteration(s, p->marks[i].number, p->marks[i].start_ns, 0);
	if (r < 0 || s->n == 0)
		return r;
	qsort(s->list, s->n, sizeof(*s->list), by_start);
	for (size_t i = 0; i < s->n; i++) {
		int64_t end = i + 1 < s->n ? s->list[i + 1].start_ns : part->last_ns;

		s->list[i].duration_ns = end > s->list[i].start_ns ? end - s->list[i].start_ns : 0;
	}
	return 0;
}

/* ---- numbered ranges: "step 4", "ProfilerStep#4" */

/* A common prefix of the names of numbered ranges. */
struct prefix {
	const char *text;
	size_t len;
	bool is_iteration; /* it is a usual name of iterations */
};

static bool is_numbered(const struct fmt_names *names, const struct fmt_event *e,
			struct prefix *prefix, int64_t *number)
{
	struct cap_iteration_name step;
	size_t len;
	const char *name = fmt_string(names, fmt_template(names, e->template)->name, &len);

	if (!cap_iteration_name(name, len, &step))
		return false;
	*prefix = (struct prefix){name, step.prefix_len, step.is_iteration};
	*number = step.number;
	return true;
}

static bool is_like(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Shortens the last iteration to the start of the next one, which another thread may have begun
 * shortly before. Returns false if they overlap by more. */
static bool end_last(struct fmt_iterations *s, const struct fmt_event *next)
{
	struct fmt_iteration *last = s->n > 0 ? &s->list[s->n - 1] : NULL;
	int64_t end_ns = last ? last->start_ns + last->duration_ns : INT64_MIN;

	if (next->start_ns >= end_ns)
		return true;
	if (end_ns - next->start_ns > last->duration_ns / MOST_OVERLAP ||
	    next->start_ns + next->duration_ns <= end_ns)
		return false;
	last->duration_ns = next->start_ns - last->start_ns;
	return true;
}

/* Collects ranges with the prefix `like` that follow each other with ascending numbers. Returns the
 * time that they cover, or -1. */
static int64_t collect_ranges(const struct fmt_names *names, const struct fmt_run_part *part,
			      const struct prefix *like, struct fmt_iterations *s)
{
	int64_t number, covers = 0;
	struct prefix prefix;

	s->n = 0;
	for (size_t i = 0; i < part->n_ranges; i++) {
		const struct fmt_event *e = &part->ranges[i];
		const struct fmt_iteration *last = s->n > 0 ? &s->list[s->n - 1] : NULL;

		if (!is_numbered(names, e, &prefix, &number) || !is_like(&prefix, like))
			continue;
		if ((last && number <= last->number) || !end_last(s, e))
			return -1;
		if (add_iteration(s, number, e->start_ns, e->start_ns + e->duration_ns) < 0)
			return -1;
		covers += e->duration_ns;
	}
	return s->n < 2 ? -1 : covers;
}

/* Returns true if prefix `a` is more likely than `b` to name iterations: a usual name of iterations
 * wins, else the prefix that covers more time. */
static bool is_better(const struct prefix *a, int64_t a_covers, const struct prefix *b,
		      int64_t b_covers)
{
	return a_covers >= 0 &&
	       (a->is_iteration != b->is_iteration ? a->is_iteration : a_covers > b_covers);
}

/* Finds the prefix of range names that covers the most of the run: at least a quarter, unless the
 * prefix is a usual name of iterations ("step"). *ret is unchanged if no prefix is found. */
static void from_ranges(struct fmt_iterations *s, const struct fmt_names *names,
			const struct fmt_run_part *part, struct prefix *ret)
{
	int64_t most = (part->last_ns - part->first_ns) / 4, number;
	struct prefix prefix, last = {0}, best = {0};
	size_t tried = 0;

	for (size_t i = 0; i < part->n_ranges && tried < 256; i++) {
		int64_t covers;

		if (!is_numbered(names, &part->ranges[i], &prefix, &number) ||
		    (tried > 0 && is_like(&prefix, &last)))
			continue;
		last = prefix;
		tried++;
		covers = collect_ranges(names, part, &prefix, s);
		if (is_better(&prefix, covers, &best, most)) {
			most = covers;
			best = prefix;
		}
	}
	s->n = 0;
	if (best.len == 0)
		return;
	collect_ranges(names, part, &best, s);
	*ret = best;
}

/* Adds the iterations of a further segment; if their numbers decrease, continues the previous
 * numbers. */
static int add_more_ranges(struct fmt_iterations *s, const struct fmt_names *names,
			   const struct fmt_run_part *part, const struct rec_iterations_state *of)
{
	const struct prefix like = {fmt_string(names, of->like, NULL), of->like_len, false};
	struct prefix prefix;
	int64_t number;

	for (size_t i = 0; i < part->n_ranges; i++) {
		const struct fmt_event *e = &part->ranges[i];
		const struct fmt_iteration *last = s->n > 0    ? &s->list[s->n - 1]
						   : of->n > 0 ? &of->last
							       : NULL;

		if (!is_numbered(names, e, &prefix, &number) || !is_like(&prefix, &like) ||
		    (of->n > 0 && e->start_ns < of->from_ns) || !end_last(s, e))
			continue;
		number = !last || number > last->number ? number : last->number + 1;
		if (add_iteration(s, number, e->start_ns, e->start_ns + e->duration_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

int rec_iterations_plan(struct fmt_names *names, const struct rec_process *process,
			const struct fmt_run_part *part, struct rec_iterations_state *ret)
{
	scoped(fmt_iterations_done) struct fmt_iterations s = {0};
	struct prefix like = {0};

	if (process->n_marks > 0) {
		ret->way = REC_ITERATIONS_MARKED;
		return 0;
	}
	from_ranges(&s, names, part, &like);
	if (like.len == 0)
		return 0;
	ret->way = REC_ITERATIONS_RANGES;
	ret->like_len = like.len;
	return fmt_names_string(names, like.text, strlen(like.text), &ret->like);
}

/* Finds repetitions, and numbers them from `next`. */
static int find_repeats(const struct fmt_run *run, struct fmt_run_rank *rank,
			const struct fmt_run_part *part, int64_t from_ns,
			struct rec_iterations_state *of, struct fmt_iterations *s)
{
	int64_t next = of->n > 0 ? of->last.number + 1 : 0;
	int r = rec_repeats_find(run, rank, part, from_ns, &of->pattern, s);

	for (size_t i = 0; i < s->n && r == 0; i++)
		s->list[i].number = next + (int64_t)i;
	if (s->n > (of->n > 0))
		of->way = REC_ITERATIONS_REPEAT;
	return r;
}

/* Finds the iterations of one rank in this segment. Events before the first marker of a rank are in
 * no iteration. */
static int find_rank_iterations(const struct fmt_run *run, struct fmt_run_rank *rank,
				const struct rec_process *process, const struct fmt_run_part *part,
				struct rec_iterations_state *of)
{
	scoped(fmt_iterations_done) struct fmt_iterations s = {0};
	int64_t from_ns = of->n > 0 ? of->from_ns : INT64_MIN;
	int64_t number = of->n > 0 ? of->last.number + !of->inside : 0;
	int r;

	if (of->way == REC_ITERATIONS_MARKED)
		r = from_marks(&s, process, part, from_ns);
	else if (of->way == REC_ITERATIONS_RANGES)
		r = add_more_ranges(&s, run->names, part, of);
	else
		r = find_repeats(run, rank, part, from_ns, of, &s);
	if (of->n == 0 && (of->way == REC_ITERATIONS_MARKED || of->way == REC_ITERATIONS_RANGES))
		number = FMT_BEFORE;
	if (r == 0 && s.n == 0)
		r = add_iteration(&s, number, of->n > 0 ? from_ns : part->first_ns, part->last_ns);
	if (r < 0)
		return r;
	rank->n_iterations = s.n;
	rank->iterations = take(s.list);
	return 0;
}

/* Returns the number of the iteration that begins nearest to that time. */
static int64_t nearest_number(const struct fmt_run_rank *rank, int64_t at_ns)
{
	const struct fmt_iteration *all = rank->iterations;
	size_t i = array_bound(k, 0, rank->n_iterations, all[k].start_ns < at_ns);

	if (i == rank->n_iterations ||
	    (i > 0 && at_ns - all[i - 1].start_ns < all[i].start_ns - at_ns))
		i--;
	return (int64_t)i;
}

/* Gives iterations that begin together the same number, until their ends are known. */
static void align_begins(struct fmt_run *run)
{
	int64_t least = 0;

	for (uint32_t i = 1; i < run->n_ranks; i++) {
		struct fmt_run_rank *rank = &run->ranks[i];
		size_t middle = rank->n_iterations / 2;
		int64_t first = nearest_number(&run->ranks[0], rank->iterations[middle].start_ns) -
				(int64_t)middle;

		for (size_t k = 0; k < rank->n_iterations; k++)
			rank->iterations[k].number = first + (int64_t)k;
		least = first < least ? first : least;
	}
	for (uint32_t i = 0; i < run->n_ranks; i++)
		for (size_t k = 0; k < run->ranks[i].n_iterations; k++)
			run->ranks[i].iterations[k].number -= least;
}

/* Returns true if GPU `a` of a process is better than `b` for finding its iterations: its ranges
 * mark iterations, else it ran more operations. */
static bool is_better_leader(const struct fmt_run *run, const struct rec_iterations_state *of,
			     uint32_t a, uint32_t b)
{
	bool a_says = of[a].way == REC_ITERATIONS_RANGES,
	     b_says = of[b].way == REC_ITERATIONS_RANGES;
	bool a_repeats = of[a].way == REC_ITERATIONS_REPEAT,
	     b_repeats = of[b].way == REC_ITERATIONS_REPEAT;

	if (a_says != b_says)
		return a_says;
	if (a_repeats != b_repeats)
		return a_repeats;
	return run->ranks[a].n_events > run->ranks[b].n_events;
}

static uint32_t leader_of(const struct fmt_run *run, const struct rec_ranks *ranks,
			  const struct rec_iterations_state *of, uint32_t rank)
{
	uint32_t best = REC_NONE;

	if (of[rank].leader > 0)
		return of[rank].leader - 1;
	for (uint32_t i = 0; i < run->n_ranks; i++)
		if (ranks->ranks[i].process == ranks->ranks[rank].process &&
		    (best == REC_NONE || is_better_leader(run, of, i, best)))
			best = i;
	return best;
}

static int copy_steps(const struct fmt_run_rank *from, struct fmt_run_rank *to)
{
	struct fmt_iteration *copy = malloc((from->n_iterations + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, from->iterations, from->n_iterations * sizeof(*copy));
	free(to->iterations);
	to->iterations = copy;
	to->n_iterations = from->n_iterations;
	return 0;
}

/* Gives GPUs of one process the same iterations. A GPU with fewer or more iterations, or whose
 * threads have no ranges, gets those of the leader; in a run of several segments, all GPUs do. */
static int share_iterations(const struct fmt_run *run, const struct rec_ranks *ranks, bool more,
			    struct rec_iterations_state *of)
{
	int r = 0;

	for (uint32_t i = 0; i < run->n_ranks; i++)
		of[i].leader = leader_of(run, ranks, of, i) + 1;
	for (uint32_t i = 0; i < run->n_ranks && r == 0; i++) {
		uint32_t leader = of[i].leader - 1;

		if (i == leader || (!more && of[i].n == 0 && of[i].way == of[leader].way &&
				    run->ranks[i].n_iterations == run->ranks[leader].n_iterations))
			continue;
		of[i].way = of[leader].way;
		r = copy_steps(&run->ranks[leader], &run->ranks[i]);
	}
	return r;
}

/* Groups several short repetitions into one iteration. */
static void group_ranks(const struct fmt_run *run, struct rec_iterations_state *of)
{
	size_t size = 1;

	for (uint32_t i = 0; i < run->n_ranks; i++) {
		size_t each = of[i].way == REC_ITERATIONS_REPEAT
				      ? rec_repeats_group_size(&run->ranks[i])
				      : 1;

		size = each > size ? each : size;
	}
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		of[i].each = size;
		if (of[i].way == REC_ITERATIONS_REPEAT)
			rec_repeats_group(&run->ranks[i], size, true);
	}
}

/* Numbers a late rank from the number that the first earlier rank has reached. */
static void align_late(struct fmt_run *run, uint32_t rank, const struct rec_iterations_state *of)
{
	struct fmt_run_rank *late = &run->ranks[rank];
	int64_t from_ns = late->iterations[0].start_ns, at;
	const struct fmt_iteration *all;
	uint32_t first = 0;
	size_t n;

	while (of[first].n == 0)
		first++;
	all = run->ranks[first].iterations;
	n = array_bound(i, 1, run->ranks[first].n_iterations, all[i].start_ns <= from_ns);
	at = all[n - 1].number;
	for (size_t i = 0; i < late->n_iterations; i++)
		late->iterations[i].number = at + (int64_t)i;
}

static bool any_begun(const struct fmt_run *run, const struct rec_iterations_state *of)
{
	for (uint32_t i = 0; i < run->n_ranks; i++)
		if (of[i].n > 0)
			return true;
	return false;
}

/* Groups and numbers the iterations of the first segment. */
static void number_first(struct fmt_run *run, bool more, struct rec_iterations_state *of)
{
	bool repeats = false;

	group_ranks(run, of);
	for (uint32_t i = 0; i < run->n_ranks; i++)
		repeats |= of[i].way == REC_ITERATIONS_REPEAT;
	if (repeats && more)
		align_begins(run);
	else if (repeats)
		fmt_iterations_align(run);
}

/* Groups and numbers the iterations of a later segment. */
static void number_more(struct fmt_run *run, struct rec_iterations_state *of)
{
	for (uint32_t i = 0; i < run->n_ranks; i++)
		for (uint32_t k = 0; k < run->n_ranks && of[i].n == 0; k++)
			of[i].each = of[k].each > of[i].each ? of[k].each : of[i].each;
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		if (of[i].way == REC_ITERATIONS_REPEAT)
			rec_repeats_group(&run->ranks[i], of[i].each, false);
		if (of[i].n == 0 &&
		    (of[i].way == REC_ITERATIONS_REPEAT || of[i].way == REC_ITERATIONS_NONE))
			align_late(run, i, of);
	}
}

int rec_iterations_find(struct fmt_run *run, const struct rec_ranks *ranks,
			struct rec_process *const *processes, size_t n,
			const struct fmt_run_part *parts, bool more,
			struct rec_iterations_state *of)
{
	bool begun = any_begun(run, of);
	int r = 0;

	for (uint32_t i = 0; i < run->n_ranks && r == 0; i++) {
		uint32_t process = ranks->ranks[i].process;

		r = find_rank_iterations(run, &run->ranks[i],
					 process < n ? processes[process] : NULL, &parts[i],
					 &of[i]);
	}
	if (r == 0)
		r = share_iterations(run, ranks, more || begun, of);
	if (r < 0)
		return r;
	if (begun)
		number_more(run, of);
	else
		number_first(run, more, of);
	return 0;
}

/* ---- the end of a segment */

/* Returns the number of iterations that can be written: not the last, which may continue. With
 * repetitions, not the one before either, since it determines the end of the run's last
 * iteration. */
static size_t count_over(const struct rec_iterations_state *of, const struct fmt_run_rank *rank,
			 int64_t until_ns)
{
	size_t n = array_bound(i, 0, rank->n_iterations, rank->iterations[i].start_ns <= until_ns);
	size_t stay = of->way == REC_ITERATIONS_REPEAT ? 2 : 1;

	return n > stay ? n - stay : 0;
}

bool rec_iterations_can_cut(const struct rec_iterations_state *of, const struct fmt_run_rank *rank,
			    int64_t until_ns, bool force)
{
	return count_over(of, rank, until_ns) > 0 || (rank->iterations[0].start_ns <= until_ns &&
						      (of->way == REC_ITERATIONS_NONE || force));
}

/* Adds the iterations of the rank, which are complete, to the state for the next segment. */
static void keep_for_next(struct rec_iterations_state *of, const struct fmt_run_rank *rank)
{
	bool goes_on = of->inside && rank->iterations[0].number == of->last.number;

	of->has_before = of->n > 0;
	of->n += rank->n_iterations - goes_on;
	of->prelude |= rank->iterations[0].number == FMT_BEFORE;
	of->before = of->last;
	of->last = rank->iterations[rank->n_iterations - 1];
}

void rec_iterations_cut(struct rec_iterations_state *of, struct fmt_run_rank *rank,
			int64_t until_ns)
{
	struct fmt_iteration *all = rank->iterations;
	size_t n = count_over(of, rank, until_ns);

	of->from_ns = n > 0 ? all[n].start_ns : until_ns;
	if (n == 0)
		all[0].duration_ns = until_ns - all[0].start_ns;
	rank->n_iterations = n > 0 ? n : 1;
	keep_for_next(of, rank);
	of->inside = n == 0 && of->way != REC_ITERATIONS_NONE;
}

void rec_iterations_end(struct rec_iterations_state *of, const struct fmt_run_rank *rank)
{
	keep_for_next(of, rank);
}

void rec_iterations_state_done(struct rec_iterations_state *of)
{
	free(of->pattern.symbols);
	*of = (struct rec_iterations_state){0};
}
