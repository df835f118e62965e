/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/content.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/loader.h"
#include "fs/lengths.h"
#include "fs/piece.h"

#include <stdbool.h>

/* ---- files, heads and tails rendered whole */

/* Heads of tables are the same for every file: their keys in the cache, distinct from those of
 * pieces. */
#define TABLE_HEADS UINT64_MAX

static bool is_table(const struct fs_file *file)
{
	return file->made == FS_PIECES_OF && file->piece != FS_PIECE_TIMELINE;
}

struct whole {
	struct fs_tree *tree;
	const struct fs_node *where;
	const struct fs_file *file;
};

static int render_head(const struct whole *w, struct text *out)
{
	struct fmt_part part;

	if (w->file->made != FS_PIECES_OF)
		return w->file->render(w->tree, w->where, out);
	if (is_table(w->file)) {
		fmt_table_header((enum fmt_table)w->file->piece, out);
		return 0;
	}
	part = fs_tree_part(w->tree, fs_scope_of(w->where));
	fmt_chrome_head(w->tree->chrome, w->tree->trace, &part, out);
	return out->error;
}

static int text_make(void *context, void **ret, size_t *bytes)
{
	const struct whole *w = context;
	scoped(text_done) struct text out = {0};
	int r = render_head(w, &out) ?: out.error;

	return r < 0 ? r : fs_blob_of(&out, ret, bytes);
}

/* Returns the memory for rendering a file: the slices that a loader holds. */
static size_t memory_of(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file)
{
	struct fmt_walk w = fs_tree_walk(t, where);
	uint64_t records = 0;

	while (file->made == FS_WHOLE && records < 2 * FMT_LOADER_RECORDS && fmt_walk_next(&w))
		records += fs_tree_n_records(t, w.rank, w.slice);
	return records * FS_RECORD_BYTES;
}

static int get_text(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
		    struct fs_item **ret)
{
	struct whole w = {t, where, file};
	struct fs_item_ops maker = {text_make, fs_blob_drop, &w};
	struct fs_key key = {fs_ino_of(*where), 0};
	size_t bytes;
	int r;

	if (is_table(file))
		key = (struct fs_key){15, TABLE_HEADS - (uint64_t)file->piece};
	*ret = fs_cache_peek(t->cache, key);
	if (*ret)
		return 0;
	bytes = memory_of(t, where, file);
	if (bytes > 0)
		fs_cache_reserve(t->cache, bytes);
	r = fs_cache_get(t->cache, key, &maker, ret);
	if (bytes > 0)
		fs_cache_release(t->cache, bytes);
	return r;
}

/* The text after the pieces. */
static const char *tail_of(const struct fs_file *file)
{
	return file->made == FS_PIECES_OF && file->piece == FS_PIECE_TIMELINE ? FMT_CHROME_TAIL
									      : "";
}

/* ---- sizes */

int fs_content_size(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
		    uint64_t *ret)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fmt_walk w = fs_tree_walk(t, where);
	struct fs_item *head;
	uint64_t size, length;
	int r;

	if (file->size)
		return file->size(t, where, ret);
	r = get_text(t, where, file, &head);
	if (r < 0)
		return r;
	size = ((struct fs_blob *)fs_item_value(head))->len + strlen(tail_of(file));
	fs_cache_put(t->cache, head);
	if (file->made == FS_PIECES_OF)
		r = fs_lengths_of_file(t, where, file->piece);
	while (r == 0 && file->made == FS_PIECES_OF && fs_piece_next(&p, &w)) {
		r = fs_piece_length(&p, &length);
		size += r == 0 ? length : 0;
	}
	if (r == 0)
		*ret = size;
	return r;
}

/* Decoding and counting this many records takes about as long as answering a request. */
#define QUICK_RECORDS 512u

int fs_content_is_cheap(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fmt_walk w = fs_tree_walk(t, where);
	uint64_t records = 0;

	if (file->made != FS_PIECES_OF)
		return file->made == FS_CHEAP;
	while (fs_piece_next(&p, &w)) {
		records += fs_piece_known(&p) ? 0 : fs_tree_n_records(t, p.rank, p.slice);
		if (records > QUICK_RECORDS)
			return 0;
	}
	return 1;
}

/* ---- reading */

/* The remaining bytes of a read, while the parts of the file are visited. */
struct read_request {
	uint64_t skip; /* bytes of the file before it */
	size_t left;
	struct fs_view *view;
	/* Releases an item that was read to its end. */
	void (*put)(struct fs_cache *c, struct fs_item *item);
};

