/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/ranks.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_DEVICES 1024

void rec_ranks_done(struct rec_ranks *r)
{
	free(r->ranks);
	free(r->of_device);
	free(r->first);
	free(r->first_track);
	free(r->device_of_track);
	*r = (struct rec_ranks){0};
}

static void note_device(int device, int *most)
{
	if (device > *most && device < MOST_DEVICES)
		*most = device;
}

/* Returns 1 + the largest device number of a stream, communicator or allocation. */
static uint32_t count_devices(struct rec_process *const *processes, size_t n)
{
	int most = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rec_process *p = processes[i];

		for (size_t k = 0; k < p->n_tracks; k++)
			note_device(p->tracks[k].device, &most);
		for (size_t k = 0; k < p->nccl.n_comms; k++)
			note_device(p->nccl.comms[k].device, &most);
		for (size_t k = 0; k < p->memory.n_ids; k++)
			note_device(p->memory.ids[k].device, &most);
	}
	return (uint32_t)most + 1;
}

/* Returns true if the process launched operations on the device, or has a communicator there. */
static bool uses_device(const struct rec_process *p, uint32_t device)
{
	for (size_t k = 0; k < p->nccl.n_comms; k++)
		if (p->nccl.comms[k].device == (int)device)
			return true;
	for (size_t k = 0; k < p->n_tracks; k++)
		if (p->tracks[k].kind == FMT_STREAM && p->tracks[k].device == (int)device)
			return true;
	return false;
}

/* Returns true if the process allocated memory of the device. */
static bool allocates_on(const struct rec_process *p, uint32_t device)
{
	for (size_t k = 0; k < p->memory.n_ids; k++)
		if (p->memory.ids[k].device == (int)device)
			return true;
	return false;
}

static int add_rank(struct rec_ranks *r, size_t *cap, const struct rec_process *p, int device)
{
	if (array_reserve(&r->ranks, (size_t)r->n + 1, cap) < 0)
		return -ENOMEM;
	r->ranks[r->n++] = (struct rec_rank){.process = p->index, .device = (int16_t)device};
	return 0;
}

static int list_process(struct rec_ranks *r, size_t *cap, const struct rec_process *p)
{
	uint32_t before = r->n;
	int e = 0;

	for (uint32_t d = 0; d < r->n_devices && e == 0; d++)
		if (uses_device(p, d))
			e = add_rank(r, cap, p, (int)d);
	if (r->n > before)
		return e;
	/* A process without operations may allocate memory that other processes use. */
	for (uint32_t d = 0; d < r->n_devices && e == 0; d++)
		if (allocates_on(p, d))
			e = add_rank(r, cap, p, (int)d);
	return e;
}

/* If no process has operations, each process with calls is a rank. */
static int list_ranks(struct rec_ranks *r, struct rec_process *const *processes, size_t n)
{
	size_t cap = 0;
	int e = 0;

	for (size_t i = 0; i < n && e == 0; i++)
		e = list_process(r, &cap, processes[i]);
	if (r->n > 0)
		return e;
	for (size_t i = 0; i < n && e == 0; i++)
		if (processes[i]->counts.calls > 0 || processes[i]->n_ranges > 0)
			e = add_rank(r, &cap, processes[i], -1);
	return e;
}

/* ---- numbers */

/* Returns the largest communicator of the rank's GPU. */
static const struct rec_comm *world_of(const struct rec_process *p, const struct rec_rank *rank)
{
	const struct rec_comm *best = NULL;

	for (size_t i = 0; i < p->nccl.n_comms; i++) {
		const struct rec_comm *c = &p->nccl.comms[i];

		if (c->parent || c->device < 0 || c->device != rank->device)
			continue;
		if (!best || c->n > best->n ||
		    (c->n == best->n && c->id == best->id && c->rank < best->rank))
			best = c;
	}
	return best;
}

/* Returns the value of a numeric fact of the process, or -1. */
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

	return array_order(x->number, y->number)
	       ?: array_order(x->process, y->process)
	       ?: array_order(x->device, y->device);
}

#define NO_NUMBER UINT32_MAX
#define MOST_NUMBER (1u << 30) /* larger numbers are invalid */

static uint32_t world_rank(const struct rec_process *p, const struct rec_rank *rank)
{
	const struct rec_comm *c = world_of(p, rank);

	return c && c->rank <= MOST_NUMBER ? c->rank : NO_NUMBER;
}

static uint32_t launched_rank(const struct rec_process *p, const struct rec_rank *rank)
{
	int64_t v = environment_rank(p);

	return v >= 0 && v <= MOST_NUMBER ? (uint32_t)v : NO_NUMBER;
}

