/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/content.h"

#include "base/array.h"
#include "base/scope.h"
#include "fs/piece.h"
#include "fs/timeline.h"

#include <stdbool.h>

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

/* Heads of tables and tails are the same wherever they are: where they are in the cache, beside the
 * pieces. */
#define TAILS UINT64_MAX
#define TABLE_HEADS (UINT64_MAX - FS_PIECES)

static bool is_table(const struct fs_file *file)
{
	return file->made == FS_PIECES_OF && file->piece != FS_PIECE_TIMELINE;
}

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
	if (is_table(w->file)) {
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
	const struct whole *w = context;
	_Atomic uint32_t *typical = &w->tree->typical[w->where->dir][w->where->file % FS_FILES];
	scoped(text_done) struct text out = {0};
	int r;

	fs_text_expect(&out, atomic_load_explicit(typical, memory_order_relaxed));
	r = render_head(w, &out);
	if (r == 0)
		r = out.error;
	if (r < 0)
		return r;
	atomic_store_explicit(typical, (uint32_t)out.len, memory_order_relaxed);
	return fs_blob_of(&out, ret, bytes);
}

static int get_whole(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		     struct fs_item **ret)
{
	struct whole w = {t, where, file};
	struct fs_maker maker = {whole_make, fs_blob_drop, &w};
	struct fs_key key = {fs_ino_of(*where), 0};

	if (is_table(file))
		key = (struct fs_key){15, TABLE_HEADS - (uint64_t)file->piece};
	return fs_cache_get(t->cache, key, &maker, ret);
}

/* What stands after the pieces. */
static int get_tail(const struct fs_file *file, struct text *out)
{
	if (file->made == FS_PIECES_OF && file->piece == FS_PIECE_TIMELINE)
		fs_timeline_tail(out);
	return out->error;
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
	*ret = ((struct fs_blob *)fs_item_thing(item))->len;
	fs_cache_put(t->cache, item);
	r = get_tail(file, &tail);
	*ret += tail.len;
	return r;
}

int fs_content_size(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t *ret)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = {0};
	uint64_t size, length;
	int r;

	if (file->size)
		return file->size(t, where, ret);
	r = head_size(t, where, file, &size);
	if (r < 0)
		return r;
	while (file->made == FS_PIECES_OF &&
	       fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice)) {
		r = fs_piece_length(&p, &length);
		if (r < 0)
			return r;
		size += length;
	}
	*ret = size;
	return 0;
}

int fs_content_is_known(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = {0};

	if (file->made != FS_PIECES_OF)
		return file->made == FS_QUICK;
	while (fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice))
		if (!fs_piece_known(&p))
			return 0;
	return 1;
}

/* ---- reading */

/* What a read still wants, while the parts of the file go by. */
struct wanted {
	uint64_t skip; /* bytes of the file before it */
	size_t left;
	struct fs_view *view;
	/* What becomes of a thing that is read as a whole. */
	void (*put)(struct fs_cache *c, struct fs_item *item);
};

static int add_part(struct wanted *w, const char *data, size_t len, struct fs_item *item)
{
	struct fs_view *v = w->view;
	size_t n;

	if (array_reserve(&v->parts, v->n + 1, &v->parts_cap) < 0 ||
	    array_reserve(&v->held, v->n + 1, &v->held_cap) < 0)
		return -ENOMEM;
	n = len - w->skip < w->left ? len - (size_t)w->skip : w->left;
	v->parts[v->n] = (struct iovec){(char *)data + w->skip, n};
	v->held[v->n++] = (struct fs_held){item, n == len ? w->put : fs_cache_put};
	w->skip = 0;
	w->left -= n;
	return 0;
}

