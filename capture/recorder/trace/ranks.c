/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/trace/ranks.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_DEVICES 1024

void rec_ranks_done(struct rec_ranks *r)
{
	free(r->ranks);
	free(r->of_device);
	free(r->first);
	*r = (struct rec_ranks){0};
}

static uint32_t count_devices(struct rec_process *const *processes, size_t n)
{
	uint32_t most = 1;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < processes[i]->n_lanes; k++) {
			int device = processes[i]->lanes[k].device;

			if (device >= (int)most && device < MOST_DEVICES)
				most = (uint32_t)device + 1;
		}
	return most;
}

/* The least device that is one with it. */
static uint32_t root_of(const struct rec_process *p, uint32_t device)
{
	uint32_t least = device, before;

	do {
		before = least;
		for (size_t i = 0; i < p->n_same; i += 2) {
			uint32_t a = p->same[i], b = p->same[i + 1];

			if (a == least || b == least)
				least = a < b ? a < least ? a : least : b < least ? b : least;
		}
	} while (least != before);
	return least;
}

static int add(struct rec_ranks *r, size_t *cap, const struct rec_process *p, int device)
{
	if (array_reserve(&r->ranks, (size_t)r->n + 1, cap) < 0)
		return -ENOMEM;
	r->ranks[r->n++] = (struct rec_rank){.process = p, .device = (int16_t)device};
	return 0;
}

/* The devices of a process that have work. */
static int list_process(struct rec_ranks *r, size_t *cap, const struct rec_process *p)
{
	int e = 0;

	for (uint32_t d = 0; d < r->n_devices && e == 0; d++) {
		int used = 0;

		for (size_t k = 0; k < p->n_lanes; k++)
			used |= p->lanes[k].kind == FMT_STREAM && p->lanes[k].device == (int)d;
		if (used && root_of(p, d) == d)
			e = add(r, cap, p, (int)d);
	}
	return e;
}

/* Where no process has work for a device, each that called something is a rank. */
static int list_all(struct rec_ranks *r, struct rec_process *const *processes, size_t n)
{
	size_t cap = 0;
	int e = 0;

	for (size_t i = 0; i < n && e == 0; i++)
		e = list_process(r, &cap, processes[i]);
	if (r->n > 0)
		return e;
	for (size_t i = 0; i < n && e == 0; i++)
		if (processes[i]->counts.calls > 0 || processes[i]->n_ranges > 0)
			e = add(r, &cap, processes[i], -1);
	return e;
}

/* ---- numbers */

/* The largest communicator that the rank's GPU is in. */
static const struct rec_comm *world_of(const struct rec_rank *rank)
{
	const struct rec_process *p = rank->process;
	const struct rec_comm *best = NULL;

	for (size_t i = 0; i < p->n_comms; i++) {
		const struct rec_comm *c = &p->comms[i];

		if (c->parent || c->device < 0 ||
		    (int)root_of(p, (uint32_t)c->device) != rank->device)
			continue;
		if (!best || c->n > best->n ||
		    (c->n == best->n && c->id == best->id && c->rank < best->rank))
			best = c;
	}
	return best;
}

/* A fact of the process that is a number, or -1. */
static int64_t number_fact(const struct rec_process *p, const char *key)
{
	for (size_t i = 0; i < p->n_facts; i++)
		if (strcmp(fmt_string(p->names, p->facts[i].key, NULL), key) == 0)
			return fmt_rank_value(fmt_string(p->names, p->facts[i].value, NULL));
	return -1;
}

static int64_t environment_rank(const struct rec_process *p)
{
	int64_t v = -1;

	for (size_t i = 0; fmt_rank_keys[i] && v < 0; i++)
		v = number_fact(p, fmt_rank_keys[i]);
	return v;
}

static int by_number(const void *a, const void *b)
{
	const struct rec_rank *x = a, *y = b;

	return array_order(x->number, y->number) ?: array_order(x->process->index, y->process->index) ?: array_order(x->device, y->device);
}

static int are_different(struct rec_ranks *r)
{
	if (r->n > 0)
		qsort(r->ranks, r->n, sizeof(*r->ranks), by_number);
	for (uint32_t i = 1; i < r->n; i++)
		if (r->ranks[i].number == r->ranks[i - 1].number)
			return 0;
	return 1;
}

