/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/stability.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/hash.h"

#include <stdbool.h>

/* Partners of a call site with their own counter; further ones share the last counter. */
#define PARTNERS 4

/* Tracks with less than this share of an iteration's events count as one: a program may use another
 * small stream in each iteration. */
#define SMALL_TRACK 64

static const char *const event_rules[] = {"comm-wait-compute", "compute-wait-comm", "event-wait",
					  "sync-stream", "sync-event"};

struct partner {
	struct stability_position position;
	uint32_t back;
	uint32_t seen; /* number of iterations with it */
};

struct site {
	uint32_t program;
	uint32_t edge; /* several edges that end in one event are numbered from 0 */
	uint8_t rule;
	struct stability_position position;
	uint32_t seen, n_partners;
	struct partner partners[PARTNERS]; /* the last one also counts all further ones */
};

struct place {
	struct stability_position position;
	uint32_t nth_last; /* the same counted from the end of the iteration */
};

/* A slice whose events may be partners. */
struct placed {
	struct place *events; /* owned */
	size_t n, cap;
	fmt_number first;
};

struct rank_iterations {
	struct placed now, before;
};

/* Iterations of a rank that run the same operations. */
struct program {
	uint32_t rank, n;
	uint64_t operations; /* the sum of the hashes of their names */
};

/* The number of events of a name on the current track. */
struct counter {
	uint64_t track; /* by order of all tracks of all slices, from 1 */
	uint32_t n;
};

struct stability {
	const struct fmt_names *names;
	uint32_t n_ranks;
	struct rank_iterations *ranks;
	struct counter *counters; /* by name */
	uint64_t n_tracks;
	bool is_event_rule[UINT8_MAX + 1], has_event_rule;
	struct program *programs;
	size_t n_programs, programs_cap;
	struct site *sites;
	size_t n_sites, sites_cap;
	struct fmt_hash_table by_program, by_site;
};

void stability_free(struct stability *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->ranks && i < s->n_ranks; i++) {
		free(s->ranks[i].now.events);
		free(s->ranks[i].before.events);
	}
	free(s->ranks);
	free(s->counters);
	free(s->programs);
	free(s->sites);
	fmt_hash_done(&s->by_program);
	fmt_hash_done(&s->by_site);
	free(s);
}

define_cleanup(stability_freep, struct stability *, stability_free);

int stability_new(const struct fmt_names *names, uint32_t n_ranks, struct stability **ret)
{
	scoped(stability_freep) struct stability *s = calloc(1, sizeof(*s));
	const struct fmt_rule *rule;

	if (!s)
		return -ENOMEM;
	s->names = names;
	s->n_ranks = n_ranks;
	s->ranks = calloc(n_ranks + 1ul, sizeof(*s->ranks));
	s->counters = calloc(fmt_n_strings(names) + 1ul, sizeof(*s->counters));
	if (!s->ranks || !s->counters)
		return -ENOMEM;
	for (uint32_t i = 0; (rule = fmt_rule(names, i)) && i <= UINT8_MAX; i++)
		for (size_t k = 0; k < ARRAY_SIZE(event_rules); k++)
			s->is_event_rule[i] |=
				rule->inferred &&
				!strcmp(fmt_string(names, rule->name, NULL), event_rules[k]);
	for (size_t i = 0; i < ARRAY_SIZE(s->is_event_rule); i++)
		s->has_event_rule |= s->is_event_rule[i];
	*ret = take(s);
	return 0;
}

/* ---- positions ---- */

static void place_events(struct stability *s, const struct fmt_slice *slice, struct place *events)
{
	size_t first = 0;

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		fmt_str name = fmt_template(s->names, e->template)->name;
		struct counter *c = &s->counters[name];

		if (i == 0 || e->track != e[-1].track) {
			first = i;
			s->n_tracks++;
		}
		if (c->track != s->n_tracks)
			*c = (struct counter){.track = s->n_tracks};
		events[i].position = (struct stability_position){name, e->track, ++c->n};
		if (i + 1 < slice->n_events && e[1].track == e->track)
			continue;
		for (size_t k = first; k <= i; k++) {
			events[k].nth_last =
				s->counters[events[k].position.name].n + 1 - events[k].position.nth;
			if (i + 1 - first < slice->n_events / SMALL_TRACK)
				events[k].position.track = UINT32_MAX;
		}
	}
}

