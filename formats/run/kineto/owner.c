/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/owner.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/order.h"

#include <ctype.h>

/* A device counts as a GPU if it has a kernel, and this fraction of the operations of the process's
 * busiest device. Processes often touch another device without using it. */
#define SHARE 100

/* More GPUs than a file has; a large number would cost memory for each track. */
#define MOST_GPUS 64

/* Process ids of threads with calls, or device ids of streams with operations, in order. */
struct ids {
	struct kineto_arg *ids;
	uint32_t *of_track; /* KINETO_NO_PART: another kind of track */
	uint32_t n;
};

struct job {
	struct kineto_rank *k;
	const struct kineto_templates *templates;
	struct ids processes, devices;
	uint32_t *owner;     /* of each device, the process */
	uint64_t *ops;	     /* by device */
	uint64_t *kernels;   /* by device */
	uint32_t *part;	     /* by device: the part that gets its operations */
	uint32_t *main_part; /* by process */
};

static void job_done(struct job *j)
{
	free(j->processes.ids);
	free(j->processes.of_track);
	free(j->devices.ids);
	free(j->devices.of_track);
	free(j->owner);
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
	*o = (struct kineto_owners){0};
}

static int kind_of(const struct job *j, const struct fmt_event *e)
{
	return j->templates->templates[e->template].kind;
}

/* ---- processes and devices --------------------------------------------------------------- */

int64_t kineto_device_ordinal(const struct fmt_strings *strings, const struct kineto_arg *pid)
{
	const struct fmt_interned *s;
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
	return kineto_id_compare(strings, a, b);
}

/* Lists the ids of tracks of `kind` that have any of counts[]. */
static int list_ids(const struct job *j, uint32_t kind, const uint64_t *counts, struct ids *ret)
{
	const struct kineto_rank *k = j->k;
	struct fmt_strings *strings = j->templates->strings;
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
				: KINETO_NO_PART;
	}
	return 0;
}

static int find_ids(struct job *j)
{
	scoped(free_ptr) uint64_t *calls = calloc(j->k->n_tracks + 1, sizeof(*calls));
	scoped(free_ptr) uint64_t *ops = calloc(j->k->n_tracks + 1, sizeof(*ops));
	int r;

	if (!calls || !ops)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *e = &j->k->events[i];

		calls[e->track] += kind_of(j, e) == FMT_CALL;
		ops[e->track] += FMT_IS_OP(kind_of(j, e));
	}
	r = list_ids(j, FMT_THREAD, calls, &j->processes);
	return r < 0 ? r : list_ids(j, FMT_STREAM, ops, &j->devices);
}

/* Finds each device's process: the one that launched its operations. */
static int find_owners(struct job *j)
{
	struct kineto_rank *k = j->k;
	uint32_t only = j->processes.n == 1 ? 0 : KINETO_NO_PART;
	int r = kineto_find_launches(k, j->templates, j->processes.of_track);

	j->owner = malloc((j->devices.n + (size_t)1) * sizeof(*j->owner));
	if (r < 0 || !j->owner)
		return r < 0 ? r : -ENOMEM;
	for (uint32_t d = 0; d < j->devices.n; d++)
		j->owner[d] = only;
	for (size_t i = 0; i < k->n_events; i++) {
		uint32_t device = j->devices.of_track[k->events[i].track], process;

		if (device == KINETO_NO_PART || k->call_of[i] == KINETO_NONE)
			continue;
		process = j->processes.of_track[k->events[k->call_of[i]].track];
		if (j->owner[device] == KINETO_NO_PART)
			j->owner[device] = process;
		if (j->owner[device] != process)
			return -EXDEV;
	}
	for (uint32_t d = 0; d < j->devices.n; d++)
		if (j->owner[d] == KINETO_NO_PART)
			return -EXDEV;
	return 0;
}

/* ---- parts ------------------------------------------------------------------------------- */

static int count_ops(struct job *j)
{
	size_t n = j->devices.n + (size_t)1;

	j->ops = calloc(n, sizeof(*j->ops));
	j->kernels = calloc(n, sizeof(*j->kernels));
	j->part = malloc(n * sizeof(*j->part));
	j->main_part = calloc(j->processes.n + (size_t)1, sizeof(*j->main_part));
	if (!j->ops || !j->kernels || !j->part || !j->main_part)
		return -ENOMEM;
	for (size_t i = 0; i < j->k->n_events; i++) {
		const struct fmt_event *e = &j->k->events[i];
		int kind = kind_of(j, e);

		if (!FMT_IS_OP(kind))
			continue;
		j->ops[j->devices.of_track[e->track]]++;
		j->kernels[j->devices.of_track[e->track]] +=
			kind == FMT_KERNEL || kind == FMT_COLLECTIVE;
	}
	return 0;
}

