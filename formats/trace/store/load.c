/* SPDX-License-Identifier: Apache-2.0 */

/* Loading slices. */
#include "formats/trace/store/digests.h"
#include "formats/trace/store/slice_code.h"
#include "formats/trace/store/trace_impl.h"

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

static void slice_damaged(struct fmt_trace *t, struct fmt_slice_info *s, const struct fmt_error *e)
{
	pthread_mutex_lock(&t->lock);
	s->damaged = 1;
	fmt_damage_add(&t->damage, e);
	pthread_mutex_unlock(&t->lock);
}

/* ---- base slices of patches ---- */

void fmt_trace_set_memory(struct fmt_trace *t, size_t bytes)
{
	t->bases_limit = bytes;
}

static void free_base(struct fmt_cached *c)
{
	free(c->payload);
	free(c);
}

void fmt_bases_free(struct fmt_trace *t)
{
	for (size_t i = 0; i < t->n_bases; i++)
		free_base(t->bases[i]);
	free(t->bases);
}

/* Drops the least recently used bases, while there are too many. With the lock held. */
static void drop_unused_bases(struct fmt_trace *t)
{
	while (t->base_bytes > t->bases_limit) {
		size_t oldest = t->n_bases;

		for (size_t i = 0; i < t->n_bases; i++)
			if (t->bases[i]->users == 0 &&
			    (oldest == t->n_bases || t->bases[i]->used < t->bases[oldest]->used))
				oldest = i;
		if (oldest == t->n_bases)
			return;
		t->base_bytes -= t->bases[oldest]->bytes;
		free_base(t->bases[oldest]);
		t->bases[oldest] = t->bases[--t->n_bases];
	}
}

static struct fmt_cached *find_cached(struct fmt_trace *t, uint32_t rank, uint64_t slice)
{
	for (size_t i = 0; i < t->n_bases; i++)
		if (t->bases[i]->rank == rank && t->bases[i]->slice == slice) {
			t->bases[i]->users++;
			t->bases[i]->used = ++t->clock;
			return t->bases[i];
		}
	return NULL;
}

/* Takes over the payload of a base, unless another thread was faster. The caller uses *ret until
 * release_base(). */
static int keep_base(struct fmt_trace *t, uint32_t rank, const struct fmt_chunk *chunk,
		     uint8_t *payload, const struct fmt_cursor *structure, struct fmt_cached **ret)
{
	struct fmt_cached *c = malloc(sizeof(*c));
	int r = 0;

	pthread_mutex_lock(&t->lock);
	*ret = find_cached(t, rank, chunk->slice);
	if (*ret || !c || array_reserve(&t->bases, t->n_bases + 1, &t->bases_cap) < 0) {
		free(payload);
		free(c);
		r = *ret ? 0 : -ENOMEM;
	} else {
		*c = (struct fmt_cached){.payload = payload,
					 .structure = *structure,
					 .bytes = chunk->raw_bytes,
					 .slice = chunk->slice,
					 .used = ++t->clock,
					 .rank = rank,
					 .users = 1};
		t->bases[t->n_bases++] = *ret = c;
		t->base_bytes += c->bytes;
		drop_unused_bases(t);
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

static int read_base(struct fmt_trace *t, uint32_t rank, uint64_t slice, struct fmt_cached **ret,
		     struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_rank_state *state = &t->ranks[rank];
	struct fmt_slice_head head;
	struct fmt_chunk c;
	char path[512];
	int r;

	fmt_member_path(t, &state->member, path, sizeof(path));
	if (slice >= state->info.n_slices || !state->chunk_of[slice])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"a patch of slice %u, which is lost", (uint32_t)slice);
	c = state->member.chunks[state->chunk_of[slice] - 1];
	r = fmt_member_read(&state->member, path, &c, &raw, err);
	if (r == -EBADMSG)
		return fmt_fail(err, r, path, c.offset, "a patch of slice %u, which is damaged",
				(uint32_t)slice);
	if (r < 0)
		return r;
	if (fmt_slice_head_get(fmt_cursor(raw, c.raw_bytes), &head) < 0 || head.back)
		return fmt_fail(err, -EBADMSG, path, c.offset, "invalid base of another slice");
	return keep_base(t, rank, &c, take(raw), &head.structure, ret);
}

static int get_base(struct fmt_trace *t, uint32_t rank, uint64_t slice, struct fmt_cached **ret,
		    struct fmt_error *err)
{
	pthread_mutex_lock(&t->lock);
	*ret = find_cached(t, rank, slice);
	pthread_mutex_unlock(&t->lock);
	return *ret ? 0 : read_base(t, rank, slice, ret, err);
}

static void release_base(struct fmt_trace *t, struct fmt_cached *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&t->lock);
	c->users--;
	drop_unused_bases(t);
	pthread_mutex_unlock(&t->lock);
}

/* ---- slices ---- */

/* Decodes the payload at *raw, and keeps it if other slices need it; only its header if `ret` is
 * NULL. */
