/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace.h"

#include "base/array.h"
#include "formats/merkle.h"
#include "formats/output.h"
#include "formats/slice_code.h"
#include "formats/trace_impl.h"

/* More slices than this in one file are taken for damage. */
#define SLICES_MAX (1u << 28)

void fmt_member_path(const struct fmt_trace *t, const struct fmt_member *m, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s", t->path, m->source.fd >= 0 ? ":" : "/",
		 m->source.name ? m->source.name : "");
}

static void free_rank(struct fmt_rank_state *r)
{
	for (uint32_t i = 0; r->lengths && i < r->info.n_slices; i++)
		free(r->lengths[i]);
	free(r->lengths);
	free(r->slices);
	free(r->chunk_of);
	fmt_names_map_done(&r->own);
	fmt_member_done(&r->member);
}

void fmt_trace_close(struct fmt_trace *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_ranks; i++)
		free_rank(&t->ranks[i]);
	free(t->ranks);
	fmt_member_done(&t->shared);
	fmt_names_map_done(&t->shared_map);
	fmt_names_free(t->names);
	free(t->damage.errors);
	free(t->path);
	close_fd(&t->dir_fd);
	close_fd(&t->packed_fd);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

define_cleanup(trace_freep, struct fmt_trace *, fmt_trace_close)

	static int by_number(const void *a, const void *b)
{
	uint32_t x = ((const struct fmt_rank_state *)a)->member.header.number;
	uint32_t y = ((const struct fmt_rank_state *)b)->member.header.number;

	return x < y ? -1 : x > y;
}

static void count_slice(struct fmt_rank_state *r, const struct fmt_chunk *c)
{
	struct fmt_slice_info *s = &r->slices[c->slice];

	s->iteration = c->iteration;
	s->first_number = c->first_number;
	s->n_edges = c->n_edges;
	s->n_digests = c->n_digests;
	s->damaged = 0;
	r->info.n_edges += c->n_edges;
	r->info.n_digests += c->n_digests;
	for (int k = 0; k < FMT_KINDS; k++) {
		s->n_records[k] = c->n_records[k];
		r->info.n_records[k] += c->n_records[k];
	}
}

/* Slices whose headers were lost get the iteration of the one before. */
static void fill_holes(struct fmt_rank_state *r)
{
	for (uint32_t i = 0; i < r->info.n_slices; i++) {
		struct fmt_slice_info *s = &r->slices[i];

		if (!s->damaged || i == 0)
			continue;
		s->iteration.number = s[-1].iteration.number;
		s->iteration.start_ns =
			fmt_add(s[-1].iteration.start_ns, s[-1].iteration.duration_ns);
	}
}

/* Makes the slices of a rank from the chunks of its file. */
static int list_slices(struct fmt_rank_state *r, const char *path, struct fmt_error *err)
{
	const struct fmt_member *m = &r->member;
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_SLICE && m->chunks[i].slice >= n)
			n = m->chunks[i].slice + 1;
	/* Each lost slice lay somewhere in the file. */
	if (n > SLICES_MAX || n > m->source.bytes / 16)
		return fmt_fail(err, -EBADMSG, path, 0, "chunks with impossible slice numbers");
	r->slices = calloc(n + 1, sizeof(*r->slices));
	r->chunk_of = calloc(n + 1, sizeof(*r->chunk_of));
	if (!r->slices || !r->chunk_of)
		return fmt_fail(err, -ENOMEM, path, 0, "out of memory");
	r->info.number = m->header.number;
	r->info.n_slices = (uint32_t)n;
	r->info.bytes = m->source.bytes;
	r->info.cut_off = m->cut_off;
	for (size_t i = 0; i < n; i++)
		r->slices[i].damaged = 1;
	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_SLICE) {
			count_slice(r, &m->chunks[i]);
			r->chunk_of[m->chunks[i].slice] = (uint32_t)i + 1;
		}
	fill_holes(r);
	for (size_t i = 0; i < n; i++) {
		const struct fmt_iteration *it = &r->slices[i].iteration;
		int64_t end = fmt_add(it->start_ns, it->duration_ns);

		if (i == 0 || it->start_ns < r->info.start_ns)
			r->info.start_ns = it->start_ns;
		if (i == 0 || end > r->info.end_ns)
			r->info.end_ns = end;
	}
	return 0;
}

