/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/owner_impl.h"

#include "base/array.h"
#include "base/scope.h"

/* Clocks of host and device are so far apart at most, and an idle stream begins so soon. */
#define SOON_NS INT64_C(100000)
/* Recorders cut times to whole microseconds. */
#define CLOCK_NS 2000

/* From `from_ns` to `to_ns`, which a stranger's file may put very far apart. */
static int64_t apart(int64_t from_ns, int64_t to_ns)
{
	int64_t d;

	if (__builtin_sub_overflow(to_ns, from_ns, &d))
		return to_ns > from_ns ? INT64_MAX / 4 : INT64_MIN / 4;
	return d > INT64_MAX / 4 ? INT64_MAX / 4 : d;
}

/* ---- launches ---------------------------------------------------------------------------- */

static int launch_order(const void *a, const void *b)
{
	const struct owner_launch *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->process, y->process)
	       ?: array_order(x->start_ns, y->start_ns) ?: array_order(x->event, y->event);
}

static int list_launches(struct owner_job *j)
{
	const struct kineto_rank *k = j->k;

	j->launches = malloc((k->n_events + 1) * sizeof(*j->launches));
	if (!j->launches)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		uint32_t process = j->processes.of_track[e->track];

		if (owner_kind(j, e) == FMT_CALL && e->correlation && process != KINETO_NOBODY)
			j->launches[j->n_launches++] = (struct owner_launch){
				e->correlation, e->start_ns, (uint32_t)i, process};
	}
	if (j->n_launches > 0)
		qsort(j->launches, j->n_launches, sizeof(*j->launches), launch_order);
	return 0;
}

/* Launches [from, to). */
struct span {
	size_t from, to;
};

/* Those of a number. */
static struct span span_of(const struct owner_job *j, uint64_t correlation)
{
	const struct owner_launch *l = j->launches;
	size_t n = correlation ? j->n_launches : 0;
	size_t from = array_bound(i, 0, n, l[i].correlation < correlation);

	return (struct span){from, array_bound(i, from, n, l[i].correlation == correlation)};
}

/* Those of the first process among them. */
static struct span first_process(const struct owner_job *j, struct span of)
{
	const struct owner_launch *l = j->launches;

	of.to = array_bound(i, of.from, of.to, l[i].process == l[of.from].process);
	return of;
}

/* The last one of a process's that came before the operation; NULL. */
static const struct owner_launch *last_before(const struct owner_job *j, struct span of,
					      const struct fmt_event *op)
{
	const struct owner_launch *l = j->launches;
	size_t end = array_bound(i, of.from, of.to, l[i].start_ns <= op->start_ns + SOON_NS);

	return end > of.from ? &l[end - 1] : NULL;
}

/* The last launch of its number, by `process` or by anyone, that came before the operation. */
static const struct owner_launch *launch_of(const struct owner_job *j, const struct fmt_event *op,
					    uint32_t process)
{
	const struct owner_launch *found = NULL;
	struct span all = span_of(j, op->correlation);

	while (all.from < all.to) {
		struct span of = first_process(j, all);
		const struct owner_launch *l = NULL;

		if (process == KINETO_NOBODY || j->launches[of.from].process == process)
			l = last_before(j, of, op);
		if (l && (!found || l->start_ns >= found->start_ns))
			found = l;
		all.from = of.to;
	}
	return found;
}

/* ---- whose device ------------------------------------------------------------------------ */

/* What speaks for a device being the process's, and how many operations it cannot have launched. */
struct evidence {
	int64_t votes;
	uint64_t impossible;
};

/* Texts of ids that are the same up to their last word: "[TP00] 0", "[TP00] 1234". */
static bool related(const struct owner_job *j, const struct kineto_arg *a,
		    const struct kineto_arg *b)
{
	const struct kineto_string *strings = j->templates->strings->strings;
	const char *x, *y, *end;

	if (a->type == FMT_INT || b->type == FMT_INT)
		return false;
	x = strings[a->value].s;
	y = strings[b->value].s;
	end = strrchr(x, ' ');
	return end && strrchr(y, ' ') - y == end - x && memcmp(x, y, (size_t)(end - x)) == 0;
}

