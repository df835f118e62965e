/* SPDX-License-Identifier: Apache-2.0 */

/* Loading slices. */
#include "formats/store/digests.h"
#include "formats/store/slice_code.h"
#include "formats/store/trace_impl.h"

#include "base/array.h"

void fmt_slice_done(struct fmt_slice *s)
{
	free(s->events);
	free(s->ranges);
	free(s->values);
	free(s->edges);
	free(s->digests);
	free(s->pages);
}

void fmt_slice_free(struct fmt_slice *s)
{
	if (!s)
		return;
	fmt_slice_done(s);
	free(s);
}

static const struct fmt_names_map *map_of(const struct fmt_trace *t,
					  const struct fmt_rank_state *state)
{
	return state->member.header.inline_names ? &state->own : &t->shared_map;
}

static void slice_damaged(struct fmt_trace *t, struct fmt_slice_info *s, const struct fmt_error *e)
{
	pthread_mutex_lock(&t->lock);
	s->damaged = 1;
	fmt_damage_add(&t->damage, e);
	pthread_mutex_unlock(&t->lock);
}

static void note(struct fmt_trace *t, const struct fmt_error *e)
{
	pthread_mutex_lock(&t->lock);
	fmt_damage_add(&t->damage, e);
	pthread_mutex_unlock(&t->lock);
}

/* ---- references ---- */

/* So much memory may be taken by references that nobody uses just now. */
#define CACHE_BYTES (64u << 20)

void fmt_references_free(struct fmt_trace *t)
{
	for (size_t i = 0; i < t->n_references; i++) {
		fmt_reference_free(t->references[i]->reference);
		free(t->references[i]);
	}
	free(t->references);
}

/* Drops what was used longest ago, while there is too much. With the lock held. */
static void trim(struct fmt_trace *t)
{
	while (t->reference_bytes > CACHE_BYTES) {
		size_t oldest = t->n_references;

		for (size_t i = 0; i < t->n_references; i++)
			if (t->references[i]->users == 0 &&
			    (oldest == t->n_references ||
			     t->references[i]->used < t->references[oldest]->used))
				oldest = i;
		if (oldest == t->n_references)
			return;
		t->reference_bytes -= fmt_reference_bytes(t->references[oldest]->reference);
		fmt_reference_free(t->references[oldest]->reference);
		free(t->references[oldest]);
		t->references[oldest] = t->references[--t->n_references];
	}
}

static struct fmt_cached *find_cached(struct fmt_trace *t, uint32_t rank, uint64_t slice)
{
	for (size_t i = 0; i < t->n_references; i++)
		if (t->references[i]->rank == rank && t->references[i]->slice == slice) {
			t->references[i]->users++;
			t->references[i]->used = ++t->clock;
			return t->references[i];
		}
	return NULL;
}

/* Takes over `reference`, unless another thread was faster. */
static int cache(struct fmt_trace *t, uint32_t rank, uint64_t slice,
		 struct fmt_reference *reference, struct fmt_cached **ret)
{
	struct fmt_cached *c = malloc(sizeof(*c));
	int r = 0;

