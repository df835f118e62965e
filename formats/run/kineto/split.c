/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/split.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/sort.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* A device counts as a GPU if it has a kernel, and this fraction of the operations of the process's
 * busiest device. Processes often touch another device without using it. */
#define SHARE 100

/* More GPUs than a process has; a large number would cost memory for each track. */
#define MOST_GPUS 64

#define NONE UINT32_MAX

struct device {
	struct kineto_arg id;
	uint64_t ops, kernels;
	uint32_t part; /* the part that gets its operations */
};

/* Each GPU of the file becomes a part. */
struct job {
	struct kineto_import *im;
	struct kineto_rank *from;
	struct device *devices; /* with operations, by id; owned */
	uint32_t n_devices;
	uint32_t *device_of; /* by track: NONE: no stream with operations; owned */
	int64_t ordinals[MOST_GPUS];
	uint32_t n_parts, main_part; /* main_part: of the busiest device */
	uint32_t *part_of;	     /* by event; owned */
	uint32_t *home;		     /* by track: the part that gets its ranges; owned */
};

static void job_done(struct job *j)
{
	free(j->devices);
	free(j->device_of);
	free(j->part_of);
	free(j->home);
}

static int kind_of(const struct job *j, const struct fmt_event *e)
{
	return j->im->templates.templates[e->template].kind;
}

/* ---- devices ----------------------------------------------------------------------------- */

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

/* Returns true if threads of several processes made calls. */
static bool has_processes(const struct job *j)
{
	const struct kineto_arg *first = NULL;

	for (size_t i = 0; i < j->from->n_events; i++) {
		const struct kineto_arg *pid = &j->from->tracks[j->from->events[i].track].pid;

		if (kind_of(j, &j->from->events[i]) != FMT_CALL)
			continue;
		first = first ?: pid;
		if (!kineto_same_id(first, pid))
			return true;
	}
	return false;
}

static int by_id(const void *a, const void *b, void *strings)
{
	const struct device *x = a, *y = b;

	return kineto_id_compare(strings, &x->id, &y->id);
}

static bool is_busy_stream(const struct kineto_track *l)
{
	return l->kind == FMT_STREAM && l->ops > 0;
}

/* Lists the devices, and counts their operations. */
static int list_devices(struct job *j)
{
	const struct kineto_rank *k = j->from;
	struct fmt_strings *strings = &j->im->strings;
	uint32_t n = 0;

	j->devices = calloc(k->n_tracks + 1, sizeof(*j->devices));
	j->device_of = malloc((k->n_tracks + 1) * sizeof(*j->device_of));
	if (!j->devices || !j->device_of)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_tracks; i++)
		if (is_busy_stream(&k->tracks[i]))
			j->devices[n++].id = k->tracks[i].pid;
	qsort_r(j->devices, n, sizeof(*j->devices), by_id, strings);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || by_id(&j->devices[i - 1], &j->devices[i], strings) != 0)
			j->devices[j->n_devices++] = j->devices[i];
	for (size_t i = 0; i < k->n_tracks; i++)
		j->device_of[i] = is_busy_stream(&k->tracks[i])
					  ? (uint32_t)array_bound(
						    m, 0, j->n_devices,
						    kineto_id_compare(strings, &j->devices[m].id,
								      &k->tracks[i].pid) < 0)
					  : NONE;
	for (size_t i = 0; i < k->n_events; i++) {
		int kind = kind_of(j, &k->events[i]);

		if (!FMT_IS_OP(kind))
			continue;
		struct device *d = &j->devices[j->device_of[k->events[i].track]];

		d->ops++;
		d->kernels += kind == FMT_KERNEL || kind == FMT_COLLECTIVE;
	}
	return 0;
}

/* Makes a part for each GPU. Operations on other devices go to the busiest GPU. */
static int make_parts(struct job *j)
{
	const struct device *busiest = j->devices;

	for (uint32_t d = 1; d < j->n_devices; d++)
		if (j->devices[d].ops > busiest->ops)
			busiest = &j->devices[d];
	for (uint32_t d = 0; d < j->n_devices; d++) {
		struct device *device = &j->devices[d];

		device->part = NONE;
		if (device != busiest &&
		    (device->kernels == 0 || device->ops * SHARE < busiest->ops))
			continue;
		if (j->n_parts == MOST_GPUS)
			return -EFBIG;
		j->ordinals[j->n_parts] = kineto_device_ordinal(&j->im->strings, &device->id);
		device->part = j->n_parts++;
	}
	j->main_part = busiest->part;
	for (uint32_t d = 0; d < j->n_devices; d++)
		if (j->devices[d].part == NONE)
			j->devices[d].part = j->main_part;
	return 0;
}

/* ---- the part of each event -------------------------------------------------------------- */

