/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/sort.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/kineto/collective.h"

/* ---- tracks ------------------------------------------------------------------------------- */

struct context {
	const struct kineto_templates *templates;
	const struct kineto_track *tracks;
	const int64_t *values;
};

int kineto_id_compare(const struct fmt_strings *strings, const struct kineto_arg *a,
		      const struct kineto_arg *b)
{
	if ((a->type == FMT_INT) != (b->type == FMT_INT))
		return a->type == FMT_INT ? -1 : 1;
	if (a->type == FMT_INT)
		return array_order(a->value, b->value);
	return strcmp(strings->strings[a->value].s, strings->strings[b->value].s);
}

static int track_order(const void *a, const void *b, void *context)
{
	const struct context *c = context;
	const struct kineto_track *x = &c->tracks[*(const uint32_t *)a];
	const struct kineto_track *y = &c->tracks[*(const uint32_t *)b];

	return array_order(x->kind, y->kind)
	       ?: kineto_id_compare(c->templates->strings, &x->pid, &y->pid)
	       ?: kineto_id_compare(c->templates->strings, &x->tid, &y->tid) ?: array_order(x, y);
}

static int order_tracks(struct kineto_rank *k, const struct kineto_templates *templates)
{
	struct context c = {templates, k->tracks, NULL};
	scoped(free_ptr) uint32_t *order = malloc((k->n_tracks + 1) * sizeof(*order));
	struct kineto_track *tracks = malloc((k->n_tracks + 1) * sizeof(*tracks));

	k->track_of = malloc((k->n_tracks + 1) * sizeof(*k->track_of));
	if (!order || !k->track_of || !tracks) {
		free(tracks);
		return -ENOMEM;
	}
	for (size_t i = 0; i < k->n_tracks; i++)
		order[i] = (uint32_t)i;
	if (k->n_tracks > 0)
		qsort_r(order, k->n_tracks, sizeof(*order), track_order, &c);
	for (size_t i = 0; i < k->n_tracks; i++) {
		tracks[i] = k->tracks[order[i]];
		k->track_of[order[i]] = (uint32_t)i;
	}
	free(k->tracks);
	k->tracks = tracks;
	return 0;
}

/* ---- events ------------------------------------------------------------------------------ */

/* Orders events with the same times by template and values. */
static int content_order(const struct context *c, const struct fmt_event *x,
			 const struct fmt_event *y)
{
	int order = kineto_template_compare(c->templates, x->template, y->template);
	uint32_t n = c->templates->templates[x->template].n_varying;

	for (uint32_t i = 0; i < n && order == 0; i++)
		order = array_order(c->values[x->first_value + i], c->values[y->first_value + i]);
	return order;
}

/* Orders events of a track by start; then by correlation; then outer before inner on a thread, and
 * the earlier end first on a stream, where nothing nests. */
static int event_order(const void *a, const void *b, void *context)
{
	const struct fmt_event *x = a, *y = b;
	const struct context *c = context;
	int longer = array_order(x->duration_ns, y->duration_ns);
	bool is_stream = c->tracks[x->track].kind == FMT_STREAM;

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(x->correlation, y->correlation) ?: (is_stream ? longer : -longer)
	       ?: content_order(c, x, y);
}

static int range_order(const void *a, const void *b, void *context)
{
	const struct fmt_event *x = a, *y = b;
	const struct context *c = context;
	int order = array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
		    ?: array_order(y->duration_ns, x->duration_ns);

	if (order == 0 && c->templates->templates[x->template].n_varying > 0 &&
	    c->templates->templates[y->template].n_varying > 0)
		/* Numbers that recorders assign to ranges ascend with their start. */
		order = array_order(c->values[x->first_value], c->values[y->first_value]);
	return order ?: content_order(c, x, y);
}

int kineto_sort_events(struct kineto_rank *k, const struct kineto_templates *templates)
{
	struct context c = {.templates = templates};
	int r = order_tracks(k, templates);

	if (r < 0)
		return r;
	for (size_t i = 0; i < k->n_events; i++)
		k->events[i].track = k->track_of[k->events[i].track];
	for (size_t role = 0; role < KINETO_ROLES; role++)
		for (size_t i = 0; i < k->notes[role].n; i++)
			k->notes[role].notes[i].track = k->track_of[k->notes[role].notes[i].track];
	c.tracks = k->tracks;
	c.values = k->values;
	if (k->n_events > 0)
		qsort_r(k->events, k->n_events, sizeof(*k->events), event_order, &c);
	return 0;
}

void kineto_sort_ranges(struct fmt_event *ranges, size_t n, const int64_t *values,
			const struct kineto_templates *templates)
{
	struct context c = {.templates = templates, .values = values};

	if (n > 0)
		qsort_r(ranges, n, sizeof(*ranges), range_order, &c);
}

/* ---- calls and operations ---------------------------------------------------------------- */

/* Returns the slot of the first call with that correlation, or a free slot for it. */
static struct fmt_hash_slot *call_slot(const struct fmt_hash_table *calls,
				       const struct kineto_rank *k, uint64_t correlation)
{
	return fmt_hash_find(calls, fmt_hash_number(correlation), i,
			     k->events[i].correlation == correlation);
}