static int add_part(struct read_request *w, const char *data, size_t len, struct fs_item *item)
{
	struct fs_view *v = w->view;
	size_t n;

	if (array_reserve(&v->parts, v->n + 1, &v->parts_cap) < 0 ||
	    array_reserve(&v->held, v->n + 1, &v->held_cap) < 0)
		return -ENOMEM;
	n = len - w->skip < w->left ? len - (size_t)w->skip : w->left;
	v->parts[v->n] = (struct iovec){(char *)data + w->skip, n};
	v->held[v->n++] = (struct fs_held){item, w->skip + n == len ? w->put : fs_cache_put};
	w->skip = 0;
	w->left -= n;
	return 0;
}

/* Appends the needed part of a blob. The use of `item` passes to the view, or ends. */
static int append_item(struct read_request *w, struct fs_item *item)
{
	const struct fs_blob *b = fs_item_value(item);
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

static int append_piece(struct read_request *w, struct fs_piece *p)
{
	uint64_t length, at = 0;
	int r = fs_piece_length(p, &length);

	if (r < 0)
		return r;
	if (w->skip >= length) {
		w->skip -= length;
		return 0;
	}
	at = w->skip / FS_WINDOW_BYTES * FS_WINDOW_BYTES;
	w->skip -= at;
	for (; r == 0 && at < length && w->left > 0; at += FS_WINDOW_BYTES) {
		struct fs_item *item;
		const struct fs_blob *b;

		p->window = (uint32_t)(at / FS_WINDOW_BYTES);
		r = fs_piece_get(p, &item);
		if (r < 0)
			return r;
		b = fs_item_value(item);
		if (b->len != (length - at < FS_WINDOW_BYTES ? length - at : FS_WINDOW_BYTES)) {
			fs_cache_put(w->view->cache, item);
			return -EBADMSG;
		}
		r = append_item(w, item);
	}
	return r;
}

static int append_tail(const struct fs_file *file, struct read_request *w)
{
	const char *tail = tail_of(file);
	size_t len = strlen(tail);

	return w->skip < len ? add_part(w, tail, len, NULL) : 0;
}

/* ---- pieces */

/* If the last piece that was read of the file is at or before the wanted bytes, moves the walk
 * there, so that sequential reads need not sum the lengths of all earlier pieces. Returns the
 * number of bytes before the walk. */
static uint64_t resume_walk(struct fs_tree *t, fs_ino file, uint64_t wanted, struct fmt_walk *walk)
{
	uint64_t before = 0;

	pthread_mutex_lock(&t->last.lock);
	if (t->last.file == file && t->last.before <= wanted) {
		before = t->last.before;
		walk->rank = t->last.rank;
		walk->next = t->last.slice;
	}
	pthread_mutex_unlock(&t->last.lock);
	return before;
}

static void keep_position(struct fs_tree *t, fs_ino file, uint64_t before, const struct fs_piece *p)
{
	pthread_mutex_lock(&t->last.lock);
	t->last.file = file;
	t->last.before = before;
	t->last.rank = p->rank;
	t->last.slice = p->slice;
	pthread_mutex_unlock(&t->last.lock);
}

static int append_pieces(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
			 struct read_request *w)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fmt_walk walk = fs_tree_walk(t, where);
	bool is_long = walk.part.iteration == FMT_ANY;
	uint64_t before = is_long ? resume_walk(t, fs_ino_of(*where), w->skip, &walk) : 0,
		 length = 0;
	int r = 0;

	w->skip -= before;
	while (r == 0 && w->left > 0 && fs_piece_next(&p, &walk)) {
		before += length;
		r = append_piece(w, &p);
		length = fs_piece_known(&p) - 1;
	}
	if (r == 0 && is_long && length > 0)
		keep_position(t, fs_ino_of(*where), before, &p);
	return r;
}

/* The kernel caches the bytes that it has read. So a text leaves the cache once it has been read to
 * its end: decoded slices are worth more, and reused memory costs less than fresh memory. */
int fs_content_read(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
		    uint64_t offset, size_t size, struct fs_view *view)
{
	struct read_request w = {offset, size, view, fs_cache_put};
	struct fs_item *item;
	int r;

	view->cache = t->cache;
	if (where->dir == FS_ITERATION_GPU && !is_table(file))
		w.put = fs_cache_put_last;
	r = get_text(t, where, file, &item);
	if (r == 0)
		r = append_item(&w, item);
	w.put = fs_cache_put_last;
	if (r == 0 && w.left > 0 && file->made == FS_PIECES_OF)
		r = append_pieces(t, where, file, &w);
	w.put = fs_cache_put;
	if (r == 0 && w.left > 0)
		r = append_tail(file, &w);
	return r;
}
