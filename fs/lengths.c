/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/lengths.h"

#include "base/host.h"
#include "formats/trace/store/loader.h"

static _Atomic uint64_t *length_slot(const struct fs_piece *p)
{
	uint64_t slice = p->tree->slices_before[p->rank] + p->slice;

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
	int r = fmt_chrome_offsets(t->chrome, slice, NULL, &length);

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

/* Returns the number of records to count. Sets *largest to that of the largest slice. */
static uint64_t unknown_records(struct fs_tree *t, const struct fs_node *where, int piece,
				uint64_t *largest)
{
	struct fs_piece p = {.tree = t, .number = piece};
	struct fmt_walk w = fs_tree_walk(t, where);
	uint64_t all = 0;

	*largest = 0;
	while (fs_piece_next(&p, &w)) {
		uint64_t n = fs_piece_known(&p) ? 0 : fs_tree_n_records(t, p.rank, p.slice);

		*largest = n > *largest ? n : *largest;
		all += n;
	}
	return all;
}

static int count_slice(struct fs_tree *t, const struct fmt_slice *slice, void *piece)
{
	return count_piece(t, *(const int *)piece, slice);
}

int fs_lengths_of_file(struct fs_tree *t, const struct fs_node *where, int piece)
{
	const struct fmt_part part = fs_tree_part(t, fs_scope_of(where));
	uint64_t largest;
	size_t bytes;
	int r;

	if (unknown_records(t, where, piece, &largest) < FMT_LOADER_RECORDS)
		return 0;
	bytes = (FMT_LOADER_RECORDS + host_n_processors() * largest) * FS_RECORD_BYTES;
	fs_cache_reserve(t->cache, bytes);
	r = fs_tree_each(t, &part, FMT_WANT_ALL, count_slice, &piece);
	fs_cache_release(t->cache, bytes);
	return r;
}