/* Each way of numbering counts only if it tells all ranks apart. */
static void number_all(struct rec_ranks *r)
{
	int known = r->n > 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct rec_comm *c = world_of(&r->ranks[i]);

		known &= c != NULL;
		r->ranks[i].number = c ? c->rank : 0;
	}
	if (known && are_different(r))
		return;
	known = r->n > 0;
	for (uint32_t i = 0; i < r->n; i++) {
		int64_t v = environment_rank(r->ranks[i].process);

		known &= v >= 0;
		r->ranks[i].number = (uint32_t)(v >= 0 ? v : 0);
	}
	if (known && are_different(r))
		return;
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].number = 0;
	are_different(r); /* by process and device now */
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].number = i;
}

static void index_devices(struct rec_ranks *r)
{
	for (uint32_t i = r->n; i-- > 0;) {
		const struct rec_rank *rank = &r->ranks[i];
		uint32_t *of = r->of_device + (size_t)rank->process->index * r->n_devices;

		r->first[rank->process->index] = i;
		for (uint32_t d = 0; d < r->n_devices; d++)
			if ((int)root_of(rank->process, d) == rank->device)
				of[d] = i;
	}
}

int rec_ranks_find(struct rec_process *const *processes, size_t n, struct rec_ranks *ret)
{
	scoped(rec_ranks_done) struct rec_ranks r = {.n_devices = count_devices(processes, n)};
	int e;

	r.n_of_device = n * r.n_devices;
	r.of_device = malloc((r.n_of_device + 1) * sizeof(*r.of_device));
	r.first = malloc((n + 1) * sizeof(*r.first));
	if (!r.of_device || !r.first)
		return -ENOMEM;
	memset(r.of_device, 0xff, r.n_of_device * sizeof(*r.of_device));
	e = list_all(&r, processes, n);
	memset(r.first, r.n > 0 ? 0 : 0xff, (n + 1) * sizeof(*r.first));
	if (e < 0)
		return e;
	number_all(&r);
	index_devices(&r);
	*ret = r;
	r = (struct rec_ranks){0};
	return 0;
}

/* Where the rank is in the list; its n: nowhere. One that had no device yet may have got one. */
static uint32_t find_rank(const struct rec_ranks *list, const struct rec_rank *rank)
{
	uint32_t i = 0;

	while (i < list->n && (list->ranks[i].process != rank->process ||
			       (list->ranks[i].device != rank->device && rank->device >= 0)))
		i++;
	return i;
}

static bool has_number(const struct rec_ranks *r, uint32_t n, uint32_t number)
{
	for (uint32_t i = 0; i < n; i++)
		if (r->ranks[i].number == number)
			return true;
	return false;
}

int rec_ranks_follow(struct rec_ranks *found, const struct rec_ranks *before)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < before->n; i++) {
		uint32_t at = find_rank(found, &before->ranks[i]);
		struct rec_rank rank;

		if (at == found->n || at < i)
			return -EAGAIN;
		rank = found->ranks[at];
		memmove(&found->ranks[i + 1], &found->ranks[i], (at - i) * sizeof(rank));
		rank.number = before->ranks[i].number;
		found->ranks[i] = rank;
		most = rank.number > most ? rank.number : most;
	}
	for (uint32_t i = before->n; i < found->n; i++) {
		if (has_number(found, i, found->ranks[i].number))
			found->ranks[i].number = most + 1;
		most = found->ranks[i].number > most ? found->ranks[i].number : most;
	}
	memset(found->of_device, 0xff, found->n_of_device * sizeof(*found->of_device));
	index_devices(found);
	return 0;
}

uint32_t rec_rank_of_device(const struct rec_ranks *r, const struct rec_process *p, int device)
{
	uint32_t rank = REC_NONE;

	if (device >= 0 && (uint32_t)device < r->n_devices)
		rank = r->of_device[(size_t)p->index * r->n_devices + (uint32_t)device];
	return rank == REC_NONE ? r->first[p->index] : rank;
}

uint32_t rec_rank_of(const struct rec_ranks *r, const struct rec_process *p,
		     const struct rec_event *e)
{
	const struct rec_lane *lane;

	if (e->call != REC_NONE)
		e = &p->events[e->call];
	lane = &p->lanes[e->lane];
	return rec_rank_of_device(r, p, lane->launches ? lane->device : e->device);
}
