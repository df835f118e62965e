/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/split.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/owner.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

struct job {
	struct kineto_import *im;
	struct kineto_rank *from;
	const struct kineto_owners *owners;
};

/* ---- tracks ------------------------------------------------------------------------------- */

/* Copies the tracks with events of the part. */
static int take_tracks(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	scoped(free_ptr) bool *used = calloc(from->n_tracks + 1, sizeof(*used));

	to->track_here = malloc((from->n_tracks + 1) * sizeof(*to->track_here));
	to->tracks = malloc((from->n_tracks + 1) * sizeof(*to->tracks));
	if (!used || !to->track_here || !to->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_events; i++)
		used[from->events[i].track] |= j->owners->part_of[i] == part;
	for (size_t i = 0; i < from->n_tracks; i++) {
		to->track_here[i] = KINETO_NO_PART;
		if (!used[i] && j->owners->home[i] != part)
			continue;
		to->track_here[i] = (uint32_t)to->n_tracks;
		to->tracks[to->n_tracks] = from->tracks[i];
		to->tracks[to->n_tracks++].ops = 0;
	}
	return 0;
}

/* ---- events ------------------------------------------------------------------------------ */

static int take_events(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	const struct kineto_rank *from = j->from;
	const struct kineto_template *templates = j->im->templates.templates;

	for (size_t i = 0; i < from->n_events; i++) {
		const struct fmt_event *e = &from->events[i];
		uint32_t n = templates[e->template].n_varying;
		struct fmt_event *f;

		if (j->owners->part_of[i] != part)
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
static int take_notes(const struct job *j, uint32_t part, const struct kineto_rank *to,
		      const struct kineto_notes *from, struct kineto_notes *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		if (j->owners->home[from->notes[i].track] != part)
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

/* Takes facts, and the names of the part's processes; the first part gets the names of other
 * processes. */
static int take_names(const struct job *j, uint32_t part, struct kineto_rank *to)
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

static bool has_siblings(const struct kineto_owners *o, uint32_t part)
{
	uint32_t process = o->parts[part].process;

	return (part > 0 && o->parts[part - 1].process == process) ||
	       (part + 1 < o->n_parts && o->parts[part + 1].process == process);
}

/* Numbers the process, over all files. */
static int name_process(const struct job *j, uint32_t part, struct kineto_rank *to)
{
	uint32_t key, json;
	char text[16];
	int r;

	r = snprintf(text, sizeof(text), "%" PRIu32,
		     j->im->n_processes + j->owners->parts[part].process + 1);
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
	to->ordinal = j->owners->parts[part].device;
	to->split = 1;
	to->ranges = &from->spool;
	r = take_tracks(j, part, to);
	if (r == 0)
		r = take_events(j, part, to);
	for (size_t role = 0; role < KINETO_ROLES && r == 0; role++)
		r = take_notes(j, part, to, &from->notes[role], &to->notes[role]);
	if (r == 0)
		r = take_names(j, part, to);
	if (r == 0 && has_siblings(j->owners, part))
		r = name_process(j, part, to);
	for (size_t i = 0; r == 0 && i < from->n_tracks; i++)
		if (j->owners->home[i] != part)
			to->track_here[i] = KINETO_NO_PART; /* another has its ranges */
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

int kineto_split_by_gpu(struct kineto_import *im, size_t index)
{
	scoped(kineto_owners_done) struct kineto_owners owners = {0};
	struct job j = {.im = im, .from = im->ranks[index], .owners = &owners};
	struct kineto_rank first = {0};
	int r = kineto_owners_find(j.from, &im->templates, &owners);

	if (r < 0 || owners.n_parts == 0)
		return r;
	kineto_rank_init(&first, im, j.from->path);
	r = make_part(&j, 0, &first);
	for (uint32_t i = 1; i < owners.n_parts && r == 0; i++) {
		struct kineto_rank *k;

		r = kineto_add_rank(im, j.from->path, &k);
		if (r == 0)
			r = make_part(&j, i, k);
	}
	im->n_processes += owners.parts[owners.n_parts - 1].process + 1;
	if (r < 0)
		kineto_rank_done(&first);
	else
		replace(j.from, &first);
	return r;
}

/* ---- data shared by the GPUs of a process ------------------------------------------------ */

/* Adds notes of `from` to those of `to`, on the same threads. If `to` has no such thread, they go
 * to its first track, or with `same` are dropped. */
static int add_notes(const struct kineto_rank *from, const struct kineto_notes *notes, size_t n,
		     bool same, const struct kineto_rank *to, struct kineto_notes *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct kineto_track *l = &from->tracks[notes->notes[i].track];
		uint32_t track = 0;

		while (track < to->n_tracks && (l->kind != to->tracks[track].kind ||
						!kineto_same_id(&l->pid, &to->tracks[track].pid) ||
						!kineto_same_id(&l->tid, &to->tracks[track].tid)))
			track++;
		if (track == to->n_tracks && same)
			continue;
		if (array_reserve(&ret->notes, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		ret->notes[ret->n] = notes->notes[i];
		ret->notes[ret->n++].track = track < to->n_tracks ? track : 0;
	}
	return 0;
}

/* A rank's original number of notes, by role. */
struct own {
	size_t n[KINETO_ROLES];
};

static int share_with(struct kineto_import *im, const struct own *own, size_t to)
{
	struct kineto_rank *k = im->ranks[to];
	int r = 0;

	for (size_t i = 0; i < im->n_ranks; i++) {
		const struct kineto_rank *from = im->ranks[i];

		if (i == to || from->process != k->process)
			continue;
		for (size_t role = 0; role < KINETO_ROLES && r == 0; role++)
			r = add_notes(from, &from->notes[role], own[i].n[role],
				      role == KINETO_COMMS, k, &k->notes[role]);
	}
	return r;
}

static uint32_t process_of(const struct kineto_import *im, const struct kineto_rank *k)
{
	const struct fmt_interned *strings = im->strings.strings;

	for (size_t i = 0; i < k->n_facts; i++)
		if (strcmp(strings[k->facts[i].key].s, FMT_FACT_PROCESS) == 0)
			return (uint32_t)strtoul(strings[k->facts[i].json].s, NULL, 10);
	return 0;
}

int kineto_copy_shared(struct kineto_import *im)
{
	scoped(free_ptr) struct own *own = calloc(im->n_ranks + 1, sizeof(*own));
	int r = own ? 0 : -ENOMEM;

	for (size_t i = 0; i < im->n_ranks && r == 0; i++) {
		struct kineto_rank *k = im->ranks[i];

		k->process = process_of(im, k);
		for (size_t role = 0; role < KINETO_ROLES; role++)
			own[i].n[role] = k->notes[role].n;
	}
	for (size_t i = 0; i < im->n_ranks && r == 0; i++)
		if (im->ranks[i]->process > 0 && im->ranks[i]->n_tracks > 0)
			r = share_with(im, own, i);
	return r;
}