static uint32_t busiest_of(const struct job *j, uint32_t process)
{
	uint32_t busiest = KINETO_NO_PART;

	for (uint32_t d = 0; d < j->devices.n; d++)
		if (j->owner[d] == process &&
		    (busiest == KINETO_NO_PART || j->ops[d] > j->ops[busiest]))
			busiest = d;
	return busiest;
}

/* Lists the GPUs of one process. Operations on its other devices go to the busiest GPU. */
static int list_parts(struct job *j, uint32_t process, struct kineto_owners *ret)
{
	uint32_t busiest = busiest_of(j, process);

	if (busiest == KINETO_NO_PART)
		return 0;
	for (uint32_t d = 0; d < j->devices.n; d++) {
		if (j->owner[d] != process)
			continue;
		j->part[d] = KINETO_NO_PART;
		if (d != busiest && (j->kernels[d] == 0 || j->ops[d] * SHARE < j->ops[busiest]))
			continue;
		if (ret->n_parts == MOST_GPUS)
			return -EFBIG;
		j->part[d] = ret->n_parts;
		ret->parts[ret->n_parts++] = (struct kineto_part){
			process, kineto_device_ordinal(j->templates->strings, &j->devices.ids[d])};
	}
	j->main_part[process] = j->part[busiest];
	for (uint32_t d = 0; d < j->devices.n; d++)
		if (j->owner[d] == process && j->part[d] == KINETO_NO_PART)
			j->part[d] = j->main_part[process];
	return 0;
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

/* Assigns a call that launches nothing to the part of the previous launch of its thread, else of
 * the next. */
static void place_calls(const struct job *j, const uint32_t *calls, size_t n, uint32_t *part_of)
{
	const struct fmt_event *events = j->k->events;

	for (size_t from = 0, to; from < n; from = to) {
		uint32_t track = events[calls[from]].track, process = j->processes.of_track[track];
		uint32_t last = process == KINETO_NO_PART ? 0 : j->main_part[process];

		for (to = from; to < n && events[calls[to]].track == track; to++)
			;
		for (size_t i = to; i-- > from;)
			last = part_of[calls[i]] == KINETO_NO_PART ? last : part_of[calls[i]];
		for (size_t i = from; i < to; i++) {
			if (part_of[calls[i]] == KINETO_NO_PART)
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
		uint32_t device = j->devices.of_track[e->track];

		if (kind_of(j, e) == FMT_CALL) {
			calls[n++] = (uint32_t)i;
			continue;
		}
		part_of[i] = device == KINETO_NO_PART ? 0 : j->part[device];
		if (k->call_of[i] != KINETO_NONE && FMT_IS_OP(kind_of(j, e)) &&
		    part_of[k->call_of[i]] == KINETO_NO_PART)
			part_of[k->call_of[i]] = part_of[i];
	}
	if (n > 0)
		qsort_r(calls, n, sizeof(*calls), call_order, (void *)k);
	place_calls(j, calls, n, part_of);
	return 0;
}

/* ---- tracks ------------------------------------------------------------------------------ */

/* Assigns each track to the part with most of its events. */
static int place_tracks(const struct job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	scoped(free_ptr) uint64_t *counts =
		calloc(k->n_tracks * (size_t)o->n_parts + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++)
		counts[k->events[i].track * (size_t)o->n_parts + o->part_of[i]]++;
	for (size_t i = 0; i < k->n_tracks; i++) {
		const uint64_t *n = counts + i * o->n_parts;
		uint32_t process = j->processes.of_track[i];

		o->home[i] = process == KINETO_NO_PART ? 0 : j->main_part[process];
		for (uint32_t p = 0; p < o->n_parts; p++)
			o->home[i] = n[p] > n[o->home[i]] ? p : o->home[i];
	}
	return 0;
}

static int divide(struct job *j, struct kineto_owners *o)
{
	const struct kineto_rank *k = j->k;
	int r = 0;

	o->parts = malloc(MOST_GPUS * sizeof(*o->parts));
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
	o->part_of = malloc((k->n_events + 1) * sizeof(*o->part_of));
	o->home = malloc((k->n_tracks + 1) * sizeof(*o->home));
	if (!o->part_of || !o->home)
		return -ENOMEM;
	r = place_events(j, o->part_of);
	return r < 0 ? r : place_tracks(j, o);
}

int kineto_owners_find(struct kineto_rank *k, const struct kineto_templates *templates,
		       struct kineto_owners *ret)
{
	scoped(job_done) struct job j = {.k = k, .templates = templates};
	scoped(kineto_owners_done) struct kineto_owners o = {0};
	int r = find_ids(&j);

	if (r < 0 || j.processes.n == 0 || j.devices.n == 0 || j.processes.n + j.devices.n == 2)
		return r;
	r = find_owners(&j);
	if (r == 0)
		r = count_ops(&j);
	if (r == 0)
		r = divide(&j, &o);
	if (r < 0)
		return r;
	*ret = o;
	o = (struct kineto_owners){0};
	return 0;
}