/* Finds the program of the iteration: iterations that run other operations have other positions. */
static int find_program(struct stability *s, uint32_t rank, const struct fmt_slice *slice,
			const struct place *events, uint32_t *ret)
{
	uint64_t operations = 0;
	struct fmt_hash_slot *slot;
	uint32_t hash;

	for (size_t i = 0; i < slice->n_events; i++)
		if (FMT_IS_OP(fmt_template(s->names, slice->events[i].template)->kind))
			operations += fmt_hash_number(events[i].position.name + 1ul);
	hash = fmt_hash_numbers(operations, rank);
	if (fmt_hash_reserve(&s->by_program) < 0 ||
	    array_reserve(&s->programs, s->n_programs + 1, &s->programs_cap) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&s->by_program, hash, i,
			     s->programs[i].rank == rank &&
				     s->programs[i].operations == operations);
	if (!slot->number) {
		s->programs[s->n_programs] = (struct program){rank, 0, operations};
		fmt_hash_set(&s->by_program, slot, hash, (uint32_t)s->n_programs++);
	}
	*ret = slot->number - 1;
	s->programs[*ret].n++;
	return 0;
}

static bool same_position(const struct stability_position *a, const struct stability_position *b)
{
	return a->name == b->name && a->track == b->track && a->nth == b->nth;
}

static struct partner find_partner(const struct rank_iterations *r, fmt_number number)
{
	struct partner ret = {0};

	if (number - r->now.first < r->now.n) {
		ret.position = r->now.events[number - r->now.first].position;
	} else if (number - r->before.first < r->before.n) {
		const struct place *p = &r->before.events[number - r->before.first];

		ret.position = p->position;
		ret.position.nth = p->nth_last;
		ret.back = 1;
	} else {
		ret.back = 2;
	}
	return ret;
}

/* ---- sites ---- */

static int find_site(struct stability *s, const struct site *key, struct site **ret)
{
	uint32_t hash = fmt_hash_numbers((uint64_t)key->position.name << 32 | key->position.nth,
					 (uint64_t)key->program << 32 |
						 (key->position.track * 8 + key->edge));
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&s->by_site) < 0 ||
	    array_reserve(&s->sites, s->n_sites + 1, &s->sites_cap) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&s->by_site, hash, i,
			     s->sites[i].program == key->program && s->sites[i].edge == key->edge &&
				     same_position(&s->sites[i].position, &key->position));
	if (!slot->number) {
		s->sites[s->n_sites] = *key;
		fmt_hash_set(&s->by_site, slot, hash, (uint32_t)s->n_sites++);
	}
	*ret = &s->sites[slot->number - 1];
	return 0;
}

static void add_partner(struct site *site, const struct partner *partner)
{
	uint32_t i = 0;

	site->seen++;
	while (i < site->n_partners &&
	       (!same_position(&site->partners[i].position, &partner->position) ||
		site->partners[i].back != partner->back))
		i++;
	if (i == PARTNERS)
		i--;
	else if (i == site->n_partners)
		site->partners[site->n_partners++] = *partner;
	site->partners[i].seen++;
}

static int add_edges(struct stability *s, const struct rank_iterations *r, uint32_t program,
		     const struct fmt_slice *slice)
{
	uint32_t edge = 0;

	for (size_t i = 0; i < slice->n_edges; i++) {
		const struct fmt_edge *e = &slice->edges[i];
		uint64_t to = e->to - slice->first_number;
		struct site key = {.program = program, .rule = e->rule}, *site;
		struct partner partner;

		edge = i > 0 && e->to == e[-1].to ? edge : 0;
		if (!s->is_event_rule[e->rule] || e->rank != 0 || e->from == e->to ||
		    to >= r->now.n)
			continue;
		key.position = r->now.events[to].position;
		key.edge = edge++;
		partner = find_partner(r, e->from);
		if (find_site(s, &key, &site) < 0)
			return -ENOMEM;
		add_partner(site, &partner);
	}
	return 0;
}

