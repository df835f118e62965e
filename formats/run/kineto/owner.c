/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/owner.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/owner_impl.h"

#include <ctype.h>

/* A device is a GPU of its own if it has a kernel, and of operations this share of what the
 * process's busiest has. Processes often touch another device without using it. */
#define SHARE 100

/* A file has so many processes, and devices, at most; a process has so many GPUs; and there are so
 * many threads and streams for all processes together. What a stranger's file may cost hangs on
 * them. */
#define MOST_IDS 2048
#define MOST_GPUS_OF_A_PROCESS 64
#define MOST_TRACKS (1u << 24)

static void job_done(struct owner_job *j)
{
	free(j->processes.ids);
	free(j->processes.of_track);
	free(j->devices.ids);
	free(j->devices.of_track);
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

/* Those of tracks of `kind` that have any of counts[]. */
static int list_ids(const struct owner_job *j, uint32_t kind, const uint64_t *counts,
		    struct owner_ids *ret)
{
	const struct kineto_rank *k = j->k;
	struct kineto_strings *strings = j->templates->strings;
	uint32_t n = 0;

	ret->ids = malloc((k->n_tracks + 1) * sizeof(*ret->ids));
	ret->of_track = malloc((k->n_tracks + 1) * sizeof(*ret->of_track));
	if (!ret->ids || !ret->of_track)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_tracks; i++)
		if (k->tracks[i].kind == kind && counts[i] > 0)
			ret->ids[ret->n++] = k->tracks[i].pid;
	if (ret->n > 0)
		qsort_r(ret->ids, ret->n, sizeof(*ret->ids), id_order, strings);
	for (uint32_t i = 0; i < ret->n; i++)
		if (n == 0 || id_order(&ret->ids[n - 1], &ret->ids[i], strings) != 0)
			ret->ids[n++] = ret->ids[i];
	ret->n = n;
	for (size_t i = 0; i < k->n_tracks; i++) {
		uint32_t at = (uint32_t)array_bound(
			m, 0, n, id_order(&ret->ids[m], &k->tracks[i].pid, strings) < 0);

		ret->of_track[i] =
			k->tracks[i].kind == kind && at < n &&
					id_order(&ret->ids[at], &k->tracks[i].pid, strings) == 0
				? at
				: KINETO_NOBODY;
	}
	return 0;
}

static int find_ids(struct owner_job *j)
{
	scoped(free_ptr) uint64_t *calls = calloc(j->k->n_tracks + 1, sizeof(*calls));
	scoped(free_ptr) uint64_t *ops = calloc(j->k->n_tracks + 1, sizeof(*ops));
	int r;

	if (!calls || !ops)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *e = &j->k->events[i];

		calls[e->track] += owner_kind(j, e) == FMT_CALL;
		ops[e->track] += FMT_IS_OP(owner_kind(j, e));
	}
	r = list_ids(j, FMT_THREAD, calls, &j->processes);
	return r < 0 ? r : list_ids(j, FMT_STREAM, ops, &j->devices);
}

/* ---- parts ------------------------------------------------------------------------------- */

static int count_ops(struct owner_job *j)
{
	size_t n = (size_t)j->processes.n * j->devices.n + 1;

	j->ops = calloc(n, sizeof(*j->ops));
	j->kernels = calloc(n, sizeof(*j->kernels));
	j->part = malloc(n * sizeof(*j->part));
	j->main_part = calloc(j->processes.n + (size_t)1, sizeof(*j->main_part));
	if (!j->ops || !j->kernels || !j->part || !j->main_part)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		int kind = owner_kind(j, &j->k->events[i]);
		size_t at;

		if (j->ran_for[i] == KINETO_NOBODY || !FMT_IS_OP(kind))
			continue;
		at = (size_t)j->ran_for[i] * j->devices.n +
		     j->devices.of_track[j->k->events[i].track];
		j->ops[at]++;
		j->kernels[at] += kind == FMT_KERNEL || kind == FMT_COLLECTIVE;
	}
	return 0;
}

/* The GPUs of one process; what it did on others goes to the busiest of them. */
static int list_parts(struct owner_job *j, uint32_t process, struct kineto_owners *ret)
{
	uint32_t n = j->devices.n, busiest = 0;
	const uint64_t *ops = j->ops + (size_t)process * n;
	const uint64_t *kernels = j->kernels + (size_t)process * n;
	uint32_t *part = j->part + (size_t)process * n;
	uint32_t first = ret->n_parts;

	for (uint32_t d = 1; d < n; d++)
		busiest = ops[d] > ops[busiest] ? d : busiest;
	for (uint32_t d = 0; d < n; d++) {
		part[d] = KINETO_NOBODY;
		if (d != busiest && (kernels[d] == 0 || ops[d] * SHARE < ops[busiest]))
			continue;
		if (ops[d] == 0)
			continue;
		if (ret->n_parts - first == MOST_GPUS_OF_A_PROCESS || ret->n_parts == MOST_IDS)
			return -EFBIG;
		part[d] = ret->n_parts;
		ret->parts[ret->n_parts++] = (struct kineto_part){
			process, kineto_device_ordinal(j->templates->strings, &j->devices.ids[d])};
	}
	j->main_part[process] = part[busiest] == KINETO_NOBODY ? 0 : part[busiest];
	for (uint32_t d = 0; d < n; d++)
		part[d] = part[d] == KINETO_NOBODY ? j->main_part[process] : part[d];
	return 0;
}

