/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/lengths.h"

#include "base/host.h"
#include "base/scope.h"
#include "fs/timeline.h"

#define THREADS_MAX 16
#define LONG_RECORDS 65536u

static _Atomic uint64_t *length_slot(const struct fs_piece *p)
{
	uint64_t slice = p->tree->ranks[p->rank].slices_before + p->slice;

	return &p->tree->lengths[slice * FS_PIECES + (uint64_t)p->number];
}

uint64_t fs_piece_known(const struct fs_piece *p)
{
	return atomic_load_explicit(length_slot(p), memory_order_relaxed);
}

static void set_length(const struct fs_piece *p, uint64_t length)
{
	atomic_store_explicit(length_slot(p), length + 1, memory_order_relaxed);
}

static int count_tables(struct fs_tree *t, const struct fmt_slice *slice)
{
	struct fs_piece p = {.tree = t, .rank = slice->rank, .slice = slice->index};
	uint64_t lengths[FMT_TABLES];
	int r = fmt_tsv_lengths(t->tsv, slice, lengths);

	for (p.number = 0; r == 0 && p.number < FMT_TABLES; p.number++)
		set_length(&p, lengths[p.number]);
	return r;
}

static int count_timeline(struct fs_tree *t, const struct fmt_slice *slice)
{
	struct fs_piece p = {
		.tree = t, .number = FS_PIECE_TIMELINE, .rank = slice->rank, .slice = slice->index};
	uint64_t length;
	int r = fs_timeline_offsets(t->timeline, slice, NULL, &length);

	if (r == 0)
		set_length(&p, length);
	return r;
}

static int count_piece(struct fs_tree *t, int piece, const struct fmt_slice *slice)
{
	return piece == FS_PIECE_TIMELINE ? count_timeline(t, slice) : count_tables(t, slice);
}

static int count_cached(const struct fs_piece *p)
{
	struct fs_item *item;
	int r = fs_tree_slice(p->tree, p->rank, p->slice, &item);

	if (r < 0)
		return r;
	r = count_piece(p->tree, p->number, fs_item_value(item));
	fs_cache_put(p->tree->cache, item);
	return r;
}

int fs_piece_length(const struct fs_piece *p, uint64_t *ret)
{
	uint64_t length = fs_piece_known(p);
	int r;

	if (!length) {
		r = count_cached(p);
		if (r < 0)
			return r;
		length = fs_piece_known(p);
	}
	*ret = length - 1;
	return 0;
}

/* ---- long files */

struct counting {
	struct fs_tree *tree;
	struct fs_scope scope;
	int piece;
	pthread_mutex_t lock; /* protects the following members */
	struct fs_cursor cursor;
	int error;
};

/* The next slice of unknown length. With the lock held. */
static bool next_unknown(struct counting *c, struct fs_piece *p)
{
	while (fs_tree_next(c->tree, c->scope, &c->cursor, &p->rank, &p->slice))
		if (!fs_piece_known(p))
			return true;
	return false;
}

/* Decodes and counts a slice without caching it. */
static int count_slice(struct counting *c, const struct fs_piece *p)
{
	scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
	int r = fmt_slice_load(c->tree->trace, p->rank, p->slice, FMT_WANT_ALL, &slice, NULL);

	return r < 0 ? r : count_piece(c->tree, c->piece, slice);
}

static void *count(void *arg)
{
	struct counting *c = arg;
	struct fs_piece p = {.tree = c->tree, .number = c->piece};

	pthread_mutex_lock(&c->lock);
	while (c->error == 0 && next_unknown(c, &p)) {
		int r;

		pthread_mutex_unlock(&c->lock);
		r = count_slice(c, &p);
		pthread_mutex_lock(&c->lock);
		if (r < 0)
			c->error = r;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Returns the number of records to count. Sets *largest to that of the largest slice. */
static uint64_t count_records(struct counting *c, uint64_t *largest)
{
	struct fs_piece p = {.tree = c->tree, .number = c->piece};
	uint64_t n, all = 0;

	*largest = 0;
	while (next_unknown(c, &p)) {
		n = fs_tree_n_records(c->tree, p.rank, p.slice);
		*largest = n > *largest ? n : *largest;
		all += n;
	}
	c->cursor = (struct fs_cursor){0};
	return all;
}

int fs_lengths_of_file(struct fs_tree *t, struct fs_scope scope, int piece)
{
	struct counting c = {.tree = t, .scope = scope, .piece = piece};
	pthread_t threads[THREADS_MAX];
	unsigned n = host_n_processors();
	unsigned started = 0;
	uint64_t largest;
	size_t bytes;

	if (count_records(&c, &largest) < LONG_RECORDS)
		return 0;
	n = n < THREADS_MAX ? n : THREADS_MAX;
	bytes = n * largest * FS_RECORD_BYTES;
	fs_cache_reserve(t->cache, bytes);
	pthread_mutex_init(&c.lock, NULL);
	while (started < n - 1 && host_thread_start(&threads[started], count, &c) == 0)
		started++;
	count(&c);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	pthread_mutex_destroy(&c.lock);
	fs_cache_release(t->cache, bytes);
	return c.error;
}
