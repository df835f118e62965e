/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/iterations.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/iteration_name.h"

/* Overlap of consecutive iterations is tolerated up to this fraction of an iteration. */
#define MOST_OVERLAP 10
#define MOST_PREFIXES 256

/* If more than MANY repetitions are found, each iteration gets at least LEAST calls and operations.
 */
#define MANY 4096
#define LEAST 1024

/* Adds an iteration. If it ends before it starts, its duration is 0. */
static int add_iteration(struct fmt_iterations *s, int64_t number, int64_t start_ns, int64_t end_ns)
{
	return fmt_iterations_add(s, number, start_ns, end_ns > start_ns ? end_ns - start_ns : 0);
}

/* ---- markers */

static int by_start(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns);
}

/* An iteration ends with the next one. */
static int from_marks(struct fmt_iterations *s, const struct rec_process *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_marks && r == 0; i++)
		r = add_iteration(s, p->marks[i].number, p->marks[i].start_ns, 0);
	if (r < 0)
		return r;
	qsort(s->list, s->n, sizeof(*s->list), by_start);
	for (size_t i = 0; i < s->n; i++) {
		int64_t end = i + 1 < s->n ? s->list[i + 1].start_ns : p->last_ns;

		s->list[i].duration_ns = end > s->list[i].start_ns ? end - s->list[i].start_ns : 0;
	}
	return 0;
}

/* ---- numbered ranges: "step 4", "ProfilerStep#4" */

struct range {
	const char *text;
	struct cap_iteration_name name; /* its prefix is equal for ranges of the same kind */
	int64_t start_ns, duration_ns;
};

struct ranges {
	struct range *list; /* owned; by start */
	size_t n;
};

static void ranges_done(struct ranges *r)
{
	free(r->list);
}

static int by_time(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns) ?: array_order(y->duration_ns, x->duration_ns);
}

/* Lists the numbered ranges of a rank. */
static int list_ranges(const struct rec_process *p, const struct rec_ranks *ranks, uint32_t rank,
		       struct ranges *ret)
{
	ret->list = malloc((p->n_ranges + 1) * sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct rec_event *e = &p->ranges[i];
		struct range made = {.start_ns = e->start_ns, .duration_ns = e->duration_ns};
		size_t len;

		made.text = fmt_string(p->names, fmt_template(p->names, e->template)->name, &len);
		if (rec_rank_of(ranks, p, e) == rank &&
		    cap_iteration_name(made.text, len, &made.name))
			ret->list[ret->n++] = made;
	}
	if (ret->n > 0)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_time);
	return 0;
}

static bool are_alike(const struct range *a, const struct range *b)
{
	return a->name.prefix_len == b->name.prefix_len &&
	       memcmp(a->text, b->text, a->name.prefix_len) == 0;
}

/* Shortens the last iteration to the start of the next one, which another thread may have begun
 * shortly before. Returns false if they overlap by more. */
static bool end_last(struct fmt_iterations *s, const struct range *next)
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

/* Collects ranges like `like` that follow each other with ascending numbers. Returns the time that
 * they cover, or -1. */
static int64_t collect_ranges(const struct ranges *ranges, const struct range *like,
			      struct fmt_iterations *s)
{
	int64_t covers = 0;

	s->n = 0;
	for (size_t i = 0; i < ranges->n; i++) {
		const struct range *r = &ranges->list[i];

		if (!are_alike(r, like))
			continue;
		if ((s->n > 0 && r->name.number <= s->list[s->n - 1].number) || !end_last(s, r))
			return -1;
		if (add_iteration(s, r->name.number, r->start_ns, r->start_ns + r->duration_ns) < 0)
			return -1;
		covers += r->duration_ns;
	}
	return s->n < 2 ? -1 : covers;
}

/* Finds the kind of ranges that covers the most of the run: at least a quarter, unless its prefix
 * is a usual name of iterations ("step"), which is preferred. */
static int from_ranges(struct fmt_iterations *s, const struct rec_process *p,
		       const struct rec_ranks *ranks, uint32_t rank)
{
	scoped(ranges_done) struct ranges list = {0};
	int64_t most = (p->last_ns - p->first_ns) / 4;
	const struct range *last = NULL, *best = NULL;
	size_t tried = 0;
	int r = list_ranges(p, ranks, rank, &list);

	for (size_t i = 0; i < list.n && tried < MOST_PREFIXES; i++) {
		const struct range *of = &list.list[i];
		bool is_usual = best && best->name.is_iteration;
		int64_t covers;

		if (last && are_alike(of, last))
			continue;
		last = of;
		tried++;
		covers = collect_ranges(&list, of, s);
		if (covers < 0 || (of->name.is_iteration == is_usual ? covers <= most : is_usual))
			continue;
		most = covers;
		best = of;
	}
	s->n = 0;
	if (best)
		collect_ranges(&list, best, s);
	return r;
}

