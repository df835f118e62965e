/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/trace.h"

#include "base/array.h"
#include "formats/trace/store/trace_impl.h"

#include <inttypes.h>

/* More slices than this in one file count as damage. */
#define SLICES_MAX (1u << 28)

void fmt_member_path(const struct fmt_trace *t, const struct fmt_member *m, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s", t->path, m->source.fd >= 0 ? ":" : "/",
		 m->source.name ? m->source.name : "");
}

struct fmt_member *fmt_member_next(struct fmt_trace *t, uint32_t *next)
{
	struct fmt_member *m = NULL;

	while ((!m || !m->source.name) && *next < t->n_ranks + 2) {
		uint32_t i = (*next)++;

		m = i == 0 ? &t->shared : i <= t->n_ranks ? &t->ranks[i - 1].member : &t->blobs;
	}
	return m && m->source.name ? m : NULL;
}

void fmt_rank_done(struct fmt_rank_state *r)
{
	free(r->slices);
	free(r->chunk_of);
	free(r->info.by_iteration);
	free(r->digests_of);
	fmt_member_done(&r->member);
	memset(r, 0, sizeof(*r));
}

void fmt_trace_close(struct fmt_trace *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_ranks; i++)
		fmt_rank_done(&t->ranks[i]);
	free(t->ranks);
	fmt_member_done(&t->shared);
	fmt_member_done(&t->blobs);
	fmt_manifest_done(&t->manifest);
	free(t->blob_slots);
	fmt_names_free(t->names);
	fmt_bases_free(t);
	free(t->damage.errors);
	free(t->path);
	close_fd(&t->dir_fd);
	close_fd(&t->packed_fd);
	fmt_fd_cache_done(&t->kept);
	pthread_mutex_destroy(&t->lock);
	free(t);
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

/* Slices whose headers were lost get the iteration of the previous slice. */
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

/* Fails because the trace claims more contents than a file of its size can have. */
static int too_much(const struct fmt_trace *t, const char *path, uint64_t offset, const char *what,
		    struct fmt_error *err)
{
	return fmt_fail(err, -EBADMSG, path, offset,
			"more %s than a trace of %" PRIu64 " bytes can hold", what, t->bytes);
}

static int by_iteration(const void *a, const void *b, void *slices)
{
	const struct fmt_slice_info *infos = slices;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return fmt_iteration_order(infos[i].iteration.number, infos[k].iteration.number)
		       ?: array_order(i, k);
}

/* Sorts the slices unless they are stored by iteration. Returns 0 or -ENOMEM. */
static int sort_slices(struct fmt_rank_state *r)
{
	uint32_t n = r->info.n_slices, i = 1;

	while (i < n && fmt_iteration_order(r->slices[i - 1].iteration.number,
					    r->slices[i].iteration.number) <= 0)
		i++;
	if (i >= n)
		return 0;
	r->info.by_iteration = malloc(n * sizeof(*r->info.by_iteration));
	if (!r->info.by_iteration)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		r->info.by_iteration[i] = i;
	qsort_r(r->info.by_iteration, n, sizeof(*r->info.by_iteration), by_iteration, r->slices);
	return 0;
}

int fmt_rank_list_slices(struct fmt_rank_state *r, const char *path, struct fmt_error *err)
{
	const struct fmt_member *m = &r->member;
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_SLICE && m->chunks[i].slice >= n)
			n = m->chunks[i].slice + 1;
	/* Each lost slice occupied bytes of the file. */
	if (n > SLICES_MAX || n > m->source.bytes / 16)
		return fmt_fail(err, -EBADMSG, path, 0, "invalid slice numbers");
	r->slices = calloc(n + 1, sizeof(*r->slices));
	r->chunk_of = calloc(n + 1, sizeof(*r->chunk_of));
	r->digests_of = calloc(n + 1, sizeof(*r->digests_of));
	if (!r->slices || !r->chunk_of || !r->digests_of)
		return fmt_fail(err, -ENOMEM, path, 0, "out of memory");
	r->info.number = m->header.number;
	r->info.n_slices = (uint32_t)n;
	r->info.bytes = m->source.bytes;
	for (size_t i = 0; i < n; i++)
		r->slices[i].damaged = 1;
	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].type == FMT_CHUNK_SLICE) {
			count_slice(r, &m->chunks[i]);
			r->chunk_of[m->chunks[i].slice] = (uint32_t)i + 1;
		} else if (m->chunks[i].type == FMT_CHUNK_DIGESTS && m->chunks[i].slice < n) {
			r->digests_of[m->chunks[i].slice] = (uint32_t)i + 1;
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
	return sort_slices(r) < 0 ? fmt_fail(err, -ENOMEM, path, 0, "out of memory") : 0;
}