static int call_order(const void *a, const void *b, void *events)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct fmt_event *x = (struct fmt_event *)events + i;
	const struct fmt_event *y = (struct fmt_event *)events + k;

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(x->correlation, y->correlation) ?: array_order(i, k);
}

/* Assigns a call that launches nothing to the part of the previous launch of its thread, else of
 * the next. */
static void assign_calls(const struct job *j, const uint32_t *calls, size_t n)
{
	const struct fmt_event *events = j->from->events;

	for (size_t from = 0, to; from < n; from = to) {
		uint32_t last = j->main_part;

		for (to = from; to < n && events[calls[to]].track == events[calls[from]].track;
		     to++)
			;
		for (size_t i = to; i-- > from;)
			last = j->part_of[calls[i]] == NONE ? last : j->part_of[calls[i]];
		for (size_t i = from; i < to; i++) {
			if (j->part_of[calls[i]] == NONE)
				j->part_of[calls[i]] = last;
			last = j->part_of[calls[i]];
		}
	}
}

static int assign_events(struct job *j)
{
	struct kineto_rank *k = j->from;
	scoped(free_ptr) uint32_t *calls = malloc((k->n_events + 1) * sizeof(*calls));
	int r = kineto_find_launches(k, &j->im->templates);
	size_t n = 0;

	j->part_of = malloc((k->n_events + 1) * sizeof(*j->part_of));
	if (!calls || !j->part_of || r < 0)
		return -ENOMEM;
	memset(j->part_of, 0xff, k->n_events * sizeof(*j->part_of));
	for (size_t i = 0; i < k->n_events; i++) {
		int kind = kind_of(j, &k->events[i]);
		uint32_t device = j->device_of[k->events[i].track];

		if (kind == FMT_CALL) {
			calls[n++] = (uint32_t)i;
			continue;
		}
		j->part_of[i] = device == NONE ? 0 : j->devices[device].part;
		if (k->call_of[i] != KINETO_NONE && FMT_IS_OP(kind) &&
		    j->part_of[k->call_of[i]] == NONE)
			j->part_of[k->call_of[i]] = j->part_of[i];
	}
	if (n > 0)
		qsort_r(calls, n, sizeof(*calls), call_order, k->events);
	assign_calls(j, calls, n);
	return 0;
}

/* Assigns the ranges of each track to the part with most of its events. */
static int assign_ranges(struct job *j)
{
	const struct kineto_rank *k = j->from;
	scoped(free_ptr) uint64_t *counts =
		calloc(k->n_tracks * (size_t)j->n_parts + 1, sizeof(*counts));

	j->home = malloc((k->n_tracks + 1) * sizeof(*j->home));
	if (!counts || !j->home)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++)
		counts[k->events[i].track * (size_t)j->n_parts + j->part_of[i]]++;
	for (size_t i = 0; i < k->n_tracks; i++) {
		const uint64_t *n = counts + i * j->n_parts;

		j->home[i] = j->main_part;
		for (uint32_t p = 0; p < j->n_parts; p++)
			j->home[i] = n[p] > n[j->home[i]] ? p : j->home[i];
	}
	return 0;
}

/* ---- tracks ------------------------------------------------------------------------------- */

/* Copies the tracks with events of the part. */
static int copy_tracks(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	scoped(free_ptr) bool *used = calloc(from->n_tracks + 1, sizeof(*used));

	to->track_here = malloc((from->n_tracks + 1) * sizeof(*to->track_here));
	to->tracks = malloc((from->n_tracks + 1) * sizeof(*to->tracks));
	if (!used || !to->track_here || !to->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_events; i++)
		used[from->events[i].track] |= j->part_of[i] == part;
	for (size_t i = 0; i < from->n_tracks; i++) {
		to->track_here[i] = NONE;
		if (!used[i] && j->home[i] != part)
			continue;
		to->track_here[i] = (uint32_t)to->n_tracks;
		to->tracks[to->n_tracks] = from->tracks[i];
		to->tracks[to->n_tracks++].ops = 0;
	}
	return 0;
}

/* ---- events ------------------------------------------------------------------------------ */

static int copy_events(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	const struct kineto_template *templates = j->im->templates.templates;

	for (size_t i = 0; i < from->n_events; i++) {
		const struct fmt_event *e = &from->events[i];
		uint32_t n = templates[e->template].n_varying;
		struct fmt_event *f;

		if (j->part_of[i] != part)
			continue;
		if (array_reserve(&to->events, to->n_events + 1, &to->events_cap) < 0 ||
		    array_reserve(&to->values, to->n_values + n + 1, &to->values_cap) < 0)
			return -ENOMEM;
		f = &to->events[to->n_events++];
		*f = *e;
		f->track = to->track_here[e->track];
		f->first_value = (uint32_t)to->n_values;
		to->tracks[f->track].ops += FMT_IS_OP(templates[e->template].kind);
		if (n > 0)
			memcpy(to->values + to->n_values, from->values + e->first_value,
			       n * sizeof(*to->values));
		to->n_values += n;
	}
	return 0;
}

