/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/kineto/owner_impl.h"

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

	return array_order(x->correlation, y->correlation) ?: array_order(x->start_ns, y->start_ns) ?: array_order(x->process, y->process) ?: array_order(x->event, y->event);
}

static int list_launches(struct owner_job *j)
{
	const struct kineto_rank *k = j->k;

	j->launches = malloc((k->n_events + 1) * sizeof(*j->launches));
	if (!j->launches)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		uint32_t process = j->processes.of_lane[e->lane];

		if (owner_kind(j, e) == FMT_CALL && e->correlation && process != KINETO_NOBODY)
			j->launches[j->n_launches++] = (struct owner_launch){
				e->correlation, e->start_ns, (uint32_t)i, process};
	}
	if (j->n_launches > 0)
		qsort(j->launches, j->n_launches, sizeof(*j->launches), launch_order);
	return 0;
}

static size_t first_launch(const struct owner_job *j, uint64_t correlation)
{
	return array_bound(i, 0, j->n_launches, j->launches[i].correlation < correlation);
}

/* The last launch of its number, by `process` or by anyone, that came before the operation. */
static const struct owner_launch *launch_of(const struct owner_job *j, const struct fmt_event *op,
					    uint32_t process)
{
	const struct owner_launch *found = NULL;

	if (!op->correlation)
		return NULL;
	for (size_t i = first_launch(j, op->correlation);
	     i < j->n_launches && j->launches[i].correlation == op->correlation; i++) {
		const struct owner_launch *l = &j->launches[i];

		if ((process == KINETO_NOBODY || l->process == process) &&
		    l->start_ns <= op->start_ns + SOON_NS)
			found = l;
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
	const struct kineto_string *strings = j->sites->strings->strings;
	const char *x, *y, *end;

	if (a->type == FMT_INT || b->type == FMT_INT)
		return false;
	x = strings[a->value].s;
	y = strings[b->value].s;
	end = strrchr(x, ' ');
	return end && strrchr(y, ' ') - y == end - x && memcmp(x, y, (size_t)(end - x)) == 0;
}

static void weigh(const struct owner_job *j, struct evidence *all, uint64_t *known)
{
	uint32_t n = j->processes.n;

	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *op = &j->k->events[i];
		uint32_t device = j->devices.of_lane[op->lane];
		bool any = false;

		if (device == KINETO_NOBODY || !FMT_IS_OP(owner_kind(j, op)))
			continue;
		for (uint32_t p = 0; p < n; p++) {
			const struct owner_launch *l = launch_of(j, op, p);
			struct evidence *e = &all[device * n + p];

			any |= l != NULL;
			e->impossible += !l;
			e->votes += !l ? -8 : apart(l->start_ns, op->start_ns) < SOON_NS ? 5 : 1;
		}
		known[device] += any;
		/* Launched before the recording: nobody can have launched it. */
		for (uint32_t p = 0; p < n && !any; p++) {
			all[device * n + p].impossible--;
			all[device * n + p].votes += 8;
		}
	}
}

