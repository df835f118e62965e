/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/content.h"

#include "base/array.h"
#include "base/scope.h"
#include "fs/timeline.h"

/* A piece that is longer is rendered and kept a window at a time. */
#define WINDOW_BYTES (4u << 20)

struct blob {
	size_t len;
	char *data;
};

static void blob_drop(void *thing)
{
	struct blob *b = thing;

	free(b->data);
	free(b);
}

/* Makes a blob of a text that is complete; 0 or -ENOMEM. */
static int blob_of(struct text *t, void **ret, size_t *bytes)
{
	struct blob *b = malloc(sizeof(*b));
	char *shrunk;

	if (!b)
		return -ENOMEM;
	shrunk = t->len > 0 ? realloc(t->data, t->len) : NULL;
	if (shrunk)
		t->data = shrunk;
	b->len = t->len;
	b->data = take(t->data);
	*bytes = sizeof(*b) + b->len;
	*ret = b;
	return 0;
}

struct fs_scope fs_scope_of(const struct fs_place *where)
{
	switch (where->dir) {
	case FS_ITERATION:
		return (struct fs_scope){where->iteration, FS_ALL};
	case FS_ITERATION_GPU:
		return (struct fs_scope){where->iteration, where->gpu};
	case FS_GPU:
		return (struct fs_scope){FS_ALL, where->gpu};
	default:
		return (struct fs_scope){FS_ALL, FS_ALL};
	}
}

/* ---- files, heads and tails that are rendered whole */

struct whole {
	struct fs_tree *tree;
	const struct fs_place *where;
	const struct fs_file *file;
};

static int render_head(const struct whole *w, struct text *out)
{
	struct fs_scope scope = fs_scope_of(w->where);

	if (w->file->made != FS_PIECES_OF)
		return w->file->render(w->tree, w->where, out);
	if (w->file->piece != FS_PIECE_TIMELINE) {
		fmt_table_header((enum fmt_table)w->file->piece, out);
		return 0;
	}
	return fs_timeline_head(w->tree->timeline,
				scope.iteration == FS_ALL ? INT64_MIN
							  : w->tree->numbers[scope.iteration],
				scope.rank == FS_ALL ? INT64_MIN : (int64_t)scope.rank, out);
}

static int whole_make(void *context, void **ret, size_t *bytes)
{
	scoped(text_done) struct text out = {0};
	int r = render_head(context, &out);

	if (r == 0)
		r = out.error;
	return r < 0 ? r : blob_of(&out, ret, bytes);
}

static int get_whole(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		     struct fs_item **ret)
{
	struct whole w = {t, where, file};
	struct fs_maker maker = {whole_make, blob_drop, &w};
	struct fs_key key = {fs_ino_of(*where), 0};

	return fs_cache_get(t->cache, key, &maker, ret);
}

/* What stands after the pieces. */
static int get_tail(const struct fs_file *file, struct text *out)
{
	if (file->made == FS_PIECES_OF && file->piece == FS_PIECE_TIMELINE)
		fs_timeline_tail(out);
	return out->error;
}

/* ---- pieces */

struct piece {
	struct fs_tree *tree;
	int number; /* enum fmt_table, or FS_PIECE_TIMELINE */
	uint32_t rank, slice;
	uint32_t window;
};

static _Atomic uint64_t *length_slot(const struct piece *p)
{
	uint64_t slice = p->tree->ranks[p->rank].slices_before + p->slice;

	return &p->tree->lengths[slice * FS_PIECES + (uint64_t)p->number];
}

/* The length that was found out or stored, plus 1; 0 where none was. */
static uint64_t known_length(const struct piece *p)
{
	_Atomic uint64_t *slot = length_slot(p);
	uint64_t found = atomic_load_explicit(slot, memory_order_relaxed);
	const uint64_t *stored;
	uint32_t renderer, n;

	if (found || p->number >= FMT_TABLES)
		return found;
	n = fmt_trace_lengths(p->tree->trace, p->rank, p->slice, &renderer, &stored);
	if (n != FMT_TABLES || renderer != FMT_TSV_VERSION || stored[p->number] >= INT64_MAX)
		return 0;
	return stored[p->number] + 1;
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

static int render_piece(const struct piece *p, struct text *out)
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
	const struct piece *p = context;
	uint64_t known = known_length(p);
	scoped(windowed_done) struct windowed w = {
		.from = (uint64_t)p->window * WINDOW_BYTES,
		.end = ((uint64_t)p->window + 1) * WINDOW_BYTES,
		.stop = known > 0,
	};
	scoped(text_done) struct text out = {
		.limit = WINDOW_BYTES, .flush = keep_window, .context = &w};
	int r = render_piece(p, &out);

	if (r == 0 && out.flushed == 0 && p->window == 0) {
		if (known && known != out.len + 1)
			return -EBADMSG;
		atomic_store_explicit(length_slot(p), out.len + 1, memory_order_relaxed);
		return blob_of(&out, ret, bytes);
	}
	if (r == 0)
		r = text_flush(&out);
	if (r == 0 && !known)
		atomic_store_explicit(length_slot(p), out.flushed + 1, memory_order_relaxed);
	if (r < 0 && r != -ECANCELED)
		return r;
	return blob_of(&w.kept, ret, bytes);
}