/* Reads the names in a member's chunks. A damaged chunk is noted, and what refers to it is lost. */
static int read_names(struct fmt_trace *t, struct fmt_member *m, const uint32_t *ranks,
		      uint32_t n_ranks, struct fmt_names_map *map, struct fmt_error *err)
{
	char path[512];

	fmt_member_path(t, m, path, sizeof(path));
	for (size_t i = 0; i < m->n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = m->chunks[i];
		struct fmt_error damage;
		struct fmt_cursor in;
		int r;

		if (c.type != FMT_CHUNK_NAMES)
			continue;
		r = fmt_member_read(m, path, &c, &raw, &damage);
		if (r == 0) {
			in = fmt_cursor(raw, c.raw_bytes);
			r = fmt_names_get(&in, ranks, n_ranks, t->names, map);
			if (r < 0)
				fmt_fail(&damage, r, path, c.offset, "names that make no sense");
		}
		if (r == -EBADMSG) {
			fmt_damage_add(&t->damage, &damage);
			break;
		}
		if (r < 0) {
			if (err)
				*err = damage;
			return r;
		}
	}
	return 0;
}

/* The names of all ranks: from the shared file, and from the files that carry their own. */
static int read_all_names(struct fmt_trace *t, struct fmt_error *err)
{
	scoped(free_ptr) uint32_t *ranks = NULL;
	uint32_t n = 0, spare = t->n_ranks;
	int r = 0;

	for (uint32_t i = 0; i < t->n_ranks; i++)
		if (t->ranks[i].member.header.names_rank >= n)
			n = t->ranks[i].member.header.names_rank + 1;
	if (n > (1u << 24))
		return fmt_fail(err, -EBADMSG, t->path, FMT_NO_OFFSET, "more ranks than can be");
	ranks = malloc(sizeof(*ranks) * ((size_t)n + 1));
	if (!ranks)
		return fmt_fail(err, -ENOMEM, t->path, FMT_NO_OFFSET, "out of memory");
	memset(ranks, 0xff, sizeof(*ranks) * ((size_t)n + 1));
	for (uint32_t i = 0; i < t->n_ranks; i++)
		ranks[t->ranks[i].member.header.names_rank] = i;
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] == UINT32_MAX)
			ranks[i] = spare++;
	if (t->shared.source.name)
		r = read_names(t, &t->shared, ranks, n, &t->shared_map, err);
	for (uint32_t i = 0; r == 0 && i < t->n_ranks; i++) {
		struct fmt_rank_state *rank = &t->ranks[i];

		if (!rank->member.header.inline_names)
			continue;
		for (uint32_t k = 0; k < n; k++)
			ranks[k] = i;
		r = read_names(t, &rank->member, ranks, n, &rank->own, err);
	}
	return r;
}

static int open_members(struct fmt_trace *t, struct fmt_error *err)
{
	char path[512];
	int r;

	if (t->shared.source.name) {
		fmt_member_path(t, &t->shared, path, sizeof(path));
		r = fmt_member_open(&t->shared, path, &t->damage, err);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		struct fmt_rank_state *rank = &t->ranks[i];

		fmt_member_path(t, &rank->member, path, sizeof(path));
		r = fmt_member_open(&rank->member, path, &t->damage, err);
		if (r == 0)
			r = list_slices(rank, path, err);
		if (r < 0)
			return r;
	}
	qsort(t->ranks, t->n_ranks, sizeof(*t->ranks), by_number);
	for (uint32_t i = 1; i < t->n_ranks; i++)
		if (t->ranks[i].info.number == t->ranks[i - 1].info.number)
			return fmt_fail(err, -EBADMSG, t->path, FMT_NO_OFFSET,
					"two files of rank %u", t->ranks[i].info.number);
	return 0;
}