/* ---- repetition */

/* Returns the launches of the thread that launched the most on the rank's GPU; NULL: none. *n_all
 * counts those of all threads. */
static struct rec_launches *busiest(const struct rec_process *p, const struct rec_ranks *ranks,
				    uint32_t rank, uint64_t *n_all)
{
	struct rec_launches *best = NULL;

	*n_all = 0;
	for (size_t i = 0; i < p->n_launches; i++) {
		struct rec_launches *l = &p->launches[i];

		if (rec_rank_of_device(ranks, p, l->device) != rank)
			continue;
		*n_all += l->n_all;
		if (!best || l->n_all > best->n_all)
			best = l;
	}
	return best;
}

static int from_launches(struct rec_iterations *ret, const struct rec_process *p,
			 const struct rec_ranks *ranks, uint32_t rank)
{
	uint64_t n_all;
	struct rec_launches *l = busiest(p, ranks, rank, &n_all);
	int r = l ? rec_launches_end(l) : 0;

	for (size_t i = 0; l && i < l->found.n && r == 0; i++) {
		const struct fmt_iteration *it = &l->found.list[i];

		r = fmt_iterations_add(&ret->all, it->number, it->start_ns, it->duration_ns);
		ret->last_ns[0] = ret->last_ns[1];
		ret->last_ns[1] = it->start_ns;
	}
	return r;
}

/* ---- neither */

/* Divides the time of the process at the cuts; the k-th interval of the run has the number k. */
static int from_cuts(struct fmt_iterations *s, const struct rec_process *p, size_t n_cuts)
{
	int64_t from_ns = p->first_ns;
	int r = 0;

	for (size_t i = 0; n_cuts > 0 && i < p->cuts.n && r == 0; i++) {
		const struct fmt_iteration *cut = &p->cuts.list[i];

		if (cut->start_ns <= from_ns || cut->start_ns >= p->last_ns)
			continue;
		r = add_iteration(s, cut->number, from_ns, cut->start_ns);
		from_ns = cut->start_ns;
	}
	return r < 0 ? r : add_iteration(s, (int64_t)n_cuts, from_ns, p->last_ns);
}

/* ---- ranks */

static int find_of_rank(const struct rec_process *p, const struct rec_ranks *ranks, uint32_t rank,
			size_t n_cuts, struct rec_iterations *ret)
{
	int r = 0;

	if (p->n_marks > 0) {
		ret->method = REC_ITERATIONS_MARKED;
		return from_marks(&ret->all, p);
	}
	r = from_ranges(&ret->all, p, ranks, rank);
	ret->method = REC_ITERATIONS_RANGES;
	if (r == 0 && ret->all.n == 0) {
		ret->method = REC_ITERATIONS_REPEAT;
		r = from_launches(ret, p, ranks, rank);
	}
	if (r == 0 && ret->all.n == 0) {
		ret->method = REC_ITERATIONS_NONE;
		r = from_cuts(&ret->all, p, n_cuts);
	}
	return r;
}

/* Returns true if GPU `a` of a process is better than `b` for finding its iterations: its ranges
 * mark iterations, else it ran more operations. */
static bool is_better(const struct rec_process *p, const struct rec_ranks *ranks,
		      const struct rec_iterations *of, uint32_t a, uint32_t b)
{
	static const int preference[] = {[REC_ITERATIONS_REPEAT] = 1,
					 [REC_ITERATIONS_RANGES] = 2,
					 [REC_ITERATIONS_MARKED] = 0};
	uint64_t n_a, n_b;

	busiest(p, ranks, a, &n_a);
	busiest(p, ranks, b, &n_b);
	if (preference[of[a].method] != preference[of[b].method])
		return preference[of[a].method] > preference[of[b].method];
	return n_a > n_b;
}

static int copy_iterations(const struct rec_iterations *from, struct rec_iterations *to)
{
	int r = 0;

	to->method = from->method;
	memcpy(to->last_ns, from->last_ns, sizeof(to->last_ns));
	to->all.n = 0;
	for (size_t i = 0; i < from->all.n && r == 0; i++)
		r = fmt_iterations_add(&to->all, from->all.list[i].number,
				       from->all.list[i].start_ns, from->all.list[i].duration_ns);
	return r;
}