int stability_slice(struct stability *s, uint32_t rank, const struct fmt_slice *slice, int whole)
{
	struct rank_iterations *r = &s->ranks[rank];
	struct placed before = r->now;
	uint32_t program;
	int error;

	if (!s->has_event_rule)
		return 0;
	r->now = r->before;
	r->before = before;
	if (array_reserve(&r->now.events, slice->n_events, &r->now.cap) < 0)
		return -ENOMEM;
	r->now.n = slice->n_events;
	r->now.first = slice->first_number;
	place_events(s, slice, r->now.events);
	if (!whole)
		return 0;
	error = find_program(s, rank, slice, r->now.events, &program);
	return error < 0 ? error : add_edges(s, r, program, slice);
}

/* ---- the report ---- */

static const struct partner *usual_partner(const struct site *site)
{
	const struct partner *usual = &site->partners[0];

	for (uint32_t i = 1; i < site->n_partners; i++)
		if (site->partners[i].seen > usual->seen)
			usual = &site->partners[i];
	return usual;
}

static struct stability_site describe_site(const struct stability *s, const struct site *site,
					   const uint32_t *numbers)
{
	const struct program *program = &s->programs[site->program];
	const struct partner *usual = usual_partner(site);

	return (struct stability_site){
		.gpu = numbers[program->rank],
		.gpus = 1,
		.rule = site->rule,
		.position = site->position,
		.partner = usual->position,
		.back = usual->back,
		.iterations = program->n,
		.seen = site->seen,
		.partners = site->n_partners,
		.usual = usual->seen,
	};
}

static int by_position(const void *x, const void *y)
{
	const struct stability_site *a = x, *b = y;

	int order = array_order(a->position.name, b->position.name);

	if (order == 0)
		order = array_order(a->position.nth, b->position.nth);
	return order ?: array_order(a->gpu, b->gpu);
}

/* Sorts sites by the share of iterations with another partner, largest first. */
static int by_share(const void *x, const void *y)
{
	const struct stability_site *a = x, *b = y;
	uint64_t of_a = (uint64_t)a->usual * b->seen, of_b = (uint64_t)b->usual * a->seen;

	return array_order(of_a, of_b) ?: array_order(b->gpus, a->gpus) ?: by_position(x, y);
}

/* Merges the sites of all ranks with the same name and position, and keeps the worst ones. */
static void keep_worst(struct stability_site *sites, size_t n, struct stability_report *ret)
{
	size_t joined = 0;

	qsort(sites, n, sizeof(*sites), by_position);
	for (size_t i = 0; i < n; i++) {
		struct stability_site *last = joined > 0 ? &sites[joined - 1] : NULL;

		if (last && last->position.name == sites[i].position.name &&
		    last->position.nth == sites[i].position.nth)
			last->gpus += last->last_gpu != sites[i].gpu;
		else
			sites[joined++] = sites[i];
		sites[joined - 1].last_gpu = sites[i].gpu;
	}
	qsort(sites, joined, sizeof(*sites), by_share);
	ret->n_worst = joined < STABILITY_WORST ? (uint32_t)joined : STABILITY_WORST;
	memcpy(ret->worst, sites, ret->n_worst * sizeof(*sites));
}

int stability_finish(struct stability *s, const uint32_t *numbers, struct stability_report *ret)
{
	scoped(free_ptr) struct stability_site *changing =
		malloc((s->n_sites + 1) * sizeof(*changing));
	size_t n = 0;

	if (!changing)
		return -ENOMEM;
	*ret = (struct stability_report){0};
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct site *site = &s->sites[i];
		uint32_t iterations = s->programs[site->program].n;

		if (iterations < 2)
			continue;
		ret->sites++;
		/* The partner in the first iteration may have run before the recording. */
		if (site->n_partners > 1)
			changing[n++] = describe_site(s, site, numbers);
		else if (site->seen < 2 || site->seen + 1 < iterations)
			ret->partial++;
		else
			ret->stable++;
	}
	if (n > 0)
		keep_worst(changing, n, ret);
	return 0;
}