/* Reads the names in trace.chunks. Records damage; slices that need lost names cannot be read. */
static int read_names(struct fmt_trace *t, struct fmt_names_decoder *reading, struct fmt_error *err)
{
	const struct fmt_member *m = &t->shared;
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
			r = fmt_names_get(&in, reading, t->names);
			if (r == -EFBIG)
				return too_much(t, path, c.offset, "names", err);
			if (r < 0)
				fmt_fail(&damage, r, path, c.offset, "invalid names");
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

/* Minimum memory for the names of a rank. */
#define RANK_BYTES 256

/* Reads the names of the trace, and numbers the ranks by their files. */
static int read_all_names(struct fmt_trace *t, struct fmt_error *err)
{
	scoped(free_ptr) uint32_t *ranks = NULL;
	struct fmt_names_decoder reading = {.reserve_bytes = fmt_names_reserve(t->bytes)};
	uint32_t last = 0, spare = t->n_ranks;

	for (uint32_t i = 0; i < t->n_ranks; i++)
		if (t->ranks[i].member.header.names_rank > last)
			last = t->ranks[i].member.header.names_rank;
	if (fmt_names_use_reserve(&reading, RANK_BYTES * ((uint64_t)last + 1)) < 0)
		return too_much(t, t->path, FMT_NO_OFFSET, "ranks", err);
	reading.n_ranks = last + 1;
	reading.ranks = ranks = malloc(sizeof(*ranks) * (size_t)reading.n_ranks);
	if (!ranks)
		return fmt_fail(err, -ENOMEM, t->path, FMT_NO_OFFSET, "out of memory");
	memset(ranks, 0xff, sizeof(*ranks) * (size_t)reading.n_ranks);
	for (uint32_t i = 0; i < t->n_ranks; i++)
		ranks[t->ranks[i].member.header.names_rank] = i;
	for (uint32_t i = 0; i < reading.n_ranks; i++)
		if (ranks[i] == UINT32_MAX)
			ranks[i] = spare++;
	return t->shared.source.name ? read_names(t, &reading, err) : 0;
}

/* Number of events and edges that any trace may have, in addition to an amount for each of its
 * bytes: a thousand times that of recordings. */
#define FREE_RECORDS (1u << 22)
#define RECORDS_PER_BYTE 64

/* Returns 1 if the slices claim more events and edges than the trace's size allows. Readers take
 * time and memory in proportion to these claims. */
static int too_many_records(const struct fmt_trace *t)
{
	uint64_t left = t->bytes > UINT64_MAX / RECORDS_PER_BYTE / 2
				? UINT64_MAX
				: FREE_RECORDS + t->bytes * RECORDS_PER_BYTE;

	for (uint32_t r = 0; r < t->n_ranks; r++)
		for (uint32_t i = 0; i < t->ranks[r].info.n_slices; i++) {
			const struct fmt_slice_info *s = &t->ranks[r].slices[i];
			uint64_t n = s->n_edges;

			for (int k = 0; k < FMT_KINDS && n <= left; k++)
				n = s->n_records[k] <= left ? n + s->n_records[k] : UINT64_MAX;
			if (n > left)
				return 1;
			left -= n;
		}
	return 0;
}

/* A mount contains the path from which its trace was opened. The path may now contain another
 * trace. */
static int check_mounted(const struct fmt_trace *t, struct fmt_error *err)
{
	if (!t->mounted_id[0] || strcmp(t->mounted_id, fmt_trace_id(t)) == 0)
		return 0;
	return fmt_fail(err, -ESTALE, t->path, FMT_NO_OFFSET,
			"not the trace that is mounted (its id is %.12s..., the mounted one's "
			"%.12s...); mount it again",
			fmt_trace_id(t), t->mounted_id);
}

int fmt_trace_open_damaged(const char *path, struct fmt_trace **ret, struct fmt_error *err)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
	fmt_trace_set_memory(t, 64u << 20);
	t->dir_fd = t->packed_fd = -1;
	fmt_fd_cache_init(&t->kept);
	pthread_mutex_init(&t->lock, NULL);
	r = fmt_names_new(&t->names);
	if (r < 0)
		return fmt_fail(err, r, path, FMT_NO_OFFSET, "out of memory");
	r = fmt_trace_find(t, path, err);
	if (r == 0)
		r = fmt_trace_open_members(t, err);
	if (r == 0)
		r = check_mounted(t, err);
	if (r == 0)
		r = fmt_blobs_list(t);
	if (r == 0 && too_many_records(t))
		r = too_much(t, t->path, FMT_NO_OFFSET, "events", err);
	if (r == 0)
		r = read_all_names(t, err);
	if (r < 0)
		return r;
	*ret = take(t);
	return 0;
}

int fmt_trace_open(const char *path, struct fmt_trace **ret, struct fmt_error *err)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	int r = fmt_trace_open_damaged(path, &t, err);

	if (r == 0 && t->n_ranks == 0)
		r = fmt_trace_check_complete(t, err);
	if (r == 0)
		*ret = take(t);
	return r;
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