/* Copies the notes on tracks whose ranges belong to the part. */
static int copy_notes(const struct job *j, uint32_t part, const struct kineto_rank *to,
		      const struct kineto_notes *from, struct kineto_notes *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		if (j->home[from->notes[i].track] != part)
			continue;
		if (array_reserve(&ret->notes, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		ret->notes[ret->n] = from->notes[i];
		ret->notes[ret->n++].track = to->track_here[from->notes[i].track];
	}
	return 0;
}

/* ---- names ------------------------------------------------------------------------------- */

static bool has_pid(const struct kineto_rank *k, const struct kineto_arg *pid)
{
	for (size_t i = 0; i < k->n_tracks; i++)
		if (kineto_same_id(&k->tracks[i].pid, pid))
			return true;
	return false;
}

/* Copies facts, and the names of the part's processes; the first part gets the names of other
 * processes. */
static int copy_names(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	int r = 0;

	for (size_t i = 0; i < from->n_facts && r == 0; i++)
		r = kineto_rank_fact(to, from->facts[i].key, from->facts[i].json);
	for (size_t i = 0; i < from->n_names && r == 0; i++)
		if (has_pid(to, &from->names[i].pid) ||
		    (part == 0 && !has_pid(from, &from->names[i].pid)))
			r = kineto_rank_name(to, &from->names[i]);
	return r;
}

/* Numbers the process, over all files. */
static int add_process(const struct job *j, struct kineto_rank *to)
{
	uint32_t key, json;
	char text[16];
	int r;

	r = snprintf(text, sizeof(text), "%" PRIu32, j->im->n_processes + 1);
	r = fmt_strings_add(&j->im->strings, text, (size_t)r, &json);
	if (r == 0)
		r = fmt_strings_add(&j->im->strings, FMT_FACT_PROCESS, strlen(FMT_FACT_PROCESS),
				    &key);
	return r < 0 ? r : kineto_rank_fact(to, key, json);
}

/* ---- parts ------------------------------------------------------------------------------- */

static int make_part(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	int r;

	to->number = from->number;
	to->base_ns = from->base_ns;
	to->first_ns = from->first_ns;
	to->last_ns = from->last_ns;
	to->ordinal = j->ordinals[part];
	to->split = 1;
	to->ranges = &from->spool;
	r = copy_tracks(j, part, to);
	if (r == 0)
		r = copy_events(j, part, to);
	for (size_t role = 0; role < KINETO_ROLES && r == 0; role++)
		r = copy_notes(j, part, to, &from->notes[role], &to->notes[role]);
	if (r == 0)
		r = copy_names(j, part, to);
	if (r == 0)
		r = add_process(j, to);
	for (size_t i = 0; r == 0 && i < from->n_tracks; i++)
		if (j->home[i] != part)
			to->track_here[i] = NONE; /* another has its ranges */
	return r;
}

/* Replaces `from` by `first`, which gets the data of the whole file. */
static void replace(struct kineto_rank *from, struct kineto_rank *first)
{
	struct kineto_rank old = *from;

	*from = *first;
	from->spool = old.spool;
	from->tally = old.tally;
	memset(&old.spool, 0, sizeof(old.spool));
	memset(&old.tally, 0, sizeof(old.tally));
	kineto_rank_done(&old);
}

/* Replaces the rank by the first part, and appends the others. */
static int replace_rank(const struct job *j)
{
	struct kineto_rank first = {0};
	int r;

	kineto_rank_init(&first, j->im, j->from->path);
	r = make_part(j, 0, &first);
	for (uint32_t i = 1; i < j->n_parts && r == 0; i++) {
		struct kineto_rank *k;

		r = kineto_add_rank(j->im, j->from->path, &k);
		if (r == 0)
			r = make_part(j, i, k);
	}
	j->im->n_processes++;
	if (r < 0)
		kineto_rank_done(&first);
	else
		replace(j->from, &first);
	return r;
}

int kineto_split_by_gpu(struct kineto_import *im, size_t index)
{
	scoped(job_done) struct job j = {.im = im, .from = im->ranks[index]};
	int r = list_devices(&j);

	if (r < 0 || j.n_devices == 0)
		return r;
	if (has_processes(&j))
		return -EXDEV;
	r = make_parts(&j);
	if (r < 0 || j.n_parts < 2)
		return r;
	r = assign_events(&j);
	if (r == 0)
		r = assign_ranges(&j);
	return r < 0 ? r : replace_rank(&j);
}