int fmt_trace_open(const char *path, struct fmt_trace **ret, struct fmt_error *err)
{
	scoped(trace_freep) struct fmt_trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
	t->dir_fd = t->packed_fd = -1;
	pthread_mutex_init(&t->lock, NULL);
	r = fmt_names_new(&t->names);
	if (r < 0)
		return fmt_fail(err, r, path, FMT_NO_OFFSET, "out of memory");
	r = fmt_trace_find(t, path, err);
	if (r == 0)
		r = open_members(t, err);
	if (r == 0)
		r = read_all_names(t, err);
	if (r < 0)
		return r;
	*ret = take(t);
	return 0;
}

const struct fmt_names *fmt_trace_names(const struct fmt_trace *t)
{
	return t->names;
}

uint32_t fmt_trace_n_ranks(const struct fmt_trace *t)
{
	return t->n_ranks;
}

const char *fmt_trace_path(const struct fmt_trace *t)
{
	return t->path;
}

uint64_t fmt_trace_bytes(const struct fmt_trace *t)
{
	return t->bytes;
}

const struct fmt_rank *fmt_trace_rank(const struct fmt_trace *t, uint32_t rank)
{
	return rank < t->n_ranks ? &t->ranks[rank].info : NULL;
}

const struct fmt_slice_info *fmt_trace_slice(const struct fmt_trace *t, uint32_t rank,
					     uint32_t slice)
{
	if (rank >= t->n_ranks || slice >= t->ranks[rank].info.n_slices)
		return NULL;
	return &t->ranks[rank].slices[slice];
}

/* ---- slices ---- */

void fmt_slice_free(struct fmt_slice *s)
{
	if (!s)
		return;
	free(s->events);
	free(s->ranges);
	free(s->values);
	free(s->edges);
	free(s->digests);
	free(s->pages);
	free(s);
}

static void slice_damaged(struct fmt_trace *t, struct fmt_slice_info *s, const struct fmt_error *e)
{
	pthread_mutex_lock(&t->lock);
	s->damaged = 1;
	fmt_damage_add(&t->damage, e);
	pthread_mutex_unlock(&t->lock);
}