static uint32_t part_on(const struct owner_job *j, uint32_t process, uint32_t track)
{
	return j->part[(size_t)process * j->devices.n + j->devices.of_track[track]];
}

/* ---- calls ------------------------------------------------------------------------------- */

static int call_order(const void *a, const void *b, void *rank)
{
	const struct fmt_event *events = ((const struct kineto_rank *)rank)->events;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct fmt_event *x = &events[i], *y = &events[k];

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(x->correlation, y->correlation) ?: array_order(i, k);
}

/* A call that launches nothing goes with the launch before it on its thread, else with the next. */
static void place_calls(const struct owner_job *j, const uint32_t *calls, size_t n,
			uint32_t *part_of)
{
	const struct fmt_event *events = j->k->events;

	for (size_t from = 0, to; from < n; from = to) {
		uint32_t track = events[calls[from]].track, process = j->processes.of_track[track];
		uint32_t last = process == KINETO_NOBODY ? 0 : j->main_part[process];

		for (to = from; to < n && events[calls[to]].track == track; to++)
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

static int place_events(const struct owner_job *j, uint32_t *part_of)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint32_t *calls = malloc((k->n_events + 1) * sizeof(*calls));
	size_t n = 0;

	if (!calls)
		return -ENOMEM;
	memset(part_of, 0xff, k->n_events * sizeof(*part_of));
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];

		if (owner_kind(j, e) == FMT_CALL) {
			calls[n++] = (uint32_t)i;
			continue;
		}
		part_of[i] =
			j->ran_for[i] == KINETO_NOBODY ? 0 : part_on(j, j->ran_for[i], e->track);
		if (j->call_of[i] != KINETO_NOBODY && FMT_IS_OP(owner_kind(j, e)) &&
		    part_of[j->call_of[i]] == KINETO_NOBODY)
			part_of[j->call_of[i]] = part_of[i];
	}
	if (n > 0)
		qsort_r(calls, n, sizeof(*calls), call_order, (void *)k);
	place_calls(j, calls, n, part_of);
	return 0;
}

/* ---- tracks ------------------------------------------------------------------------------- */

/* The part that has most of a track's events. */
static int place_tracks(const struct owner_job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint64_t *counts = NULL;

	if (k->n_tracks > MOST_TRACKS / o->n_parts)
		return -EFBIG;
	counts = calloc(k->n_tracks * (size_t)o->n_parts + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++)
		counts[k->events[i].track * (size_t)o->n_parts + o->part_of[i]]++;
	for (size_t i = 0; i < k->n_tracks; i++) {
		const uint64_t *n = counts + i * o->n_parts;
		uint32_t process = j->processes.of_track[i];

		o->process_of[i] = process;
		o->home[i] = process == KINETO_NOBODY ? 0 : j->main_part[process];
		for (uint32_t p = 0; p < o->n_parts; p++)
			o->home[i] = n[p] > n[o->home[i]] ? p : o->home[i];
	}
	return 0;
}

static int divide(struct owner_job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	int r = 0;

	o->parts = malloc(MOST_IDS * sizeof(*o->parts));
	if (!o->parts)
		return -ENOMEM;
	for (uint32_t p = 0; p < j->processes.n && r == 0; p++)
		r = list_parts(j, p, o);
	if (r < 0)
		return r;
	if (o->n_parts < 2) {
		o->n_parts = 0;
		return 0;
	}
	o->guessed = j->guessed;
	o->part_of = malloc((k->n_events + 1) * sizeof(*o->part_of));
	o->home = malloc((k->n_tracks + 1) * sizeof(*o->home));
	o->process_of = malloc((k->n_tracks + 1) * sizeof(*o->process_of));
	if (!o->part_of || !o->home || !o->process_of)
		return -ENOMEM;
	r = place_events(j, o->part_of);
	return r < 0 ? r : place_tracks(j, o);
}

int kineto_owners_find(const struct kineto_rank *k, const struct kineto_templates *templates,
		       struct kineto_owners *ret)
{
	scoped(job_done) struct owner_job j = {.k = k, .templates = templates};
	scoped(kineto_owners_done) struct kineto_owners o = {0};
	int r = find_ids(&j);

	if (r < 0)
		return r;
	if (j.processes.n > MOST_IDS || j.devices.n > MOST_IDS ||
	    (j.processes.n > 1 && k->n_tracks > MOST_TRACKS / j.processes.n))
		return -EFBIG;
	if (j.processes.n > 0 && j.devices.n > 0 && j.processes.n + j.devices.n > 2) {
		r = owner_launchers(&j);
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
