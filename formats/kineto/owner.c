/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/kineto/owner.h"

#include "base/array.h"
#include "base/scope.h"

#include <ctype.h>
#include <stdbool.h>

/* Clocks of host and device are so far apart at most, and an idle stream begins so soon. */
#define SOON_NS INT64_C(100000)
/* A device is a GPU of its own if it has a kernel, and of operations this share of what the
 * process's busiest has. Processes often touch another device without using it. */
#define SHARE 100

/* Pids of threads that called, or of streams that worked, by their order. */
struct ids {
	struct kineto_arg *ids;
	uint32_t *of_lane; /* KINETO_NOBODY */
	uint32_t n;
};

struct launch {
	uint64_t correlation;
	int64_t start_ns;
	uint32_t event, process;
};

struct job {
	const struct kineto_rank *k;
	const struct kineto_sites *sites;
	struct ids processes, devices;
	struct launch *launches; /* by correlation, then start */
	size_t n_launches;
	uint32_t *owner;     /* of each device, the process */
	bool *shared;	     /* of each device: several processes work on it */
	uint32_t *call_of;   /* of each event, the call that launched it */
	uint32_t *ran_for;   /* of each operation, the process */
	uint64_t *ops;	     /* by process and device */
	uint64_t *kernels;   /* likewise */
	uint32_t *part;	     /* likewise: the part that they go to */
	uint32_t *main_part; /* by process */
};

static void job_done(struct job *j)
{
	free(j->processes.ids);
	free(j->processes.of_lane);
	free(j->devices.ids);
	free(j->devices.of_lane);
	free(j->launches);
	free(j->owner);
	free(j->shared);
	free(j->call_of);
	free(j->ran_for);
	free(j->ops);
	free(j->kernels);
	free(j->part);
	free(j->main_part);
}

void kineto_owners_done(struct kineto_owners *o)
{
	free(o->parts);
	free(o->part_of);
	free(o->home);
	free(o->process_of);
	*o = (struct kineto_owners){0};
}

static int kind_of(const struct job *j, const struct fmt_event *e)
{
	return j->sites->sites[e->site].kind;
}

/* ---- processes and devices --------------------------------------------------------------- */

int64_t kineto_device_ordinal(const struct kineto_strings *strings, const struct kineto_arg *pid)
{
	const struct kineto_string *s;
	size_t n;

	if (pid->type == FMT_INT)
		return pid->value >= 0 ? pid->value : -1;
	s = &strings->strings[pid->value];
	for (n = s->len; n > 0 && isdigit((unsigned char)s->s[n - 1]); n--)
		;
	return n < s->len && s->len - n < 10 ? strtoll(s->s + n, NULL, 10) : -1;
}

static int id_order(const void *a, const void *b, void *strings)
{
	const struct kineto_arg *x = a, *y = b;
	const struct kineto_string *s = ((struct kineto_strings *)strings)->strings;

	if ((x->type == FMT_INT) != (y->type == FMT_INT))
		return x->type == FMT_INT ? -1 : 1;
	return x->type == FMT_INT ? array_order(x->value, y->value)
				  : strcmp(s[x->value].s, s[y->value].s);
}

/* Those of lanes of `kind` that have any of counts[]. */
static int list_ids(const struct job *j, uint32_t kind, const uint64_t *counts, struct ids *ret)
{
	const struct kineto_rank *k = j->k;
	struct kineto_strings *strings = j->sites->strings;
	uint32_t n = 0;

	ret->ids = malloc((k->n_lanes + 1) * sizeof(*ret->ids));
	ret->of_lane = malloc((k->n_lanes + 1) * sizeof(*ret->of_lane));
	if (!ret->ids || !ret->of_lane)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_lanes; i++)
		if (k->lanes[i].kind == kind && counts[i] > 0)
			ret->ids[ret->n++] = k->lanes[i].pid;
	if (ret->n > 0)
		qsort_r(ret->ids, ret->n, sizeof(*ret->ids), id_order, strings);
	for (uint32_t i = 0; i < ret->n; i++)
		if (n == 0 || id_order(&ret->ids[n - 1], &ret->ids[i], strings) != 0)
			ret->ids[n++] = ret->ids[i];
	ret->n = n;
	for (size_t i = 0; i < k->n_lanes; i++) {
		uint32_t at = (uint32_t)array_bound(
			m, 0, n, id_order(&ret->ids[m], &k->lanes[i].pid, strings) < 0);

		ret->of_lane[i] =
			k->lanes[i].kind == kind && at < n &&
					id_order(&ret->ids[at], &k->lanes[i].pid, strings) == 0
				? at
				: KINETO_NOBODY;
	}
	return 0;
}