/* Takes its part of a blob; the use of `item` passes to the view, or ends. */
static int want_item(struct wanted *w, struct fs_item *item)
{
	const struct fs_blob *b = fs_item_thing(item);
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

static int want_piece(struct wanted *w, struct fs_piece *p)
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
		b = fs_item_thing(item);
		if (b->len != (length - at < FS_WINDOW_BYTES ? length - at : FS_WINDOW_BYTES)) {
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

	return r < 0 ? r : fs_blob_of(&out, ret, bytes);
}

static int want_tail(struct fs_tree *t, const struct fs_file *file, struct wanted *w)
{
	struct fs_maker maker = {tail_make, fs_blob_drop, (void *)file};
	struct fs_key key = {15, TAILS - (uint64_t)file->piece};
	struct fs_item *item;
	int r = fs_cache_get(t->cache, key, &maker, &item);

	return r < 0 ? r : want_item(w, item);
}

/* ---- where in a long file a read begins */

/* A place that many pieces are before. */
struct milestone {
	uint64_t before; /* bytes of these pieces */
	struct fs_cursor cursor;
};

#define MILESTONE_PIECES 32

struct milestones {
	size_t n;
	struct milestone *at;
};

static void milestones_drop(void *thing)
{
	struct milestones *m = thing;

	free(m->at);
	free(m);
}

static int milestones_make(void *context, void **ret, size_t *bytes)
{
	const struct whole *w = context;
	struct fs_piece p = {.tree = w->tree, .number = w->file->piece};
	struct milestones *m = calloc(1, sizeof(*m));
	struct fs_cursor cursor = {0}, here = {0};
	uint64_t before = 0, length;
	size_t cap = 0;
	int r = m ? 0 : -ENOMEM;

	for (size_t i = 0;
	     r == 0 && fs_tree_next(w->tree, fs_scope_of(w->where), &cursor, &p.rank, &p.slice);
	     i++) {
		if (i % MILESTONE_PIECES == 0) {
			r = array_reserve(&m->at, m->n + 1, &cap);
			if (r == 0)
				m->at[m->n++] = (struct milestone){before, here};
		}
		if (r == 0)
			r = fs_piece_length(&p, &length);
		before += r == 0 ? length : 0;
		here = cursor;
	}
	if (r < 0) {
		if (m)
			milestones_drop(m);
		return r;
	}
	*bytes = sizeof(*m) + cap * sizeof(*m->at);
	*ret = m;
	return 0;
}

/* Where to begin so as to be *skip bytes behind the head, or before that; takes off *skip what lies
 * before. A file of few pieces, and one that is damaged, begins at its begin. */
static struct fs_cursor skip_pieces(struct fs_tree *t, const struct fs_place *where,
				    const struct fs_file *file, uint64_t *skip)
{
	struct whole w = {t, where, file};
	struct fs_maker maker = {milestones_make, milestones_drop, &w};
	struct fs_key key = {fs_ino_of(*where), UINT64_MAX};
	struct fs_cursor found = {0};
	struct fs_item *item;
	const struct milestones *m;
	size_t low = 0, n;

	if (*skip == 0 || fs_scope_of(where).iteration != FS_ALL ||
	    fs_cache_get(t->cache, key, &maker, &item) < 0)
		return found;
	m = fs_item_thing(item);
	for (n = m->n; n > 1; n -= n / 2)
		if (m->at[low + n / 2].before <= *skip)
			low += n / 2;
	if (m->n > 0) {
		found = m->at[low].cursor;
		*skip -= m->at[low].before;
	}
	fs_cache_put(t->cache, item);
	return found;
}

static int want_pieces(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		       struct wanted *w)
{
	struct fs_piece p = {.tree = t, .number = file->piece};
	struct fs_cursor cursor = skip_pieces(t, where, file, &w->skip);
	int r = 0;

	while (r == 0 && w->left > 0 &&
	       fs_tree_next(t, fs_scope_of(where), &cursor, &p.rank, &p.slice))
		r = want_piece(w, &p);
	return r;
}

/* The kernel keeps what it has read. So a text leaves the cache when it has been read as a whole:
 * decoded slices are worth more, and room that was used just now costs less than new room. */
int fs_content_read(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t offset, size_t size, struct fs_view *view)
{
	struct wanted w = {offset, size, view, fs_cache_put};
	struct fs_item *item;
	int r;

	view->cache = t->cache;
	if (where->dir == FS_ITERATION_GPU && !is_table(file))
		w.put = fs_cache_put_last;
	r = get_whole(t, where, file, &item);
	if (r == 0)
		r = want_item(&w, item);
	w.put = fs_cache_put_last;
	if (r == 0 && w.left > 0 && file->made == FS_PIECES_OF)
		r = want_pieces(t, where, file, &w);
	w.put = fs_cache_put;
	if (r == 0 && w.left > 0)
		r = want_tail(t, file, &w);
	return r;
}

char *fs_view_join(const struct fs_view *view, size_t *size)
{
	struct text joined = {0};

	for (size_t i = 0; i < view->n; i++)
		text_bytes(&joined, view->parts[i].iov_base, view->parts[i].iov_len);
	*size = joined.len;
	if (joined.error)
		text_done(&joined);
	return joined.data;
}

void fs_view_done(struct fs_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		view->held[i].put(view->cache, view->held[i].item);
	free(view->parts);
	free(view->held);
	*view = (struct fs_view){0};
}
