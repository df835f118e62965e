/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/piece.h"

#include "base/array.h"
#include "base/scope.h"

void fs_blob_drop(void *value)
{
	struct fs_blob *b = value;

	free(b->data);
	free(b);
}

void fs_text_expect(struct text *text, uint64_t bytes)
{
	uint64_t space = bytes + bytes / 16;

	text_reserve(text, space < FS_WINDOW_BYTES ? space : FS_WINDOW_BYTES);
}

/* Releases unused capacity of a text. */
static void shrink_text(struct text *t)
{
	char *shrunk = t->cap - t->len > t->len / 8 + 256 ? realloc(t->data, t->len + 1) : NULL;

	if (!shrunk)
		return;
	t->data = shrunk;
	t->cap = t->len + 1;
}

int fs_blob_of(struct text *text, void **ret, size_t *bytes)
{
	struct fs_blob *b = malloc(sizeof(*b));

	if (!b)
		return -ENOMEM;
	shrink_text(text);
	*b = (struct fs_blob){.len = text->len, .data = take(text->data)};
	*bytes = sizeof(*b) + text->cap;
	*ret = b;
	return 0;
}

static struct fs_key piece_key(const struct fs_piece *p, uint32_t window)
{
	return (struct fs_key){
		15 | (uint64_t)p->number << 4 | (uint64_t)p->tree->run << 12 |
			(uint64_t)window << 36,
		(uint64_t)p->rank << 32 | p->slice,
	};
}

static int render_piece(const struct fs_piece *p, size_t first, struct text *out)
{
	struct fs_item *item;
	int r = fs_tree_slice(p->tree, p->rank, p->slice, &item);

	if (r < 0)
		return r;
	if (p->number == FS_PIECE_TIMELINE)
		r = fmt_chrome_slice_from(p->tree->chrome, fs_item_value(item), first, out);
	else
		r = fmt_tsv_rows(p->tree->tsv, (enum fmt_table)p->number, fs_item_value(item), out);
	fs_cache_put(p->tree->cache, item);
	return r < 0 ? r : out->error;
}

/* ---- start of rendering in a long piece */

#define MARKS_WINDOW ((1u << 28) - 1) /* in their key in the cache: beyond any window */

struct marks {
	size_t n;
	uint64_t offsets[]; /* bytes before each FMT_CHROME_STEP-th item */
};

static int marks_make(void *context, void **ret, size_t *bytes)
{
	const struct fs_piece *p = context;
	const struct fmt_slice *slice;
	struct fs_item *item;
	uint64_t length;
	struct marks *m;
	size_t n;
	int r = fs_tree_slice(p->tree, p->rank, p->slice, &item);

	if (r < 0)
		return r;
	slice = fs_item_value(item);
	n = (slice->n_events + slice->n_ranges) / FMT_CHROME_STEP + 1;
	m = calloc(1, sizeof(*m) + n * sizeof(m->offsets[0]));
	r = m ? fmt_chrome_offsets(p->tree->chrome, slice, m->offsets, &length) : -ENOMEM;
	fs_cache_put(p->tree->cache, item);
	if (r < 0) {
		free(m);
		return r;
	}
	m->n = n;
	*bytes = sizeof(*m) + n * sizeof(m->offsets[0]);
	*ret = m;
	return 0;
}

/* Finds the item at which rendering must start to produce byte `offset`, and the number of bytes
 * before that item. For tables, the first item. */
static int find_start(const struct fs_piece *p, uint64_t offset, size_t *first, uint64_t *before)
{
	struct fs_item_ops maker = {marks_make, free, (void *)(uintptr_t)p};
	const struct marks *m;
	struct fs_item *item;
	size_t found;
	int r;

	*first = 0;
	*before = 0;
	if (offset == 0 || p->number != FS_PIECE_TIMELINE)
		return 0;
	r = fs_cache_get(p->tree->cache, piece_key(p, MARKS_WINDOW), &maker, &item);
	if (r < 0)
		return r;
	m = fs_item_value(item);
	found = array_bound(i, 0, m->n, m->offsets[i] <= offset) - 1;
	*first = found * FMT_CHROME_STEP;
	*before = m->offsets[found];
	fs_cache_put(p->tree->cache, item);
	return 0;
}

/* ---- one window of a long piece */

#define FLUSH_BYTES (64u << 10)

struct windowed {
	uint64_t from, end;
	struct text kept;
};

/* Cuts the text to the window. */
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
	return t->flushed + t->len >= w->end ? -ECANCELED : 0;
}

static void windowed_done(struct windowed *w)
{
	text_done(&w->kept);
}

static int make_window(const struct fs_piece *p, void **ret, size_t *bytes)
{
	scoped(windowed_done) struct windowed w = {
		.from = (uint64_t)p->window * FS_WINDOW_BYTES,
		.end = ((uint64_t)p->window + 1) * FS_WINDOW_BYTES,
	};
	scoped(text_done) struct text out = {
		.limit = FLUSH_BYTES, .flush = keep_window, .context = &w};
	size_t first;
	int r = find_start(p, w.from, &first, &out.flushed);

	if (r == 0) {
		fs_text_expect(&w.kept, FS_WINDOW_BYTES);
		r = render_piece(p, first, &out);
	}
	if (r == 0)
		r = text_flush(&out);
	if (r < 0 && r != -ECANCELED)
		return r;
	return fs_blob_of(&w.kept, ret, bytes);
}

static int make_whole(const struct fs_piece *p, uint64_t length, void **ret, size_t *bytes)
{
	scoped(text_done) struct text out = {0};
	int r;

	fs_text_expect(&out, length);
	r = render_piece(p, 0, &out);
	if (r < 0)
		return r;
	return out.len == length ? fs_blob_of(&out, ret, bytes) : -EBADMSG;
}

static int piece_make(void *context, void **ret, size_t *bytes)
{
	const struct fs_piece *p = context;
	uint64_t length;
	int r = fs_piece_length(p, &length);

	if (r < 0)
		return r;
	return length <= FS_WINDOW_BYTES ? make_whole(p, length, ret, bytes)
					 : make_window(p, ret, bytes);
}

/* Memory for making a piece: its slice and its text. */
static size_t memory_of(const struct fs_piece *p)
{
	uint64_t text = fs_piece_known(p);

	return fs_tree_n_records(p->tree, p->rank, p->slice) * FS_RECORD_BYTES +
	       (text < FS_WINDOW_BYTES ? text : FS_WINDOW_BYTES);
}

int fs_piece_get(struct fs_piece *p, struct fs_item **ret)
{
	struct fs_item_ops maker = {piece_make, fs_blob_drop, p};
	struct fs_cache *c = p->tree->cache;
	size_t bytes = memory_of(p);
	int r;

	*ret = fs_cache_peek(c, piece_key(p, p->window));
	if (*ret)
		return 0;
	fs_cache_reserve(c, bytes);
	r = fs_cache_get(c, piece_key(p, p->window), &maker, ret);
	fs_cache_release(c, bytes);
	return r;
}