static int find_ids(struct job *j)
{
	scoped(free_ptr) uint64_t *calls = calloc(j->k->n_lanes + 1, sizeof(*calls));
	scoped(free_ptr) uint64_t *ops = calloc(j->k->n_lanes + 1, sizeof(*ops));
	int r;

	if (!calls || !ops)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *e = &j->k->events[i];

		calls[e->lane] += kind_of(j, e) == FMT_CALL;
		ops[e->lane] += FMT_IS_OP(kind_of(j, e));
	}
	r = list_ids(j, FMT_THREAD, calls, &j->processes);
	return r < 0 ? r : list_ids(j, FMT_STREAM, ops, &j->devices);
}

/* ---- launches ---------------------------------------------------------------------------- */

static int launch_order(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->start_ns, y->start_ns) ?: array_order(x->process, y->process) ?: array_order(x->event, y->event);
}

static int list_launches(struct job *j)
{
	const struct kineto_rank *k = j->k;

	j->launches = malloc((k->n_events + 1) * sizeof(*j->launches));
	if (!j->launches)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		uint32_t process = j->processes.of_lane[e->lane];

		if (kind_of(j, e) == FMT_CALL && e->correlation && process != KINETO_NOBODY)
			j->launches[j->n_launches++] =
				(struct launch){e->correlation, e->start_ns, (uint32_t)i, process};
	}
	if (j->n_launches > 0)
		qsort(j->launches, j->n_launches, sizeof(*j->launches), launch_order);
	return 0;
}

static size_t first_launch(const struct job *j, uint64_t correlation)
{
	return array_bound(i, 0, j->n_launches, j->launches[i].correlation < correlation);
}

/* The last launch of its number, by `process` or by anyone, that came before the operation. */
static const struct launch *launch_of(const struct job *j, const struct fmt_event *op,
				      uint32_t process)
{
	const struct launch *found = NULL;

	if (!op->correlation)
		return NULL;
	for (size_t i = first_launch(j, op->correlation);
	     i < j->n_launches && j->launches[i].correlation == op->correlation; i++) {
		const struct launch *l = &j->launches[i];

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
static bool related(const struct job *j, const struct kineto_arg *a, const struct kineto_arg *b)
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

static void weigh(const struct job *j, struct evidence *all, uint64_t *known)
{
	uint32_t n = j->processes.n;

	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *op = &j->k->events[i];
		uint32_t device = j->devices.of_lane[op->lane];
		bool any = false;

		if (device == KINETO_NOBODY || !FMT_IS_OP(kind_of(j, op)))
			continue;
		for (uint32_t p = 0; p < n; p++) {
			const struct launch *l = launch_of(j, op, p);
			struct evidence *e = &all[device * n + p];

			any |= l != NULL;
			e->impossible += !l;
			e->votes += !l ? -8 : op->start_ns - l->start_ns < SOON_NS ? 5 : 1;
		}
		known[device] += any;
		/* Launched before the recording: nobody can have launched it. */
		for (uint32_t p = 0; p < n && !any; p++) {
			all[device * n + p].impossible--;
			all[device * n + p].votes += 8;
		}
	}
}

static int find_owners(struct job *j)
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
	return 0;
}