/* An operation speaks against all that cannot have launched it, but for one from before the
 * recording: nobody can have. */
static void weigh(const struct owner_job *j, struct evidence *all, uint64_t *known)
{
	uint32_t n = j->processes.n;

	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *op = &j->k->events[i];
		uint32_t device = j->devices.of_track[op->track];
		struct span left = span_of(j, op->correlation);
		bool any = false;

		if (device == KINETO_NOBODY || !FMT_IS_OP(owner_kind(j, op)))
			continue;
		while (left.from < left.to) {
			struct span of = first_process(j, left);
			const struct owner_launch *l = last_before(j, of, op);
			struct evidence *e =
				&all[(size_t)device * n + j->launches[of.from].process];

			left.from = of.to;
			if (!l)
				continue;
			any = true;
			e->impossible--;
			e->votes += 8 + (apart(l->start_ns, op->start_ns) < SOON_NS ? 5 : 1);
		}
		known[device] += any;
	}
	for (size_t i = 0; i < (size_t)n * j->devices.n; i++) {
		all[i].impossible += known[i / n];
		all[i].votes -= 8 * (int64_t)known[i / n];
	}
}

static int track_order(const void *a, const void *b, void *events)
{
	const struct fmt_event *x = (struct fmt_event *)events + *(const uint32_t *)a;
	const struct fmt_event *y = (struct fmt_event *)events + *(const uint32_t *)b;

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns);
}

/* Nothing overlaps on a stream of one process. */
static int find_overlaps(struct owner_job *j, const uint64_t *known)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint32_t *ops = malloc((k->n_events + 1) * sizeof(*ops));
	scoped(free_ptr) uint64_t *overlaps = calloc(j->devices.n + 1, sizeof(*overlaps));
	int64_t end_ns = INT64_MIN;
	size_t n = 0;

	if (!ops || !overlaps)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++)
		if (FMT_IS_OP(owner_kind(j, &k->events[i])))
			ops[n++] = (uint32_t)i;
	if (n > 0)
		qsort_r(ops, n, sizeof(*ops), track_order, k->events);
	for (size_t i = 0; i < n; i++) {
		const struct fmt_event *e = &k->events[ops[i]];
		int64_t until_ns = e->start_ns + e->duration_ns;
		bool same = i > 0 && k->events[ops[i - 1]].track == e->track;

		if (j->devices.of_track[e->track] != KINETO_NOBODY)
			overlaps[j->devices.of_track[e->track]] +=
				same && e->start_ns + CLOCK_NS < end_ns;
		end_ns = same && until_ns < end_ns ? end_ns : until_ns;
	}
	for (uint32_t d = 0; d < j->devices.n; d++)
		j->shared[d] |= overlaps[d] > known[d] / 50 + 2;
	return 0;
}

static int find_owners(struct owner_job *j)
{
	uint32_t n = j->processes.n;
	scoped(free_ptr) struct evidence *all = calloc((size_t)n * j->devices.n + 1, sizeof(*all));
	scoped(free_ptr) uint64_t *known = calloc(j->devices.n + 1, sizeof(*known));

	j->owner = calloc(j->devices.n + (size_t)1, sizeof(*j->owner));
	j->shared = calloc(j->devices.n + (size_t)1, sizeof(*j->shared));
	if (!all || !known || !j->owner || !j->shared)
		return -ENOMEM;
	if (n < 2)
		return 0;
	weigh(j, all, known);
	for (uint32_t d = 0; d < j->devices.n; d++) {
		struct evidence *e = &all[(size_t)d * n];

		for (uint32_t p = 0; p < n; p++) {
			if (related(j, &j->devices.ids[d], &j->processes.ids[p]))
				e[p] = (struct evidence){.votes = INT64_MAX};
			/* Where nothing tells, they are in the same order. */
			if (p == (size_t)d * n / j->devices.n)
				e[p].votes +=
					e[p].votes < INT64_MAX ? (int64_t)known[d] / 20 + 1 : 0;
			if (e[p].votes > e[j->owner[d]].votes)
				j->owner[d] = p;
		}
		j->shared[d] = e[j->owner[d]].impossible > known[d] / 50 + 2;
	}
	return find_overlaps(j, known);
}

