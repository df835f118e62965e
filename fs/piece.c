/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/piece.h"

#include "base/scope.h"
#include "fs/timeline.h"

void fs_blob_drop(void *thing)
{
	struct fs_blob *b = thing;

	free(b->data);
	free(b);
}

void fs_text_expect(struct text *t, uint64_t bytes)
{
	text_room(t, bytes + bytes / 16 < FS_WINDOW_BYTES ? bytes + bytes / 16 : FS_WINDOW_BYTES);
}

int fs_blob_of(struct text *t, void **ret, size_t *bytes)
{
	struct fs_blob *b = malloc(sizeof(*b));
	char *shrunk;

	if (!b)
		return -ENOMEM;
	if (t->cap - t->len > t->len / 8 + 256) {
		shrunk = realloc(t->data, t->len + 1);
		t->data = shrunk ? shrunk : t->data;
		t->cap = shrunk ? t->len + 1 : t->cap;
	}
	b->len = t->len;
	b->data = take(t->data);
	*bytes = sizeof(*b) + t->cap;
	*ret = b;
	return 0;
}

static _Atomic uint64_t *length_slot(const struct fs_piece *p)
{
	uint64_t slice = p->tree->ranks[p->rank].slices_before + p->slice;

	return &p->tree->lengths[slice * FS_PIECES + (uint64_t)p->number];
}

uint64_t fs_piece_known(const struct fs_piece *p)
{
	_Atomic uint64_t *slot = length_slot(p);
	uint64_t found = atomic_load_explicit(slot, memory_order_relaxed);

	if (found)
		return found;
	return fmt_lengths_stored(p->tree->trace, p->rank, p->slice, p->number,
				  fs_timeline_look(p->tree->timeline, p->rank));
}

/* Keeps what is rendered of one window. */
struct windowed {
	uint64_t from, end;
	int stop; /* once the window is full */
	struct text kept;
};

static int keep_window(struct text *t)
{
	struct windowed *w = t->context;
	uint64_t from = t->flushed, end = t->flushed + t->len;

	if (from < w->from)
		from = w->from;
	if (end > w->end)
		end = w->end;
	if (from < end)
		text_bytes(&w->kept, t->data + (from - t->flushed), (size_t)(end - from));
	if (w->kept.error)
		return w->kept.error;
	return w->stop && t->flushed + t->len >= w->end ? -ECANCELED : 0;
}

static int render_piece(const struct fs_piece *p, struct text *out)
{
	struct fs_item *item;
	int r = fs_tree_slice(p->tree, p->rank, p->slice, &item);

	if (r < 0)
		return r;
	if (p->number == FS_PIECE_TIMELINE)
		r = fs_timeline_slice(p->tree->timeline, fs_item_thing(item), out);
	else
		r = fmt_tsv_rows(p->tree->tsv, (enum fmt_table)p->number, fs_item_thing(item), out);
	fs_cache_put(p->tree->cache, item);
	return r < 0 ? r : out->error;
}

static void windowed_done(struct windowed *w)
{
	text_done(&w->kept);
}

static int piece_make(void *context, void **ret, size_t *bytes)
{
	const struct fs_piece *p = context;
	_Atomic uint32_t *typical = &p->tree->typical[0][p->number];
	uint64_t known = fs_piece_known(p);
	scoped(windowed_done) struct windowed w = {
		.from = (uint64_t)p->window * FS_WINDOW_BYTES,
		.end = ((uint64_t)p->window + 1) * FS_WINDOW_BYTES,
		.stop = known > 0,
	};
	scoped(text_done) struct text out = {
		.limit = FS_WINDOW_BYTES, .flush = keep_window, .context = &w};
	int r;

	fs_text_expect(&out, known ? known : atomic_load_explicit(typical, memory_order_relaxed));
	r = render_piece(p, &out);
	if (r == 0 && out.flushed == 0 && p->window == 0) {
		if (known && known != out.len + 1)
			return -EBADMSG;
		atomic_store_explicit(length_slot(p), out.len + 1, memory_order_relaxed);
		atomic_store_explicit(typical, (uint32_t)out.len, memory_order_relaxed);
		return fs_blob_of(&out, ret, bytes);
	}
	if (r == 0)
		r = text_flush(&out);
	if (r == 0 && !known)
		atomic_store_explicit(length_slot(p), out.flushed + 1, memory_order_relaxed);
	if (r < 0 && r != -ECANCELED)
		return r;
	return fs_blob_of(&w.kept, ret, bytes);
}

int fs_piece_get(struct fs_piece *p, struct fs_item **ret)
{
	struct fs_maker maker = {piece_make, fs_blob_drop, p};
	struct fs_key key = {
		15 | (uint64_t)p->number << 4 | (uint64_t)p->tree->emulated << 12 |
			(uint64_t)p->window << 36,
		(uint64_t)p->rank << 32 | p->slice,
	};

	return fs_cache_get(p->tree->cache, key, &maker, ret);
}

int fs_piece_length(struct fs_piece *p, uint64_t *ret)
{
	uint64_t length = fs_piece_known(p);
	struct fs_item *item;
	int r;

	if (!length) {
		p->window = 0;
		r = fs_piece_get(p, &item);
		if (r < 0)
			return r;
		fs_cache_put_cheap(p->tree->cache, item);
		length = atomic_load_explicit(length_slot(p), memory_order_relaxed);
	}
	*ret = length - 1;
	return 0;
}