/* The process and the call of each operation. */
static int find_launchers(struct job *j)
{
	const struct kineto_rank *k = j->k;

	j->ran_for = malloc((k->n_events + 1) * sizeof(*j->ran_for));
	j->call_of = malloc((k->n_events + 1) * sizeof(*j->call_of));
	if (!j->ran_for || !j->call_of)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		uint32_t device = j->devices.of_lane[e->lane];
		const struct launch *l;

		j->ran_for[i] = j->call_of[i] = KINETO_NOBODY;
		if (device == KINETO_NOBODY)
			continue;
		l = launch_of(j, e, j->shared[device] ? KINETO_NOBODY : j->owner[device]);
		j->ran_for[i] = l ? l->process : j->owner[device];
		j->call_of[i] = l ? l->event : KINETO_NOBODY;
	}
	return 0;
}

/* ---- parts ------------------------------------------------------------------------------- */

static int count_ops(struct job *j)
{
	size_t n = (size_t)j->processes.n * j->devices.n + 1;

	j->ops = calloc(n, sizeof(*j->ops));
	j->kernels = calloc(n, sizeof(*j->kernels));
	j->part = malloc(n * sizeof(*j->part));
	j->main_part = calloc(j->processes.n + (size_t)1, sizeof(*j->main_part));
	if (!j->ops || !j->kernels || !j->part || !j->main_part)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		int kind = kind_of(j, &j->k->events[i]);
		size_t at;

		if (j->ran_for[i] == KINETO_NOBODY || !FMT_IS_OP(kind))
			continue;
		at = (size_t)j->ran_for[i] * j->devices.n +
		     j->devices.of_lane[j->k->events[i].lane];
		j->ops[at]++;
		j->kernels[at] += kind == FMT_KERNEL || kind == FMT_COLLECTIVE;
	}
	return 0;
}

/* The GPUs of one process; what it did on others goes to the busiest of them. */
static void list_parts(struct job *j, uint32_t process, struct kineto_owners *ret)
{
	uint32_t n = j->devices.n, busiest = 0;
	const uint64_t *ops = j->ops + (size_t)process * n;
	const uint64_t *kernels = j->kernels + (size_t)process * n;
	uint32_t *part = j->part + (size_t)process * n;

	for (uint32_t d = 1; d < n; d++)
		busiest = ops[d] > ops[busiest] ? d : busiest;
	for (uint32_t d = 0; d < n; d++) {
		part[d] = KINETO_NOBODY;
		if (d != busiest && (kernels[d] == 0 || ops[d] * SHARE < ops[busiest]))
			continue;
		if (ops[d] == 0)
			continue;
		part[d] = ret->n_parts;
		ret->parts[ret->n_parts++] = (struct kineto_part){
			process, kineto_device_ordinal(j->sites->strings, &j->devices.ids[d])};
	}
	j->main_part[process] = part[busiest] == KINETO_NOBODY ? 0 : part[busiest];
	for (uint32_t d = 0; d < n; d++)
		part[d] = part[d] == KINETO_NOBODY ? j->main_part[process] : part[d];
}

static uint32_t part_on(const struct job *j, uint32_t process, uint32_t lane)
{
	return j->part[(size_t)process * j->devices.n + j->devices.of_lane[lane]];
}

/* ---- calls ------------------------------------------------------------------------------- */

static int call_order(const void *a, const void *b, void *rank)
{
	const struct fmt_event *events = ((const struct kineto_rank *)rank)->events;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct fmt_event *x = &events[i], *y = &events[k];

	return array_order(x->lane, y->lane) ?: array_order(x->start_ns, y->start_ns) ?: array_order(x->correlation, y->correlation) ?: array_order(i, k);
}