/* ---- devices of several processes -------------------------------------------------------- */

static int number_order(const void *a, const void *b, void *events)
{
	const struct fmt_event *x = (struct fmt_event *)events + *(const uint32_t *)a;
	const struct fmt_event *y = (struct fmt_event *)events + *(const uint32_t *)b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(x->track, y->track) ?: array_order(x->duration_ns, y->duration_ns);
}

/* Kinds of operations, as bits, that calls of a name launch: numbers of other processes stand for
 * other calls. */
static uint32_t kinds_of(const char *name)
{
	if (strstr(name, "Graph"))
		return ~0U;
	return (strcasestr(name, "launch") ? ~(1U << FMT_MEMCPY | 1U << FMT_MEMSET) : 0) |
	       (strcasestr(name, "memcpy") ? 1U << FMT_MEMCPY : 0) |
	       (strcasestr(name, "memset") ? 1U << FMT_MEMSET : 0);
}

/* What finding the launches of shared devices keeps. */
struct sharing {
	struct owner_job *job;
	int64_t *end_ns; /* when what a process did last on a track ended, by track and process */
	uint32_t *kinds; /* of each template that is a call: which operations it launches */
	uint16_t *taken; /* by launch: operations that it has */
};

static void sharing_done(struct sharing *s)
{
	free(s->end_ns);
	free(s->kinds);
	free(s->taken);
}

static bool fits(const struct sharing *s, const struct owner_launch *l, uint32_t op)
{
	const struct owner_job *j = s->job;

	return s->kinds[j->k->events[l->event].template] >> owner_kind(j, &j->k->events[op]) & 1;
}

static int64_t *end_of(const struct sharing *s, uint32_t op, uint32_t process)
{
	const struct owner_job *j = s->job;

	return &s->end_ns[j->k->events[op].track * (size_t)j->processes.n + process];
}

/* How long the operation waited for nothing, had that launched it; INT64_MAX where it cannot have:
 * it is ready when it is launched and what its process did before it on the stream has ended.
 * Before that is as good as never. */
static int64_t cost_of(const struct sharing *s, uint32_t op, const struct owner_launch *l)
{
	const struct fmt_event *e = &s->job->k->events[op];
	int64_t ended_ns = *end_of(s, op, l->process);
	int64_t ready_ns = ended_ns > l->start_ns ? ended_ns : l->start_ns;
	int64_t early_ns = l->start_ns - SOON_NS > ended_ns - CLOCK_NS ? l->start_ns - SOON_NS
								       : ended_ns - CLOCK_NS;

	if (!fits(s, l, op))
		return INT64_MAX;
	return e->start_ns < early_ns	? INT64_MAX / 2 + apart(e->start_ns, early_ns)
	       : e->start_ns < ready_ns ? 0
					: apart(ready_ns, e->start_ns);
}

/* Of two pairs that fit as well, the earlier operation, and of its launches the earlier one. */
static bool is_better(int64_t cost, const struct owner_launch *l, uint32_t op, int64_t least,
		      const struct owner_launch *best, uint32_t best_op)
{
	return cost < least ||
	       (cost == least && best && op == best_op && l->start_ns < best->start_ns);
}

/* Operations ops[0 .. n) of one number, and its launches: the pair that fits best first.
 * Each launch takes as many as there are for each. */
static void match(const struct sharing *s, const uint32_t *ops, size_t n, struct span of)
{
	struct owner_job *j = s->job;
	size_t n_fit = 0, each;

	for (size_t k = of.from; k < of.to; k++)
		n_fit += fits(s, &j->launches[k], ops[0]);
	each = n_fit ? (n + n_fit - 1) / n_fit : 0;
	j->guessed += n_fit > 1 ? n : 0;
	for (size_t done = 0; done < n; done++) {
		const struct owner_launch *best = NULL;
		int64_t least = INT64_MAX;
		uint32_t op = 0;

		for (size_t i = 0; i < n; i++)
			for (size_t k = of.from; k < of.to; k++) {
				int64_t cost;

				if (j->call_of[ops[i]] != KINETO_NOBODY || s->taken[k] >= each)
					continue;
				cost = cost_of(s, ops[i], &j->launches[k]);
				if (!is_better(cost, &j->launches[k], ops[i], least, best, op))
					continue;
				least = cost;
				best = &j->launches[k];
				op = ops[i];
			}
		if (!best)
			return;
		s->taken[best - j->launches]++;
		j->call_of[op] = best->event;
		j->ran_for[op] = best->process;
		*end_of(s, op, best->process) =
			j->k->events[op].start_ns + j->k->events[op].duration_ns;
	}
}