static int lane_order(const void *a, const void *b, void *events)
{
	const struct fmt_event *x = (struct fmt_event *)events + *(const uint32_t *)a;
	const struct fmt_event *y = (struct fmt_event *)events + *(const uint32_t *)b;

	return array_order(x->lane, y->lane) ?: array_order(x->start_ns, y->start_ns);
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
		qsort_r(ops, n, sizeof(*ops), lane_order, k->events);
	for (size_t i = 0; i < n; i++) {
		const struct fmt_event *e = &k->events[ops[i]];
		int64_t until_ns = e->start_ns + e->duration_ns;
		bool same = i > 0 && k->events[ops[i - 1]].lane == e->lane;

		if (j->devices.of_lane[e->lane] != KINETO_NOBODY)
			overlaps[j->devices.of_lane[e->lane]] +=
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
		struct evidence *e = &all[d * n];

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

	return array_order(x->correlation, y->correlation) ?: array_order(x->start_ns, y->start_ns) ?: array_order(x->lane, y->lane) ?: array_order(x->duration_ns, y->duration_ns);
}

/* Whether calls of that name launch such operations: numbers of other processes stand for other
 * calls. */
static bool fits(const struct owner_job *j, const struct owner_launch *l, uint32_t op)
{
	const struct kineto_site *call = &j->sites->sites[j->k->events[l->event].site];
	const char *name = j->sites->strings->strings[call->name].s;
	int kind = owner_kind(j, &j->k->events[op]);

	if (strstr(name, "Graph"))
		return true;
	return strcasestr(name, kind == FMT_MEMCPY   ? "memcpy"
				: kind == FMT_MEMSET ? "memset"
						     : "launch") != NULL;
}

/* How long the operation waited for nothing, had that launched it; INT64_MAX where it cannot have:
 * it is ready when it is launched and what its process did before it on the stream has ended.
 * Before that is as good as never. */
static int64_t cost_of(const struct owner_job *j, const int64_t *end_ns, uint32_t op,
		       const struct owner_launch *l)
{
	const struct fmt_event *e = &j->k->events[op];
	int64_t ended_ns = end_ns[e->lane * (size_t)j->processes.n + l->process];
	int64_t ready_ns = ended_ns > l->start_ns ? ended_ns : l->start_ns;
	int64_t early_ns = l->start_ns - SOON_NS > ended_ns - CLOCK_NS ? l->start_ns - SOON_NS
								       : ended_ns - CLOCK_NS;

	if (!fits(j, l, op))
		return INT64_MAX;
	return e->start_ns < early_ns	? INT64_MAX / 2 + apart(e->start_ns, early_ns)
	       : e->start_ns < ready_ns ? 0
					: apart(ready_ns, e->start_ns);
}

/* Operations ops[0 .. n) of one number, and its launches: the pair that fits best first.
 * Each launch takes as many as there are for each. */
static void match(struct owner_job *j, int64_t *end_ns, const uint32_t *ops, size_t n,
		  const struct owner_launch *launches, size_t n_launches, uint8_t *taken)
{
	size_t n_fit = 0, each;

	memset(taken, 0, n_launches);
	for (size_t k = 0; k < n_launches; k++)
		n_fit += fits(j, &launches[k], ops[0]);
	each = n_fit ? (n + n_fit - 1) / n_fit : 0;
	j->guessed += n_fit > 1 ? n : 0;
	for (size_t done = 0; done < n; done++) {
		const struct owner_launch *best = NULL;
		int64_t least = INT64_MAX;
		uint32_t op = 0;

		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n_launches; k++) {
				int64_t cost;

				if (j->call_of[ops[i]] != KINETO_NOBODY || taken[k] >= each)
					continue;
				cost = cost_of(j, end_ns, ops[i], &launches[k]);
				if (cost >= least)
					continue;
				least = cost;
				best = &launches[k];
				op = ops[i];
			}
		if (!best)
			return;
		taken[best - launches] += taken[best - launches] < UINT8_MAX;
		j->call_of[op] = best->event;
		j->ran_for[op] = best->process;
		end_ns[j->k->events[op].lane * (size_t)j->processes.n + best->process] =
			j->k->events[op].start_ns + j->k->events[op].duration_ns;
	}
}

#define MOST_MATCHED 256 /* operations of one number; more go by their launch alone */

/* Joins the operations of shared devices to launches, number by number, as each process launched
 * them. */
static int find_shared(struct owner_job *j)
{
	const struct kineto_rank *k = j->k;
	size_t n_ends = k->n_lanes * (size_t)j->processes.n, n = 0;
	scoped(free_ptr) int64_t *end_ns = malloc((n_ends + 1) * sizeof(*end_ns));
	scoped(free_ptr) uint32_t *ops = malloc((k->n_events + 1) * sizeof(*ops));
	scoped(free_ptr) uint8_t *taken = malloc(j->n_launches + 1);

	if (!end_ns || !ops || !taken)
		return -ENOMEM;
	for (size_t i = 0; i < n_ends; i++)
		end_ns[i] = INT64_MIN / 4;
	for (size_t i = 0; i < k->n_events; i++) {
		uint32_t device = j->devices.of_lane[k->events[i].lane];

		if (device == KINETO_NOBODY || !j->shared[device] || !k->events[i].correlation ||
		    !FMT_IS_OP(owner_kind(j, &k->events[i])))
			continue;
		j->call_of[i] = KINETO_NOBODY;
		ops[n++] = (uint32_t)i;
	}
	if (n > 0)
		qsort_r(ops, n, sizeof(*ops), number_order, k->events);
	for (size_t from = 0, to; from < n; from = to) {
		const struct fmt_event *e = &k->events[ops[from]];
		size_t at = first_launch(j, e->correlation), end = at;

		for (to = from; to < n && k->events[ops[to]].correlation == e->correlation;)
			to++;
		while (end < j->n_launches && j->launches[end].correlation == e->correlation)
			end++;
		if (end > at && to - from <= MOST_MATCHED && end - at <= MOST_MATCHED)
			match(j, end_ns, ops + from, to - from, j->launches + at, end - at, taken);
	}
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
		uint32_t device = j->devices.of_lane[e->lane];
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