int kineto_find_launches(struct kineto_rank *k, const struct kineto_templates *templates)
{
	scoped(fmt_hash_done) struct fmt_hash_table calls = {0};

	free(k->call_of);
	k->call_of = malloc((k->n_events + 1) * sizeof(*k->call_of));
	if (!k->call_of)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		struct fmt_hash_slot *slot;

		if (templates->templates[e->template].kind != FMT_CALL || !e->correlation)
			continue;
		if (fmt_hash_reserve(&calls) < 0)
			return -ENOMEM;
		slot = call_slot(&calls, k, e->correlation);
		if (!slot->number)
			fmt_hash_set(&calls, slot, fmt_hash_number(e->correlation), (uint32_t)i);
	}
	for (size_t i = 0; i < k->n_events; i++) {
		const struct fmt_event *e = &k->events[i];
		bool is_call = templates->templates[e->template].kind == FMT_CALL;

		k->call_of[i] = !is_call && e->correlation
					? call_slot(&calls, k, e->correlation)->number - 1
					: KINETO_NONE;
	}
	return 0;
}

static int note_order(const void *a, const void *b)
{
	const struct kineto_note *x = a, *y = b;

	return array_order(x->track, y->track) ?: array_order(x->start_ns, y->start_ns)
	       ?: array_order(y->duration_ns, x->duration_ns);
}

#define MOST_AROUND 16 /* ranges that may enclose a launch, or begin before it and end */

static uint32_t string_argument(const struct kineto_templates *templates,
				const struct kineto_template *s, uint32_t key)
{
	const struct kineto_slot_arg *args = kineto_template_args(templates, s);

	for (uint32_t i = 0; i < s->n_args; i++)
		if (args[i].key == key && args[i].type == FMT_STRING && !args[i].varies)
			return (uint32_t)args[i].value;
	return KINETO_EMPTY;
}

/* Uses the process group of a range, unless an inner range named one. */
static void merge_group(const struct kineto_templates *templates, const struct kineto_note *range,
			struct fmt_run_group *group)
{
	const struct kineto_template *s = &templates->templates[range->template];

	if (group->name != KINETO_EMPTY)
		return;
	group->name = string_argument(templates, s, KINETO_GROUP);
	group->ranks = string_argument(templates, s, KINETO_GROUP_RANKS);
	group->description = string_argument(templates, s, KINETO_GROUP_DESCRIPTION);
	group->seq = range->seq;
}

/* Merges the descriptions of the ranges around `call` into `s` and `group`, from the innermost
 * outwards. */
static void merge_around(const struct kineto_notes *list, const struct kineto_templates *templates,
			 const struct fmt_event *call, struct kineto_template *s,
			 struct fmt_run_group *group)
{
	const struct kineto_note *notes = list->notes;
	size_t behind =
		array_bound(i, 0, list->n,
			    notes[i].track < call->track || (notes[i].track == call->track &&
							     notes[i].start_ns <= call->start_ns));

	for (size_t i = 0; i < MOST_AROUND && behind > i; i++) {
		const struct kineto_note *m = &notes[behind - 1 - i];

		if (m->track != call->track)
			break;
		if (m->start_ns + m->duration_ns < call->start_ns)
			continue;
		kineto_collective_merge(s, &templates->templates[m->template]);
		merge_group(templates, m, group);
	}
}

/* Keeps the group of an operation that does not name it itself. */
static int keep_group(struct kineto_rank *k, const struct kineto_templates *templates,
		      const struct fmt_event *e, const struct fmt_run_group *group)
{
	const struct kineto_template *s = &templates->templates[e->template];

	for (uint32_t i = 0; i < s->n_args; i++)
		if (kineto_template_args(templates, s)[i].key == KINETO_GROUP)
			return 0;
	if (group->name == KINETO_EMPTY)
		return 0;
	if (array_reserve(&k->groups, k->n_groups + 1, &k->groups_cap) < 0)
		return -ENOMEM;
	k->groups[k->n_groups++] = *group;
	return 0;
}

int kineto_merge_collective_ranges(struct kineto_rank *k, struct kineto_templates *templates)
{
	struct kineto_notes *around = &k->notes[KINETO_COMMS];

	if (around->n > 0)
		qsort(around->notes, around->n, sizeof(*around->notes), note_order);
	for (size_t i = 0; i < k->n_events; i++) {
		struct fmt_event *e = &k->events[i];
		const struct kineto_template *own = &templates->templates[e->template];
		struct kineto_template s = *own;
		struct fmt_run_group group = {.event = (uint32_t)i};
		int r;

		if (s.kind != FMT_COLLECTIVE || k->call_of[i] == KINETO_NONE)
			continue;
		merge_around(around, templates, &k->events[k->call_of[i]], &s, &group);
		if (keep_group(k, templates, e, &group) < 0)
			return -ENOMEM;
		if (s.op == own->op && s.dtype == own->dtype &&
		    s.message_bytes == own->message_bytes)
			continue;
		r = kineto_templates_refine(templates, e->template, s.op, s.dtype, s.message_bytes,
					    &e->template);
		if (r < 0)
			return r;
	}
	return 0;
}