static int decode_slice(struct fmt_trace *t, uint32_t rank, uint8_t **raw,
			const struct fmt_chunk *c, struct fmt_slice **ret, struct fmt_error *err)
{
	struct fmt_cached *base = NULL, *own = NULL;
	struct fmt_slice_head head;
	int r = fmt_slice_head_get(fmt_cursor(*raw, c->raw_bytes), &head);

	if (r == 0 && head.back > c->slice)
		r = -EBADMSG;
	if (r == 0 && head.back) {
		r = get_base(t, rank, c->slice - head.back, &base, err);
		if (r < 0)
			return r;
	}
	if (r == 0 && ret)
		r = fmt_slice_get(&head, c, t->names, rank, base ? &base->structure : NULL, ret);
	if (r < 0)
		fmt_fail(err, r, "", c->offset, "invalid slice");
	/* Later slices may be patches of it; if out of memory, it is read again. */
	if (r == 0 && !head.back)
		keep_base(t, rank, c, take(*raw), &head.structure, &own);
	release_base(t, own);
	release_base(t, base);
	return r;
}

void fmt_trace_set_keeper(struct fmt_trace *t, struct fmt_slice_keeper keeper)
{
	t->keeper = keeper;
}

/* Returns a copy of n items. NULL if n is 0, or without memory; the latter sets *lost. */
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

static int load_slice(struct fmt_trace *t, uint32_t rank, uint32_t slice, struct fmt_slice **ret,
		      struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_rank_state *state = rank < t->n_ranks ? &t->ranks[rank] : NULL;
	struct fmt_error why = {.file = ""};
	struct fmt_chunk c;
	char path[512];
	int r;

	if (!state || slice >= state->info.n_slices)
		return fmt_fail(err, -EINVAL, t->path, FMT_NO_OFFSET, "no such slice");
	fmt_member_path(t, &state->member, path, sizeof(path));
	if (!state->chunk_of[slice])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET, "slice %u was lost", slice);
	if (!t->shared.source.name)
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"slice %u cannot be read without trace.chunks", slice);
	c = state->member.chunks[state->chunk_of[slice] - 1];
	r = fmt_member_read(&state->member, path, &c, &raw, &why);
	if (r == 0) {
		r = decode_slice(t, rank, &raw, &c, ret, &why);
		if (r < 0 && !why.file[0])
			snprintf(why.file, sizeof(why.file), "%.255s", path);
	}
	if (r == -EBADMSG)
		slice_damaged(t, &state->slices[slice], &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

/* Reads the chunk of a slice's digests, and sets *chunk to its header. */
static int read_digests(struct fmt_trace *t, uint32_t rank, uint32_t slice, struct fmt_chunk *chunk,
			uint8_t **raw, struct fmt_error *err)
{
	struct fmt_rank_state *state = &t->ranks[rank];
	char path[512];
	int r;

	fmt_member_path(t, &state->member, path, sizeof(path));
	if (!state->digests_of[slice])
		return fmt_fail(err, -EBADMSG, path, FMT_NO_OFFSET,
				"the digests of slice %u were lost", slice);
	*chunk = state->member.chunks[state->digests_of[slice] - 1];
	r = fmt_member_read(&state->member, path, chunk, raw, err);
	return r;
}

/* Adds the digests listed in the slice's header. */
static int load_digests(struct fmt_trace *t, struct fmt_slice *s, uint64_t n, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_chunk c;
	char path[512];
	int r = read_digests(t, s->rank, s->index, &c, &raw, err);

	if (r < 0)
		return r;
	r = fmt_digests_get(fmt_cursor(raw, c.raw_bytes), n, s);
	if (r == 0)
		return 0;
	fmt_member_path(t, &t->ranks[s->rank].member, path, sizeof(path));
	return fmt_fail(err, r, path, c.offset, "invalid digests");
}

int fmt_slice_check(struct fmt_trace *t, uint32_t rank, uint32_t slice, struct fmt_error *err)
{
	const struct fmt_slice_info *info = fmt_trace_slice(t, rank, slice);
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_error why = {.file = ""};
	struct fmt_chunk c;
	int r = load_slice(t, rank, slice, NULL, err);

	if (r < 0 || info->n_digests == 0)
		return r;
	r = read_digests(t, rank, slice, &c, &raw, &why);
	if (r == -EBADMSG)
		slice_damaged(t, &t->ranks[rank].slices[slice], &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

int fmt_slice_load(struct fmt_trace *t, uint32_t rank, uint32_t slice, unsigned want,
		   struct fmt_slice **ret, struct fmt_error *err)
{
	const struct fmt_slice_info *info = fmt_trace_slice(t, rank, slice);
	uint64_t n = info && want & FMT_WANT_DIGESTS ? info->n_digests : 0;
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	struct fmt_error why = {.file = ""};
	int r;

	/* All columns of a slice are decoded, whatever parts are requested. */
	if (n == 0 && t->keeper.find && t->keeper.find(t->keeper.context, rank, slice, ret) == 1)
		return 0;
	r = load_slice(t, rank, slice, &s, err);
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