/* A call that launches nothing goes with the launch before it on its thread, else with the next. */
static void place_calls(const struct job *j, const uint32_t *calls, size_t n, uint32_t *part_of)
{
	const struct fmt_event *events = j->k->events;

	for (size_t from = 0, to; from < n; from = to) {
		uint32_t lane = events[calls[from]].lane, process = j->processes.of_lane[lane];
		uint32_t last = process == KINETO_NOBODY ? 0 : j->main_part[process];

		for (to = from; to < n && events[calls[to]].lane == lane; to++)
			;
		for (size_t i = to; i-- > from;)
			last = part_of[calls[i]] == KINETO_NOBODY ? last : part_of[calls[i]];
		for (size_t i = from; i < to; i++) {
			if (part_of[calls[i]] == KINETO_NOBODY)
				part_of[calls[i]] = last;
			last = part_of[calls[i]];
		}
	}
}

static int place_events(const struct job *j, uint32_t *part_of)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint32_t *calls = malloc((k->n_events + 1) * sizeof(*calls));
	size_t n = 0;

	if (!calls)
		return -ENOMEM;
	memset(part_of, 0xff, k->n_events * sizeof(*part_of));
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];

		if (kind_of(j, e) == FMT_CALL) {
			calls[n++] = (uint32_t)i;
			continue;
		}
		part_of[i] =
			j->ran_for[i] == KINETO_NOBODY ? 0 : part_on(j, j->ran_for[i], e->lane);
		if (j->call_of[i] != KINETO_NOBODY && FMT_IS_OP(kind_of(j, e)) &&
		    part_of[j->call_of[i]] == KINETO_NOBODY)
			part_of[j->call_of[i]] = part_of[i];
	}
	if (n > 0)
		qsort_r(calls, n, sizeof(*calls), call_order, (void *)k);
	place_calls(j, calls, n, part_of);
	return 0;
}

/* ---- lanes ------------------------------------------------------------------------------- */

/* The part that has most of a lane's events. */
static int place_lanes(const struct job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint64_t *counts =
		calloc(k->n_lanes * (size_t)o->n_parts + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++)
		counts[k->events[i].lane * (size_t)o->n_parts + o->part_of[i]]++;
	for (size_t i = 0; i < k->n_lanes; i++) {
		const uint64_t *n = counts + i * o->n_parts;
		uint32_t process = j->processes.of_lane[i];

		o->process_of[i] = process;
		o->home[i] = process == KINETO_NOBODY ? 0 : j->main_part[process];
		for (uint32_t p = 0; p < o->n_parts; p++)
			o->home[i] = n[p] > n[o->home[i]] ? p : o->home[i];
	}
	return 0;
}

static int divide(struct job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	int r;

	o->parts = malloc(((size_t)j->processes.n * j->devices.n + 1) * sizeof(*o->parts));
	if (!o->parts)
		return -ENOMEM;
	for (uint32_t p = 0; p < j->processes.n; p++)
		list_parts(j, p, o);
	if (o->n_parts < 2) {
		o->n_parts = 0;
		return 0;
	}
	o->part_of = malloc((k->n_events + 1) * sizeof(*o->part_of));
	o->home = malloc((k->n_lanes + 1) * sizeof(*o->home));
	o->process_of = malloc((k->n_lanes + 1) * sizeof(*o->process_of));
	if (!o->part_of || !o->home || !o->process_of)
		return -ENOMEM;
	r = place_events(j, o->part_of);
	return r < 0 ? r : place_lanes(j, o);
}

int kineto_owners_find(const struct kineto_rank *k, const struct kineto_sites *sites,
		       struct kineto_owners *ret)
{
	scoped(job_done) struct job j = {.k = k, .sites = sites};
	scoped(kineto_owners_done) struct kineto_owners o = {0};
	int r = find_ids(&j);

	if (r < 0)
		return r;
	if (j.processes.n > 0 && j.devices.n > 0 && j.processes.n + j.devices.n > 2) {
		r = list_launches(&j);
		if (r == 0)
			r = find_owners(&j);
		if (r == 0)
			r = find_launchers(&j);
		if (r == 0)
			r = count_ops(&j);
		if (r == 0)
			r = divide(&j, &o);
	}
	if (r < 0)
		return r;
	*ret = o;
	o = (struct kineto_owners){0};
	return 0;
}