int fmt_slice_load(struct fmt_trace *t, uint32_t rank, uint32_t slice, unsigned want,
		   struct fmt_slice **ret, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_rank_state *state = rank < t->n_ranks ? &t->ranks[rank] : NULL;
	struct fmt_error why;
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
	if (r == 0) {
		const struct fmt_names_map *map =
			state->member.header.inline_names ? &state->own : &t->shared_map;

		in = fmt_cursor(raw, c.raw_bytes);
		r = fmt_slice_get(&in, &c, t->names, map, rank, want, ret);
		if (r < 0)
			fmt_fail(&why, r, path, c.offset, "a slice that makes no sense");
	}
	if (r == -EBADMSG)
		slice_damaged(t, &state->slices[slice], &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

/* ---- lengths ---- */

/* Each entry: renderer, n, lengths. */
static int take_lengths(struct fmt_rank_state *r, struct fmt_cursor *c)
{
	while (fmt_left(c) > 0) {
		uint64_t slice = fmt_varint(c), renderer = fmt_varint(c), n = fmt_count(c, 1);
		uint64_t *l;

		if (c->bad || slice >= r->info.n_slices)
			return -EBADMSG;
		l = malloc(sizeof(*l) * (n + 2));
		if (!l)
			return -ENOMEM;
		l[0] = renderer;
		l[1] = n;
		for (uint64_t i = 0; i < n; i++)
			l[i + 2] = fmt_varint(c);
		free(r->lengths[slice]);
		r->lengths[slice] = l;
	}
	return c->bad ? -EBADMSG : 0;
}

static void read_lengths(struct fmt_trace *t, struct fmt_rank_state *r)
{
	char path[512];

	r->lengths_read = 1;
	r->lengths = calloc((size_t)r->info.n_slices + 1, sizeof(*r->lengths));
	if (!r->lengths)
		return;
	fmt_member_path(t, &r->member, path, sizeof(path));
	for (size_t i = 0; i < r->member.n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = r->member.chunks[i];
		struct fmt_error damage;
		struct fmt_cursor in;

		if (c.type != FMT_CHUNK_LENGTHS)
			continue;
		if (fmt_member_read(&r->member, path, &c, &raw, &damage) < 0) {
			fmt_damage_add(&t->damage, &damage);
			continue;
		}
		in = fmt_cursor(raw, c.raw_bytes);
		take_lengths(r, &in);
	}
}

uint32_t fmt_trace_lengths(const struct fmt_trace *t, uint32_t rank, uint32_t slice,
			   uint32_t *renderer, const uint64_t **ret)
{
	struct fmt_trace *own = (struct fmt_trace *)(uintptr_t)t;
	struct fmt_rank_state *r = rank < t->n_ranks ? &own->ranks[rank] : NULL;
	const uint64_t *l = NULL;

	if (!r || slice >= r->info.n_slices)
		return 0;
	pthread_mutex_lock(&own->lock);
	if (!r->lengths_read)
		read_lengths(own, r);
	if (r->lengths)
		l = r->lengths[slice];
	pthread_mutex_unlock(&own->lock);
	if (!l)
		return 0;
	*renderer = (uint32_t)l[0];
	*ret = l + 2;
	return (uint32_t)l[1];
}

/* ---- identity and damage ---- */

/* The root of a file that has none, from what can be read of it. */
static int compute_root(const struct fmt_trace *t, const struct fmt_member *m, uint8_t ret[32])
{
	struct fmt_merkle tree = {0};
	char path[512];
	int r = fmt_identify_file(&tree, &m->header);

	fmt_member_path(t, m, path, sizeof(path));
	for (size_t i = 0; r == 0 && i < m->n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = m->chunks[i];

		if (fmt_member_read(m, path, &c, &raw, NULL) == 0)
			r = fmt_identify_chunk(&tree, &c, raw);
	}
	return r < 0 ? r : fmt_merkle_root(&tree, ret);
}

static int add_root(const struct fmt_trace *t, const struct fmt_member *m, struct fmt_merkle *tree)
{
	uint8_t root[32];
	int r = 0;

	if (m->has_root)
		memcpy(root, m->root, sizeof(root));
	else
		r = compute_root(t, m, root);
	return r < 0 ? r : fmt_merkle_add(tree, root, sizeof(root), "", 0);
}

static void make_id(struct fmt_trace *t)
{
	struct fmt_merkle tree = {0};
	uint8_t root[32];
	int r = 0;

	if (t->shared.source.name)
		r = add_root(t, &t->shared, &tree);
	for (uint32_t i = 0; r == 0 && i < t->n_ranks; i++)
		r = add_root(t, &t->ranks[i].member, &tree);
	if (r < 0 || fmt_merkle_root(&tree, root) < 0)
		return;
	for (size_t i = 0; i < sizeof(root); i++)
		snprintf(t->id + 2 * i, 3, "%02x", root[i]);
}

const char *fmt_trace_id(const struct fmt_trace *t)
{
	struct fmt_trace *own = (struct fmt_trace *)(uintptr_t)t;

	pthread_mutex_lock(&own->lock);
	if (!own->id[0])
		make_id(own);
	pthread_mutex_unlock(&own->lock);
	return t->id;
}

static int by_place(const void *a, const void *b)
{
	const struct fmt_error *x = a, *y = b;
	int r = strcmp(x->file, y->file);

	return r ? r : x->offset < y->offset ? -1 : x->offset > y->offset;
}

int fmt_trace_damage(struct fmt_trace *t, int (*each)(void *context, const struct fmt_error *e),
		     void *context)
{
	scoped(free_ptr) struct fmt_error *copy = NULL;
	size_t n;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	n = t->damage.n;
	copy = malloc(sizeof(*copy) * (n + 1));
	if (copy && n > 0)
		memcpy(copy, t->damage.errors, sizeof(*copy) * n);
	pthread_mutex_unlock(&t->lock);
	if (!copy)
		return -ENOMEM;
	qsort(copy, n, sizeof(*copy), by_place);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = each(context, &copy[i]);
	return r;
}
