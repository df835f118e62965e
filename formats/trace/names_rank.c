/* SPDX-License-Identifier: Apache-2.0 */

/* The names that belong to a rank: tracks, devices, facts. */
#include "formats/trace/names.h"

#include "base/array.h"
#include "formats/trace/names_impl.h"

#include <xxhash.h>

/* The highest rank that can be named: a bound on what a broken caller or file can allocate. */
#define MAX_RANKS (1u << 24)

static struct fmt_rank_names *rank_of(struct fmt_names *n, uint32_t rank, int *error)
{
	*error = -EOVERFLOW;
	if (rank >= MAX_RANKS)
		return NULL;
	if (rank >= n->n_ranks) {
		*error = -ENOMEM;
		if (array_reserve(&n->ranks, (size_t)rank + 1, &n->ranks_cap) < 0)
			return NULL;
		memset(n->ranks + n->n_ranks, 0, sizeof(*n->ranks) * (rank + 1 - n->n_ranks));
		n->n_ranks = rank + 1;
	}
	return &n->ranks[rank];
}

static int same_track(const struct fmt_track *x, const struct fmt_track *y)
{
	return x->kind == y->kind && x->text_ids == y->text_ids && x->pid == y->pid &&
	       x->tid == y->tid && x->pid_text == y->pid_text && x->tid_text == y->tid_text;
}

int fmt_names_track(struct fmt_names *n, uint32_t rank, const struct fmt_track *track,
		    uint32_t *ret)
{
	const int64_t key[] = {track->kind, track->text_ids, track->pid,
			       track->tid,  track->pid_text, track->tid_text};
	uint32_t hash = (uint32_t)XXH3_64bits(key, sizeof(key));
	struct fmt_hash_slot *slot;
	int error;
	struct fmt_rank_names *r = rank_of(n, rank, &error);

	if (!r)
		return error;
	if (fmt_hash_reserve(&r->track_table) < 0)
		return -ENOMEM;
	slot = fmt_hash_find(&r->track_table, hash, i, same_track(track, &r->tracks[i]));
	if (slot->number) {
		*ret = slot->number - 1;
		return 0;
	}
	if (array_reserve(&r->tracks, (size_t)r->n_tracks + 1, &r->tracks_cap) < 0)
		return -ENOMEM;
	r->tracks[r->n_tracks] = *track;
	fmt_hash_set(&r->track_table, slot, hash, r->n_tracks);
	*ret = r->n_tracks++;
	return 0;
}

const struct fmt_track *fmt_track(const struct fmt_names *n, uint32_t rank, uint32_t track)
{
	if (rank >= n->n_ranks || track >= n->ranks[rank].n_tracks)
		return NULL;
	return &n->ranks[rank].tracks[track];
}

uint32_t fmt_n_tracks(const struct fmt_names *n, uint32_t rank)
{
	return rank < n->n_ranks ? n->ranks[rank].n_tracks : 0;
}

int fmt_names_device(struct fmt_names *n, uint32_t rank, const struct fmt_device *device)
{
	int error;
	struct fmt_rank_names *r = rank_of(n, rank, &error);

	if (!r)
		return error;
	if (array_reserve(&r->devices, (size_t)r->n_devices + 1, &r->devices_cap) < 0)
		return -ENOMEM;
	r->devices[r->n_devices++] = *device;
	return 0;
}

const struct fmt_device *fmt_device(const struct fmt_names *n, uint32_t rank, uint32_t index)
{
	if (rank >= n->n_ranks || index >= n->ranks[rank].n_devices)
		return NULL;
	return &n->ranks[rank].devices[index];
}

/* ---- facts ---- */

/* The slot of the fact of that key, or a free one. */
static struct fmt_hash_slot *find_fact(const struct fmt_name_facts *f, fmt_str key)
{
	return fmt_hash_find(&f->table, fmt_hash_number(key), i, f->facts[i].key == key);
}

int fmt_names_fact(struct fmt_names *n, uint32_t rank, const char *key, fmt_str value)
{
	struct fmt_name_facts *f = &n->trace_facts;
	struct fmt_fact fact = {.value = value};
	struct fmt_hash_slot *slot;
	int r = fmt_names_string(n, key, strlen(key), &fact.key);

	if (r < 0)
		return r;
	if (rank != FMT_WHOLE_TRACE) {
		struct fmt_rank_names *names = rank_of(n, rank, &r);

		if (!names)
			return r;
		f = &names->facts;
	}
	if (fmt_hash_reserve(&f->table) < 0)
		return -ENOMEM;
	slot = find_fact(f, fact.key);
	if (slot->number) {
		f->facts[slot->number - 1].value = value;
		return 0;
	}
	if (array_reserve(&f->facts, (size_t)f->n + 1, &f->facts_cap) < 0)
		return -ENOMEM;
	fmt_hash_set(&f->table, slot, fmt_hash_number(fact.key), f->n);
	f->facts[f->n++] = fact;
	return 0;
}

int fmt_names_fact_json(struct fmt_names *n, uint32_t rank, const char *key, const char *json,
			size_t len)
{
	fmt_str value;
	int r = fmt_names_string(n, json, len, &value);

	return r < 0 ? r : fmt_names_fact(n, rank, key, value);
}

static const struct fmt_name_facts *facts_of(const struct fmt_names *n, uint32_t rank)
{
	if (rank == FMT_WHOLE_TRACE)
		return &n->trace_facts;
	return rank < n->n_ranks ? &n->ranks[rank].facts : NULL;
}

const struct fmt_fact *fmt_fact(const struct fmt_names *n, uint32_t rank, uint32_t index)
{
	const struct fmt_name_facts *f = facts_of(n, rank);

	return f && index < f->n ? &f->facts[index] : NULL;
}

const char *fmt_fact_value(const struct fmt_names *n, uint32_t rank, const char *key)
{
	const struct fmt_name_facts *f = facts_of(n, rank);
	fmt_str number = fmt_names_find_string(n, key);
	const struct fmt_hash_slot *slot;

	if (!f || !number)
		return NULL;
	slot = find_fact(f, number);
	return slot->number ? fmt_string(n, f->facts[slot->number - 1].value, NULL) : NULL;
}