/* Numbers the ranks by `number` and sorts them; ranks without a number come last. Returns how many
 * have one; 0 if two have the same. */
static uint32_t number_by(struct rec_ranks *r, struct rec_process *const *processes,
			  uint32_t (*number)(const struct rec_process *p,
					     const struct rec_rank *rank))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		r->ranks[i].number = number(processes[r->ranks[i].process], &r->ranks[i]);
		n += r->ranks[i].number != NO_NUMBER;
	}
	if (r->n > 0)
		qsort(r->ranks, r->n, sizeof(*r->ranks), by_number);
	for (uint32_t i = 1; i < n; i++)
		if (r->ranks[i].number == r->ranks[i - 1].number)
			return 0;
	return n;
}

/* Gives ranks without a number the next ones. */
static void number_unnumbered(struct rec_ranks *r, uint32_t n)
{
	for (uint32_t i = n; i < r->n; i++)
		r->ranks[i].number = i > 0 ? r->ranks[i - 1].number + 1 : 0;
}

static uint32_t device_ordinal(const struct rec_process *p, const struct rec_rank *rank)
{
	(void)p;
	return rank->device >= 0 ? (uint32_t)rank->device : NO_NUMBER;
}

static bool started_before(const struct rec_process *p, const struct rec_process *q)
{
	return (array_order(p->recording, q->recording)
			?: array_order(p->started, q->started)
			?: array_order(p->pid, q->pid)) < 0;
}

/* Sorts the ranks by the start of their processes, which is the same in each run if one process
 * starts all others; the order of their first calls is not. */
static void sort_by_start(struct rec_ranks *r, struct rec_process *const *processes)
{
	for (uint32_t i = 0; i < r->n; i++) {
		r->ranks[i].number = 0;
		for (uint32_t k = 0; k < r->n; k++)
			r->ranks[i].number += started_before(processes[r->ranks[k].process],
							     processes[r->ranks[i].process]);
	}
	if (r->n > 0)
		qsort(r->ranks, r->n, sizeof(*r->ranks), by_number);
}

/* Numbers by communicator or by launcher, if all ranks get different numbers; else if some do, for
 * example if a process failed before it joined the communicator; else by device, if all differ;
 * else by process. */
static void number_ranks(struct rec_ranks *r, struct rec_process *const *processes)
{
	uint32_t n;

	if (number_by(r, processes, world_rank) == r->n ||
	    number_by(r, processes, launched_rank) == r->n)
		return;
	n = number_by(r, processes, world_rank);
	if (n == 0)
		n = number_by(r, processes, launched_rank);
	if (n == 0 && number_by(r, processes, device_ordinal) < r->n)
		sort_by_start(r, processes);
	number_unnumbered(r, n);
}

static void index_devices(struct rec_ranks *r)
{
	for (uint32_t i = r->n; i-- > 0;) {
		const struct rec_rank *rank = &r->ranks[i];

		r->first[rank->process] = i;
		if (rank->device >= 0)
			r->of_device[(size_t)rank->process * r->n_devices +
				     (uint32_t)rank->device] = i;
	}
}

/* Remembers which device each track is of. */
static int list_tracks(struct rec_ranks *r, struct rec_process *const *processes, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += processes[i]->n_tracks;
	r->first_track = malloc((n + 1) * sizeof(*r->first_track));
	r->device_of_track = malloc((sum + 1) * sizeof(*r->device_of_track));
	if (!r->first_track || !r->device_of_track)
		return -ENOMEM;
	sum = 0;
	for (size_t i = 0; i < n; i++) {
		r->first_track[i] = (uint32_t)sum;
		for (size_t k = 0; k < processes[i]->n_tracks; k++)
			r->device_of_track[sum++] = processes[i]->tracks[k].device;
	}
	r->first_track[n] = (uint32_t)sum;
	return 0;
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
	e = list_ranks(&r, processes, n);
	if (e == 0)
		e = list_tracks(&r, processes, n);
	memset(r.first, r.n > 0 ? 0 : 0xff, (n + 1) * sizeof(*r.first));
	if (e < 0)
		return e;
	number_ranks(&r, processes);
	index_devices(&r);
	*ret = r;
	r = (struct rec_ranks){0};
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
	if (e->call != REC_NONE)
		e = &p->events[e->call];
	return rec_rank_of_device(
		r, p,
		e->device >= 0 ? e->device
			       : r->device_of_track[r->first_track[p->index] + e->track]);
}

uint32_t rec_shared_process(const struct rec_ranks *r, uint32_t rank)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (i != rank && r->ranks[i].process == r->ranks[rank].process)
			return r->ranks[rank].process + 1;
	return 0;
}