	pthread_mutex_lock(&t->lock);
	*ret = find_cached(t, rank, slice);
	if (*ret) {
		fmt_reference_free(reference);
		free(c);
	} else if (!c ||
		   array_reserve(&t->references, t->n_references + 1, &t->references_cap) < 0) {
		fmt_reference_free(reference);
		free(c);
		r = -ENOMEM;
	} else {
		*c = (struct fmt_cached){.reference = reference,
					 .slice = slice,
					 .used = ++t->clock,
					 .rank = rank,
					 .users = 1};
		t->references[t->n_references++] = *ret = c;
		t->reference_bytes += fmt_reference_bytes(reference);
		trim(t);
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

static int read_reference(struct fmt_trace *t, uint32_t rank, uint64_t slice,
			  struct fmt_reference **ret, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	struct fmt_rank_state *state = &t->ranks[rank];
	struct fmt_cursor in;
	struct fmt_chunk c;
	char path[512];
	uint64_t again;
	int r;

	fmt_member_path(t, &state->member, path, sizeof(path));
	if (slice >= state->info.n_slices || !state->chunk_of[slice])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"the slice that this one refers to was lost");
	c = state->member.chunks[state->chunk_of[slice] - 1];
	r = fmt_member_read(&state->member, path, &c, &raw, err);
	if (r < 0)
		return r;
	if (r == 1)
		note(t, err);
	in = fmt_cursor(raw, c.raw_bytes);
	if (fmt_slice_refers(in, &again) != 0)
		return fmt_fail(err, -EBADMSG, path, c.offset, "a reference that has one itself");
	r = fmt_slice_get(&in, &c, t->names, map_of(t, state), rank, NULL, ret, NULL, &s);
	return r < 0 ? fmt_fail(err, r, path, c.offset, "a slice that makes no sense") : 0;
}

static int get_reference(struct fmt_trace *t, uint32_t rank, uint64_t slice,
			 struct fmt_cached **ret, struct fmt_error *err)
{
	struct fmt_reference *reference = NULL;
	int r;

	pthread_mutex_lock(&t->lock);
	*ret = find_cached(t, rank, slice);
	pthread_mutex_unlock(&t->lock);
	if (*ret)
		return 0;
	r = read_reference(t, rank, slice, &reference, err);
	return r < 0 ? r : cache(t, rank, slice, reference, ret);
}

static void put_reference(struct fmt_trace *t, struct fmt_cached *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&t->lock);
	c->users--;
	trim(t);
	pthread_mutex_unlock(&t->lock);
}

/* ---- slices ---- */

/* Whether others refer to the slice: then its parity is behind it. */
static int is_reference(const struct fmt_rank_state *state, uint64_t slice)
{
	size_t next = state->chunk_of[slice];

	return next < state->member.n_chunks && state->member.chunks[next].type == FMT_CHUNK_PARITY;
}

static int decode(struct fmt_trace *t, uint32_t rank, const struct fmt_cursor *in,
		  const struct fmt_chunk *c, double *bits, struct fmt_slice **ret,
		  struct fmt_error *err)
{
	struct fmt_cached *cached = NULL;
	struct fmt_reference *keep = NULL;
	uint64_t slice = 0;
	int r = fmt_slice_refers(*in, &slice);

	if (r == 1)
		r = get_reference(t, rank, slice, &cached, err);
	if (r == 0) {
		r = fmt_slice_get(in, c, t->names, map_of(t, &t->ranks[rank]), rank,
				  cached ? cached->reference : NULL,
				  is_reference(&t->ranks[rank], c->slice) ? &keep : NULL, bits,
				  ret);
		if (r < 0)
			fmt_fail(err, r, "", c->offset, "a slice that makes no sense");
	}
	/* Whoever needs it next has it; if there is no memory for that, it is decoded again. */
	if (r == 0 && keep)
		cache(t, rank, c->slice, take(keep), &cached);
	fmt_reference_free(keep);
	put_reference(t, cached);
	return r;
}

void fmt_trace_set_keeper(struct fmt_trace *t, struct fmt_slice_keeper keeper)
{
	t->keeper = keeper;
}

/* A copy of n items, or NULL: where there are none, or no memory, and then *lost is set. */
static void *copy_items(const void *items, size_t n, size_t size, int *lost)
{
	void *copied = n > 0 ? malloc(n * size) : NULL;

	if (copied)
		memcpy(copied, items, n * size);
	*lost |= n > 0 && !copied;
	return copied;
}

struct fmt_slice *fmt_slice_copy(const struct fmt_slice *s)
{
	scoped(fmt_slice_freep) struct fmt_slice *c = malloc(sizeof(*c));
	int lost = 0;