/* A GPU gets the iterations of the GPU with the best ones of its process, if the two numbers of
 * iterations differ or if its threads have no ranges. */
static int share_iterations(struct rec_process *const *processes, const struct rec_ranks *ranks,
			    struct rec_iterations *of)
{
	int r = 0;

	for (uint32_t rank = 0; rank < ranks->n && r == 0; rank++) {
		uint32_t process = ranks->ranks[rank].process, best = REC_NONE;

		for (uint32_t i = 0; i < ranks->n; i++)
			if (ranks->ranks[i].process == process &&
			    (best == REC_NONE || is_better(processes[process], ranks, of, i, best)))
				best = i;
		if (of[rank].method != of[best].method || of[rank].all.n != of[best].all.n)
			r = copy_iterations(&of[best], &of[rank]);
	}
	return r;
}

/* Returns the number of repetitions to group into one iteration, so that slices are not tiny. */
static size_t group_size(const struct rec_process *p, const struct rec_ranks *ranks,
			 const struct rec_iterations *of)
{
	uint64_t records = p->counts.calls + p->counts.ops, gpus = 0, each;

	for (uint32_t i = 0; i < ranks->n; i++)
		gpus += ranks->ranks[i].process == p->index;
	each = records / gpus / of->all.n;
	return of->method != REC_ITERATIONS_REPEAT || of->all.n <= MANY || each >= LEAST
		       ? 1
		       : (LEAST + each) / (each + 1);
}

/* Groups `size` repetitions into each iteration, counted from the last repetition, which is the
 * same on all ranks. */
static void group_repetitions(struct fmt_iterations *s, size_t size)
{
	size_t n = 0, end = s->n % size ?: size;

	for (size_t i = 0; i < s->n; i = end, end += size) {
		const struct fmt_iteration *last = &s->list[end - 1];

		s->list[n].start_ns = s->list[i].start_ns;
		s->list[n++].duration_ns = last->start_ns + last->duration_ns - s->list[i].start_ns;
	}
	s->n = n;
}

/* Groups repetitions, and gives the last iterations of all ranks the same number. */
static void align_repetitions(struct rec_process *const *processes, const struct rec_ranks *ranks,
			      struct rec_iterations *of)
{
	size_t size = 1, most = 0;

	for (uint32_t i = 0; i < ranks->n; i++) {
		size_t own = group_size(processes[ranks->ranks[i].process], ranks, &of[i]);

		size = own > size ? own : size;
	}
	for (uint32_t i = 0; i < ranks->n; i++) {
		of[i].each = size;
		if (of[i].method == REC_ITERATIONS_REPEAT)
			group_repetitions(&of[i].all, size);
		most = of[i].all.n > most ? of[i].all.n : most;
	}
	for (uint32_t i = 0; i < ranks->n; i++)
		for (size_t k = 0; k < of[i].all.n; k++)
			of[i].all.list[k].number = (int64_t)(most - of[i].all.n + k);
}

int rec_iterations_find(struct rec_process *const *processes, const struct rec_ranks *ranks,
			size_t n_cuts, struct rec_iterations *ret)
{
	bool any_repeat = false;
	int r = 0;

	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = find_of_rank(processes[ranks->ranks[i].process], ranks, i, n_cuts, &ret[i]);
	if (r == 0)
		r = share_iterations(processes, ranks, ret);
	for (uint32_t i = 0; i < ranks->n; i++)
		any_repeat |= ret[i].method == REC_ITERATIONS_REPEAT;
	if (r == 0 && any_repeat)
		align_repetitions(processes, ranks, ret);
	return r;
}

bool rec_iterations_are_open(const struct rec_iterations *of)
{
	return of->method == REC_ITERATIONS_NONE || of->method == REC_ITERATIONS_MARKED;
}

void rec_iterations_convert(struct rec_iterations *of, const struct fmt_clock *clock)
{
	for (size_t i = 0; i < of->all.n; i++) {
		struct fmt_iteration *it = &of->all.list[i];
		int64_t end_ns = fmt_clock_ns(clock, it->start_ns + it->duration_ns);

		it->start_ns = fmt_clock_ns(clock, it->start_ns);
		it->duration_ns = end_ns > it->start_ns ? end_ns - it->start_ns : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(of->last_ns); i++)
		of->last_ns[i] = fmt_clock_ns(clock, of->last_ns[i]);
}