static int get_piece(struct piece *p, struct fs_item **ret)
{
	struct fs_maker maker = {piece_make, blob_drop, p};
	struct fs_key key = {
		15 | (uint64_t)p->number << 4 | (uint64_t)p->tree->emulated << 12 |
			(uint64_t)p->window << 36,
		(uint64_t)p->rank << 32 | p->slice,
	};

	return fs_cache_get(p->tree->cache, key, &maker, ret);
}

static int piece_length(struct piece *p, uint64_t *ret)
{
	uint64_t length = known_length(p);
	struct fs_item *item;
	int r;

	if (!length) {
		p->window = 0;
		r = get_piece(p, &item);
		if (r < 0)
			return r;
		fs_cache_put(p->tree->cache, item);
		length = atomic_load_explicit(length_slot(p), memory_order_relaxed);
	}
	*ret = length - 1;
	return 0;
}

/* ---- sizes */

static int head_size(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		     uint64_t *ret)
{
	scoped(text_done) struct text tail = {0};
	struct fs_item *item;
	int r = get_whole(t, where, file, &item);

	if (r < 0)
		return r;
	*ret = ((struct blob *)fs_item_thing(item))->len;
	fs_cache_put(t->cache, item);
	r = get_tail(file, &tail);
	*ret += tail.len;
	return r;
}

int fs_content_size(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t *ret)
{
	struct piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = {0};
	uint64_t size, length;
	int r = head_size(t, where, file, &size);

	if (r < 0)
		return r;
	while (file->made == FS_PIECES_OF &&
	       fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice)) {
		r = piece_length(&p, &length);
		if (r < 0)
			return r;
		size += length;
	}
	*ret = size;
	return 0;
}

int fs_content_is_known(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file)
{
	struct piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = {0};

	if (file->made != FS_PIECES_OF)
		return file->made == FS_QUICK;
	while (fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice))
		if (!known_length(&p))
			return 0;
	return 1;
}

/* ---- reading */

/* What a read still wants, while the parts of the file go by. */
struct wanted {
	uint64_t skip; /* bytes of the file before it */
	size_t left;
	struct fs_view *view;
};

static int add_part(struct wanted *w, const char *data, size_t len, struct fs_item *item)
{
	struct fs_view *v = w->view;
	size_t n;

	if (array_reserve(&v->parts, v->n + 1, &v->parts_cap) < 0 ||
	    array_reserve(&v->items, v->n + 1, &v->items_cap) < 0)
		return -ENOMEM;
	n = len - w->skip < w->left ? len - (size_t)w->skip : w->left;
	v->parts[v->n] = (struct iovec){(char *)data + w->skip, n};
	v->items[v->n++] = item;
	w->skip = 0;
	w->left -= n;
	return 0;
}

/* Takes its part of a blob; the use of `item` passes to the view, or ends. */
static int want_item(struct wanted *w, struct fs_item *item)
{
	const struct blob *b = fs_item_thing(item);
	int r = 0;

	if (w->skip < b->len && w->left > 0) {
		r = add_part(w, b->data, b->len, item);
		if (r == 0)
			return 0;
	} else {
		w->skip -= w->skip < b->len ? w->skip : b->len;
	}
	fs_cache_put(w->view->cache, item);
	return r;
}

static int want_piece(struct wanted *w, struct piece *p)
{
	uint64_t length, at = 0;
	int r = piece_length(p, &length);

	if (r < 0)
		return r;
	if (w->skip >= length) {
		w->skip -= length;
		return 0;
	}
	at = w->skip / WINDOW_BYTES * WINDOW_BYTES;
	w->skip -= at;
	for (; r == 0 && at < length && w->left > 0; at += WINDOW_BYTES) {
		struct fs_item *item;
		const struct blob *b;

		p->window = (uint32_t)(at / WINDOW_BYTES);
		r = get_piece(p, &item);
		if (r < 0)
			return r;
		b = fs_item_thing(item);
		if (b->len != (length - at < WINDOW_BYTES ? length - at : WINDOW_BYTES)) {
			fs_cache_put(w->view->cache, item);
			return -EBADMSG;
		}
		r = want_item(w, item);
	}
	return r;
}

/* The tail is short and has no place in the cache: it becomes an item of its own. */
static int tail_make(void *context, void **ret, size_t *bytes)
{
	scoped(text_done) struct text out = {0};
	int r = get_tail(context, &out);

	return r < 0 ? r : blob_of(&out, ret, bytes);
}

static int want_tail(struct fs_tree *t, const struct fs_file *file, struct wanted *w)
{
	struct fs_maker maker = {tail_make, blob_drop, (void *)file};
	struct fs_key key = {15, UINT64_MAX - (uint64_t)file->piece};
	struct fs_item *item;
	int r = fs_cache_get(t->cache, key, &maker, &item);

	return r < 0 ? r : want_item(w, item);
}

int fs_content_read(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t offset, size_t size, struct fs_view *view)
{
	struct wanted w = {offset, size, view};
	struct piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = {0};
	struct fs_item *item;
	int r;

	view->cache = t->cache;
	r = get_whole(t, where, file, &item);
	if (r == 0)
		r = want_item(&w, item);
	while (r == 0 && w.left > 0 && file->made == FS_PIECES_OF &&
	       fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice))
		r = want_piece(&w, &p);
	if (r == 0 && w.left > 0)
		r = want_tail(t, file, &w);
	return r;
}

void fs_view_done(struct fs_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		fs_cache_put(view->cache, view->items[i]);
	free(view->parts);
	free(view->items);
	*view = (struct fs_view){0};
}