static int begin_sharing(struct sharing *s)
{
	const struct owner_job *j = s->job;
	size_t n_ends = j->k->n_tracks * (size_t)j->processes.n;

	s->end_ns = malloc((n_ends + 1) * sizeof(*s->end_ns));
	s->kinds = calloc(j->templates->n + 1, sizeof(*s->kinds));
	s->taken = calloc(j->n_launches + 1, sizeof(*s->taken));
	if (!s->end_ns || !s->kinds || !s->taken)
		return -ENOMEM;
	for (size_t i = 0; i < n_ends; i++)
		s->end_ns[i] = INT64_MIN / 4;
	for (size_t i = 0; i < j->templates->n; i++)
		if (j->templates->templates[i].kind == FMT_CALL)
			s->kinds[i] = kinds_of(
				j->templates->strings->strings[j->templates->templates[i].name].s);
	return 0;
}

#define MOST_PAIRS 4096 /* of a number; the operations of more go by their launch alone */

static void match_all(const struct sharing *s, const uint32_t *ops, size_t n)
{
	const struct fmt_event *events = s->job->k->events;

	for (size_t from = 0, to; from < n; from = to) {
		struct span of = span_of(s->job, events[ops[from]].correlation);

		for (to = from;
		     to < n && events[ops[to]].correlation == events[ops[from]].correlation;)
			to++;
		if (of.to > of.from && to - from <= MOST_PAIRS / (of.to - of.from))
			match(s, ops + from, to - from, of);
	}
}

/* Joins the operations of shared devices to launches, number by number, as each process launched
 * them. */
static int find_shared(struct owner_job *j)
{
	const struct kineto_rank *k = j->k;
	scoped(sharing_done) struct sharing s = {.job = j};
	scoped(free_ptr) uint32_t *ops = malloc((k->n_events + 1) * sizeof(*ops));
	size_t n = 0;
	int r;

	if (!ops)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		uint32_t device = j->devices.of_track[k->events[i].track];

		if (device == KINETO_NOBODY || !j->shared[device] || !k->events[i].correlation ||
		    !FMT_IS_OP(owner_kind(j, &k->events[i])))
			continue;
		j->call_of[i] = KINETO_NOBODY;
		ops[n++] = (uint32_t)i;
	}
	if (n == 0)
		return 0;
	r = begin_sharing(&s);
	if (r < 0)
		return r;
	qsort_r(ops, n, sizeof(*ops), number_order, k->events);
	match_all(&s, ops, n);
	return 0;
}

/* The process and the call of each operation. */
static int find_launchers(struct owner_job *j)
{
	const struct kineto_rank *k = j->k;

	j->ran_for = malloc((k->n_events + 1) * sizeof(*j->ran_for));
	j->call_of = malloc((k->n_events + 1) * sizeof(*j->call_of));
	if (!j->ran_for || !j->call_of)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		uint32_t device = j->devices.of_track[e->track];
		const struct owner_launch *l;

		j->ran_for[i] = j->call_of[i] = KINETO_NOBODY;
		if (device == KINETO_NOBODY)
			continue;
		l = launch_of(j, e, j->shared[device] ? KINETO_NOBODY : j->owner[device]);
		j->ran_for[i] = l ? l->process : j->owner[device];
		j->call_of[i] = l ? l->event : KINETO_NOBODY;
	}
	return find_shared(j);
}

int owner_launchers(struct owner_job *j)
{
	int r = list_launches(j);

	if (r == 0)
		r = find_owners(j);
	return r < 0 ? r : find_launchers(j);
}