	if (!c)
		return NULL;
	*c = *s;
	c->events = copy_items(s->events, s->n_events, sizeof(*s->events), &lost);
	c->ranges = copy_items(s->ranges, s->n_ranges, sizeof(*s->ranges), &lost);
	c->values = copy_items(s->values, s->n_values, sizeof(*s->values), &lost);
	c->edges = copy_items(s->edges, s->n_edges, sizeof(*s->edges), &lost);
	c->digests = copy_items(s->digests, s->n_digests, sizeof(*s->digests), &lost);
	c->pages = copy_items(s->pages, s->n_pages, sizeof(*s->pages), &lost);
	return lost ? NULL : take(c);
}

static int load(struct fmt_trace *t, uint32_t rank, uint32_t slice, double *bits,
		struct fmt_slice **ret, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_rank_state *state = rank < t->n_ranks ? &t->ranks[rank] : NULL;
	struct fmt_error why = {.file = ""};
	struct fmt_cursor in;
	struct fmt_chunk c;
	char path[512];
	int r;

	if (!state || slice >= state->info.n_slices)
		return fmt_fail(err, -EINVAL, t->path, FMT_NO_OFFSET, "no such slice");
	fmt_member_path(t, &state->member, path, sizeof(path));
	if (!state->chunk_of[slice])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET, "slice %u was lost", slice);
	c = state->member.chunks[state->chunk_of[slice] - 1];
	r = fmt_member_read(&state->member, path, &c, &raw, &why);
	if (r == 1)
		note(t, &why);
	if (r >= 0) {
		in = fmt_cursor(raw, c.raw_bytes);
		r = decode(t, rank, &in, &c, bits, ret, &why);
		if (r < 0 && !why.file[0])
			snprintf(why.file, sizeof(why.file), "%.255s", path);
	}
	if (r == -EBADMSG)
		slice_damaged(t, &state->slices[slice], &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

/* Reads the digests that the slice's header promises. */
static int load_digests(struct fmt_trace *t, struct fmt_slice *s, uint64_t n, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_rank_state *state = &t->ranks[s->rank];
	struct fmt_chunk c;
	char path[512];
	int r;

	fmt_member_path(t, &state->member, path, sizeof(path));
	if (!state->digests_of[s->index])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"the digests of slice %u were lost", s->index);
	c = state->member.chunks[state->digests_of[s->index] - 1];
	r = fmt_member_read(&state->member, path, &c, &raw, err);
	if (r == 1)
		note(t, err);
	if (r < 0)
		return r;
	r = fmt_digests_get(fmt_cursor(raw, c.raw_bytes), n, s);
	return r < 0 ? fmt_fail(err, r, path, c.offset, "digests that make no sense") : 0;
}

int fmt_slice_load(struct fmt_trace *t, uint32_t rank, uint32_t slice, unsigned want,
		   struct fmt_slice **ret, struct fmt_error *err)
{
	const struct fmt_slice_info *info = fmt_trace_slice(t, rank, slice);
	uint64_t n = info && want & FMT_WANT_DIGESTS ? info->n_digests : 0;
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	struct fmt_error why = {.file = ""};
	int r;

	/* But for its digests, a slice is one stream: what is not wanted is decoded all the same.
	 */
	if (n == 0 && t->keeper.find && t->keeper.find(t->keeper.context, rank, slice, ret) == 1)
		return 0;
	r = load(t, rank, slice, NULL, &s, err);
	if (r == 0 && n > 0) {
		r = load_digests(t, s, n, &why);
		if (r == -EBADMSG)
			slice_damaged(t, &t->ranks[rank].slices[slice], &why);
		if (r < 0 && err)
			*err = why;
	}
	if (r == 0)
		*ret = take(s);
	return r;
}

int fmt_slice_bits(struct fmt_trace *t, uint32_t rank, uint32_t slice, double *bits,
		   struct fmt_error *err)
{
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

	return load(t, rank, slice, bits, &s, err);
}
